"""Layers that pad, crop and enlarge sequences, images and volumes (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.types import IntsLike
from graphflow.keras import ops
from graphflow.keras.layers.base import ConfiguredLayer, layout_of
from graphflow.keras.typing import Shapes, Tensors
from graphflow.layers.arguments import integers
from graphflow.layers.input_spec import InputSpec


def _pairs(value: Any, axes: int, what: str) -> tuple[tuple[int, int], ...]:
    """What is put before and behind each axis, from one number for all, one for each, or a pair for each."""
    if isinstance(value, int):
        return ((value, value),) * axes
    if not isinstance(value, list | tuple):
        raise ValueError(f"`{what}` should be an int, or {axes} elements, one for each axis. Found: {value}")
    if axes == 1 and len(value) == 2 and all(isinstance(v, int) for v in value):
        return ((value[0], value[1]),)
    if len(value) != axes:
        raise ValueError(f"`{what}` should have {axes} elements, one for each axis. Found: {value}")
    return tuple((v, v) if isinstance(v, int) else (int(v[0]), int(v[1])) for v in value)


class _Spatial(ConfiguredLayer):
    """A layer that does something along each axis but those of batch and channels."""

    axes = 2

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.axes > 1:
            self._keep(data_format=layout_of(data_format))
        self.input_spec: InputSpec = InputSpec(ndim=self.axes + 2)

    @property
    def _start(self) -> int:
        return 2 if self.__dict__.get("data_format") == "channels_first" else 1

    def _size(self, size: int, axis: int) -> int:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of what an input of that shape becomes."""
        sizes = shapes.as_shape(input_shape).as_list()
        for axis in range(self.axes):
            size = sizes[self._start + axis]
            sizes[self._start + axis] = None if size is None else self._size(size, axis)
        return shapes.TensorShape(sizes)


class ZeroPadding2D(_Spatial):
    """Zeros around images (tf.keras.layers.ZeroPadding2D).

    Args:
        padding: How many: a number, one for each axis of space, or a pair (before, after) for each.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding: tuple[tuple[int, int], ...] = _pairs(padding, self.axes, "padding")
        self._keep(padding=self.padding)

    def _size(self, size: int, axis: int) -> int:
        return size + sum(self.padding[axis])

    def call(self, inputs: Tensors) -> Any:
        """The inputs with zeros around.

        Args:
            inputs: A tensor [batch, ..., channels], or as `data_format` says.

        Returns:
            The larger tensor.
        """
        around = [(0, 0)] * self._start + list(self.padding)
        around += [(0, 0)] * (self.axes + 2 - len(around))
        return ops.pad(inputs, around)


class ZeroPadding1D(ZeroPadding2D):
    """Zeros around sequences (tf.keras.layers.ZeroPadding1D).

    Args:
        padding: How many: a number, or a pair (before, after).
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    axes = 1

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(padding, **kwargs)


class ZeroPadding3D(ZeroPadding2D):
    """Zeros around volumes (tf.keras.layers.ZeroPadding3D)."""

    axes = 3


class Cropping2D(_Spatial):
    """Images without their margins (tf.keras.layers.Cropping2D).

    Args:
        cropping: How many elements go: a number, one for each axis of space, or a pair (before, after) for each.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, cropping: Any = 0, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping: tuple[tuple[int, int], ...] = _pairs(cropping, self.axes, "cropping")
        self._keep(cropping=self.cropping)

    def _size(self, size: int, axis: int) -> int:
        return size - sum(self.cropping[axis])

    def call(self, inputs: Tensors) -> Any:
        """The inputs without their margins.

        Args:
            inputs: A tensor [batch, ..., channels], or as `data_format` says.

        Returns:
            The smaller tensor.
        """
        inner = [slice(before, -behind or None) for before, behind in self.cropping]
        return inputs[(slice(None),) * self._start + tuple(inner)]


class Cropping1D(Cropping2D):
    """Sequences without their ends (tf.keras.layers.Cropping1D).

    Args:
        cropping: How many steps go: a number, or a pair (before, after).
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    axes = 1

    def __init__(self, cropping: Any = 1, **kwargs: Any) -> None:
        super().__init__(cropping, **kwargs)


class Cropping3D(Cropping2D):
    """Volumes without their margins (tf.keras.layers.Cropping3D).

    Args:
        cropping: How many elements go: a number, one for each axis of space, or a pair (before, after) for each.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    axes = 3

    def __init__(self, cropping: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


def repeated(tensor: Any, times: int, axis: int) -> Any:
    """Each element along an axis as often as that, behind one another."""
    if times == 1:
        return tensor
    sizes = tensor.shape.as_list()
    spread = ops.expand_dims(tensor, axis + 1)
    tiled = ops.tile(spread, [times if i == axis + 1 else 1 for i in range(len(sizes) + 1)])
    dynamic = ops.shape(tensor)
    target = [
        (-1 if n is None else n * times) if i == axis else (dynamic[i] if n is None else n)
        for i, n in enumerate(sizes)
    ]
    return ops.reshape(tiled, target)


class UpSampling2D(_Spatial):
    """Images enlarged (tf.keras.layers.UpSampling2D).

    Args:
        size: How many times as many rows and columns there will be: an int, or (rows, columns).
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        interpolation: "nearest" or "bilinear".
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.

    Raises:
        ValueError: `interpolation` is neither.
    """

    def __init__(
        self,
        size: IntsLike = 2,
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(f'`interpolation` should be "nearest" or "bilinear", got {interpolation!r}.')
        self.size: tuple[int, ...] = integers(size, self.axes, "size")
        self.interpolation = interpolation
        self._keep(size=self.size, interpolation=interpolation)

    def _size(self, size: int, axis: int) -> int:
        return size * self.size[axis]

    def call(self, inputs: Tensors) -> Any:
        """The inputs enlarged.

        Args:
            inputs: A tensor [batch, ..., channels], or as `data_format` says.

        Returns:
            The larger tensor.
        """
        if self.interpolation == "bilinear":
            first = self._start == 2
            image = ops.transpose(inputs, [0, 2, 3, 1]) if first else inputs
            sizes = ops.shape(image)[1:3] * ops.constant(self.size)
            image = ops.resize_bilinear(image, sizes, half_pixel_centers=True)
            found = ops.transpose(image, [0, 3, 1, 2]) if first else image
        else:
            found = inputs
            for axis, times in enumerate(self.size):
                found = repeated(found, times, self._start + axis)
        found.set_shape(self.compute_output_shape(inputs.shape))
        return found


class UpSampling1D(_Spatial):
    """Each step of sequences several times (tf.keras.layers.UpSampling1D).

    Args:
        size: How many times each step comes.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    axes = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size: int = int(size)
        self._keep(size=self.size)

    def _size(self, size: int, axis: int) -> int:
        return size * self.size

    def call(self, inputs: Tensors) -> Any:
        """The inputs, each step several times.

        Args:
            inputs: A tensor [batch, ..., channels], or as `data_format` says.

        Returns:
            The larger tensor.
        """
        return repeated(inputs, self.size, 1)


class UpSampling3D(_Spatial):
    """Each element of volumes several times (tf.keras.layers.UpSampling3D).

    Args:
        size: How many times each layer, row and column comes: an int, or one for each.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    axes = 3

    def __init__(self, size: IntsLike = 2, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size: tuple[int, ...] = integers(size, 3, "size")
        self._keep(size=self.size)

    def _size(self, size: int, axis: int) -> int:
        return size * self.size[axis]

    def call(self, inputs: Tensors) -> Any:
        """The inputs enlarged.

        Args:
            inputs: A tensor [batch, ..., channels], or as `data_format` says.

        Returns:
            The larger tensor.
        """
        found = inputs
        for axis, times in enumerate(self.size):
            found = repeated(found, times, self._start + axis)
        return found
