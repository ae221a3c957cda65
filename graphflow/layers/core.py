"""Dense layers, dropout and flattening (tf.layers)."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.graph import shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import (
    Activation,
    Constraint,
    DTypeLike,
    Initializer,
    IntTensorLike,
    NumberLike,
    Regularizer,
    ShapeLike,
    TensorLike,
    VariableLike,
)
from graphflow._core.ops.array import array
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import linalg
from graphflow._core.ops.math.contraction import tensordot
from graphflow._core.ops.sparse.sparse import sparse_tensor_dense_matmul
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.variable import Variable
from graphflow.layers.arguments import activation_of, initializer_of, layout_of
from graphflow.layers.base import Layer, functional
from graphflow.layers.input_spec import InputSpec
from graphflow.nn import bias_add
from graphflow.nn import dropout as drop

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope


class Dense(Layer):
    """activation(inputs @ kernel + bias), over the last axis of the inputs (tf.layers.Dense).

    Called with floats [..., size], the size known: ValueError if it is not, TypeError for integers.
    What regularizers give goes to GraphKeys.REGULARIZATION_LOSSES. Variables: kernel [size of the last axis, units],
    bias [units].

    Args:
        units: The outputs' last axis.
        activation: A function, or its name.
        use_bias: Whether there is a bias.
        kernel_initializer: What the kernel begins with: an initializer, its class or its name; None for the
            variable scope's, or Glorot's.
        bias_initializer: What the bias begins with.
        kernel_regularizer: From the kernel to a scalar that is added to the losses, or None.
        bias_regularizer: From the bias to a scalar that is added to the losses, or None.
        activity_regularizer: From the outputs to a scalar that is added to the losses, or None.
        kernel_constraint: From the kernel that an optimizer's update gives to the one that it becomes, or None.
        bias_constraint: The same of the bias.
        trainable: Whether its variables are among those that optimizers train.
        name: Of its variables and operations; by default that of the class in small letters, made unique.
        dtype: Of the variables; by default that of the first input.
        _scope: The variable scope, for the functions of gf.layers.
        _reuse: Whether the variables of that scope are taken again, for the functions of gf.layers.

    Examples:
        >>> layer = gf.layers.Dense(3, activation=gf.nn.relu)
        >>> layer(gf.ones([2, 4])).shape
        TensorShape([2, 3])
    """

    def __init__(
        self,
        units: int,
        activation: Activation | str | None = None,
        use_bias: bool = True,
        kernel_initializer: Initializer | str | None = None,
        bias_initializer: Initializer | str = Zeros(),
        kernel_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        kernel_constraint: Constraint | None = None,
        bias_constraint: Constraint | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(trainable, name, dtype, activity_regularizer, _scope, _reuse)
        self.units: int = int(units)
        self.activation: Activation | None = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer: Initializer | None = initializer_of(kernel_initializer)
        self.bias_initializer: Initializer | None = initializer_of(bias_initializer)
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec: InputSpec = InputSpec(min_ndim=2)

    def build(self, input_shape: ShapeLike) -> None:
        """Makes kernel and bias.

        Args:
            input_shape: The shape of the inputs.
        """
        dtype = as_dtype(self.dtype or "float32")
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(
                f"Unable to build `Dense` layer {self.name!r} with non-floating point dtype {dtype.name}: cast "
                "its inputs with gf.cast."
            )
        size = shapes.as_shape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError(
                f"The last dimension of the inputs to `Dense` layer {self.name!r} should be defined, but their shape "
                f"is {input_shape}. Give the placeholder's shape, or set_shape the input."
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel: VariableLike = self.add_weight(
            "kernel", [size, self.units], initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint,
        )  # fmt: skip
        self.bias: Any = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [self.units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """The product, the bias and the activation.

        Args:
            inputs: A tensor, whose shape the class describes.
        """
        dims = inputs.shape.as_list()
        if isinstance(inputs, SparseTensor):
            outputs = sparse_tensor_dense_matmul(inputs, self.kernel)
        elif len(dims) > 2:
            outputs = tensordot(inputs, self.kernel, [[len(dims) - 1], [0]])
            outputs.set_shape([*dims[:-1], self.units])
        else:
            outputs = linalg.matmul(inputs, self.kernel, name="MatMul")
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        result: Tensor = outputs if self.activation is None else self.activation(outputs)
        return result

    def compute_output_shape(self, input_shape: ShapeLike) -> shapes.TensorShape:
        """The input's shape with `units` as the last axis.

        Args:
            input_shape: The shape of the inputs.

        Raises:
            ValueError: For less than two axes, or a last one of unknown size.
        """
        sizes = shapes.as_shape(input_shape).with_rank_at_least(2)
        if sizes.ndims is None or sizes.as_list()[-1] is None:
            raise ValueError(
                f"The innermost dimension of input_shape of the layer {self.name!r} must be defined, but saw: {sizes}"
            )
        return shapes.TensorShape([*sizes.as_list()[:-1], self.units])


class Dropout(Layer):
    """gf.nn.dropout in training, the inputs themselves otherwise (tf.layers.Dropout; Srivastava et al. 2014).

    Args:
        rate: The share of elements that become zero.
        noise_shape: See gf.nn.dropout; an item that is None is the input's size.
        seed: Of the draws.
        name: A name for the operation.
        trainable: Whether its variables are among those that optimizers train.
        dtype: Of the variables; by default that of the first input.
        _scope: The variable scope, for the functions of gf.layers.
        _reuse: Whether the variables of that scope are taken again, for the functions of gf.layers.
    """

    def __init__(
        self,
        rate: NumberLike = 0.5,
        noise_shape: IntTensorLike | None = None,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: DTypeLike | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(trainable, name, dtype, None, _scope, _reuse)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def _noise(self, inputs: Tensor) -> Any:
        if not isinstance(self.noise_shape, list | tuple):
            return self.noise_shape
        sizes = array.shape(inputs)
        return convert_to_tensor([sizes[i] if n is None else n for i, n in enumerate(self.noise_shape)])

    def call(self, inputs: Any, training: TensorLike = False) -> Any:
        """The inputs, with elements dropped if `training`.

        Args:
            inputs: A tensor, whose shape the class describes.
            training: A bool, or a scalar bool tensor.
        """
        return smart_cond(
            convert_to_tensor(training) if isinstance(training, Variable) else training,
            lambda: drop(inputs, noise_shape=self._noise(inputs), seed=self.seed, rate=self.rate),
            lambda: identity(inputs),
        )

    def compute_output_shape(self, input_shape: ShapeLike) -> shapes.TensorShape:
        """The input's shape.

        Args:
            input_shape: The shape of the inputs.
        """
        return shapes.as_shape(input_shape)


class Flatten(Layer):
    """All axes but the first joined to one (tf.layers.Flatten).

    Args:
        data_format: "channels_last", or "channels_first", whose channels are moved to the end before.
        trainable: Whether its variables are among those that optimizers train.
        name: A name for the operation.
        dtype: Of the variables; by default that of the first input.
        _scope: The variable scope, for the functions of gf.layers.
        _reuse: Whether the variables of that scope are taken again, for the functions of gf.layers.
    """

    def __init__(
        self,
        data_format: str | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(trainable, name, dtype, None, _scope, _reuse)
        self.data_format: str = layout_of(data_format)
        self.input_spec: InputSpec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Tensor:
        """The inputs as a matrix, a row for each example.

        Args:
            inputs: A tensor, whose shape the class describes.
        """
        rank = len(inputs.dims)
        if self.data_format == "channels_first" and rank > 1:
            inputs = array.transpose(inputs, [0, *range(2, rank), 1])
        outputs: Tensor = array.reshape(inputs, (inputs.dims[0] or array.shape(inputs)[0], -1))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: ShapeLike) -> shapes.TensorShape:
        """[batch, product of the other axes].

        Args:
            input_shape: The shape of the inputs.
        """
        sizes = shapes.as_shape(input_shape).as_list()
        return shapes.TensorShape([sizes[0], None if None in sizes[1:] else numbers.prod(sizes[1:])])


dense: Final[Callable[..., Tensor]] = functional(
    Dense,
    "dense",
    example=("gf.layers.dense(gf.ones([2, 4]), 3).shape", "TensorShape([2, 3])"),
)


def dropout(
    inputs: TensorLike,
    rate: NumberLike = 0.5,
    noise_shape: IntTensorLike | None = None,
    seed: int | None = None,
    training: TensorLike = False,
    name: str | None = None,
) -> Tensor:
    """gf.nn.dropout if `training`, a bool or a scalar bool tensor, is true (tf.layers.dropout); see Dropout.

    Args:
        inputs: A tensor, whose shape the class describes.
        rate: The share of elements that are dropped, a number or scalar tensor.
        noise_shape: The shape in which is drawn, whose axes of size 1 are repeated.
        seed: The op's own seed; with the graph's it decides what is drawn.
        training: Whether to drop at all, a bool or a scalar bool tensor.
        name: A name for the operation.

    Returns:
        The outputs, a tensor.
    """
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)


def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """All axes but the first joined to one (tf.layers.flatten); see Flatten.

    Args:
        inputs: A tensor, whose shape the class describes.
        name: A name for the operation.
        data_format: "channels_last" or "channels_first".

    Returns:
        The outputs, a tensor.
    """
    return Flatten(data_format, name=name)(inputs)
