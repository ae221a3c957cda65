"""The images of SciPy 1.0's scipy.misc, which SciPy has no more: programs of TensorFlow 1's time read pictures with it.

Pillow, which did the work there, does it here; it is imported when it is first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

_RESAMPLING: Final = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}
_CHANNELS: Final = {"RGB": 3, "YCbCr": 3, "RGBA": 4, "CMYK": 4}


def bytescale(
    data: Any, cmin: float | None = None, cmax: float | None = None, high: int = 255, low: int = 0
) -> Any:
    """Numbers spread over those of a byte; bytes stay as they are (scipy.misc.bytescale).

    Args:
        data: An array.
        cmin: The number that becomes low; by default the least of the array.
        cmax: The number that becomes high; by default the greatest.
        high: The greatest byte.
        low: The least byte.

    Returns:
        An array of uint8.
    """
    if data.dtype == np.uint8:
        return data
    for fits, what in (
        (high <= 255, "`high` should be less than or equal to 255."),
        (low >= 0, "`low` should be greater than or equal to 0."),
        (high >= low, "`high` should be greater than or equal to `low`."),
    ):
        if not fits:
            raise ValueError(what)
    least = data.min() if cmin is None else cmin
    span = (data.max() if cmax is None else cmax) - least
    if span < 0:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scaled = (data - least) * (float(high - low) / (span or 1)) + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def fromimage(im: Image.Image, flatten: bool = False, mode: str | None = None) -> Any:
    """A picture of Pillow's as an array (scipy.misc.fromimage).

    Args:
        im: The picture.
        flatten: Whether colours become one grey number, a float.
        mode: Pillow's mode to convert to first.

    Returns:
        An array [height, width] or [height, width, channels].
    """
    if mode is not None:
        im = im if im.mode == mode else im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """A picture's file as an array; see fromimage for the other arguments (scipy.misc.imread)."""
    from PIL import Image

    with Image.open(name) as im:
        return fromimage(im, flatten=flatten, mode=mode)


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: float | None = None,
    cmax: float | None = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Image.Image:
    """An array as a picture of Pillow's, its numbers spread over those of a byte (scipy.misc.toimage).

    Args:
        arr: An array of two axes, or of three with one of size 3 or 4.
        high: The greatest byte.
        low: The least byte.
        cmin: The number that becomes low; by default the least of the array.
        cmax: The number that becomes high; by default the greatest.
        pal: A palette of an array of two axes.
        mode: Pillow's mode of the picture; by default L, RGB or RGBA.
        channel_axis: Which of three axes is that of the channels; by default the first of size 3, or else 4.

    Returns:
        The picture.

    Raises:
        ValueError: An array of other axes or of complex numbers, or a mode of another number of channels.
    """
    from PIL import Image

    data = np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("Cannot convert a complex-valued array.")
    if data.ndim == 2:
        return _of_one_channel(data, high, low, cmin, cmax, pal, mode)
    if data.ndim != 3 or not {3, 4} & set(data.shape):
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    if channel_axis is None:
        channel_axis = data.shape.index(3 if 3 in data.shape else 4)
    channels = data.shape[channel_axis]
    if channels not in (3, 4):
        raise ValueError("Channel axis dimension is not valid.")
    mode = mode or ("RGB" if channels == 3 else "RGBA")
    if mode not in _CHANNELS:
        raise ValueError(f"Invalid mode {mode!r} for an array of three axes: it may be {sorted(_CHANNELS)}.")
    if _CHANNELS[mode] != channels:
        raise ValueError("Invalid array shape for mode.")
    scaled = np.moveaxis(bytescale(data, cmin=cmin, cmax=cmax, high=high, low=low), channel_axis, 2)
    return Image.frombytes(mode, (scaled.shape[1], scaled.shape[0]), scaled.tobytes())


def _of_one_channel(
    data: Any, high: int, low: int, cmin: float | None, cmax: float | None, pal: Any, mode: str | None
) -> Image.Image:
    from PIL import Image

    size = (data.shape[1], data.shape[0])
    if mode == "F":
        return Image.frombytes("F", size, data.astype(np.float32).tobytes())
    if mode in (None, "L", "P"):
        scaled = bytescale(data, cmin=cmin, cmax=cmax, high=high, low=low)
        image = Image.frombytes("L", size, scaled.tobytes())
        if pal is not None:
            image.putpalette(np.asarray(pal, np.uint8).tobytes())
        elif mode == "P":
            image.putpalette(np.repeat(np.arange(256, dtype=np.uint8), 3).tobytes())
        return image
    if mode == "I":
        least, most = data.min() if cmin is None else cmin, data.max() if cmax is None else cmax
        spread = (data * 1.0 - least) * (high - low) / (most - least) + low
        return Image.frombytes("I", size, spread.astype(np.uint32).tobytes())
    raise ValueError(f"Invalid mode {mode!r} for an array of two axes: it may be F, I, L or P.")


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Writes an array as a picture's file; its numbers are spread over those of a byte (scipy.misc.imsave).

    Args:
        name: The file's name, or an open file.
        arr: An array [height, width], or with a third axis of 3 or 4 channels.
        format: Pillow's name of the format; by default what the file's name says.
    """
    image = toimage(arr, channel_axis=2)
    if format is None:
        image.save(name)
    else:
        image.save(name, format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """An array as a picture of another size, of bytes (scipy.misc.imresize).

    Args:
        arr: What toimage takes.
        size: Percent as a whole number, a factor as a float, or (height, width).
        interp: nearest, lanczos, bilinear, bicubic or cubic.
        mode: Pillow's mode to resize in.

    Returns:
        An array.
    """
    image = toimage(arr, mode=mode)
    if isinstance(size, int | np.integer):
        wanted = tuple((np.array(image.size) * (size / 100.0)).astype(int).tolist())
    elif isinstance(size, float | np.floating):
        wanted = tuple((np.array(image.size) * size).astype(int).tolist())
    else:
        wanted = (int(size[1]), int(size[0]))
    return fromimage(image.resize(wanted, resample=_RESAMPLING[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    """An array as a picture turned to the left by degrees, of bytes (scipy.misc.imrotate).

    Args:
        arr: What toimage takes.
        angle: In degrees.
        interp: nearest, bilinear, bicubic or cubic.

    Returns:
        An array.
    """
    return fromimage(toimage(arr).rotate(angle, resample=_RESAMPLING[interp]))  # type: ignore[arg-type]
