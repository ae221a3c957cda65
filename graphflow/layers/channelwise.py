"""Convolution layers that enlarge their inputs, and those that work channel by channel first (tf.layers)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import count_more
from graphflow._core.graph.types import (
    Activation,
    Constraint,
    DTypeLike,
    Initializer,
    IntsLike,
    Regularizer,
    ShapeLike,
    TensorLike,
    VariableLike,
)
from graphflow._core.ops.array import array
from graphflow._core.ops.array.layout import pad
from graphflow._core.ops.nn.volumes import conv3d_transpose as transpose_3d
from graphflow._core.ops.state.initializers import Zeros
from graphflow.layers.arguments import initializer_of
from graphflow.layers.base import functional
from graphflow.layers.convolutional import Convolution
from graphflow.layers.pooling import FORMATS
from graphflow.nn import bias_add
from graphflow.nn import conv2d_transpose as transpose_2d
from graphflow.nn import separable_conv2d as convolve_apart

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope


class Transposed(Convolution):
    """What the layers that enlarge share: the gradient of a convolution to its input, as a layer (Zeiler et al. 2010).

    An axis of n becomes n * stride, and with "valid" padding max(kernel - stride, 0) more. Variables: kernel
    [*kernel_size, filters, channels], bias [filters].

    Args:
        filters: How many channels the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        strides: How far the window moves, an integer or one for each axis.
        padding: "valid" or "same"; of sequences also "causal".
        data_format: "channels_last" or "channels_first".
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
    """

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
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
        super().__init__(
            filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, trainable, name, dtype, _scope, _reuse,
        )  # fmt: skip

    def kernel_shape(self, channels: int) -> list[int]:
        """The kernel's shape for a number of input channels."""
        return [*self.kernel_size, self.filters, channels]

    def _enlarged(self, size: Any, axis: int) -> Any:
        """A size along an axis after the layer; of a number, a tensor or None."""
        if size is None:
            return None
        size = size * self.strides[axis]
        more = max(self.kernel_size[axis] - self.strides[axis], 0)
        return size + more if self.padding == "valid" else size

    def _arranged(self, batch: Any, space: Any) -> list[Any]:
        last = [*space, self.filters]
        return [batch, *(last if self.data_format == "channels_last" else [last[-1], *last[:-1]])]

    def convolved(self, inputs: Tensor) -> Tensor:
        """The inputs enlarged by the kernel."""
        sizes = array.shape(inputs)
        start = 1 if self.data_format == "channels_last" else 2
        batch, *space = [sizes[0]] + [sizes[start + axis] for axis in range(self.axes)]
        wanted = array.stack(self._arranged(batch, [self._enlarged(n, axis) for axis, n in enumerate(space)]))
        function = transpose_2d if self.axes == 2 else transpose_3d
        outputs = function(
            inputs, self.kernel, wanted, self.strides, self.padding.upper(), data_format=self.format
        )
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        count_more(4 if self.axes == 2 else 0)  # A size of the shape that TensorFlow asks for.
        return outputs

    def compute_output_shape(self, input_shape: ShapeLike) -> shapes.TensorShape:
        """The shape of what an input of that shape becomes."""
        sizes = shapes.as_shape(input_shape).as_list()
        space = sizes[1:-1] if self.data_format == "channels_last" else sizes[2:]
        return shapes.TensorShape(
            self._arranged(sizes[0], [self._enlarged(n, axis) for axis, n in enumerate(space)])
        )


class Conv2DTranspose(Transposed):
    """Images enlarged by a transposed convolution, + bias, activated (tf.layers.Conv2DTranspose); see Transposed."""

    axes = 2


class Conv3DTranspose(Transposed):
    """Volumes enlarged by a transposed convolution, + bias, activated (tf.layers.Conv3DTranspose); see Transposed."""

    axes = 3


class Separable(Convolution):
    """What the layers share that convolve each channel by itself, and then mix the channels.

    Variables: depthwise_kernel [*kernel_size, channels, depth_multiplier], pointwise_kernel [*ones, channels *
    depth_multiplier, filters], bias.

    Args:
        filters: How many channels the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        strides: How far the window moves, an integer or one for each axis.
        padding: "valid" or "same"; of sequences also "causal".
        data_format: "channels_last" or "channels_first".
        dilation_rate: How far apart the window's elements are, an integer or one for each axis.
        depth_multiplier: How many outputs each channel gives before they are mixed.
        activation: A function of the outputs, or its name.
        use_bias: Whether there is a bias.
        depthwise_initializer: What the first kernel begins with.
        pointwise_initializer: What the second kernel begins with.
        bias_initializer: What the bias begins with.
        depthwise_regularizer: From the first kernel to a scalar that is added to the losses, or None.
        pointwise_regularizer: The same of the second kernel.
        bias_regularizer: The same of the bias.
        activity_regularizer: From the outputs to a scalar that is added to the losses, or None.
        depthwise_constraint: From the first kernel that an optimizer's update gives to the one that it becomes.
        pointwise_constraint: The same of the second kernel.
        bias_constraint: The same of the bias.
        trainable: Whether its variables are among those that optimizers train.
        name: Of its variables and operations; by default that of the class in small letters, made unique.
        dtype: Of the variables; by default that of the first input.
        _scope: The variable scope, for the functions of gf.layers.
        _reuse: Whether the variables of that scope are taken again, for the functions of gf.layers.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: IntsLike = 1,
        depth_multiplier: int = 1,
        activation: Activation | str | None = None,
        use_bias: bool = True,
        depthwise_initializer: Initializer | str | None = None,
        pointwise_initializer: Initializer | str | None = None,
        bias_initializer: Initializer | str = Zeros(),
        depthwise_regularizer: Regularizer | None = None,
        pointwise_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        depthwise_constraint: Constraint | None = None,
        pointwise_constraint: Constraint | None = None,
        bias_constraint: Constraint | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, None,
            bias_initializer, None, bias_regularizer, activity_regularizer, None, bias_constraint, trainable, name,
            dtype, _scope, _reuse,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer: Initializer | None = initializer_of(depthwise_initializer)
        self.pointwise_initializer: Initializer | None = initializer_of(pointwise_initializer)
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint

    def build(self, input_shape: ShapeLike) -> None:
        """Makes the two kernels and the bias."""
        channels = self.channels_of(input_shape)
        self.depthwise_kernel: VariableLike = self.add_weight(
            "depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer, regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )  # fmt: skip
        self.pointwise_kernel: VariableLike = self.add_weight(
            "pointwise_kernel", [*[1] * self.axes, channels * self.depth_multiplier, self.filters],
            initializer=self.pointwise_initializer, regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )  # fmt: skip
        self.add_bias()
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """The inputs convolved channel by channel and mixed, the bias and the activation."""
        first = self.data_format == "channels_first"
        depthwise: TensorLike = self.depthwise_kernel
        pointwise: TensorLike = self.pointwise_kernel
        steps, rate, padding = self.strides, self.dilation_rate, self.padding
        if self.axes == 1:
            if padding == "causal":
                before = [rate[0] * (self.kernel_size[0] - 1), 0]
                inputs = pad(inputs, [[0, 0], [0, 0], before] if first else [[0, 0], before, [0, 0]])
                padding = "valid"
            # A sequence is an image of one row; the steps of both axes must be the same.
            steps, rate = steps * 2, (1, *rate)
            inputs = array.expand_dims(inputs, 2 if first else 1)
            depthwise, pointwise = array.expand_dims(depthwise, 0), array.expand_dims(pointwise, 0)
        around = (1, 1, *steps) if first else (1, *steps, 1)
        layout = FORMATS[2, self.data_format]
        outputs = convolve_apart(
            inputs, depthwise, pointwise, around, padding.upper(), rate, data_format=layout
        )
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=layout)
        if self.axes == 1:
            outputs = array.squeeze(outputs, 2 if first else 1)
        result: Tensor = outputs if self.activation is None else self.activation(outputs)
        return result


class SeparableConv1D(Separable):
    """Sequences convolved channel by channel, then mixed (tf.layers.SeparableConv1D; Chollet 2017); see Separable."""

    axes = 1


class SeparableConv2D(Separable):
    """Images convolved channel by channel, then mixed (tf.layers.SeparableConv2D; Chollet 2017); see Separable."""

    axes = 2


conv2d_transpose: Final[Callable[..., Tensor]] = functional(Conv2DTranspose, "conv2d_transpose")
conv3d_transpose: Final[Callable[..., Tensor]] = functional(Conv3DTranspose, "conv3d_transpose")
separable_conv1d: Final[Callable[..., Tensor]] = functional(SeparableConv1D, "separable_conv1d")
separable_conv2d: Final[Callable[..., Tensor]] = functional(SeparableConv2D, "separable_conv2d")
