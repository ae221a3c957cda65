"""Pictures as arrays, from files and back (tf.keras.preprocessing.image)."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

from graphflow.keras.backend.settings import floatx
from graphflow.keras.layers.base import layout_of

_MODES: Final = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "L"}
_GREYS: Final = ("L", "I;16", "I")
_FILTERS: Final = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def pillow(module: str = "Image") -> Any:
    """A module of Pillow; ImportError that says how to install it."""
    try:
        return import_module(f"PIL.{module}")
    except ImportError as error:
        raise ImportError("Pictures need Pillow: pip install 'graphflow-engine[image]'.") from error


def load_img(
    path: str,
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
) -> Any:
    """A picture of Pillow's (tf.keras.preprocessing.image.load_img).

    Args:
        path: The file.
        grayscale: Whether it becomes one of shades of grey: an older form of `color_mode`.
        color_mode: "rgb", "rgba" or "grayscale".
        target_size: (rows, columns) in pixels; None for those of the file.
        interpolation: How it is resized: "nearest", "bilinear", "bicubic" or another filter of Pillow's.

    Returns:
        A PIL.Image.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: `color_mode` or `interpolation` is not known.
    """
    wanted = "grayscale" if grayscale else color_mode
    if wanted not in _MODES:
        raise ValueError(f"color_mode is one of {', '.join(_MODES)}, not {wanted!r}.")
    if interpolation not in _FILTERS:
        raise ValueError(f"interpolation is one of {', '.join(_FILTERS)}, not {interpolation!r}.")
    with pillow().open(path) as file:
        file.load()
        fits = file.mode in _GREYS if wanted == "grayscale" else file.mode == _MODES[wanted]
        image = file.copy() if fits else file.convert(_MODES[wanted])
    if target_size is not None and image.size != (target_size[1], target_size[0]):
        image = image.resize((target_size[1], target_size[0]), getattr(pillow(), interpolation.upper()))
    return image


def img_to_array(img: Any, data_format: str | None = None, dtype: str | None = None) -> Any:
    """A picture as an array of floats, with an axis of channels (tf.keras.preprocessing.image.img_to_array).

    Args:
        img: A picture of Pillow's.
        data_format: "channels_last" for [rows, columns, channels] or "channels_first" for [channels, rows, columns];
            by default that of K.image_data_format().
        dtype: The dtype of the array; by default that of K.floatx().

    Returns:
        An array of three axes.
    """
    found = np.asarray(img, dtype=dtype or floatx())
    found = found[:, :, None] if found.ndim == 2 else found
    return found.transpose(2, 0, 1) if layout_of(data_format) == "channels_first" else found


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: str | None = None) -> Any:
    """An array as a picture of Pillow's (tf.keras.preprocessing.image.array_to_img).

    Args:
        x: An array of three axes.
        data_format: "channels_last" for [rows, columns, channels] or "channels_first" for [channels, rows, columns];
            by default that of K.image_data_format().
        scale: Whether the smallest value becomes 0 and the largest 255.
        dtype: The dtype of the array; by default that of K.floatx().

    Returns:
        A PIL.Image.

    Raises:
        ValueError: It has another number of axes, or another number of channels than 1, 3 or 4.
    """
    found = np.asarray(x, dtype=dtype or floatx())
    if found.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {found.shape}"
        )
    found = found.transpose(1, 2, 0) if layout_of(data_format) == "channels_first" else found
    if scale:
        found = found - found.min()
        found /= found.max() or 1
        found *= 255
    channels = found.shape[2]
    if channels not in (1, 3, 4):
        raise ValueError(f"Unsupported channel number: {channels}")
    if channels == 1:
        return pillow().fromarray(found[:, :, 0].astype("int32" if found.max() > 255 else "uint8"))
    return pillow().fromarray(found.astype("uint8"))


def save_img(
    path: str,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Writes an array as a picture (tf.keras.preprocessing.image.save_img).

    Args:
        path: The file.
        x: An array of three axes.
        data_format: "channels_last" for [rows, columns, channels] or "channels_first" for [channels, rows, columns];
            by default that of K.image_data_format().
        file_format: The format, such as "png"; by default what the file's name says.
        scale: Whether the smallest value becomes 0 and the largest 255.
        **kwargs: More arguments of Pillow's Image.save.
    """
    image = array_to_img(x, data_format, scale)
    if image.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        image = image.convert("RGB")  # The format has no transparency.
    image.save(path, format=file_format, **kwargs)
