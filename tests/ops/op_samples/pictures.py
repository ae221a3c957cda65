"""Samples of pictures as files: small ones, of which the pixels are known."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.dtypes import as_dtype
from tests.ops.op_samples.sample import INT, Draw, Random, Sample, draw, ints, scalar, strings

HALF, BYTE = np.dtype(np.float16), np.dtype(np.uint8)

# Two rows of three pixels: red, green, blue; black, white, grey.
PIXELS = np.array(
    [[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[0, 0, 0], [255, 255, 255], [128, 128, 128]]], np.uint8
)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAGElEQVR4nAXBAQEAAAjDIIz+5BOE0KHa9j7oB3+xZADCAAAAAElFTkSuQmCC"
BMP = (
    "Qk1OAAAAAAAAADYAAAAoAAAAAwAAAAIAAAABABgAAAAAABgAAADEDgAAxA4AAAAAAAAAAAAAAAAA////gICAAAAAAAD/AP8A/wAAAAAA"
)
GIF = "R0lGODdhAwACAIIAAP///4CAgAD/AP8AAAAA/wAAAAAAAAAAACwAAAAAAwACAAAICQAHCCBQAECAgAA7"
# Four rows of six pixels, all 77.
JPEG = (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggL"
    "DAsKDAkKCgr/wAALCAAEAAYBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AGb//2Q=="
)
DEEP = np.dtype(np.uint16)


def _file(text: str) -> Any:
    return strings(np.array(base64.b64decode(text), object))


def _decoding(text: str, pixels: Any, channels: Sequence[int], attrs: dict[str, Any] | None = None) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for count in channels:
            wanted = pixels
            if count == 4:
                wanted = np.concatenate([pixels, np.full((*pixels.shape[:2], 1), 255, np.uint8)], axis=2)
            elif count == 3 and pixels.shape[-1] == 1:
                wanted = pixels.repeat(3, axis=2)
            given = (attrs or {}) | ({"channels": count} if count is not None else {})
            yield Sample((_file(text),), given, lambda contents, wanted=wanted: wanted, smooth=False)

    return generate


JPEG_ATTRS = {
    "ratio": 1, "fancy_upscaling": True, "try_recover_truncated": False, "acceptable_fraction": 1.0, "dct_method": "",
}  # fmt: skip
FLAT = np.full((4, 6, 1), 77, np.uint8)


def _png(random: Random) -> Iterable[Sample]:
    yield from _decoding(PNG, PIXELS, (0, 3, 4), {"dtype": as_dtype(BYTE)})(random)
    attrs = {"dtype": as_dtype(DEEP), "channels": 3}
    yield Sample((_file(PNG),), attrs, lambda contents: PIXELS.astype(DEEP) * 257, smooth=False)


def _jpeg_part(random: Random) -> Iterable[Sample]:
    for window in ((0, 0, 4, 6), (1, 2, 2, 3)):
        inputs = (_file(JPEG), ints(*window))
        yield Sample(
            inputs,
            JPEG_ATTRS | {"channels": 0},
            lambda c, w: FLAT[w[0] : w[0] + w[2], w[1] : w[1] + w[3]],
            smooth=False,
        )


def _jpeg_shape(random: Random) -> Iterable[Sample]:
    for kind in (INT, np.dtype(np.int64)):
        attrs = {"output_type": as_dtype(kind)}
        yield Sample(
            (_file(JPEG),), attrs, lambda contents, kind=kind: ints(4, 6, 1, dtype=kind), smooth=False
        )


def _kernel_of(op_type: str, attrs: dict[str, Any]) -> Callable[[Any], Any]:
    """A decoder, by which files that are written are read again."""
    from graphflow._core.kernels import registry

    class Reader:
        name, type, dtypes, op = "reader", op_type, (as_dtype(BYTE),), None

    reader: Any = Reader()
    reader.attrs = attrs
    factory = registry.factory(op_type)
    assert factory is not None
    return lambda contents: factory(reader)(contents)


def _to_png(random: Random) -> Iterable[Sample]:
    read = _kernel_of("DecodePng", {"channels": 0})
    for dtype, channels, level in ((BYTE, 3, -1), (BYTE, 1, 9), (BYTE, 4, 0), (DEEP, 1, 3)):
        image = draw(random, dtype, (4, 5, channels), 0, 250)
        yield Sample(
            (image,),
            {"compression": level},
            lambda image: (image >> (8 * image.itemsize - 8)).astype(np.uint8),
            through=lambda contents: (read(contents),),
            smooth=False,
        )


def _flat_jpeg(with_quality: bool) -> Draw:
    attrs = {
        "format": "", "quality": 90, "progressive": False, "optimize_size": False, "chroma_downsampling": True,
        "density_unit": "in", "x_density": 300, "y_density": 300, "xmp_metadata": "",
    }  # fmt: skip

    def generate(random: Random) -> Iterable[Sample]:
        read = _kernel_of("DecodeJpeg", JPEG_ATTRS | {"channels": 0})
        for shape, level in (((8, 8, 1), 64), ((9, 5, 3), 128)):
            inputs = (np.full(shape, level, np.uint8), *((scalar(95),) if with_quality else ()))
            yield Sample(
                inputs,
                {} if with_quality else attrs,
                lambda image, *quality: image,
                through=lambda contents: (read(contents),),
                smooth=False,
            )

    return generate


TABLE: dict[str, Draw] = {
    "DecodePng": _png,
    "DecodeJpeg": _decoding(JPEG, FLAT, (0, 1, 3), JPEG_ATTRS),
    "DecodeAndCropJpeg": _jpeg_part,
    "DecodeBmp": _decoding(BMP, PIXELS, (0, 3)),
    "DecodeGif": _decoding(GIF, PIXELS[np.newaxis], (None,)),  # type: ignore[arg-type]
    "ExtractJpegShape": _jpeg_shape,
    "EncodePng": _to_png,
    "EncodeJpeg": _flat_jpeg(False),
    "EncodeJpegVariableQuality": _flat_jpeg(True),
}
