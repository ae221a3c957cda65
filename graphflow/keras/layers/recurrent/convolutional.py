"""ConvLSTM2D: a long short-term memory of images, whose products are convolutions (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.types import IntsLike
from graphflow.keras import ops
from graphflow.keras.backend.convolutions import bias_add, conv2d
from graphflow.keras.layers.base import layout_of
from graphflow.keras.layers.recurrent.cells import LSTMCell
from graphflow.keras.layers.recurrent.layers import LayerOfCell
from graphflow.keras.typing import Named, Phase, Shapes, Tensors
from graphflow.keras.utils.windows import conv_output_length
from graphflow.layers.arguments import integers, padding_of


class ConvLSTM2DCell(LSTMCell):
    """One step of ConvLSTM2D, whose arguments it has."""

    def __init__(
        self, filters: int, kernel_size: IntsLike, strides: IntsLike = 1, padding: str = "valid",
        data_format: str | None = None, dilation_rate: IntsLike = 1, activation: Named = "tanh",
        recurrent_activation: Named = "hard_sigmoid", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(filters, activation, recurrent_activation, **kwargs)
        self._config_names = [
            n for n in self.__dict__["_config_names"] if n not in ("units", "implementation")
        ]
        self._keep(
            filters=filters, kernel_size=integers(kernel_size, 2, "kernel_size"),
            strides=integers(strides, 2, "strides"), padding=padding_of(padding), data_format=layout_of(data_format),
            dilation_rate=integers(dilation_rate, 2, "dilation_rate"),
        )  # fmt: skip

    def image_after(self, sizes: Any) -> list[Any]:
        """The shape without the batch of what an image of a shape without the batch becomes."""
        own: Any = self
        first = own.data_format == "channels_first"
        space = sizes[1:] if first else sizes[:-1]
        after = [
            conv_output_length(n, own.kernel_size[i], own.padding, own.strides[i], own.dilation_rate[i])
            for i, n in enumerate(space)
        ]
        return [self.units, *after] if first else [*after, self.units]

    def get_initial_state(self, inputs: Tensors = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros for the states, images that the inputs become."""
        own: Any = self
        depth = inputs.shape.as_list()[1 if own.data_format == "channels_first" else -1]
        zeros = ops.zeros([*own.kernel_size, depth, self.units], inputs.dtype)
        return [self._convolved(ops.zeros_like(inputs), zeros)] * 2

    def build(self, input_shape: Shapes) -> None:
        """Makes kernels and bias."""
        own: Any = self
        sizes = shapes.as_shape(input_shape).as_list()
        depth = sizes[1 if own.data_format == "channels_first" else -1]
        gates = self.units * self._gates
        self.kernel: Any = self.add_weight(
            "kernel", (*own.kernel_size, depth, gates), initializer=own.kernel_initializer,
            regularizer=own.kernel_regularizer, constraint=own.kernel_constraint,
        )  # fmt: skip
        self.recurrent_kernel: Any = self.add_weight(
            "recurrent_kernel", (*own.kernel_size, self.units, gates), initializer=own.recurrent_initializer,
            regularizer=own.recurrent_regularizer, constraint=own.recurrent_constraint,
        )  # fmt: skip
        self.bias: Any = None
        if own.use_bias:
            self.bias = self.add_weight(
                "bias", self._bias_shape(), initializer=self._bias_begin(), regularizer=own.bias_regularizer,
                constraint=own.bias_constraint,
            )  # fmt: skip
        self.built = True

    def _convolved(self, images: Any, kernel: Any) -> Any:
        own: Any = self
        return conv2d(images, kernel, own.strides, own.padding, own.data_format, own.dilation_rate)

    def _products(self, name: str, tensor: Any, kernel: Any, training: Phase) -> list[Any]:
        """The images convolved with each gate's part of a kernel; states keep their size."""
        own: Any = self
        masked = self._masked(name, tensor, training)
        found = []
        for one, part in zip(masked, ops.split(kernel, self._gates, axis=3), strict=True):
            inputs = name == "input"
            found.append(
                self._convolved(one, part) if inputs else conv2d(one, part, (1, 1), "same", own.data_format)
            )
        return found

    def _with_bias(self, products: list[Any]) -> list[Any]:
        own: Any = self
        parts = ops.split(self.bias, self._gates)
        return [bias_add(p, b, own.data_format) for p, b in zip(products, parts, strict=True)]


class ConvLSTM2D(LayerOfCell):
    """Long short-term memories of images [batch, time, rows, columns, channels] (tf.keras.layers.ConvLSTM2D).

    Args:
        filters: The number of channels of the output and of each state.
        kernel_size: The size of a window: an int, or rows and columns.
        strides: The steps from one window of the inputs to the next.
        padding: "valid" for windows within the inputs alone, "same" for as many as there are steps.
        data_format: "channels_last" or "channels_first", where channels come behind time; by default that of
            K.image_data_format().
        dilation_rate: The distance of a window's elements.
        activation: A function of tensors, or its name; that of the new values.
        recurrent_activation: The function of the gates, or its name.
        **kwargs: The other arguments of LSTMCell, RNN, and of every layer; `unroll` is not among them.
    """

    _cell_class = ConvLSTM2DCell
    _axes = 5

    def __init__(
        self, filters: int, kernel_size: IntsLike, strides: IntsLike = 1, padding: str = "valid",
        data_format: str | None = None, dilation_rate: IntsLike = 1, activation: Named = "tanh",
        recurrent_activation: Named = "hard_sigmoid", **kwargs: Any,
    ) -> None:  # fmt: skip
        if kwargs.get("unroll"):
            raise TypeError("Unrolling is not possible with convolutional recurrent layers.")
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, recurrent_activation,
            **kwargs,
        )  # fmt: skip

    def _state_shapes(self, sizes: list[Any]) -> list[list[Any]]:
        return [[sizes[0], *self.cell.image_after(sizes[2:])]] * 2

    def _make_states(self, sizes: list[Any]) -> None:
        if None in sizes[2:]:
            raise ValueError(
                f"The stateful layer {self.name!r} needs to know the size of its images: {sizes}."
            )
        super()._make_states(sizes)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of the output, or of it and the states.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            A shape, or a list of them.
        """
        first = input_shape[0] if isinstance(input_shape, list) else input_shape
        sizes = shapes.as_shape(first).as_list()
        state = shapes.TensorShape(self._state_shapes(sizes)[0])
        image = state.as_list()[1:]
        output = shapes.TensorShape([*sizes[:2], *image] if self.return_sequences else [sizes[0], *image])
        return [output, state, state] if self.return_state else output


__all__ = ["ConvLSTM2D", "ConvLSTM2DCell"]
