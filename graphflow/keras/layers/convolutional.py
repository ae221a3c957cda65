"""Convolutions (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntsLike
from graphflow._core.ops.array.array import shape as tensor_shape
from graphflow._core.ops.array.array import stack, transpose
from graphflow.keras import ops
from graphflow.keras.layers.base import ConfiguredLayer, layout_of
from graphflow.keras.typing import Named, Shapes, Tensors
from graphflow.keras.utils.windows import conv_output_length
from graphflow.layers import channelwise, convolutional
from graphflow.layers.arguments import integers, padding_of
from graphflow.layers.input_spec import InputSpec
from graphflow.nn import atrous_conv2d_transpose


class _Convolution(ConfiguredLayer):
    """The arguments of a convolution."""

    axes: Any = 2

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: IntsLike = 1,
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
        """Keeps the arguments.

        Args:
            filters: The number of output channels.
            kernel_size: The size of a window: an int, or one for each axis of space.
            strides: The steps from one window to the next: an int, or one for each axis of space.
            padding: "valid" for windows within the input alone, "same" for as many as there are steps; in one axis
                also "causal", where an output depends on no later input.
            data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
                default that of K.image_data_format().
            dilation_rate: The distance of a window's elements: an int, or one for each axis of space.
            activation: A function of tensors, or its name; None for none.
            use_bias: Whether a bias is added.
            kernel_initializer: What makes the kernel's initial value: an initializer, its name or configuration.
            bias_initializer: What makes the bias's initial value.
            kernel_regularizer: A function of the kernel whose result is added to the loss, or its name; None for
                none.
            bias_regularizer: The same of the bias.
            activity_regularizer: The same of the layer's output.
            kernel_constraint: A function that gives the kernel its value after each step of training, or its name;
                None for none.
            bias_constraint: The same of the bias.
            **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.

        Raises:
            ValueError: An argument has another number of axes, or names no padding or layout.
        """
        ConfiguredLayer.__init__(self, activity_regularizer=activity_regularizer, **kwargs)
        self._keep(
            filters=filters,
            kernel_size=integers(kernel_size, self.axes, "kernel_size"),
            strides=integers(strides, self.axes, "strides"),
            padding=padding_of(padding, causal=self.axes == 1),
            data_format=layout_of(data_format),
            dilation_rate=integers(dilation_rate, self.axes, "dilation_rate"),
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
        self.input_spec: InputSpec = InputSpec(ndim=self.axes + 2)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of what an input of that shape becomes."""
        own: Any = self
        first = own.data_format == "channels_first"
        sizes = shapes.as_shape(input_shape).as_list()
        space = sizes[2:] if first else sizes[1:-1]
        space = [
            conv_output_length(n, own.kernel_size[i], own.padding, own.strides[i], own.dilation_rate[i])
            for i, n in enumerate(space)
        ]
        return shapes.TensorShape([sizes[0], *([own.filters, *space] if first else [*space, own.filters])])


class Conv1D(convolutional.Conv1D, _Convolution):
    """A convolution of sequences [batch, steps, channels] (tf.keras.layers.Conv1D); padding may also be "causal"."""

    __init__ = _Convolution.__init__


class Conv2D(convolutional.Conv2D, _Convolution):
    """A convolution of images [batch, rows, columns, channels] (tf.keras.layers.Conv2D)."""

    __init__ = _Convolution.__init__


class Conv3D(convolutional.Conv3D, _Convolution):
    """A convolution of volumes [batch, planes, rows, columns, channels] (tf.keras.layers.Conv3D)."""

    __init__ = _Convolution.__init__


class _Transposed(_Convolution):
    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        output_padding: IntsLike | None = None,
        data_format: str | None = None,
        dilation_rate: IntsLike = 1,
        **kwargs: Any,
    ) -> None:
        """Keeps the arguments.

        Args:
            filters: The number of output channels.
            kernel_size: The size of a window: an int, or one for each axis of space.
            strides: The steps from one window to the next: an int, or one for each axis of space.
            padding: "valid" for windows within the input alone, "same" for as many as there are steps.
            output_padding: How many elements are added to the end of each axis, less than its stride; by default what
                fits.
            data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
                default that of K.image_data_format().
            dilation_rate: The distance of a window's elements, for images alone: an int, or one that is the same for
                each axis of space.
            **kwargs: The other arguments of a convolution, such as `activation` and `kernel_initializer`, and those
                of every layer.

        Raises:
            ValueError: Dilated volumes, axes of different rates, or a dilation together with strides.
        """
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, **kwargs)
        rates: tuple[int, ...] = integers(dilation_rate, self.axes, "dilation_rate")
        if max(rates) > 1 and (
            self.axes != 2 or len(set(rates)) > 1 or max(integers(strides, self.axes, "strides")) > 1
        ):
            raise ValueError(
                f"A transposed convolution may be dilated for images, alike in both axes and with strides of 1: got "
                f"dilation_rate={rates} and strides={strides} for {self.axes} axes. Drop one of them."
            )
        self._keep(
            output_padding=None
            if output_padding is None
            else integers(output_padding, self.axes, "output_padding")
        )


class Conv2DTranspose(channelwise.Conv2DTranspose, _Transposed):
    """Images enlarged by a transposed convolution (tf.keras.layers.Conv2DTranspose)."""

    __init__ = _Transposed.__init__

    def _enlarged(self, size: Any, axis: int) -> Any:
        given: Any = self.__dict__["output_padding"]
        if size is None:
            return None
        window = self._rate * (self.kernel_size[axis] - 1) + 1
        if given is None:
            more = max(window - self.strides[axis], 0) if self.padding == "valid" else 0
            return size * self.strides[axis] + more
        pad = window // 2 if self.padding == "same" else 0
        return (size - 1) * self.strides[axis] + window - 2 * pad + given[axis]

    @property
    def _rate(self) -> int:
        rate: int = self.__dict__["dilation_rate"][0]
        return rate

    def convolved(self, inputs: Tensor) -> Tensor:
        """The inputs enlarged by the kernel, whose elements are as far apart as `dilation_rate` says.

        Args:
            inputs: Images, [batch, rows, columns, channels] or as `data_format` says.

        Returns:
            A tensor of the same dtype and layout, with `filters` channels.
        """
        if self._rate == 1:
            return super().convolved(inputs)
        first = self.data_format == "channels_first"
        images = transpose(inputs, [0, 2, 3, 1]) if first else inputs
        sizes = tensor_shape(images)
        space = [self._enlarged(sizes[1 + axis], axis) for axis in range(2)]
        wanted = stack([sizes[0], *space, self.filters])
        found = atrous_conv2d_transpose(images, self.kernel, wanted, self._rate, self.padding.upper())
        outputs = transpose(found, [0, 3, 1, 2]) if first else found
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs


class Conv3DTranspose(channelwise.Conv3DTranspose, _Transposed):
    """Volumes enlarged by a transposed convolution (tf.keras.layers.Conv3DTranspose)."""

    __init__ = _Transposed.__init__


class _Separable(_Convolution):
    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: IntsLike = 1,
        depth_multiplier: int = 1,
        activation: Named = None,
        use_bias: bool = True,
        depthwise_initializer: Named = "glorot_uniform",
        pointwise_initializer: Named = "glorot_uniform",
        bias_initializer: Named = "zeros",
        depthwise_regularizer: Named = None,
        pointwise_regularizer: Named = None,
        bias_regularizer: Named = None,
        activity_regularizer: Named = None,
        depthwise_constraint: Named = None,
        pointwise_constraint: Named = None,
        bias_constraint: Named = None,
        **kwargs: Any,
    ) -> None:
        """Keeps the arguments.

        Args:
            filters: The number of output channels.
            kernel_size: The size of a window: an int, or one for each axis of space.
            strides: The steps from one window to the next: an int, or one for each axis of space.
            padding: "valid" for windows within the input alone, "same" for as many as there are steps.
            data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
                default that of K.image_data_format().
            dilation_rate: The distance of a window's elements: an int, or one for each axis of space.
            depth_multiplier: How many outputs each channel has before they are put together.
            activation: A function of tensors, or its name; None for none.
            use_bias: Whether a bias is added.
            depthwise_initializer: What makes the initial value of the kernel of each channel.
            pointwise_initializer: What makes the initial value of the kernel across channels.
            bias_initializer: What makes the bias's initial value.
            depthwise_regularizer: A function of the kernel of each channel whose result is added to the loss, or its
                name.
            pointwise_regularizer: The same of the kernel across channels.
            bias_regularizer: The same of the bias.
            activity_regularizer: The same of the layer's output.
            depthwise_constraint: A function that gives the kernel of each channel its value after each step of
                training, or its name.
            pointwise_constraint: The same of the kernel across channels.
            bias_constraint: The same of the bias.
            **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
        """
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self._config_names = [
            name for name in self.__dict__["_config_names"] if not name.startswith("kernel_i")
        ]
        self._config_names = [
            n for n in self._config_names if n not in ("kernel_regularizer", "kernel_constraint")
        ]
        self._keep(
            depth_multiplier=depth_multiplier, depthwise_initializer=depthwise_initializer,
            pointwise_initializer=pointwise_initializer, depthwise_regularizer=depthwise_regularizer,
            pointwise_regularizer=pointwise_regularizer, depthwise_constraint=depthwise_constraint,
            pointwise_constraint=pointwise_constraint,
        )  # fmt: skip


class SeparableConv1D(channelwise.SeparableConv1D, _Separable):
    """Sequences convolved channel by channel, then mixed (tf.keras.layers.SeparableConv1D)."""

    __init__ = _Separable.__init__


class SeparableConv2D(channelwise.SeparableConv2D, _Separable):
    """Images convolved channel by channel, then mixed (tf.keras.layers.SeparableConv2D)."""

    __init__ = _Separable.__init__


class DepthwiseConv2D(_Convolution):
    """Images convolved channel by channel, depth_multiplier filters each (tf.keras.layers.DepthwiseConv2D).

    Args:
        kernel_size: The size of a window: an int, or one for each axis of space.
        strides: The steps from one window to the next: an int, or one for each axis of space.
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        depth_multiplier: How many filters each channel has.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        activation: A function of tensors, or its name; None for none.
        use_bias: Whether a bias is added.
        depthwise_initializer: What makes the initial value of the kernel of each channel.
        bias_initializer: What makes the bias's initial value.
        depthwise_regularizer: A function of the kernel of each channel whose result is added to the loss, or its
            name.
        bias_regularizer: The same of the bias.
        activity_regularizer: The same of the layer's output.
        depthwise_constraint: A function that gives the kernel of each channel its value after each step of training,
            or its name.
        bias_constraint: The same of the bias.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(
        self,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Named = None,
        use_bias: bool = True,
        depthwise_initializer: Named = "glorot_uniform",
        bias_initializer: Named = "zeros",
        depthwise_regularizer: Named = None,
        bias_regularizer: Named = None,
        activity_regularizer: Named = None,
        depthwise_constraint: Named = None,
        bias_constraint: Named = None,
        **kwargs: Any,
    ) -> None:
        dilation = kwargs.pop("dilation_rate", 1)
        super().__init__(
            0, kernel_size, strides, padding, data_format, dilation, activation, use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        gone = ("filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint", "dilation_rate")
        self._config_names = [name for name in self.__dict__["_config_names"] if name not in gone]
        self._keep(
            depth_multiplier=depth_multiplier, depthwise_initializer=depthwise_initializer,
            depthwise_regularizer=depthwise_regularizer, depthwise_constraint=depthwise_constraint,
        )  # fmt: skip

    def build(self, input_shape: Shapes) -> None:
        """Makes kernel and bias.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Raises:
            ValueError: The number of channels is not known.
        """
        own: Any = self
        axis = 1 if own.data_format == "channels_first" else -1
        channels = shapes.as_shape(input_shape).as_list()[axis]
        if channels is None:
            raise ValueError(
                f"The channels of the inputs to {self.name!r} should be known, but their shape is {input_shape}."
            )
        own.filters = channels * own.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", (*own.kernel_size, channels, own.depth_multiplier),
            initializer=own.depthwise_initializer, regularizer=own.depthwise_regularizer,
            constraint=own.depthwise_constraint,
        )  # fmt: skip
        self.bias = None if not own.use_bias else self.add_weight(
            "bias", (own.filters,), initializer=own.bias_initializer, regularizer=own.bias_regularizer,
            constraint=own.bias_constraint,
        )  # fmt: skip
        self.built = True

    def call(self, inputs: Tensors) -> Any:
        """The convolution, the bias and the activation.

        Args:
            inputs: Images [batch, rows, columns, channels], or as `data_format` says.

        Returns:
            A tensor [batch, rows, columns, channels * depth_multiplier], or as `data_format` says.
        """
        own: Any = self
        first = own.data_format == "channels_first"
        strides = [1, 1, *own.strides] if first else [1, *own.strides, 1]
        layout = "NCHW" if first else "NHWC"
        outputs = ops.depthwise_conv2d(
            inputs,
            self.depthwise_kernel,
            strides,
            own.padding.upper(),
            rate=own.dilation_rate,
            data_format=layout,
        )
        if self.bias is not None:
            outputs = ops.bias_add(outputs, self.bias, data_format=layout)
        return own.activation(outputs)
