"""Pictures as files of whatever kind: the kind is looked at when the graph runs, and only that branch is taken."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.array import gather
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.image.files import decode_bmp, decode_gif, decode_jpeg, decode_png
from graphflow._core.ops.math import math
from graphflow._core.ops.strings import substr
from graphflow.image.checks import after
from graphflow.image.dtypes import convert_image_dtype


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether a string begins as a JPEG file does (tf.image.is_jpeg).

    Args:
        contents: The bytes of a file, a scalar string.
        name: A name for the operation.
    """
    with op_scope(name, "is_jpeg", [contents]):
        return math.equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


def _is_png(contents: Tensor) -> Tensor:
    with op_scope(None, "is_png", [contents]):
        return math.equal(substr(contents, 0, 3), b"\x89PN")


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a PNG, JPEG, GIF or BMP file in a scalar string (tf.image.decode_image).

    The result is [height, width, channels], of a GIF file [number, height, width, 3] unless `expand_animations` is
    false, when it is the first picture; its static shape is unknown.

    Args:
        contents: The bytes of a file, a scalar string.
        channels: None or 0 (as in the file), 1, 3 or 4.
        dtype: See convert_image_dtype.
        name: A name for the operation.
        expand_animations: Whether a GIF file gives all of its pictures.

    Raises:
        InvalidArgumentError: At the run for what is no picture, or channels that its kind does not have.
    """
    with op_scope(name, "decode_image", [contents]):
        if channels not in (None, 0, 1, 3, 4):
            raise ValueError(f"channels must be in (None, 0, 1, 3, 4), got {channels}.")
        wanted = as_dtype(dtype)
        contents = convert_to_tensor(contents, dtype=dtypes.string, name="contents")
        start = substr(contents, 0, 3)

        def only(allowed: tuple[int, ...], kind: str, conditions: list[Any] | None = None) -> Tensor:
            told = ", ".join(map(str, allowed))
            fits = assert_(
                channels in (None, *allowed),
                [f"Channels must be in (None, {told}) when decoding {kind} images"],
            )
            return after([*(conditions or []), fits], contents)

        def bmp() -> Tensor:
            is_bmp = math.equal(substr(contents, 0, 2), b"BM", name="is_bmp")
            known = assert_(is_bmp, ["Unable to decode bytes as JPEG, PNG, GIF, or BMP"])
            return convert_image_dtype(decode_bmp(only((0, 3, 4), "BMP", [known])), wanted)

        def gif() -> Tensor:
            frames = convert_image_dtype(decode_gif(only((0, 3), "GIF")), wanted)
            return frames if expand_animations else gather(frames, 0)

        def png() -> Tensor:
            depth = dtypes.uint8 if wanted is dtypes.uint8 else dtypes.uint16
            return convert_image_dtype(decode_png(contents, channels, dtype=depth), wanted)

        def jpeg() -> Tensor:
            return convert_image_dtype(decode_jpeg(only((0, 1, 3), "JPEG"), channels), wanted)

        def png_or_other() -> Any:
            return cond(_is_png(contents), png, gif_or_bmp, name="cond_png")

        def gif_or_bmp() -> Any:
            return cond(math.equal(start, b"GIF", name="is_gif"), gif, bmp, name="cond_gif")

        result: Tensor = cond(is_jpeg(contents), jpeg, png_or_other, name="cond_jpeg")
        return result
