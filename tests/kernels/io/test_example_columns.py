"""Many Example messages at once: native code reads what the library of protocol buffers reads, and the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.cpu.sources.examples import numbers_source, scan_source
from graphflow._core.codegen.shared import compiler
from graphflow._core.kernels.io.example_columns import use_code
from graphflow._core.runtime.example_code import NativeExamples, ask_when_needed

FEATURES = {
    "x": gf.FixedLenFeature([], gf.float32, 0.5),
    "vector": gf.FixedLenFeature([2, 2], gf.float32, [[1.0, 2.0], [3.0, 4.0]]),
    "n": gf.FixedLenFeature([], gf.int64, -1),
    "name": gf.FixedLenFeature([], gf.string, "nobody"),
    "names": gf.FixedLenFeature([2], gf.string, ["a", "b"]),
    "ids": gf.VarLenFeature(gf.int64),
    "weights": gf.VarLenFeature(gf.float32),
    "words": gf.VarLenFeature(gf.string),
    "steps": gf.FixedLenSequenceFeature([2], gf.float32, allow_missing=True, default_value=7.0),
    "texts": gf.FixedLenSequenceFeature([], gf.string, allow_missing=True),
}


@pytest.fixture(scope="module")
def native() -> NativeExamples:
    """The compiled code."""
    scan, numbers = compiler().compile_many([scan_source(), numbers_source()])
    return NativeExamples(scan.result(100), numbers.result(100))


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What a test does with the code ends with it."""
    yield
    ask_when_needed()


class Counting:
    """The native code, and how often it found a table."""

    def __init__(self, native: NativeExamples) -> None:
        self.native = native
        self.found = 0

    def scan(self, *arguments: Any) -> Any:
        """As NativeExamples.scan."""
        table = self.native.scan(*arguments)
        self.found += table is not None
        return table

    def numbers(self, *arguments: Any) -> None:
        """As NativeExamples.numbers."""
        self.native.numbers(*arguments)


def feature(values: Any) -> Any:
    """A message of some values, of the kind that they have."""
    if values and isinstance(values[0], bytes):
        return gf.train.Feature(bytes_list=gf.train.BytesList(value=values))
    if values and isinstance(values[0], float):
        return gf.train.Feature(float_list=gf.train.FloatList(value=values))
    return gf.train.Feature(int64_list=gf.train.Int64List(value=values))


def message(draw: random.Random) -> bytes:
    """An example with some of the features, in some order, and others that nobody asks for."""
    integers = [0, 1, -1, 127, 128, 300, 2**31, -(2**63), 2**63 - 1]
    make: dict[str, Any] = {
        "x": lambda: [draw.uniform(-1, 1)],
        "vector": lambda: [draw.uniform(-1, 1) for _ in range(4)],
        "n": lambda: [draw.choice(integers)],
        "name": lambda: [bytes(draw.randrange(256) for _ in range(draw.choice([0, 1, 5, 200])))],
        "names": lambda: [b"", b"second\x00"],
        "ids": lambda: [draw.choice(integers) for _ in range(draw.randrange(5))],
        "weights": lambda: [draw.uniform(-1, 1) for _ in range(draw.randrange(1, 5))],
        "words": lambda: [b"w" * draw.randrange(200) for _ in range(draw.randrange(1, 4))],
        "steps": lambda: [draw.uniform(-1, 1) for _ in range(2 * draw.randrange(1, 4))],
        "texts": lambda: [b"t" * draw.randrange(3) for _ in range(draw.randrange(1, 4))],
        "other": lambda: [1, 2, 3],
        "xx": lambda: [5.0],
    }
    names = [name for name in make if draw.random() < 0.8]
    draw.shuffle(names)
    made = {name: feature(make[name]()) for name in names}
    found: bytes = gf.train.Example(features=gf.train.Features(feature=made)).SerializeToString()
    return found


def read(serialized: Any, features: Any = FEATURES) -> Any:
    """What parse_example gives, flat, or the error that it raises."""
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        parsed = gf.parse_example(np.array(serialized, object), features)
        flat: list[Any] = []
        for name in sorted(parsed):
            value = parsed[name]
            sparse = isinstance(features[name], gf.VarLenFeature)
            flat += [value.indices, value.values, value.dense_shape] if sparse else [value]
        try:
            return session.run(flat)
        except gf.errors.InvalidArgumentError as error:
            return error.message


def same(found: Any, expected: Any) -> None:
    """Both are the same arrays, or the same error."""
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_array_equal(mine, theirs)


def both(serialized: Any, native: Any, features: Any = FEATURES) -> int:
    """Compares both ways of reading; whether the native code was used."""
    use_code(lambda: None)
    expected = read(serialized, features)
    counting = Counting(native)
    use_code(lambda: counting)
    same(read(serialized, features), expected)
    return counting.found


@pytest.mark.parametrize("seed", range(8))
def test_messages_are_read_as_the_library_reads_them(seed: int, native: Any) -> None:
    draw = random.Random(seed)
    assert both([message(draw) for _ in range(draw.choice([4, 5, 33]))], native) == 1


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_message_is_an_error_or_the_same(seed: int, native: Any) -> None:
    draw = random.Random(seed)
    messages = [bytearray(message(draw)) for _ in range(6)]
    for _ in range(draw.choice([1, 1, 3])):
        damaged = draw.choice([m for m in messages if m])
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    if draw.random() < 0.3:
        del messages[0][draw.randrange(1, len(messages[0])) :]
    both([bytes(m) for m in messages], native)


def test_what_is_not_plain_is_left_to_the_library(native: Any) -> None:
    floats = b"\x12\x0a\x0d\x00\x00\x80\x3f\x0d\x00\x00\x00\x40"  # unpacked, two values
    entry = b"\x0a\x01x\x12" + bytes([len(floats)]) + floats
    unpacked = b"\x0a" + bytes([len(entry) + 2]) + b"\x0a" + bytes([len(entry)]) + entry
    plain = message(random.Random(1))
    features = {"x": gf.VarLenFeature(gf.float32)}
    assert both([unpacked] * 4, native, features) == 0
    assert both([unpacked + plain] * 4, native, features) == 0  # two lists of features, to be merged
    assert both([plain] * 4, native, {"x\u00e9": gf.FixedLenFeature([], gf.float32, 0.0)}) == 0


@pytest.mark.parametrize(
    "features",
    [
        {"x": gf.FixedLenFeature([], gf.int64)},
        {"missing": gf.FixedLenFeature([], gf.float32)},
        {"vector": gf.FixedLenFeature([3], gf.float32)},
        {"vector": gf.FixedLenSequenceFeature([3], gf.float32, allow_missing=True)},
    ],
)
def test_errors_are_those_of_one_at_a_time(features: Any, native: Any) -> None:
    whole = {"x": feature([1.0]), "vector": feature([1.0, 2.0, 3.0, 4.0])}
    data = gf.train.Example(features=gf.train.Features(feature=whole)).SerializeToString()
    use_code(lambda: native)
    assert isinstance(read([data] * 5, features), str)
    both([data] * 5, native, features)


def test_empty_messages(native: Any) -> None:
    both([b""] * 5, native)
    both([b"", *[message(random.Random(2)) for _ in range(4)], b""], native)
    both([], native)


def test_a_key_that_comes_twice_has_its_last_value(native: Any) -> None:
    first = gf.train.Example(features=gf.train.Features(feature={"n": feature([1])})).SerializeToString()
    second = gf.train.Example(features=gf.train.Features(feature={"n": feature([2])})).SerializeToString()
    inside = first[2:] + second[2:]
    twice = b"\x0a" + bytes([len(inside)]) + inside
    features = {"n": gf.FixedLenFeature([], gf.int64)}
    assert both([twice] * 4, native, features) == 1
    assert read([twice] * 4, features)[0].tolist() == [2] * 4
