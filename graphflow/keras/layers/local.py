"""Convolutions whose every window has a kernel of its own (tf.keras.layers)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import shapes
from graphflow._core.graph.types import IntsLike
from graphflow.keras import ops
from graphflow.keras.backend.local import local_conv
from graphflow.keras.layers.base import ConfiguredLayer, layout_of
from graphflow.keras.typing import Named, Shapes, Tensors
from graphflow.keras.utils.windows import conv_output_length
from graphflow.layers.arguments import integers, padding_of
from graphflow.layers.input_spec import InputSpec


class _LocallyConnected(ConfiguredLayer):
    """The arguments, kernel and bias."""

    axes: int

    def __init__(
        self, filters: int, kernel_size: IntsLike, strides: IntsLike = 1, padding: str = "valid",
        data_format: str | None = None, activation: Named = None, use_bias: bool = True,
        kernel_initializer: Named = "glorot_uniform", bias_initializer: Named = "zeros",
        kernel_regularizer: Named = None, bias_regularizer: Named = None, activity_regularizer: Named = None,
        kernel_constraint: Named = None, bias_constraint: Named = None, implementation: int = 1, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Keeps the arguments.

        Args:
            filters: The number of output channels.
            kernel_size: The size of a window: an int, or one for each axis of space.
            strides: The steps from one window to the next: an int, or one for each axis of space.
            padding: "valid" for windows within the input alone; "same", which implementation 1 does not have, for one
                window at each step.
            data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
                default that of K.image_data_format().
            activation: A function of tensors, or its name; None for none.
            use_bias: Whether a bias is added, another at each place.
            kernel_initializer: What makes the kernels' initial values: an initializer, its name or configuration.
            bias_initializer: What makes the bias's initial value.
            kernel_regularizer: A function of the kernels whose result is added to the loss, or its name.
            bias_regularizer: The same of the bias.
            activity_regularizer: The same of the layer's output.
            kernel_constraint: A function that gives the kernels their value after each step of training, or its name.
            bias_constraint: The same of the bias.
            implementation: How the kernel is kept: 1, as [windows, elements of a window, filters]; 2, as one number for
                each pair of an input's and an output's element, of which those that are not connected do not count; 3,
                as a vector of the numbers that count.
            **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.

        Raises:
            ValueError: An argument has another number of axes, or `implementation` is another or has not the padding.
        """
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        padding = padding_of(padding)
        if implementation not in (1, 2, 3):
            raise ValueError(f"{type(self).__name__} has implementations 1, 2 and 3, not {implementation}.")
        if padding != "valid" and implementation == 1:
            raise ValueError(
                f'{type(self).__name__} has padding="valid" with implementation=1, not {padding!r}: take 2 or 3.'
            )
        self._keep(
            filters=filters, kernel_size=integers(kernel_size, self.axes, "kernel_size"),
            strides=integers(strides, self.axes, "strides"), padding=padding, data_format=layout_of(data_format),
            activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer, activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint, bias_constraint=bias_constraint, implementation=implementation,
        )  # fmt: skip
        self.input_spec: Any = InputSpec(ndim=self.axes + 2)

    def _space(self, input_shape: Any) -> tuple[list[Any], Any, list[Any]]:
        """The sizes of an input in space, its channels, and the sizes of the output in space."""
        own: Any = self
        sizes = shapes.as_shape(input_shape).as_list()
        first = own.data_format == "channels_first"
        space, depth = (sizes[2:], sizes[1]) if first else (sizes[1:-1], sizes[-1])
        after = [
            conv_output_length(n, own.kernel_size[i], own.padding, own.strides[i])
            for i, n in enumerate(space)
        ]
        return space, depth, after

    def build(self, input_shape: Shapes) -> None:
        """Makes kernel and bias.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Raises:
            ValueError: A size of the inputs is not known.
        """
        own: Any = self
        space, depth, after = self._space(input_shape)
        if None in (*space, depth):
            raise ValueError(
                f"The layer {self.name!r} ({type(self).__name__}) has a kernel for each place: the shape of its inputs "
                f"should be known, but is {input_shape}."
            )
        first = own.data_format == "channels_first"
        self._mask: Any = None
        if own.implementation == 1:
            dims: tuple[int, ...] = (math.prod(after), math.prod(own.kernel_size) * depth, own.filters)
        else:
            self._mask = connections(space, own.kernel_size, own.strides, own.padding, first)
            dims = (depth, *space, own.filters, *after) if first else (*space, depth, *after, own.filters)
            if own.implementation == 3:
                pairs = np.argwhere(np.broadcast_to(self._mask, dims).reshape(math.prod(space) * depth, -1).T)
                self._pairs: Any = pairs
                dims = (len(pairs),)
        self.kernel: Any = self.add_weight(
            "kernel", dims, initializer=own.kernel_initializer,
            regularizer=own.kernel_regularizer, constraint=own.kernel_constraint,
        )  # fmt: skip
        self.bias: Any = None
        if own.use_bias:
            self.bias = self.add_weight(
                "bias", (*after, own.filters), initializer=own.bias_initializer, regularizer=own.bias_regularizer,
                constraint=own.bias_constraint,
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Tensors) -> Any:
        """Each window times its kernel, and the bias.

        Args:
            inputs: A tensor of the layer's layout.

        Returns:
            A tensor of the same layout.
        """
        own: Any = self
        space, depth, after = self._space(inputs.shape)
        first = own.data_format == "channels_first"
        if own.implementation == 1:
            output = local_conv(inputs, self.kernel, own.kernel_size, own.strides, after, own.data_format)
        else:
            many, given = math.prod(after) * own.filters, math.prod(space) * depth
            if own.implementation == 2:
                matrix = ops.reshape(
                    self.kernel * self._mask.astype(self.kernel.dtype.as_numpy_dtype), [given, many]
                )
            else:
                matrix = ops.transpose(ops.scatter_nd(self._pairs, self.kernel, [many, given]))
            flat = ops.matmul(ops.reshape(inputs, [-1, given]), matrix)
            output = ops.reshape(flat, [-1, own.filters, *after] if first else [-1, *after, own.filters])
        if self.bias is not None:
            axes = [self.axes, *range(self.axes)]
            output += ops.transpose(self.bias, axes) if first else self.bias
        return output if own.activation is None else own.activation(output)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of what an input of that shape becomes.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The shape.
        """
        own: Any = self
        batch = shapes.as_shape(input_shape).as_list()[0]
        after = self._space(input_shape)[2]
        first = own.data_format == "channels_first"
        return shapes.TensorShape([batch, *([own.filters, *after] if first else [*after, own.filters])])


def connections(
    space: Sequence[int], size: Sequence[int], strides: Sequence[int], padding: str, first: bool
) -> Any:
    """Which element of an input a window takes: [*space, 1, *windows, 1], with the ones in front if channels are.

    With "same" padding a window's middle is at its step, whatever the stride, as TensorFlow has it.
    """
    mask: Any = np.ones((), bool)
    for n, length, stride in zip(space, size, strides, strict=True):
        steps = conv_output_length(n, length, padding, stride) or 0
        begin = np.arange(steps) * stride - (length // 2 if padding == "same" else 0)
        places = np.arange(n)[:, None]
        mask = np.multiply.outer(mask, (places >= begin) & (places < begin + length))
    axes = len(space)
    mask = mask.transpose([*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)])
    one = 0 if first else axes
    return np.expand_dims(mask, (one, one + axes + 1))


class LocallyConnected1D(_LocallyConnected):
    """Sequences [batch, steps, channels], each window with a kernel of its own (tf.keras.layers.LocallyConnected1D)."""

    axes = 1


class LocallyConnected2D(_LocallyConnected):
    """Images [batch, rows, columns, channels], each window with its kernel (tf.keras.layers.LocallyConnected2D)."""

    axes = 2
