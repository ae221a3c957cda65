"""Pictures turned, moved, sheared, enlarged, and made lighter (tf.keras.preprocessing.image)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from graphflow.keras.preprocessing.image.pictures import array_to_img, img_to_array, pillow
from graphflow.keras.typing import Arrays


def apply_affine_transform(
    x: Arrays, theta: float = 0, tx: float = 0, ty: float = 0, shear: float = 0, zx: float = 1, zy: float = 1,
    row_axis: int = 0, col_axis: int = 1, channel_axis: int = 2, fill_mode: str = "nearest", cval: float = 0.0,
    order: int = 1,
) -> Any:  # fmt: skip
    """A picture turned, moved, sheared and enlarged (tf.keras.preprocessing.image.apply_affine_transform).

    Args:
        x: A picture, an array of three axes.
        theta: By how many degrees it is turned.
        tx: By how many rows it is moved.
        ty: By how many columns it is moved.
        shear: By how many degrees it is sheared.
        zx: What of its rows is seen, 1 for all; less makes it larger.
        zy: What of its columns is seen.
        row_axis: The axis of rows.
        col_axis: The axis of columns.
        channel_axis: The axis of channels.
        fill_mode: What is beyond the edges: "nearest" repeats them, "constant" is `cval`, "reflect" and "wrap" go on
            with the picture, backwards or from its other side.
        cval: The value beyond the edges of "constant".
        order: 0 for the nearest element, 1 for the mean of four; more need SciPy.

    Returns:
        An array of the same shape.

    Raises:
        ImportError: `order` is more than 1, and SciPy is not there.
        ValueError: `fill_mode` is not known.
    """
    matrix = _matrix(theta, tx, ty, shear, zx, zy)
    if matrix is None:
        return x
    rows, columns = x.shape[row_axis], x.shape[col_axis]
    centre = np.array([[1, 0, rows / 2 + 0.5], [0, 1, columns / 2 + 0.5], [0, 0, 1]])
    back = np.array([[1, 0, -rows / 2 - 0.5], [0, 1, -columns / 2 - 0.5], [0, 0, 1]])
    matrix = centre @ matrix @ back
    planes = np.moveaxis(x, channel_axis, 0)
    if order > 1:
        try:
            ndimage = import_module("scipy.ndimage")
        except ImportError as error:
            raise ImportError("Interpolation of an order above 1 needs SciPy: pip install scipy.") from error
        made = [
            ndimage.affine_transform(
                plane, matrix[:2, :2], matrix[:2, 2], order=order, mode=fill_mode, cval=cval
            )
            for plane in planes
        ]
        return np.moveaxis(np.stack(made), 0, channel_axis)
    return np.moveaxis(_sampled(planes, matrix, fill_mode, cval, order), 0, channel_axis)


def _matrix(theta: float, tx: float, ty: float, shear: float, zx: float, zy: float) -> Any:
    """The map from places of the result to places of the picture; None if it is the picture itself."""
    parts = []
    if theta:
        angle = np.deg2rad(theta)
        parts.append([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    if tx or ty:
        parts.append([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear:
        angle = np.deg2rad(shear)
        parts.append([[1, -np.sin(angle), 0], [0, np.cos(angle), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        parts.append([[zx, 0, 0], [0, zy, 0], [0, 0, 1]])
    if not parts:
        return None
    found: Any = np.array(parts[0])
    for part in parts[1:]:
        found = found @ np.array(part)
    return found


def _sampled(planes: Any, matrix: Any, mode: str, fill: float, order: int) -> Any:
    """The elements at the places that a matrix says, nearest ones or means of four."""
    sizes = planes.shape[1:]
    at = np.tensordot(matrix[:2, :2], np.indices(sizes), axes=1) + matrix[:2, 2].reshape(2, 1, 1)
    outside = np.zeros(sizes, bool)
    if mode == "constant":
        for one, size in zip(at, sizes, strict=True):
            outside |= (one < 0) | (one > size - 1)
    elif mode == "wrap":  # The first and the last element are one, as SciPy has it.
        at = np.stack([np.mod(one, max(size - 1, 1)) for one, size in zip(at, sizes, strict=True)])
    if order == 0:
        rows, columns = (
            _inside(np.floor(one + 0.5).astype(int), size, mode) for one, size in zip(at, sizes, strict=True)
        )
        found = planes[:, rows, columns].astype(float)
    else:
        low = np.floor(at).astype(int)
        share = at - low
        found = np.zeros(planes.shape, float)
        for down in (0, 1):
            for right in (0, 1):
                rows = _inside(low[0] + down, sizes[0], mode)
                columns = _inside(low[1] + right, sizes[1], mode)
                weight = (share[0] if down else 1 - share[0]) * (share[1] if right else 1 - share[1])
                found += planes[:, rows, columns] * weight
    found[:, outside] = fill
    if planes.dtype.kind in "iu":
        limits = np.iinfo(planes.dtype)
        found = np.clip(np.floor(found + 0.5), limits.min, limits.max)
    return found.astype(planes.dtype)


def _inside(index: Any, size: int, mode: str) -> Any:
    """Indices beyond the edges as those of what stands there."""
    if mode == "reflect":
        index = np.mod(index, 2 * size)
        return np.where(index < size, index, 2 * size - 1 - index)
    if mode not in ("nearest", "constant", "wrap"):
        raise ValueError(f"fill_mode is one of nearest, constant, reflect and wrap, not {mode!r}.")
    return np.clip(index, 0, size - 1)


def random_rotation(
    x: Arrays, rg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest",
    cval: float = 0.0, interpolation_order: int = 1,
) -> Any:  # fmt: skip
    """A picture turned at random (tf.keras.preprocessing.image.random_rotation).

    Args:
        x: A picture, an array of three axes.
        rg: By how many degrees at most.
        row_axis: The axis of rows.
        col_axis: The axis of columns.
        channel_axis: The axis of channels.
        fill_mode: What is beyond the edges: "nearest" repeats them, "constant" is `cval`, "reflect" and "wrap" go on
            with the picture, backwards or from its other side.
        cval: The value beyond the edges of "constant".
        interpolation_order: 0 for the nearest element, 1 for the mean of four; more need SciPy.

    Returns:
        An array of the same shape.
    """
    return apply_affine_transform(
        x, theta=np.random.uniform(-rg, rg), row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis,
        fill_mode=fill_mode, cval=cval,
        order=interpolation_order,
    )  # fmt: skip


def random_shift(
    x: Arrays, wrg: float, hrg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str =
    "nearest", cval: float = 0.0, interpolation_order: int = 1,
) -> Any:  # fmt: skip
    """A picture moved at random (tf.keras.preprocessing.image.random_shift).

    Args:
        x: A picture, an array of three axes.
        wrg: By which share of its columns at most.
        hrg: By which share of its rows at most.
        row_axis: The axis of rows.
        col_axis: The axis of columns.
        channel_axis: The axis of channels.
        fill_mode: What is beyond the edges: "nearest" repeats them, "constant" is `cval`, "reflect" and "wrap" go on
            with the picture, backwards or from its other side.
        cval: The value beyond the edges of "constant".
        interpolation_order: 0 for the nearest element, 1 for the mean of four; more need SciPy.

    Returns:
        An array of the same shape.
    """
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(
        x, tx=tx, ty=ty, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis, fill_mode=fill_mode,
        cval=cval,
        order=interpolation_order,
    )  # fmt: skip


def random_shear(
    x: Arrays, intensity: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str =
    "nearest", cval: float = 0.0, interpolation_order: int = 1,
) -> Any:  # fmt: skip
    """A picture sheared at random (tf.keras.preprocessing.image.random_shear).

    Args:
        x: A picture, an array of three axes.
        intensity: By how many degrees at most.
        row_axis: The axis of rows.
        col_axis: The axis of columns.
        channel_axis: The axis of channels.
        fill_mode: What is beyond the edges: "nearest" repeats them, "constant" is `cval`, "reflect" and "wrap" go on
            with the picture, backwards or from its other side.
        cval: The value beyond the edges of "constant".
        interpolation_order: 0 for the nearest element, 1 for the mean of four; more need SciPy.

    Returns:
        An array of the same shape.
    """
    return apply_affine_transform(
        x, shear=np.random.uniform(-intensity, intensity), row_axis=row_axis, col_axis=col_axis,
        channel_axis=channel_axis, fill_mode=fill_mode, cval=cval,
        order=interpolation_order,
    )  # fmt: skip


def random_zoom(
    x: Arrays, zoom_range: Sequence[float], row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode:
    str = "nearest", cval: float = 0.0, interpolation_order: int = 1,
) -> Any:  # fmt: skip
    """A picture made larger or smaller at random (tf.keras.preprocessing.image.random_zoom).

    Args:
        x: A picture, an array of three axes.
        zoom_range: What of its rows and columns is seen, the least and the most.
        row_axis: The axis of rows.
        col_axis: The axis of columns.
        channel_axis: The axis of channels.
        fill_mode: What is beyond the edges: "nearest" repeats them, "constant" is `cval`, "reflect" and "wrap" go on
            with the picture, backwards or from its other side.
        cval: The value beyond the edges of "constant".
        interpolation_order: 0 for the nearest element, 1 for the mean of four; more need SciPy.

    Returns:
        An array of the same shape.
    """
    _two(zoom_range, "zoom_range")
    zx, zy = (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(zoom_range[0], zoom_range[1], 2)
    return apply_affine_transform(
        x, zx=zx, zy=zy, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis, fill_mode=fill_mode,
        cval=cval, order=interpolation_order,
    )  # fmt: skip


def _two(numbers: Any, name: str) -> None:
    if len(numbers) != 2:
        raise ValueError(f"{name} is two numbers, the least and the most, not {numbers!r}.")


def apply_channel_shift(x: Arrays, intensity: float, channel_axis: int = 0) -> Any:
    """A number added to all channels, cut off at the ends of their range.

    TensorFlow: tf.keras.preprocessing.image.apply_channel_shift.

    Args:
        x: A picture, an array of three axes.
        intensity: The number.
        channel_axis: The axis of channels.

    Returns:
        An array of the same shape.
    """
    return np.clip(x + intensity, np.min(x), np.max(x)).astype(x.dtype, copy=False)


def random_channel_shift(x: Arrays, intensity_range: float, channel_axis: int = 0) -> Any:
    """A random number added to all channels (tf.keras.preprocessing.image.random_channel_shift).

    Args:
        x: A picture, an array of three axes.
        intensity_range: The largest number, also below zero.
        channel_axis: The axis of channels.

    Returns:
        An array of the same shape.
    """
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


def apply_brightness_shift(x: Arrays, brightness: float) -> Any:
    """A picture made lighter or darker (tf.keras.preprocessing.image.apply_brightness_shift); needs Pillow.

    Args:
        x: A picture, an array of three axes.
        brightness: 1 leaves it, 0 makes it black.

    Returns:
        An array of the same shape, from 0 to 255.
    """
    return img_to_array(pillow("ImageEnhance").Brightness(array_to_img(x)).enhance(brightness))


def random_brightness(x: Arrays, brightness_range: Sequence[float]) -> Any:
    """A picture made lighter or darker at random (tf.keras.preprocessing.image.random_brightness); needs Pillow.

    Args:
        x: A picture, an array of three axes.
        brightness_range: The least and the most; 1 leaves it, 0 makes it black.

    Returns:
        An array of the same shape, from 0 to 255.

    Raises:
        ValueError: The range is no pair.
    """
    _two(brightness_range, "brightness_range")
    return apply_brightness_shift(x, np.random.uniform(brightness_range[0], brightness_range[1]))
