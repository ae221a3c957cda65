"""Kernels of pictures as files.

JPEG, PNG and GIF files are decoded, and JPEG files encoded, by Pillow, which is imported at the first picture. BMP
files are plain enough to be arrays at once, and a PNG file needs no more than zlib once its rows are filtered. As in
TensorFlow, what a file is is told by its first bytes, so that decode_png takes a JPEG file, too.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphflow._core.common.distribution import to_install
from graphflow._core.common.limits import check_size
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import UnimplementedError

_MISSING = (
    f"Pictures are read and written with Pillow, which is not installed: {to_install('image')}, on each machine that "
    "does so."
)
_KINDS = ((b"\xff\xd8\xff", "JPEG"), (b"\x89PNG", "PNG"), (b"GIF8", "GIF"))
_HIGHEST = {np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535}


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise UnimplementedError(None, None, _MISSING) from None
    return Image


@contextmanager
def _reading(kind: str, data: bytes) -> Iterator[None]:
    """InvalidArgumentError for what Pillow cannot read."""
    bomb = _pillow().DecompressionBombError
    try:
        yield
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, zlib.error, bomb) as error:
        raise invalid(f"Invalid {kind} data, size {len(data)}: {error}") from None


def _bytes(contents: Any) -> bytes:
    found = np.asarray(contents, object)
    if found.ndim:
        raise invalid(f"contents must be scalar, got shape {list(found.shape)}")
    value = found[()]
    return value if isinstance(value, bytes) else str(value).encode()


def _check_pixels(kind: str, data: bytes, *shape: int, itemsize: int = 1) -> None:
    """InvalidArgumentError if a picture, or all of an animation, would take more bytes than are allowed."""
    size = math.prod(shape) * itemsize
    check_size(f"{kind} data of {len(data)} bytes that asks for the shape {list(shape)}", size)


@contextmanager
def _opened(kind: str, data: bytes, ratio: int = 1, itemsize: int = 1) -> Iterator[Any]:
    """A picture whose head is read and whose size is allowed; ratio: by which it is made smaller when decoded."""
    with _reading(kind, data), _pillow().open(io.BytesIO(data), formats=[kind]) as image:
        width, height = (-(-length // ratio) for length in image.size)
        _check_pixels(kind, data, height, width, len(image.getbands()), itemsize=itemsize)
        yield image


def _kind(data: bytes) -> str:
    for signature, kind in _KINDS:
        if data.startswith(signature):
            return kind
    if not data:
        raise invalid("Expected image (JPEG, PNG, or GIF), got empty file")
    raise invalid(f"Expected image (JPEG, PNG, or GIF), got unknown format starting with {data[:16]!r}")


# ---- PNG ----------------------------------------------------------------------------------------------------------


def _planes(image: Any) -> Any:
    found = np.asarray(image)
    return found[..., np.newaxis] if found.ndim == 2 else found


def _png_planes(data: bytes) -> tuple[Any, Any]:
    """Colours, [height, width, 1 or 3], and alpha or None, in the depth of the file: uint8 or uint16."""
    image_module = _pillow()
    depth, colour_type = data[24], data[25]
    with _opened("PNG", data, itemsize=depth // 8 or 1) as image:
        see_through = "transparency" in image.info
        if depth == 16 and image.mode in ("RGB", "RGBA"):
            # Pillow keeps the upper bytes; another reading takes the others. Grey with alpha is as long as RGBA.
            grey_with_alpha = colour_type == 4
            high = None if grey_with_alpha else _planes(image).astype(np.uint16)
            with image_module.open(io.BytesIO(data), formats=["PNG"]) as again:
                kind = "RGBA" if grey_with_alpha else f"{again.mode};16L"
                again.tile = [tile._replace(args=kind) for tile in again.tile]
                low = _planes(again).astype(np.uint16)
            planes = low[..., ::2] << 8 | low[..., 1::2] if high is None else high << 8 | low
        elif image.mode == "P":
            planes = _planes(image.convert("RGBA" if see_through else "RGB"))
        elif image.mode in ("1", "L", "RGB") and see_through:
            planes = _planes(image.convert("RGBA"))
            planes = planes[..., [0, 3]] if image.mode != "RGB" else planes
        else:
            planes = _planes(image.convert("L") if image.mode == "1" else image)
    channels = planes.shape[2]
    if channels in (2, 4):
        return planes[..., :-1], planes[..., -1:]
    return planes, None


def grey(colours: Any) -> Any:
    """Red, green and blue as grey, with libpng's weights in 1/32768, rounded down as it does."""
    result = np.empty((*colours.shape[:2], 1), colours.dtype)
    weights = np.array([9797, 19234, 3737], np.uint32)  # 65535 times their sum fits
    for target, row in zip(result[..., 0], colours, strict=True):  # A row at a time takes little memory.
        target[:] = (row.astype(np.uint32) @ weights) >> 15
    return result


def _decode_png(data: bytes, channels: int, dtype: Any) -> Any:
    with _reading("PNG", data):
        colours, alpha = _png_planes(data)
    if not channels:
        # The alpha of a colour that is named as transparent is no channel of the file; that of a palette is.
        stored = data[25] in (3, 4, 6)
        channels = colours.shape[2] + (alpha is not None and stored)
    highest = _HIGHEST[colours.dtype]
    if channels in (3, 4) and colours.shape[2] == 1:
        colours = colours.repeat(3, axis=2)
    elif channels in (1, 2) and colours.shape[2] == 3:
        colours = grey(colours)
    if channels in (2, 4):
        alpha = np.full((*colours.shape[:2], 1), highest, colours.dtype) if alpha is None else alpha
        colours = np.concatenate([colours, alpha], axis=2)
    if colours.dtype == dtype:
        return np.ascontiguousarray(colours)
    return colours.astype(np.uint16) * 257 if dtype == np.uint16 else (colours >> 8).astype(np.uint8)


# ---- JPEG, GIF, BMP -----------------------------------------------------------------------------------------------


def _decode_jpeg(data: bytes, channels: int, ratio: int, recover: bool) -> Any:
    if recover:
        data += b"\xff\xd9"  # With an end, libjpeg fills what is missing.
    with _opened("JPEG", data, ratio) as image:
        if channels == 1 and image.mode == "CMYK":
            raise invalid("A JPEG file of cyan, magenta, yellow and black cannot be decoded to grey.")
        width, height = image.size
        image.draft("L" if channels == 1 else None, (width / ratio, height / ratio))
        wanted = {0: "RGB" if image.mode == "CMYK" else image.mode, 1: "L", 3: "RGB"}[channels]
        return _planes(image if image.mode == wanted else image.convert(wanted)).copy()


def _decode_gif(data: bytes) -> Any:
    with _opened("GIF", data) as image:
        count, (width, height) = image.n_frames, image.size
        _check_pixels("GIF", data, count, height, width, 3)
        frames = np.empty((count, height, width, 3), np.uint8)
        for number in range(count):
            image.seek(number)
            if image.size != (width, height):
                raise ValueError(f"picture {number} has the size {image.size}, not {(width, height)}")
            frames[number] = np.asarray(image.convert("RGB"))
        return frames


def _one_frame(data: bytes, channels: int) -> Any:
    if channels not in (0, 3):
        raise invalid(f"channels must be 0 or 3 for GIF, got {channels}")
    frames = _decode_gif(data)
    if len(frames) != 1:
        raise invalid(
            f"Got {len(frames)} frames, but animated gifs can only be decoded by decode_gif or decode_image of gf.image"
        )
    return frames[0]


def _any_picture(data: bytes, channels: int, dtype: Any, ratio: int, recover: bool) -> Any:
    kind = _kind(data)
    if kind == "PNG":
        return _decode_png(data, channels, dtype)
    if dtype != np.uint8:
        raise invalid(f"{kind} does not support {np.dtype(dtype).name} output")
    if kind == "GIF":
        return _one_frame(data, channels)
    if channels not in (0, 1, 3):
        raise invalid(f"channels must be 0, 1, or 3 for JPEG, got {channels}")
    return _decode_jpeg(data, channels, ratio, recover)


@kernel("DecodePng")
def _png(node: Node) -> Kernel:
    channels, dtype = node.attrs["channels"], node.dtypes[0].as_numpy_dtype
    return lambda contents: _any_picture(_bytes(contents), channels, dtype, 1, False)


@kernel("DecodeJpeg")
def _jpeg(node: Node) -> Kernel:
    channels, ratio, recover = (node.attrs[n] for n in ("channels", "ratio", "try_recover_truncated"))
    return lambda contents: _any_picture(_bytes(contents), channels, np.uint8, ratio, recover)


@kernel("DecodeAndCropJpeg")
def _cropped_jpeg(node: Node) -> Kernel:
    channels, ratio, recover = (node.attrs[n] for n in ("channels", "ratio", "try_recover_truncated"))

    def run(contents: Any, window: Any) -> Any:
        data = _bytes(contents)
        if np.shape(window) != (4,):
            raise invalid(f"crop_window must have four elements, got shape {list(np.shape(window))}")
        if _kind(data) != "JPEG":
            raise invalid("decode_and_crop_jpeg takes JPEG files only")
        image = _decode_jpeg(data, channels, ratio, recover)
        y, x, height, width = np.asarray(window).tolist()
        inside = y >= 0 and x >= 0 and y + height <= image.shape[0] and x + width <= image.shape[1]
        if not inside or height <= 0 or width <= 0:
            raise invalid(
                f"Invalid JPEG data or crop window: {[y, x, height, width]} is not in a picture of {image.shape[:2]}"
            )
        return np.ascontiguousarray(image[y : y + height, x : x + width])

    return run


@kernel("DecodeGif")
def _gif(node: Node) -> Kernel:
    def run(contents: Any) -> Any:
        data = _bytes(contents)
        if _kind(data) == "GIF":
            return _decode_gif(data)
        return _any_picture(data, 3, np.uint8, 1, False)[np.newaxis]

    return run


@kernel("DecodeBmp")
def _bmp(node: Node) -> Kernel:
    channels = node.attrs["channels"]

    def run(contents: Any) -> Any:
        data = _bytes(contents)
        if len(data) < 32 or not data.startswith(b"BM"):
            raise invalid(f"Invalid BMP data, size {len(data)}: it starts with {data[:8]!r}")
        (begin,), (width, height) = struct.unpack_from("<I", data, 10), struct.unpack_from("<ii", data, 18)
        (bits,) = struct.unpack_from("<H", data, 28)
        stored = bits // 8
        if stored not in (1, 3, 4) or bits % 8:
            raise invalid(f"Number of channels must be 1, 3 or 4, was {stored} ({bits} bits a pixel)")
        if channels not in (0, stored):
            raise invalid(f"channels attribute {channels} does not match bits per pixel from file {stored}")
        rows, line = abs(height), (width * stored + 3) // 4 * 4
        if width <= 0 or not rows:
            raise invalid(f"A BMP file must have pixels, got {rows} rows of {width}")
        needed = begin + (rows - 1) * line + width * stored
        if len(data) < needed:
            raise invalid(f"Incomplete bmp content, requires at least {needed} bytes, got {len(data)} bytes")
        flat = np.frombuffer(data.ljust(begin + rows * line, b"\0"), np.uint8, rows * line, begin)
        pixels = flat.reshape(rows, line)[:, : width * stored].reshape(rows, width, stored)
        if height > 0:
            pixels = pixels[::-1]
        return np.ascontiguousarray(pixels[..., {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[stored]])

    return run


@kernel("ExtractJpegShape")
def _jpeg_shape(node: Node) -> Kernel:
    dtype = node.dtypes[0].as_numpy_dtype

    def run(contents: Any) -> Any:
        data = _bytes(contents)
        with _reading("JPEG", data), _pillow().open(io.BytesIO(data), formats=["JPEG"]) as image:
            return np.array([image.height, image.width, len(image.getbands())], dtype)

    return run


# ---- encoding -----------------------------------------------------------------------------------------------------


def _pixels(image: Any, allowed: tuple[int, ...]) -> Any:
    found = np.asarray(image)
    if found.ndim != 3 or found.shape[2] not in allowed:
        told = ", ".join(map(str, allowed))
        raise invalid(
            f"image must be 3-dimensional and must have a last dimension of {told}, got {list(found.shape)}"
        )
    if not found.size:
        raise invalid(f"image must have pixels, got shape {list(found.shape)}")
    return np.ascontiguousarray(found)


def _text(contents: bytes) -> Any:
    result = np.empty((), object)
    result[()] = contents
    return result


def _filtered(rows: Any, pixel: int) -> bytes:
    """The rows of a PNG file, each by that of its filters which leaves the least, as its standard advises."""
    above = np.zeros_like(rows)
    above[1:] = rows[:-1]
    before, corner = np.zeros_like(rows), np.zeros_like(rows)
    before[:, pixel:] = rows[:, :-pixel]
    corner[:, pixel:] = above[:, :-pixel]
    a, b, c = (x.astype(np.int16) for x in (before, above, corner))
    to_a, to_b, to_c = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)
    paeth = np.where((to_a <= to_b) & (to_a <= to_c), a, np.where(to_b <= to_c, b, c)).astype(np.uint8)
    mean = (a + b >> 1).astype(np.uint8)
    forms = np.stack([rows, rows - before, rows - above, rows - mean, rows - paeth])
    least = np.abs(forms.view(np.int8).astype(np.int16)).sum(2, dtype=np.int64).argmin(0)
    chosen = forms[least, np.arange(len(rows))]
    return np.concatenate([least.astype(np.uint8)[:, np.newaxis], chosen], axis=1).tobytes()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@kernel("EncodePng")
def _to_png(node: Node) -> Kernel:
    level = node.attrs["compression"]

    def run(image: Any) -> Any:
        pixels = _pixels(image, (1, 2, 3, 4))
        height, width, channels = pixels.shape
        size = pixels.dtype.itemsize
        rows = pixels.astype(pixels.dtype.newbyteorder(">")).view(np.uint8).reshape(height, -1)
        colour_type = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
        head = struct.pack(">IIBBBBB", width, height, 8 * size, colour_type, 0, 0, 0)
        packed = zlib.compress(_filtered(rows, channels * size), level)
        return _text(
            b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")
        )

    return run


def _to_jpeg(image: Any, quality: int, **options: Any) -> Any:
    if not 0 <= quality <= 100:
        raise invalid(f"quality must be in [0,100], got {quality}")
    pixels = _pixels(image, (1, 3))
    picture = _pillow().fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    target = io.BytesIO()
    picture.save(target, "JPEG", quality=quality, **options)
    return _text(target.getvalue())


@kernel("EncodeJpeg")
def _jpeg_file(node: Node) -> Kernel:
    attrs = node.attrs
    inches = 2.54 if attrs["density_unit"] == "cm" else 1.0
    options: dict[str, Any] = {
        "progressive": attrs["progressive"],
        "optimize": attrs["optimize_size"],
        "subsampling": 2 if attrs["chroma_downsampling"] else 0,
        "dpi": (round(attrs["x_density"] * inches), round(attrs["y_density"] * inches)),
    }
    if attrs["xmp_metadata"]:
        options["xmp"] = attrs["xmp_metadata"].encode()
    wanted = {"grayscale": 1, "rgb": 3}.get(attrs["format"])

    def run(image: Any) -> Any:
        if wanted and np.ndim(image) == 3 and np.shape(image)[2] != wanted:
            raise invalid(
                f"format {attrs['format']!r} needs {wanted} channels, got an image of shape {list(np.shape(image))}"
            )
        return _to_jpeg(image, attrs["quality"], **options)

    return run


@kernel("EncodeJpegVariableQuality")
def _jpeg_of_quality(node: Node) -> Kernel:
    return lambda image, quality: _to_jpeg(image, int(quality), subsampling=2, dpi=(300, 300))
