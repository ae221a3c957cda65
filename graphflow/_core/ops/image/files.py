"""Pictures as files: PNG, JPEG, GIF and BMP, in strings. The kernels use Pillow, the extra `image`."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, InferRule, Signature, op_def
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.core import apply, partial_shape
from graphflow._core.ops.rules import require_rank

_CHANNELS = (0, 1, 3, 4)


def _decoded(dtype: Any = None) -> InferRule:
    def infer(op: Operation) -> Signature:
        require_rank(op.inputs[0].dims, 0, "contents")
        channels = op.attrs["channels"]
        if channels not in _CHANNELS:
            raise ValueError(f"channels must be 0, 1, 3 or 4, got {channels}.")
        return [(dtype or op.attrs["dtype"], (None, None, channels or None))]

    return infer


def _gif_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 0, "contents")
    return [(dtypes.uint8, (None, None, None, 3))]


def _crop_infer(op: Operation) -> Signature:
    ((dtype, _),) = _decoded(dtypes.uint8)(op)
    require_rank(op.inputs[1].dims, 1, "crop_window")
    window = partial_shape(op.inputs[1])
    height, width = (None, None) if window is None or len(window) != 4 else window[2:]
    return [(dtype, (height, width, op.attrs["channels"] or None))]


def _encoded_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 3, "image")
    return [(dtypes.string, ())]


def _shape_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 0, "contents")
    return [(op.attrs["output_type"], (3,))]


def _decoder(op_type: str, infer: InferRule, *rest: str) -> Any:
    return op_def(
        op_type,
        ("contents: string", *rest),
        infer=infer,
        gradient=NO_GRADIENT,
        dynamic_shape=True,
        outputs=("image",),
    )


DECODE_PNG = _decoder("DecodePng", _decoded())
DECODE_JPEG = _decoder("DecodeJpeg", _decoded(dtypes.uint8))
DECODE_AND_CROP_JPEG = _decoder("DecodeAndCropJpeg", _crop_infer, "crop_window: int32")
DECODE_BMP = _decoder("DecodeBmp", _decoded(dtypes.uint8))
DECODE_GIF = _decoder("DecodeGif", _gif_infer)
ENCODE_PNG = op_def(
    "EncodePng",
    ("image: T=uint8|uint16",),
    infer=_encoded_infer,
    gradient=NO_GRADIENT,
    outputs=("contents",),
)
ENCODE_JPEG = op_def(
    "EncodeJpeg", ("image: uint8",), infer=_encoded_infer, gradient=NO_GRADIENT, outputs=("contents",)
)
ENCODE_JPEG_QUALITY = op_def(
    "EncodeJpegVariableQuality",
    ("images: uint8", "quality: int32"),
    infer=_encoded_infer,
    gradient=NO_GRADIENT,
    outputs=("contents",),
)
EXTRACT_JPEG_SHAPE = op_def(
    "ExtractJpegShape",
    ("contents: string",),
    infer=_shape_infer,
    gradient=NO_GRADIENT,
    outputs=("image_shape",),
)


def decode_png(
    contents: TensorLike, channels: int | None = 0, dtype: DTypeLike = dtypes.uint8, name: str | None = None
) -> Tensor:
    """The pixels of a PNG file in a scalar string, [height, width, channels] of uint8 or uint16 (tf.image.decode_png).

    JPEG files and GIF files of one picture are taken, too.

    Args:
        contents: The bytes of a file, a scalar string.
        channels: 0 (as in the file), 1 grey, 3 RGB, 4 RGBA.
        dtype: gf.uint8 or gf.uint16.
        name: A name for the operation.

    Raises:
        InvalidArgumentError: At the run for what is no picture.
    """
    wanted = as_dtype(dtype)
    if wanted not in (dtypes.uint8, dtypes.uint16):
        raise TypeError(f"A PNG file is decoded to uint8 or uint16, not {wanted.name}.")
    attrs = {"channels": channels or 0, "dtype": wanted}
    return apply(DECODE_PNG, (contents,), attrs, name).outputs[0]


def _jpeg_attrs(
    channels: int | None,
    ratio: int | None,
    fancy_upscaling: bool | None,
    try_recover_truncated: bool | None,
    acceptable_fraction: float | None,
    dct_method: str | None,
) -> dict[str, Any]:
    if ratio not in (None, 1, 2, 4, 8):
        raise ValueError(f"ratio must be 1, 2, 4, or 8, got {ratio}.")
    if dct_method not in (None, "", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise ValueError(f"dct_method must be '', 'INTEGER_FAST' or 'INTEGER_ACCURATE', got {dct_method!r}.")
    return {
        "channels": channels or 0,
        "ratio": ratio or 1,
        "fancy_upscaling": fancy_upscaling is None or bool(fancy_upscaling),
        "try_recover_truncated": bool(try_recover_truncated),
        "acceptable_fraction": 1.0 if acceptable_fraction is None else float(acceptable_fraction),
        "dct_method": dct_method or "",
    }


def decode_jpeg(
    contents: TensorLike,
    channels: int | None = 0,
    ratio: int | None = 1,
    fancy_upscaling: bool | None = True,
    try_recover_truncated: bool | None = False,
    acceptable_fraction: float | None = 1,
    dct_method: str | None = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG file in a scalar string, [height, width, channels] of uint8 (tf.image.decode_jpeg).

    Of the other arguments nothing depends: libjpeg decides. PNG files and GIF files of one picture are taken,
    too.

    Args:
        contents: The bytes of a file, a scalar string.
        channels: 0 (as in the file), 1 grey, 3 RGB.
        ratio: 1, 2, 4 or 8, by which the picture is made smaller while it is decoded.
        fancy_upscaling: Accepted, as TensorFlow has it; see above for what it changes.
        try_recover_truncated: What is missing of a file stays grey.
        acceptable_fraction: Accepted, as TensorFlow has it; see above for what it changes.
        dct_method: Accepted, as TensorFlow has it; see above for what it changes.
        name: A name for the operation.

    Raises:
        InvalidArgumentError: At the run for what is no picture.
    """
    attrs = _jpeg_attrs(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )
    return apply(DECODE_JPEG, (contents,), attrs, name).outputs[0]


def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: IntTensorLike,
    channels: int | None = 0,
    ratio: int | None = 1,
    fancy_upscaling: bool | None = True,
    try_recover_truncated: bool | None = False,
    acceptable_fraction: float | None = 1,
    dct_method: str | None = "",
    name: str | None = None,
) -> Tensor:
    """A part of a JPEG file's pixels; see decode_jpeg (tf.image.decode_and_crop_jpeg).

    Args:
        contents: The bytes of a file, a scalar string.
        crop_window: (first row, first column, height, width), int32.
        channels: 0 (as in the file), 1 grey or 3 RGB.
        ratio: 1, 2, 4 or 8: by how much it is made smaller.
        fancy_upscaling: Accepted, as TensorFlow has it; see above for what it changes.
        try_recover_truncated: Accepted, as TensorFlow has it; see above for what it changes.
        acceptable_fraction: Accepted, as TensorFlow has it; see above for what it changes.
        dct_method: Accepted, as TensorFlow has it; see above for what it changes.
        name: A name for the operation.

    Returns:
        [height, width, channels] of uint8.

    Raises:
        InvalidArgumentError: If it is not in the picture.
    """
    attrs = _jpeg_attrs(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )
    return apply(DECODE_AND_CROP_JPEG, (contents, crop_window), attrs, name).outputs[0]


def decode_bmp(contents: TensorLike, channels: int | None = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file in a scalar string, [height, width, channels] of uint8 (tf.image.decode_bmp).

    Args:
        contents: The bytes of a file, a scalar string.
        channels: 0 (as in the file), 1, 3 or 4, which must be those of the file.
        name: A name for the operation.
    """
    return apply(DECODE_BMP, (contents,), {"channels": channels or 0}, name).outputs[0]


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """The pictures of a GIF file in a scalar string, [number, height, width, 3] of uint8 (tf.image.decode_gif).

    Args:
        contents: The bytes of a file, a scalar string.
        name: A name for the operation.
    """
    return apply(DECODE_GIF, (contents,), None, name).outputs[0]


def encode_png(image: TensorLike, compression: int | None = -1, name: str | None = None) -> Tensor:
    """A PNG file of an image [height, width, channels], 1 to 4, of uint8 or uint16 (tf.image.encode_png).

    Args:
        image: Uint8 or uint16, [height, width, channels].
        compression: 0 to 9, -1 for zlib's own choice.
        name: A name for the operation.

    Returns:
        A scalar string.
    """
    level = -1 if compression is None else int(compression)
    if not -1 <= level <= 9:
        raise ValueError(f"compression should be in [-1,9], got {level}.")
    attrs: dict[str, Any] = {"compression": level}
    if not isinstance(image, Tensor) and not hasattr(image, "as_graph_tensor"):
        attrs["T"] = dtypes.uint16 if getattr(image, "dtype", None) == np.uint16 else dtypes.uint8
    return apply(ENCODE_PNG, (image,), attrs, name).outputs[0]


def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG file of a uint8 image [height, width, 1 or 3] (tf.image.encode_jpeg).

    Args:
        image: Uint8, [height, width, 1 or 3].
        format: "", "grayscale" or "rgb", which must fit the channels.
        quality: 0 to 100.
        progressive: Whether the picture comes in passes.
        optimize_size: Whether to spend time for fewer bytes.
        chroma_downsampling: Whether colours are kept at half the resolution.
        density_unit: "in" or "cm".
        x_density: Pixels per unit across.
        y_density: Pixels per unit down.
        xmp_metadata: Text that goes into the file.
        name: A name for the operation.

    Returns:
        A scalar string.

    Raises:
        ValueError: For another `format` or `quality`.
    """
    if format not in ("", "grayscale", "rgb"):
        raise ValueError(f"format must be '', 'grayscale' or 'rgb', got {format!r}.")
    if density_unit not in ("in", "cm"):
        raise ValueError(f"density_unit must be 'in' or 'cm', got {density_unit!r}.")
    if not 0 <= quality <= 100:
        raise ValueError(f"quality must be in [0,100], got {quality}.")
    attrs = {
        "format": format,
        "quality": int(quality),
        "progressive": bool(progressive),
        "optimize_size": bool(optimize_size),
        "chroma_downsampling": bool(chroma_downsampling),
        "density_unit": density_unit,
        "x_density": int(x_density),
        "y_density": int(y_density),
        "xmp_metadata": xmp_metadata,
    }
    return apply(ENCODE_JPEG, (image,), attrs, name).outputs[0]


def encode_jpeg_variable_quality(images: Any, quality: Any, name: str | None = None) -> Tensor:
    """encode_jpeg with a quality that is a scalar tensor (TensorFlow's EncodeJpegVariableQuality)."""
    return apply(ENCODE_JPEG_QUALITY, (images, quality), None, name).outputs[0]


def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """Height, width and channels of a JPEG file, from its head alone, int32 or int64 (tf.image.extract_jpeg_shape).

    Args:
        contents: The bytes of a file, a scalar string.
        output_type: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        A vector of three.
    """
    wanted = as_dtype(output_type)
    if wanted not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"A shape is int32 or int64, not {wanted.name}.")
    return apply(EXTRACT_JPEG_SHAPE, (contents,), {"output_type": wanted}, name).outputs[0]
