"""Kernels of summaries: values become protobuf messages, in bytes.

The buckets of a histogram are TensorFlow's: limits 1e-12, 1.1e-12, ... each a tenth more than the one before, the same
with a minus, and zero. Searching them for each value takes eleven steps. Here the first 16 bits of a float64 (sign,
exponent, 4 bits of the mantissa) point to the bucket: numbers that share them differ by less than a sixteenth, so at
most one limit lies between them, and one comparison decides.
"""

from __future__ import annotations

import struct
import zlib
from functools import lru_cache
from typing import Any, Final

import numpy as np

import graphflow.protos as protos
from graphflow._core.graph.attributes import tensor_to_proto
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.io.audio import wav
from graphflow._core.kernels.registry import Kernel, Node, kernel

_CHUNK: Final = 1 << 14
_LARGEST: Final = float(np.finfo(np.float64).max)
_SMALL_IMAGE: Final = np.float32(1e-6)
"""An image whose largest value is below this is shown as if it were all zeros."""


def _tag(value: Any) -> str:
    """A tag, which is an array of one string, or the string."""
    text: bytes = np.asarray(value, object).item()
    return text.decode(errors="replace")


def _serialized(values: list[Any]) -> Any:
    result = np.empty((), object)
    result[()] = protos.summary_pb2.Summary(value=values).SerializeToString()
    return result


@kernel("ScalarSummary")
def _scalar_summary(node: Node) -> Kernel:
    value = protos.summary_pb2.Summary.Value

    def run(tags: Any, values: Any) -> Any:
        names, numbers = np.asarray(tags, object), np.asarray(values)
        if names.shape != numbers.shape:
            which = f" (tag '{_tag(names)}')" if names.size == 1 else ""
            raise invalid(
                f"tags and values not the same shape: {list(names.shape)} != {list(numbers.shape)}{which}"
            )
        floats = numbers.astype(np.float32).reshape(-1).tolist()
        pairs = zip(names.reshape(-1).tolist(), floats, strict=True)
        return _serialized([value(tag=_tag(tag), simple_value=number) for tag, number in pairs])

    return run


# ---- histograms -------------------------------------------------------------------------------------------------


@lru_cache(1)
def _buckets() -> tuple[Any, Any]:
    """The limits of the buckets, and for the first 16 bits of a float64 the bucket of the least number with them."""
    limits = [1e-12]
    while limits[-1] * 1.1 < 1e20:
        limits.append(limits[-1] * 1.1)
    limits.append(_LARGEST)
    every = np.array([-v for v in reversed(limits)] + [0.0] + limits)
    first = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    last = first | np.uint64((1 << 48) - 1)
    least = np.fmin(first.view(np.float64), last.view(np.float64))
    return every, np.searchsorted(every, least, side="right").astype(np.int16)


def _count(values: Any, limits: Any, table: Any) -> Any:
    """How many of a chunk of finite float64 values lie in each bucket."""
    bucket = table[values.view(np.uint64) >> np.uint64(48)]
    np.minimum(bucket, limits.size - 1, out=bucket)
    bucket += values >= limits[bucket]
    np.minimum(bucket, limits.size - 1, out=bucket)
    return np.bincount(bucket, minlength=limits.size)


def histogram(values: Any, where: str) -> Any:
    """The HistogramProto of an array; InvalidArgumentError, saying where, for what is not finite."""
    flat = values.reshape(-1)
    limits, table = _buckets()
    counts = np.zeros(limits.size, np.int64)
    low, high, total, squares = _LARGEST, -_LARGEST, 0.0, 0.0
    for start in range(0, flat.size, _CHUNK):
        chunk = np.ascontiguousarray(flat[start : start + _CHUNK], np.float64)
        chunk_low, chunk_high = float(chunk.min()), float(chunk.max())
        if not (np.isfinite(chunk_low) and np.isfinite(chunk_high)):
            kind = "Nan" if np.isnan(flat).any() else "Infinity"
            bad = flat.size - np.count_nonzero(np.isfinite(flat))
            raise invalid(f"{kind} in summary histogram for: {where} ({bad} of {flat.size} values)")
        low, high = min(low, chunk_low), max(high, chunk_high)
        total += float(chunk.sum())
        squares += float(np.dot(chunk, chunk))
        counts += _count(chunk, limits, table)
    filled = counts > 0
    kept = filled.copy()  # Of empty buckets side by side only the last is written.
    kept[:-1] |= filled[1:]
    kept[-1] = True
    return protos.summary_pb2.HistogramProto(
        min=low,
        max=high,
        num=flat.size,
        sum=total,
        sum_squares=squares,
        bucket_limit=limits[kept].tolist(),
        bucket=counts[kept].tolist(),
    )


@kernel("HistogramSummary")
def _histogram_summary(node: Node) -> Kernel:
    value = protos.summary_pb2.Summary.Value

    def run(tag: Any, values: Any) -> Any:
        name = _tag(tag)
        return _serialized([value(tag=name, histo=histogram(np.asarray(values), name))])

    return run


# ---- images and sound -------------------------------------------------------------------------------------------


def png(pixels: Any) -> bytes:
    """An array of uint8 [height, width, 1, 3 or 4 channels] as a PNG file (ISO/IEC 15948)."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = _filtered(pixels, rows[:, 0])
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def _filtered(pixels: Any, kinds: Any) -> Any:
    """Each row as it is, less the pixels on the left, or less those above, what is nearest to zero; sets its kind."""
    left, above = pixels.copy(), pixels.copy()
    left[:, 1:] -= pixels[:, :-1]
    above[1:] -= pixels[:-1]
    candidates = np.stack([pixels, left, above]).reshape(3, len(pixels), -1)
    # Read as signed numbers, small differences in either direction are small.
    kinds[:] = np.abs(candidates.view(np.int8), dtype=np.int16).sum(axis=2, dtype=np.int64).argmin(axis=0)
    return candidates[kinds, np.arange(len(pixels))]


def _scaled(pixels: Any, bad_color: Any) -> Any:
    """A floating-point image [height, width, channels] as uint8."""
    finite = np.isfinite(pixels).all(axis=-1)
    good = pixels[finite]
    low, high = (good.min(), good.max()) if good.size else (0, 0)
    largest = np.float32(max(abs(low), abs(high)))
    reach, middle = (127, 128) if low < 0 else (255, 0)
    scale = 0 if largest < _SMALL_IMAGE else np.float32(reach) / largest
    element = pixels.dtype.type
    result = np.empty(pixels.shape, np.uint8)
    result[finite] = (good * element(scale) + element(middle)).astype(np.uint8)
    result[~finite] = bad_color[: pixels.shape[-1]]
    return result


def _numbered(tag: str, kind: str, position: int, limit: int) -> str:
    return f"{tag}/{kind}/{position}" if limit > 1 else f"{tag}/{kind}"


@kernel("ImageSummary")
def _image_summary(node: Node) -> Kernel:
    limit, bad_color = node.attrs["max_images"], np.asarray(node.attrs["bad_color"])
    messages = protos.summary_pb2.Summary

    def run(tag: Any, tensor: Any) -> Any:
        if tensor.ndim != 4 or tensor.shape[3] not in (1, 3, 4):
            raise invalid(f"Tensor must be 4-D with last dim 1, 3, or 4, not {list(tensor.shape)}")
        if tensor.size == 0 and len(tensor):
            raise invalid(f"input tensor must have non-zero dims. Found: {list(tensor.shape)}.")
        name, values = _tag(tag), []
        for position, pixels in enumerate(tensor[:limit]):
            data = pixels if pixels.dtype == np.uint8 else _scaled(pixels, bad_color)
            height, width, channels = pixels.shape
            image = messages.Image(
                height=height, width=width, colorspace=channels, encoded_image_string=png(data)
            )
            values.append(messages.Value(tag=_numbered(name, "image", position, limit), image=image))
        return _serialized(values)

    return run


@kernel("AudioSummaryV2")
def _audio_summary(node: Node) -> Kernel:
    limit = node.attrs["max_outputs"]
    messages = protos.summary_pb2.Summary

    def run(tag: Any, tensor: Any, sample_rate: Any) -> Any:
        if tensor.ndim not in (2, 3):
            raise invalid(f"Tensor must be 3-D or 2-D, got: {list(tensor.shape)}")
        rate = float(np.asarray(sample_rate).item())
        if not 0.5 < rate < 1 << 31:
            raise invalid(f"sample_rate must be at least 1 and below 2**31, got {rate}")
        if tensor.size == 0 and len(tensor):
            raise invalid(f"Sound of shape {list(tensor.shape)} has no frames.")
        name, values = _tag(tag), []
        for position, sound in enumerate(tensor[:limit]):
            samples = sound.reshape(len(sound), -1)
            audio = messages.Audio(
                sample_rate=rate,
                num_channels=samples.shape[1],
                length_frames=len(samples),
                encoded_audio_string=wav(samples, rate),
                content_type="audio/wav",
            )
            values.append(messages.Value(tag=_numbered(name, "audio", position, limit), audio=audio))
        return _serialized(values)

    return run


# ---- tensors, and several summaries -----------------------------------------------------------------------------


@kernel("TensorSummaryV2")
def _tensor_summary(node: Node) -> Kernel:
    value = protos.summary_pb2.Summary.Value

    def run(tag: Any, tensor: Any, metadata: Any) -> Any:
        result = value(tag=_tag(tag))
        tensor_to_proto(tensor, result.tensor)
        result.metadata.ParseFromString(np.asarray(metadata, object).item())
        return _serialized([result])

    return run


@kernel("MergeSummary")
def _merge_summary(node: Node) -> Kernel:
    message = protos.summary_pb2.Summary

    def run(*inputs: Any) -> Any:
        from google.protobuf.message import DecodeError

        parts = [part for x in inputs for part in np.asarray(x, object).reshape(-1).tolist()]
        try:
            tags = [v.tag for part in parts for v in message.FromString(part).value if v.tag]
        except DecodeError:
            raise invalid(
                "Could not parse one of the summary inputs: they are no serialized Summary."
            ) from None
        if len(set(tags)) < len(tags):
            twice = next(tag for tag in tags if tags.count(tag) > 1)
            raise invalid(
                f"Duplicate tag {twice} found in summary inputs: give the summaries names of their own."
            )
        result = np.empty((), object)
        result[()] = b"".join(parts)  # Messages one after the other are one message with the values of all.
        return result

    return run
