"""Samples of summaries: the references build the messages with loops; images are decoded in tests/summary."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphflow import protos
from tests.ops.op_samples.sample import Draw, Random, Sample


def _string(text: bytes) -> Any:
    return np.array(text, object)


def _serialized(*values: Any) -> Any:
    return _string(protos.summary_pb2.Summary(value=values).SerializeToString())


def _value(**fields: Any) -> Any:
    return protos.summary_pb2.Summary.Value(**fields)


def _scalar(random: Random) -> Iterable[Sample]:
    def expected(tags: Any, values: Any) -> Any:
        pairs = zip(tags.reshape(-1), values.reshape(-1), strict=True)
        return _serialized(*(_value(tag=t.decode(), simple_value=float(v)) for t, v in pairs))

    for kind in (np.float64, np.float32, np.int64, np.uint8, np.float16):
        yield Sample((_string(b"one"), np.array(random.integers(0, 9), kind)), expected=expected)
    tags = np.array([b"one", b"other"], object)
    yield Sample((tags, random.integers(-9, 9, 2).astype(np.float32)), expected=expected)


def _limits() -> list[float]:
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    limits.append(1.7976931348623157e308)
    return [-v for v in reversed(limits)] + [0.0] + limits


def _histogram(random: Random) -> Iterable[Sample]:
    def expected(tag: Any, values: Any) -> Any:
        numbers = [float(v) for v in values.reshape(-1)]
        limits = _limits()
        counts = [0] * len(limits)
        for number in numbers:
            counts[bisect.bisect_right(limits, number)] += 1
        kept = [i for i, n in enumerate(counts) if n or i + 1 == len(counts) or counts[i + 1]]
        proto = protos.summary_pb2.HistogramProto(
            min=min(numbers, default=limits[-1]),
            max=max(numbers, default=limits[0]),
            num=len(numbers),
            sum=sum(numbers),
            sum_squares=sum(n * n for n in numbers),
            bucket_limit=[limits[i] for i in kept],
            bucket=[counts[i] for i in kept],
        )
        return _serialized(_value(tag=tag.item().decode(), histo=proto))

    for shape in ((7,), (), (3, 20), (0,)):
        yield Sample((_string(b"spread"), random.integers(-40, 40, shape) / 8.0), expected=expected)
    yield Sample((_string(b"spread"), np.float32([0.0, -0.0, 1.0, -1.0])), expected=expected)
    yield Sample((_string(b"spread"), random.integers(-128, 127, 50).astype(np.int8)), expected=expected)
    powers = np.ldexp(1.0, random.integers(-60, 80, 40)) * random.choice([-1.0, 1.0], 40)
    yield Sample((_string(b"spread"), np.sort(powers)[::-1]), expected=expected, tolerance=10)


def _image(random: Random) -> Iterable[Sample]:
    attrs = {"max_images": 2, "bad_color": np.array([255, 0, 0, 255], np.uint8)}
    for channels in (1, 3, 4):
        yield Sample((_string(b"picture"), random.standard_normal((3, 5, 4, channels))), attrs)
    yield Sample((_string(b"picture"), random.integers(0, 255, (1, 8, 8, 3)).astype(np.uint8)), attrs)


def _audio(random: Random) -> Iterable[Sample]:
    def expected(tag: Any, sound: Any, rate: Any) -> Any:
        found = []
        for position, samples in enumerate(sound):
            levels = [max(-32768, min(32767, int(v * 32768))) for v in samples.reshape(-1).tolist()]
            data = struct.pack(f"<{len(levels)}h", *levels)
            channels = 1 if samples.ndim == 1 else samples.shape[1]
            size = 2 * channels
            layout = struct.pack("<IHHIIHH", 16, 1, channels, int(rate), int(rate) * size, size, 16)
            body = b"WAVEfmt " + layout + b"data" + struct.pack("<I", len(data)) + data
            audio = protos.summary_pb2.Summary.Audio(
                sample_rate=float(rate),
                num_channels=channels,
                length_frames=len(samples),
                encoded_audio_string=b"RIFF" + struct.pack("<I", len(body)) + body,
                content_type="audio/wav",
            )
            found.append(_value(tag=f"{tag.item().decode()}/audio/{position}", audio=audio))
        return _serialized(*found)

    rate = np.array(8000.0, np.float32)
    for shape in ((2, 6), (1, 4, 2)):
        sound = (random.integers(-256, 257, shape) / 256).astype(np.float32)
        yield Sample((_string(b"sound"), sound, rate), {"max_outputs": 3}, expected)


def _tensor(random: Random) -> Iterable[Sample]:
    def expected(tag: Any, tensor: Any, metadata: Any) -> Any:
        value = _value(tag=tag.item().decode())
        value.tensor.dtype = {"d": 2, "f": 1, "l": 9, "?": 10, "O": 7}[tensor.dtype.char]
        for size in tensor.shape:
            value.tensor.tensor_shape.dim.add(size=size)
        if tensor.dtype == object:
            value.tensor.string_val.extend(tensor.reshape(-1).tolist())
        else:
            value.tensor.tensor_content = tensor.tobytes()
        value.metadata.plugin_data.plugin_name = "text"
        return _serialized(value)

    metadata = protos.summary_pb2.SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    described = _string(metadata.SerializeToString())
    for tensor in (
        random.standard_normal((2, 3)),
        random.standard_normal(4).astype(np.float32),
        random.integers(0, 9, (3, 1)),
        random.integers(0, 2, 5).astype(bool),
        np.array([[b"a", b"\xff"], [b"", b"word"]], object),
    ):
        yield Sample((_string(b"all"), tensor, described), expected=expected)


def _merge(random: Random) -> Iterable[Sample]:
    def expected(*parts: Any) -> Any:
        merged = protos.summary_pb2.Summary()
        for part in parts:
            merged.MergeFromString(part.item())
        return _string(merged.SerializeToString())

    parts = [_serialized(_value(tag=f"t{i}", simple_value=float(i))) for i in range(3)]
    for count in (3, 1):
        yield Sample((parts[:count],), {"N": count}, expected)


TABLE: dict[str, Draw] = {
    "ScalarSummary": _scalar,
    "HistogramSummary": _histogram,
    "ImageSummary": _image,
    "AudioSummaryV2": _audio,
    "TensorSummaryV2": _tensor,
    "MergeSummary": _merge,
}
