"""Generalized divisive normalization, by which compression of images is learned (tf.contrib.layers.gdn)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape, as_shape
from graphflow._core.graph.types import DTypeLike, Regularizer, ShapeLike, TensorLike
from graphflow._core.ops.array.compositions import eye
from graphflow._core.ops.array.creation import ones
from graphflow._core.ops.array.shaping import reshape
from graphflow._core.ops.control_flow.custom_gradient import custom_gradient
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math.math import cast, greater_equal, less, logical_or, maximum, sqrt, square
from graphflow._core.ops.state.initializers import Initializer
from graphflow.layers.arguments import layout_of
from graphflow.layers.base import Layer
from graphflow.layers.input_spec import InputSpec
from graphflow.nn import bias_add, convolution

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope

_FORMATS: Final = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


class _Root(Initializer):
    """The square root of an initial value, and a little more, of which the variable is the root."""

    def __init__(self, factor: float, pedestal: float) -> None:
        self.factor = factor
        self.pedestal = pedestal

    def make(self, shape: Any, dtype: DType, partition_info: Any) -> Tensor:
        whole = ones(shape, dtype) if len(shape) == 1 else self.factor * eye(shape[0], dtype=dtype)
        return sqrt(whole + constant(self.pedestal, dtype))


def _at_least(values: Any, bound: float) -> Tensor:
    """maximum(values, bound), whose gradient also reaches values below it if it raises them."""

    @custom_gradient
    def bounded(given: Tensor) -> Any:
        least = constant(bound, given.dtype)

        def backward(gradient: Tensor) -> Tensor:
            passes = logical_or(greater_equal(given, least), less(gradient, constant(0, gradient.dtype)))
            return cast(passes, gradient.dtype) * gradient

        return maximum(given, least), backward

    result: Tensor = bounded(convert_to_tensor(values))
    return result


class GDN(Layer):
    """Each channel divided by sqrt(beta + gamma @ squares of all channels) at its place (tf.contrib.layers.GDN).

    Generalized divisive normalization (Ballé, Laparra and Simoncelli, 2016). Its variables, reparam_beta and
    reparam_gamma, are roots of beta and gamma, which keeps both above 0.

    Args:
        inverse: Whether to multiply by the root, which roughly undoes a division.
        beta_min: The least value of beta.
        gamma_init: gamma begins as the identity matrix times this.
        reparam_offset: How far the roots stay from 0, so that gradients do not vanish there.
        data_format: "channels_last" or "channels_first".
        activity_regularizer: From the outputs to a scalar that is added to the losses, or None.
        trainable: Whether its variables are among those that optimizers train.
        name: Of its variables and operations; by default "gdn", made unique.
        dtype: Of the variables; by default that of the first input.
        _scope: The variable scope, for the function gdn.
        _reuse: Whether the variables of that scope are taken again, for the function gdn.

    Raises:
        ValueError: For another data_format, and when it is called: for inputs of other than three to five axes, or
            whose number of channels is not known.
    """

    def __init__(
        self,
        inverse: bool = False,
        beta_min: float = 1e-6,
        gamma_init: float = 0.1,
        reparam_offset: float = 2**-18,
        data_format: str = "channels_last",
        activity_regularizer: Regularizer | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(trainable, name, dtype, activity_regularizer, _scope, _reuse)
        self.inverse = inverse
        self.data_format: str = layout_of(data_format)
        self._beta_min = beta_min
        self._gamma_init = gamma_init
        self._offset = reparam_offset
        self.input_spec: InputSpec = InputSpec(min_ndim=3, max_ndim=5)

    @property
    def _axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    def build(self, input_shape: ShapeLike) -> None:
        """Makes the variables, beta and gamma.

        Args:
            input_shape: The shape of the inputs.
        """
        sizes = as_shape(input_shape).as_list()
        channels = sizes[self._axis]
        if channels is None:
            raise ValueError(
                f"The channel dimension of the inputs to `GDN` must be defined, but their shape is {input_shape}."
            )
        self.input_spec = InputSpec(ndim=len(sizes), axes={self._axis: channels})
        pedestal = self._offset**2
        root_of_beta = self.add_weight("reparam_beta", [channels], initializer=_Root(1.0, pedestal))
        self.beta: Tensor = square(_at_least(root_of_beta, (self._beta_min + pedestal) ** 0.5)) - pedestal
        initial = _Root(self._gamma_init, pedestal)
        root_of_gamma = self.add_weight("reparam_gamma", [channels, channels], initializer=initial)
        self.gamma: Tensor = square(_at_least(root_of_gamma, self._offset)) - pedestal
        self.built = True

    def call(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The normalised inputs.

        Args:
            inputs: A tensor of three to five axes.
            *args: None.
            **kwargs: None.

        Returns:
            A tensor like the inputs.
        """
        rank = len(inputs.shape.as_list())
        window = reshape(self.gamma, [1] * (rank - 2) + self.gamma.shape.as_list())
        format = _FORMATS[rank] if self.data_format == "channels_first" else None
        pool = convolution(square(inputs), window, "VALID", data_format=format)
        root = sqrt(bias_add(pool, self.beta, format and "NCHW"))
        outputs: Tensor = inputs * root if self.inverse else inputs / root
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """The shape of the inputs.

        Args:
            input_shape: The shape of the inputs.

        Raises:
            ValueError: For other than three to five axes, or if the number of channels is not known.
        """
        shape = as_shape(input_shape)
        if shape.ndims is None or not 3 <= shape.ndims <= 5:
            raise ValueError("`input_shape` must be of rank 3 to 5, inclusive.")
        if shape.as_list()[self._axis] is None:
            raise ValueError("The channel dimension of `input_shape` must be defined.")
        return shape


def gdn(
    inputs: TensorLike,
    inverse: bool = False,
    beta_min: float = 1e-6,
    gamma_init: float = 0.1,
    reparam_offset: float = 2**-18,
    data_format: str = "channels_last",
    activity_regularizer: Regularizer | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | ReuseMode | None = None,
) -> Tensor:
    """A GDN layer made and called on `inputs` (tf.contrib.layers.gdn): see there.

    Args:
        inputs: A tensor of three to five axes, whose number of channels is known.
        inverse: Whether to multiply by the root, which roughly undoes a division.
        beta_min: The least value of beta.
        gamma_init: gamma begins as the identity matrix times this.
        reparam_offset: How far the roots stay from 0, so that gradients do not vanish there.
        data_format: "channels_last" or "channels_first".
        activity_regularizer: From the outputs to a scalar that is added to the losses, or None.
        trainable: Whether its variables are among those that optimizers train.
        name: The variable scope; by default "gdn", made unique.
        reuse: Whether to take the variables of an earlier layer of that name.

    Returns:
        A tensor like the inputs.

    Raises:
        ValueError: For another data_format.

    Examples:
        >>> with gf.Session() as session:
        ...     y = gf.contrib.layers.gdn(gf.ones([1, 2, 2, 1]), gamma_init=3.0)
        ...     session.run(gf.global_variables_initializer())
        ...     print(session.run(y)[0, 0, 0].round(4))
        [0.5]
    """
    given = convert_to_tensor(inputs)
    layer = GDN(
        inverse,
        beta_min,
        gamma_init,
        reparam_offset,
        data_format,
        activity_regularizer,
        trainable,
        name,
        given.dtype,
        _scope=name,
        _reuse=reuse,
    )
    outputs: Tensor = layer(given)
    return outputs
