"""Pooling over windows, and over all of space or time (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.types import IntsLike
from graphflow.keras import ops
from graphflow.keras.layers.base import ConfiguredLayer, layout_of
from graphflow.keras.typing import Shapes, Tensors
from graphflow.layers import pooling
from graphflow.layers.arguments import integers, padding_of
from graphflow.layers.input_spec import InputSpec


class _Pooling(ConfiguredLayer):
    """The arguments of pooling."""

    axes: Any = 2

    def __init__(
        self,
        pool_size: IntsLike = 2,
        strides: IntsLike | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Keeps the arguments.

        Args:
            pool_size: The size of a window: an int, or one for each axis of space.
            strides: The steps from one window to the next: an int, or one for each axis of space; by default
                `pool_size`.
            padding: "valid" for windows within the input alone, "same" for as many as there are steps.
            data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
                default that of K.image_data_format().
            **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.

        Raises:
            ValueError: An argument has another number of axes, or names no padding or layout.
        """
        ConfiguredLayer.__init__(self, **kwargs)
        self._keep(
            pool_size=integers(pool_size, self.axes, "pool_size"),
            strides=integers(pool_size if strides is None else strides, self.axes, "strides"),
            padding=padding_of(padding),
            data_format=layout_of(data_format),
        )
        self.input_spec: InputSpec = InputSpec(ndim=self.axes + 2)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of what an input of that shape becomes."""
        own: Any = self
        sizes = shapes.as_shape(input_shape).as_list()
        start = 2 if own.data_format == "channels_first" else 1
        for axis in range(self.axes):
            size = sizes[start + axis]
            if size is not None:
                left = size if own.padding == "same" else size - own.pool_size[axis] + 1
                sizes[start + axis] = -(-left // own.strides[axis])
        return shapes.TensorShape(sizes)


class MaxPooling1D(pooling.MaxPooling1D, _Pooling):
    """The largest of each window of sequences (tf.keras.layers.MaxPooling1D)."""

    __init__ = _Pooling.__init__


class MaxPooling2D(pooling.MaxPooling2D, _Pooling):
    """The largest of each window of images (tf.keras.layers.MaxPooling2D)."""

    __init__ = _Pooling.__init__


class MaxPooling3D(pooling.MaxPooling3D, _Pooling):
    """The largest of each window of volumes (tf.keras.layers.MaxPooling3D)."""

    __init__ = _Pooling.__init__


class AveragePooling1D(pooling.AveragePooling1D, _Pooling):
    """The mean of each window of sequences (tf.keras.layers.AveragePooling1D)."""

    __init__ = _Pooling.__init__


class AveragePooling2D(pooling.AveragePooling2D, _Pooling):
    """The mean of each window of images (tf.keras.layers.AveragePooling2D)."""

    __init__ = _Pooling.__init__


class AveragePooling3D(pooling.AveragePooling3D, _Pooling):
    """The mean of each window of volumes (tf.keras.layers.AveragePooling3D)."""

    __init__ = _Pooling.__init__


class _Global(ConfiguredLayer):
    axes = 2
    _largest = False

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._keep(data_format=layout_of(data_format))
        self.input_spec: InputSpec = InputSpec(ndim=self.axes + 2)

    @property
    def _over(self) -> list[int]:
        start = 2 if self.__dict__["data_format"] == "channels_first" else 1
        return list(range(start, start + self.axes))

    def call(self, inputs: Tensors) -> Any:
        """The largest, or the mean, of each channel."""
        return ops.reduce_max(inputs, self._over) if self._largest else ops.reduce_mean(inputs, self._over)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """[batch, channels]."""
        sizes = shapes.as_shape(input_shape).as_list()
        return shapes.TensorShape([n for i, n in enumerate(sizes) if i not in self._over])


class GlobalAveragePooling1D(_Global):
    """The mean of each channel of sequences, masked steps left out (tf.keras.layers.GlobalAveragePooling1D)."""

    axes = 1
    supports_masking = True

    def call(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The means.

        Args:
            inputs: Sequences [batch, steps, features], or as `data_format` says.
            mask: Which steps count, a bool tensor [batch, steps]; by default all.

        Returns:
            A tensor [batch, features].
        """
        if mask is None:
            return super().call(inputs)
        weights = ops.expand_dims(ops.cast(mask, inputs.dtype), -1 if self._over == [1] else 1)
        axis = self._over[0]
        return ops.reduce_sum(inputs * weights, axis) / ops.reduce_sum(weights, axis)

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """None: there are no steps left.

        Args:
            inputs: Changes nothing.
            mask: Changes nothing.

        Returns:
            None.
        """
        return None


class GlobalMaxPooling1D(_Global):
    """The largest of each channel of sequences (tf.keras.layers.GlobalMaxPooling1D)."""

    axes, _largest = 1, True


class GlobalAveragePooling2D(_Global):
    """The mean of each channel of images (tf.keras.layers.GlobalAveragePooling2D)."""


class GlobalMaxPooling2D(_Global):
    """The largest of each channel of images (tf.keras.layers.GlobalMaxPooling2D)."""

    _largest = True


class GlobalAveragePooling3D(_Global):
    """The mean of each channel of volumes (tf.keras.layers.GlobalAveragePooling3D)."""

    axes = 3


class GlobalMaxPooling3D(_Global):
    """The largest of each channel of volumes (tf.keras.layers.GlobalMaxPooling3D)."""

    axes, _largest = 3, True
