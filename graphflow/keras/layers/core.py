"""Dense, and layers that have no weights or apply a function (tf.keras.layers)."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import shapes
from graphflow._core.graph.types import ShapeLike
from graphflow.keras import activations, ops
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.layers.base import ConfiguredLayer, layout_of
from graphflow.keras.regularizers import L1L2
from graphflow.keras.typing import Config, Named, Shapes, Tensors
from graphflow.layers import core as plain
from graphflow.layers.input_spec import InputSpec


class Dense(plain.Dense, ConfiguredLayer):
    """activation(inputs @ kernel + bias), over the last axis (tf.keras.layers.Dense).

    Args:
        units: The size of the outputs' last axis.
        activation: A function of tensors, or its name; None for none.
        use_bias: Whether a bias is added.
        kernel_initializer: What makes the kernel's initial value: an initializer, its name or configuration.
        bias_initializer: What makes the bias's initial value.
        kernel_regularizer: A function of the kernel whose result is added to the loss, or its name; None for none.
        bias_regularizer: The same of the bias.
        activity_regularizer: The same of the layer's output.
        kernel_constraint: A function that gives the kernel its value after each step of training, or its name; None
            for none.
        bias_constraint: The same of the bias.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(
        self,
        units: int,
        activation: Named = None,
        use_bias: bool = True,
        kernel_initializer: Named = "glorot_uniform",
        bias_initializer: Named = "zeros",
        kernel_regularizer: Named = None,
        bias_regularizer: Named = None,
        activity_regularizer: Named = None,
        kernel_constraint: Named = None,
        bias_constraint: Named = None,
        **kwargs: Any,
    ) -> None:
        ConfiguredLayer.__init__(self, activity_regularizer=activity_regularizer, **kwargs)
        self._keep(
            units=int(units), activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
            activity_regularizer=activity_regularizer,
            bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint, bias_constraint=bias_constraint,
        )  # fmt: skip
        self.supports_masking = True
        self.input_spec: InputSpec = InputSpec(min_ndim=2)

    def call(self, inputs: Tensors) -> Any:
        """The product, the bias and the activation.

        Args:
            inputs: A tensor [batch, ..., size].

        Returns:
            A tensor [batch, ..., units].
        """
        kind = self.dtype
        if kind is not None and not isinstance(inputs, ops.SparseTensor) and inputs.dtype != kind:
            inputs = ops.cast(inputs, kind)
        return super().call(inputs)


class Activation(ConfiguredLayer):
    """A function of the inputs (tf.keras.layers.Activation).

    Args:
        activation: The function, or its name.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    supports_masking = True

    def __init__(self, activation: Named, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._keep(activation=activation)
        self.activation: Any = activations.get(activation)

    def call(self, inputs: Tensors) -> Any:
        """The function's result.

        Args:
            inputs: A tensor of any shape.

        Returns:
            The result, a tensor of the inputs' shape.
        """
        return self.activation(inputs)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The input's shape.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The same shape.
        """
        return shapes.as_shape(input_shape)


class Flatten(plain.Flatten, ConfiguredLayer):
    """All axes but the first joined to one (tf.keras.layers.Flatten).

    Args:
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        ConfiguredLayer.__init__(self, **kwargs)
        self._keep(data_format=layout_of(data_format))
        self.input_spec: InputSpec = InputSpec(min_ndim=1)

    def call(self, inputs: Tensors) -> Any:
        """The inputs as a matrix; an axis of 1 is added to a vector.

        Args:
            inputs: A tensor [batch, ...].

        Returns:
            A tensor [batch, size].
        """
        return ops.expand_dims(inputs, -1) if len(inputs.shape.as_list()) == 1 else super().call(inputs)


class Reshape(ConfiguredLayer):
    """Another shape of each example (tf.keras.layers.Reshape).

    Args:
        target_shape: The shape without the batch; one size may be -1 for what is left.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, target_shape: ShapeLike, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        sizes: Any = (target_shape,) if isinstance(target_shape, int) else target_shape
        self.target_shape: tuple[int, ...] = tuple(int(n) for n in sizes)
        self._keep(target_shape=self.target_shape)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The batch, and the target shape with what -1 stands for.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The shape.

        Raises:
            ValueError: The sizes do not fit.
        """
        sizes = shapes.as_shape(input_shape).as_list()
        target = list(self.target_shape)
        if None in sizes[1:]:
            return shapes.TensorShape([sizes[0], *(None if n == -1 else n for n in target)])
        total, known = numbers.prod(sizes[1:]), numbers.prod(n for n in target if n != -1)
        fits = total == known if -1 not in target else target.count(-1) == 1 and known and total % known == 0
        if not fits:
            raise ValueError(
                f"The layer {self.name!r} cannot reshape inputs of shape {tuple(sizes)} to {tuple(target)}: total size "
                f"of new array must be unchanged, {total} is not {known}."
            )
        return shapes.TensorShape([sizes[0], *(total // known if n == -1 else n for n in target)])

    def call(self, inputs: Tensors) -> Any:
        """The inputs in the new shape.

        Args:
            inputs: A tensor of any shape.

        Returns:
            A tensor of the batch and the target shape.
        """
        wanted = self.compute_output_shape(inputs.shape)
        result = ops.reshape(inputs, [ops.shape(inputs)[0], *self.target_shape])
        result.set_shape(wanted)
        return result


class Permute(ConfiguredLayer):
    """Axes in another order (tf.keras.layers.Permute).

    Args:
        dims: The numbers of the axes in their new order; the first after the batch's is 1.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.

    Raises:
        ValueError: An axis is missing, or comes twice.
    """

    def __init__(self, dims: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims: tuple[int, ...] = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                f"Invalid permutation `dims` for Permute Layer: {self.dims}. It must have each axis from 1 on once."
            )
        self._keep(dims=self.dims)
        self.input_spec: InputSpec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Tensors) -> Any:
        """The inputs transposed.

        Args:
            inputs: A tensor of any shape.

        Returns:
            A tensor of those axes.
        """
        return ops.transpose(inputs, [0, *self.dims])

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The sizes in that order.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The shape.
        """
        sizes = shapes.as_shape(input_shape).as_list()
        return shapes.TensorShape([sizes[0], *(sizes[d] for d in self.dims)])


class RepeatVector(ConfiguredLayer):
    """Vectors n times each, as sequences (tf.keras.layers.RepeatVector).

    Args:
        n: How many times.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n
        self._keep(n=n)
        self.input_spec: InputSpec = InputSpec(ndim=2)

    def call(self, inputs: Tensors) -> Any:
        """The inputs repeated.

        Args:
            inputs: A tensor [batch, size].

        Returns:
            A tensor [batch, n, size].
        """
        return ops.tile(ops.expand_dims(inputs, 1), [1, self.n, 1])

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """[batch, n, size].

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The shape.
        """
        sizes = shapes.as_shape(input_shape).as_list()
        return shapes.TensorShape([sizes[0], self.n, sizes[1]])


class Masking(ConfiguredLayer):
    """Masks steps whose features all are mask_value (tf.keras.layers.Masking).

    Args:
        mask_value: The value of every feature of a step that is masked.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    supports_masking = True

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self._keep(mask_value=mask_value)

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """Whether a step is no mask.

        Args:
            inputs: A tensor [batch, steps, features].
            mask: Changes nothing.

        Returns:
            A bool tensor [batch, steps].
        """
        return ops.reduce_any(ops.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Tensors) -> Any:
        """The inputs, masked steps zero.

        Args:
            inputs: A tensor [batch, steps, features].

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        there = ops.reduce_any(ops.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        outputs = inputs * ops.cast(there, inputs.dtype)
        outputs._keras_mask = ops.squeeze(there, axis=-1)
        return outputs

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The input's shape.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The same shape.
        """
        return shapes.as_shape(input_shape)


class ActivityRegularization(ConfiguredLayer):
    """The inputs, which are regularized (tf.keras.layers.ActivityRegularization).

    Args:
        l1: What the sum of the absolute values is multiplied by.
        l2: What the sum of the squares is multiplied by.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    supports_masking = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=L1L2(l1, l2), **kwargs)
        self._keep(l1=l1, l2=l2)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The input's shape.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The same shape.
        """
        return shapes.as_shape(input_shape)

    def get_config(self) -> Config:
        """The arguments that make a layer like it."""
        return {k: v for k, v in super().get_config().items() if k != "activity_regularizer"}


def shapes_of(tensors: Tensors) -> Any:
    """The static shapes of a structure of tensors."""
    return nest.map_structure(shape_of, tensors)
