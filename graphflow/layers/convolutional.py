"""Convolution layers of one to three axes (tf.layers). Those that enlarge or work by channel are in `channelwise`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import (
    Activation,
    Constraint,
    DTypeLike,
    Initializer,
    IntsLike,
    Regularizer,
    ShapeLike,
    VariableLike,
)
from graphflow._core.ops.array import array
from graphflow._core.ops.array.layout import pad
from graphflow._core.ops.core import constant
from graphflow._core.ops.nn.convolution import conv2d as convolve_2d
from graphflow._core.ops.nn.volumes import conv3d as convolve_3d
from graphflow._core.ops.state.initializers import Zeros
from graphflow.layers.arguments import activation_of, initializer_of, integers, layout_of, padding_of
from graphflow.layers.base import Layer, functional
from graphflow.layers.input_spec import InputSpec
from graphflow.layers.pooling import FORMATS
from graphflow.nn import bias_add
from graphflow.nn import conv1d as convolve_1d
from graphflow.nn.convolutions import count_dilation

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope


class Convolution(Layer):
    """What the convolution layers share; those derived say over how many axes.

    strides and dilation_rate must not both be above 1. Variables: kernel [*kernel_size, channels, filters],
    bias [filters].

    Args:
        filters: How many channels the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        strides: How far the window moves, an integer or one for each axis.
        padding: "valid" or "same"; of sequences also "causal".
        data_format: "channels_last" or "channels_first".
        dilation_rate: How far apart the window's elements are, an integer or one for each axis.
        activation: A function of the outputs, or its name.
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

    Raises:
        ValueError: If the inputs have another rank, or the number of their channels is not known.
    """

    axes: ClassVar[int]

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: IntsLike = 1,
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
        self.filters = filters
        self.kernel_size: tuple[int, ...] = integers(kernel_size, self.axes, "kernel_size")
        self.strides: tuple[int, ...] = integers(strides, self.axes, "strides")
        self.padding: str = padding_of(padding, causal=self.axes == 1)
        self.data_format: str = layout_of(data_format)
        self.dilation_rate: tuple[int, ...] = integers(dilation_rate, self.axes, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"strides > 1 not supported in conjunction with dilation_rate > 1: got {self.strides} and "
                f"{self.dilation_rate} for the layer {self.name!r}."
            )
        self.activation: Activation | None = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer: Initializer | None = initializer_of(kernel_initializer)
        self.bias_initializer: Initializer | None = initializer_of(bias_initializer)
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec: InputSpec = InputSpec(ndim=self.axes + 2)

    @property
    def format(self) -> str:
        """The layout of the inputs in the terms of gf.nn, such as "NHWC"."""
        return FORMATS[self.axes, self.data_format]

    def channels_of(self, input_shape: ShapeLike) -> int:
        """The number of channels of an input; ValueError if it is not known."""
        axis = 1 if self.data_format == "channels_first" else -1
        size = shapes.as_shape(input_shape).as_list()[axis]
        if size is None:
            raise ValueError(
                f"The channel dimension of the inputs should be defined. Found `None`. The inputs of the layer "
                f"{self.name!r} have shape {input_shape}: give the placeholder's shape, or set_shape the input."
            )
        self.input_spec = InputSpec(ndim=self.axes + 2, axes={axis: size})
        return size

    def kernel_shape(self, channels: int) -> list[int]:
        """The kernel's shape for a number of input channels."""
        return [*self.kernel_size, channels, self.filters]

    def add_bias(self) -> None:
        """Makes the bias, if there is one."""
        self.bias: Any = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [self.filters], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip

    def build(self, input_shape: ShapeLike) -> None:
        """Makes kernel and bias."""
        self.kernel: VariableLike = self.add_weight(
            "kernel", self.kernel_shape(self.channels_of(input_shape)), initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint,
        )  # fmt: skip
        self.add_bias()
        self.built = True

    def convolved(self, inputs: Tensor) -> Tensor:
        """The inputs convolved with the kernel; without bias and activation."""
        count_dilation(self.dilation_rate, self.padding.upper())
        if self.axes == 3:
            return convolve_3d(
                inputs, self.kernel, self.strides, self.padding.upper(), self.format, self.dilation_rate,
                name="Conv3D",
            )  # fmt: skip
        return convolve_2d(
            inputs, self.kernel, self.strides, self.padding.upper(), data_format=self.format,
            dilations=self.dilation_rate, name="Conv2D",
        )  # fmt: skip

    def call(self, inputs: Any) -> Tensor:
        """The convolution, the bias and the activation."""
        outputs = self.convolved(inputs)
        if self.use_bias:
            if self.axes == 1 and self.data_format == "channels_first":
                outputs = outputs + array.reshape(self.bias, (1, self.filters, 1))
            else:
                outputs = bias_add(outputs, self.bias, data_format=self.format)
        result: Tensor = outputs if self.activation is None else self.activation(outputs)
        return result


class _Forward(Convolution):
    """A convolution layer whose graph has as many operations as TensorFlow's, so that later seeds are the same."""

    def build(self, input_shape: Any) -> None:
        """Makes kernel and bias, and a constant that nothing reads."""
        super().build(input_shape)
        constant(self.dilation_rate, name="dilation_rate")


class Conv1D(_Forward):
    """activation(the inputs, [batch, steps, channels], convolved with a kernel, + bias) (tf.layers.Conv1D).

    padding may also be "causal": an output then depends on no later input. The rest is as in Convolution.
    """

    axes = 1

    def convolved(self, inputs: Tensor) -> Tensor:
        """The inputs convolved with the kernel, padded before if that is causal.

        Args:
            inputs: A tensor, whose shape the class describes.
        """
        padding = self.padding
        count_dilation(self.dilation_rate, "SAME" if padding == "same" else "VALID")
        if padding == "causal":
            before = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
            first = self.data_format == "channels_first"
            inputs = pad(inputs, [[0, 0], [0, 0], before] if first else [[0, 0], before, [0, 0]])
            padding = "valid"
        return convolve_1d(
            inputs, self.kernel, self.strides[0], padding.upper(), data_format=self.format,
            dilations=self.dilation_rate[0],
        )  # fmt: skip


class Conv2D(_Forward):
    """activation(the inputs, [batch, rows, columns, channels], convolved with a kernel, + bias) (tf.layers.Conv2D).

    For the arguments see Convolution.
    """

    axes = 2


class Conv3D(_Forward):
    """activation(the inputs, [batch, planes, rows, columns, channels], convolved, + bias) (tf.layers.Conv3D).

    For the arguments see Convolution.
    """

    axes = 3


conv1d: Final[Callable[..., Tensor]] = functional(Conv1D, "conv1d")
conv2d: Final[Callable[..., Tensor]] = functional(
    Conv2D,
    "conv2d",
    example=("gf.layers.conv2d(gf.ones([1, 8, 8, 1]), 4, 3).shape", "TensorShape([1, 6, 6, 4])"),
)
conv3d: Final[Callable[..., Tensor]] = functional(Conv3D, "conv3d")
