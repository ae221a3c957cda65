"""Samples of ops on strings."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import graphflow as gf
from tests.ops.op_samples.sample import Draw, Random, Sample, draw, ints, scalar, strings

WORDS = ("", "a", "Bc d", "12x", "a-b-c", "  pad ", "ÄÖ", "xyz")


def _words(random: Random, shape: Sequence[int], words: Sequence[str] = WORDS) -> Any:
    result = np.empty(shape, object)
    for at in np.ndindex(result.shape):
        result[at] = str(random.choice(words)).encode()
    return result


def _mapped(
    function: Callable[[bytes], Any], dtype: Any = object, words: Sequence[str] = WORDS, **attrs: Any
) -> Draw:
    def reference(x: Any) -> Any:
        result = np.empty(x.shape, dtype)
        for at in np.ndindex(x.shape):
            result[at] = function(x[at])
        return result

    def generate(random: Random) -> Iterable[Sample]:
        for shape in ((4,), (), (2, 3), (0,), (2, 0)):
            yield Sample((_words(random, shape, words),), attrs, reference)

    return generate


def _both(one: Draw, other: Draw) -> Draw:
    return lambda random: itertools.chain(one(random), other(random))


def _as_string(random: Random) -> Iterable[Sample]:
    plain = {"precision": -1, "width": -1, "fill": "", "scientific": False, "shortest": False}

    def reference(form: Callable[[Any], str]) -> Callable[..., Any]:
        def compute(x: Any) -> Any:
            result = np.empty(x.shape, object)
            for at in np.ndindex(x.shape):
                result[at] = form(x[at].item()).encode()
            return result

        return compute

    for shape in ((3,), (), (2, 0)):
        yield Sample((draw(random, np.int32, shape, -50, 50),), plain, reference(str))
        yield Sample((draw(random, np.float64, shape),), plain, reference(lambda v: f"{v:f}"))
        yield Sample(
            (draw(random, np.float32, shape),), {**plain, "precision": 2}, reference(lambda v: f"{v:.2f}")
        )
        yield Sample((draw(random, bool, shape),), plain, reference(lambda v: str(v).lower()))
        yield Sample(
            (draw(random, np.int64, shape, 0, 99),),
            {**plain, "width": 5, "fill": "0"},
            reference(lambda v: f"{v:05d}"),
        )


def _join(random: Random) -> Iterable[Sample]:
    def reference(separator: str) -> Callable[..., Any]:
        def compute(*parts: Any) -> Any:
            result = np.empty(np.broadcast_shapes(*(p.shape for p in parts)), object)
            for at in np.ndindex(result.shape):
                result[at] = separator.encode().join(p[at] if p.ndim else p[()] for p in parts)
            return result

        return compute

    for shapes, separator in (
        (((2,), (2,)), "-"),
        (((2, 2), (), (2, 2)), ""),
        (((),), "x"),
        (((0,), ()), ","),
    ):
        parts = [_words(random, s) for s in shapes]
        yield Sample((parts,), {"N": len(parts), "separator": separator}, reference(separator))


def _sparse(rows: list[list[bytes]]) -> Any:
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    parts = [part for row in rows for part in row]
    widest = max((len(row) for row in rows), default=0)
    values = np.empty(len(parts), object)
    values[:] = parts
    return np.array(places, np.int64).reshape(-1, 2), values, np.array([len(rows), widest], np.int64)


def _split(random: Random) -> Iterable[Sample]:
    for size, at, skip in ((4, " -", True), (3, "-", False), (2, "", True), (0, "-", True)):

        def reference(x: Any, delimiter: Any, skip: bool = skip) -> Any:
            rows = []
            for text in x:
                parts, current = [], b""
                for byte in (text[i : i + 1] for i in range(len(text))):
                    if not delimiter[()]:
                        parts.append(byte)
                    elif byte in delimiter[()]:
                        parts.append(current)
                        current = b""
                    else:
                        current += byte
                parts += [current] if delimiter[()] else []
                rows.append([p for p in parts if p or not skip])
            return _sparse(rows)

        yield Sample((_words(random, (size,)), strings(at)), {"skip_empty": skip}, reference)


def _split_v2(random: Random) -> Iterable[Sample]:
    for size, at, most in ((4, "-", -1), (3, "", -1), (3, "-", 1), (0, "a", -1)):

        def reference(x: Any, separator: Any, most: int = most) -> Any:
            return _sparse(
                [t.split(separator[()], most) if separator[()] else t.split(None, most) for t in x]
            )

        yield Sample((_words(random, (size,)), strings(at)), {"maxsplit": most}, reference)


def _to_number(random: Random) -> Iterable[Sample]:
    for out, kind in (
        (gf.float32, np.float32),
        (gf.float64, np.float64),
        (gf.int32, np.int32),
        (gf.int64, np.int64),
    ):
        words = ("1", "-7", "42") if "int" in out.name else ("1", "-0.5", "2e3", "inf")
        yield from _mapped(float if "float" in out.name else int, kind, words, out_type=out)(random)


def _substr(random: Random) -> Iterable[Sample]:
    def reference(x: Any, pos: Any, length: Any) -> Any:
        shape = np.broadcast_shapes(x.shape, pos.shape, length.shape)
        x, pos, length = (np.broadcast_to(a, shape) for a in (x, pos, length))
        result = np.empty(shape, object)
        for at in np.ndindex(shape):
            begin = pos[at] if pos[at] >= 0 else len(x[at]) + pos[at]
            result[at] = x[at][begin : begin + length[at]]
        return result

    for shape, pos, length in (((3,), 1, 2), ((2, 2), -2, 1), ((), 0, 9), ((0,), 0, 1)):
        words = _words(random, shape, ("ab", "xyz", "hello"))
        yield Sample((words, scalar(pos), scalar(length)), {}, reference)
        yield Sample((words, np.full(shape, pos, np.int64), np.full(shape, length, np.int64)), {}, reference)


def _reduce_join(random: Random) -> Iterable[Sample]:
    for shape, axes, keep in (
        ((2, 3), ints(0), False),
        ((2, 3), ints(1, 0), True),
        ((3,), scalar(-1), False),
        ((2, 0), ints(1), False),
    ):

        def reference(x: Any, axes: Any, keep: bool = keep) -> Any:
            for axis in np.atleast_1d(axes):
                along = np.moveaxis(x, int(axis), -1)
                result = np.empty(along.shape[:-1], object)
                for at in np.ndindex(result.shape):
                    result[at] = b"+".join(along[at])
                x = np.expand_dims(result, int(axis) % x.ndim)
            return x if keep else np.squeeze(x, tuple(int(a) % x.ndim for a in np.atleast_1d(axes)))

        yield Sample((_words(random, shape), axes), {"keep_dims": keep, "separator": "+"}, reference)


def _base64(text: bytes, pad: bool) -> bytes:
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    bits = "".join(f"{byte:08b}" for byte in text)
    groups = [bits[i : i + 6].ljust(6, "0") for i in range(0, len(bits), 6)]
    found = bytes(letters[int(group, 2)] for group in groups)
    return found + b"=" * (-len(found) % 4) if pad else found


def _decode_base64(random: Random) -> Iterable[Sample]:
    for shape in ((4,), (), (0,), (2, 2)):
        texts = _words(random, shape)
        coded = np.empty(shape, object)
        for at in np.ndindex(texts.shape):
            coded[at] = _base64(texts[at], False)
        yield Sample((coded,), {}, lambda coded, texts=texts: texts)


def _sharded(random: Random) -> Iterable[Sample]:
    for shard, count, text in ((0, 1, "m-00000-of-00001"), (7, 123456, "m-00007-of-123456")):
        inputs = (strings("m"), scalar(shard, np.int32), scalar(count, np.int32))
        yield Sample(inputs, {}, lambda *_, text=text: strings(text))


def _decode_raw(random: Random) -> Iterable[Sample]:
    for shape, (out, kind, code), little in itertools.product(
        ((2,), (), (2, 1)),
        ((gf.int16, np.int16, "h"), (gf.float32, np.float32, "f"), (gf.uint8, np.uint8, "B")),
        (True, False),
    ):
        texts = np.empty(shape, object)
        for at in np.ndindex(texts.shape):
            texts[at] = random.bytes(4)

        def reference(x: Any, code: str = code, kind: Any = kind, little: bool = little) -> Any:
            count = 4 // struct.calcsize(code)
            result = np.empty((*x.shape, count), kind)
            for at in np.ndindex(x.shape):
                result[at] = struct.unpack(f"{'<' if little else '>'}{count}{code}", x[at])
            return result

        yield Sample((texts,), {"out_type": out, "little_endian": little}, reference)


def _format(random: Random) -> Iterable[Sample]:
    attrs = {"template": "x={} y={}", "placeholder": "{}", "summarize": 3}

    def reference(x: Any, y: Any) -> Any:
        return strings(f"x={x} y=[{' '.join(map(str, y.tolist()))}]")

    for low in (-9, 0):
        yield Sample(
            ([draw(random, np.int32, (), low), draw(random, np.int64, (3,), low)],), attrs, reference
        )


def _with_pattern(draws: Draw, pattern: str, *rewrite: str) -> Draw:
    """The same samples with pattern and rewriting as inputs."""

    def generate(random: Random) -> Iterable[Sample]:
        for sample in draws(random):
            given = (*sample.inputs, *map(strings, (pattern, *rewrite)))
            attrs = {k: v for k, v in sample.attrs.items() if k not in ("pattern", "rewrite")}
            expected = sample.expected
            assert expected is not None
            yield Sample(given, attrs, lambda x, *_, expected=expected: expected(x))

    return generate


def _buckets(**attrs: Any) -> Draw:
    """What TensorFlow's fingerprints are is recorded in tests/oracle/cases/lookup.py."""

    def generate(random: Random) -> Iterable[Sample]:
        for shape in ((4,), (), (2, 0)):
            yield Sample((_words(random, shape),), {"num_buckets": 5, **attrs})

    return generate


def _segments(random: Random) -> Iterable[Sample]:
    for shape, ids in (
        ((4, 2), ints(2, 0, 2, 0)),
        ((2, 2, 3), ints(0, 1, 1, 1).reshape(2, 2)),
        ((0,), ints()),
    ):

        def reference(x: Any, ids: Any, count: Any) -> Any:
            result = np.empty((int(count), *x.shape[ids.ndim :]), object)
            for at in np.ndindex(result.shape):
                chosen = [x[(*row, *at[1:])] for row in np.ndindex(ids.shape) if ids[row] == at[0]]
                result[at] = b", ".join(chosen)
            return result

        yield Sample((_words(random, shape), ids, scalar(3, np.int32)), {"separator": ", "}, reference)


def _transcode(random: Random) -> Iterable[Sample]:
    for source, codec in (("UTF-8", "utf-8"), ("UTF-16", "utf-16-be"), ("ISO-8859-1", "latin-1")):
        for target, errors in (("UTF-16-BE", "strict"), ("UTF-8", "replace")):
            attrs = {
                "input_encoding": source, "output_encoding": target, "errors": errors, "replacement_char": 63,
                "replace_control_characters": True,
            }  # fmt: skip

            def reference(x: Any, codec: str = codec, target: str = target) -> Any:
                result = np.empty(x.shape, object)
                for at in np.ndindex(x.shape):
                    result[at] = x[at].decode(codec).encode(target)
                return result

            for shape in ((4,), (), (2, 0)):
                texts = _words(random, shape)
                for at in np.ndindex(texts.shape):
                    texts[at] = texts[at].decode().encode(codec)
                yield Sample((texts,), attrs, reference)


_REPLACE = _mapped(lambda t: re.sub(rb"[0-9]", b"#", t), pattern="[0-9]", rewrite="#", replace_global=True)
_MATCH = _mapped(lambda t: len(t) == 3 and t.isalnum(), bool, pattern="[0-9a-z]{3}")

TABLE: dict[str, Draw] = {
    "StringToHashBucket": _buckets(),
    "StringToHashBucketFast": _buckets(),
    "StringToHashBucketStrong": _buckets(key=[3, -1]),
    "UnsortedSegmentJoin": _segments,
    "UnicodeTranscode": _transcode,
    "AsString": _as_string,
    "StringJoin": _join,
    "ShardedFilename": _sharded,
    "StringSplit": _split,
    "StringSplitV2": _split_v2,
    "StringToNumber": _to_number,
    "Substr": _substr,
    "StaticRegexReplace": _REPLACE,
    "RegexReplace": _with_pattern(_REPLACE, "[0-9]", "#"),
    "StaticRegexFullMatch": _MATCH,
    "RegexFullMatch": _with_pattern(_MATCH, "[0-9a-z]{3}"),
    "StringStrip": _mapped(bytes.strip),
    "StringLower": _both(
        _mapped(bytes.lower, encoding=""), _mapped(lambda t: t.decode().lower().encode(), encoding="utf-8")
    ),
    "StringUpper": _both(
        _mapped(bytes.upper, encoding=""), _mapped(lambda t: t.decode().upper().encode(), encoding="utf-8")
    ),
    "StringLength": _both(
        _mapped(len, np.int32, unit="BYTE"), _mapped(lambda t: len(t.decode()), np.int32, unit="UTF8_CHAR")
    ),
    "ReduceJoin": _reduce_join,
    "EncodeBase64": _both(
        _mapped(lambda t: _base64(t, False), pad=False), _mapped(lambda t: _base64(t, True), pad=True)
    ),
    "DecodeBase64": _decode_base64,
    "DecodeRaw": _decode_raw,
    "StringFormat": _format,
}
