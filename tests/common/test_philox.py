"""Protects that seeded random numbers are TensorFlow 1.15's, bit for bit, and stay so over runs and threads.

The results in data/philox.json were recorded from TensorFlow by record_philox.py. Doubles may differ in their last
bits, since NumPy's logarithm and the C library's do.
"""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphflow._core.common.philox import generator as philox
from graphflow._core.common.philox.bits import CHUNK_BLOCKS, Stream
from graphflow._core.common.philox.generator import Philox
from graphflow.errors import InvalidArgumentError

RECORDS = json.loads((Path(__file__).parent / "data" / "philox.json").read_text())
OPS = sorted({record["op"] for record in RECORDS})
# The ops whose doubles come from a logarithm or a sine.
ROUNDED = {"random_normal", "truncated_normal", "random_gamma"}
LARGEST_DISTANCE = 16


def draw(generator: Philox, op: str, arguments: dict[str, Any]) -> np.ndarray:
    rest = dict(arguments)
    if op == "random_shuffle":
        shape = rest.pop("shape")
        rest["value"] = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    for parameter in ("logits", "alpha", "rate"):
        if parameter in rest:
            rest[parameter] = np.array(rest[parameter], rest.pop(parameter + "_dtype"))
    return getattr(generator, op)(**rest)


def assert_recorded(result: np.ndarray, expected: dict[str, Any], close: bool, where: str) -> None:
    assert list(result.shape) == expected["shape"], where
    assert result.dtype.name == expected["dtype"], where
    bits = (result.view(f"u{result.itemsize}") if result.dtype.kind == "f" else result).ravel().tolist()
    if "values" in expected:
        parts = [(bits, expected["values"])]
    else:
        parts = [(bits[:8], expected["first"]), (bits[-8:], expected["last"])]
    for found, wanted in parts:
        assert len(found) == len(wanted), where
        largest = max((abs(a - b) for a, b in zip(found, wanted)), default=0)
        assert largest <= (LARGEST_DISTANCE if close else 0), where
    if "sha256" in expected and not close:
        assert hashlib.sha256(result.tobytes()).hexdigest() == expected["sha256"], where


@pytest.mark.parametrize("op", OPS)
def test_three_runs_equal_tensorflows(op):
    for record in RECORDS:
        if record["op"] != op:
            continue
        generator = Philox(*record["seeds"])
        for number, expected in enumerate(record["runs"]):
            result = draw(generator, op, record["arguments"])
            close = op in ROUNDED and expected["dtype"] == "float64"
            where = f"{op} {record['arguments']}, seeds {record['seeds']}, run {number}"
            assert_recorded(result, expected, close, where)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (2**128 - 1, 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            0x03707344_13198A2E_85A308D3_243F6A88,
            0x299F31D0_A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_blocks_equal_the_published_answers(counter, key, words):
    even, odd = Stream(key, counter).blocks(np.zeros(1, dtype=np.uint64))
    found = [even[0, 0], odd[0, 0], even[1, 0], odd[1, 0]]
    assert [f"{int(word):08x}" for word in found] == words.split()


@pytest.mark.parametrize("counter", [2**32 - 3, 2**64 - 3, 2**96 - 3, 2**128 - 3])
def test_counter_carries_into_its_upper_words(counter):
    together = Stream(99, counter).blocks(np.arange(6, dtype=np.uint64))
    for step in range(6):
        alone = Stream(99, (counter + step) % 2**128).blocks(np.zeros(1, dtype=np.uint64))
        for found, expected in zip(together, alone):
            np.testing.assert_array_equal(found[:, step : step + 1], expected)


@pytest.mark.parametrize("op", ["random_uniform", "random_normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_longer_results_begin_like_shorter_ones(op, dtype):
    """Also where a result is made in several chunks."""
    longer = getattr(Philox(3, 4), op)([4 * CHUNK_BLOCKS + 7], dtype)
    shorter = getattr(Philox(3, 4), op)([4 * CHUNK_BLOCKS - 6], dtype)
    np.testing.assert_array_equal(longer[: shorter.size], shorter)
    assert longer.dtype == dtype


def test_restored_state_goes_on_alike():
    generator = Philox(1, -2)
    generator.random_normal([5])
    state = generator.get_state()
    expected = [generator.random_normal([5]), generator.random_uniform([2])]
    other = Philox(8, 8)
    other.set_state(state)
    np.testing.assert_array_equal(other.random_normal([5]), expected[0])
    np.testing.assert_array_equal(other.random_uniform([2]), expected[1])
    assert state["philox"].dtype == np.uint64
    np.testing.assert_array_equal(other.get_state()["philox"], generator.get_state()["philox"])


@pytest.mark.parametrize("state", [[1, 2], [[1, 2, 3]], [1.0, 2.0, 3.0], 5])
def test_other_values_are_not_taken_for_a_state(state):
    generator = Philox(1, 2)
    with pytest.raises(ValueError, match="three integers"):
        generator.set_state({"philox": state})


def test_without_seeds_every_state_is_another():
    states = {tuple(Philox(0, 0).get_state()["philox"].tolist()) for _ in range(8)}
    assert len(states) == 8


def test_threads_take_different_stretches():
    """The draws of several threads are those of one, in some order."""
    generator, alone = Philox(5, 6), Philox(5, 6)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: generator.random_uniform([50]).tobytes(), range(40)))
    assert sorted(together) == sorted(alone.random_uniform([50]).tobytes() for _ in range(40))


@pytest.mark.parametrize("size", [2, 20_000, 60_000])
def test_swaps_done_together_equal_swaps_done_one_by_one(size, monkeypatch):
    rest = size - np.arange(size - 1)
    partners = np.arange(size - 1) + np.random.default_rng(size).integers(0, 2**32, size - 1) % rest
    together = philox._shuffled_indices(partners)
    monkeypatch.setattr(philox, "_SEQUENTIAL_SWAPS", size)
    np.testing.assert_array_equal(together, philox._shuffled_indices(partners))
    np.testing.assert_array_equal(np.sort(together), np.arange(size))


def test_shuffle_leaves_its_argument_alone_and_keeps_rows_whole():
    value = np.arange(12).reshape(6, 2)
    kept = value.copy()
    result = Philox(1, 1).random_shuffle(value)
    np.testing.assert_array_equal(value, kept)
    np.testing.assert_array_equal(result[:, 1] - result[:, 0], np.ones(6))
    np.testing.assert_array_equal(np.sort(result[:, 0]), value[:, 0])


@pytest.mark.parametrize("shape", [0.2, 0.9, 1.0, 1.5, 40.0])
def test_gamma_has_its_mean_and_variance(shape):
    draws = Philox(11, 12).random_gamma([40_000], np.array(shape))
    assert draws.mean() == pytest.approx(shape, rel=0.05)
    assert draws.var() == pytest.approx(shape, rel=0.1)


@pytest.mark.parametrize("rate", [0.3, 9.0, 10.0, 200.0])
def test_poisson_has_its_mean_and_variance(rate):
    draws = Philox(13, 14).random_poisson([40_000], np.array(rate))
    assert draws.mean() == pytest.approx(rate, rel=0.05)
    assert draws.var() == pytest.approx(rate, rel=0.1)


def test_gamma_of_zero_is_zero():
    np.testing.assert_array_equal(Philox(1, 2).random_gamma([3], np.zeros(2, np.float32)), np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.random_uniform([-1]), "Dimension -1 must be >= 0"),
        (
            lambda g: g.random_uniform([1], np.int32),
            "dtype must be one of float16, float32, float64, got int32",
        ),
        (lambda g: g.random_uniform_int([1], 5, 5), "Need minval < maxval, got 5 >= 5"),
        (lambda g: g.random_uniform_int([1], 0, 2**31), "must be of dtype int32"),
        (lambda g: g.multinomial(np.zeros(3), 1), "logits should be a matrix"),
        (lambda g: g.multinomial(np.zeros((1, 3)), -1), "num_samples should be nonnegative"),
        (lambda g: g.multinomial(np.zeros((1, 0)), 1), "num_classes should be positive"),
        (lambda g: g.random_gamma([1], np.array(1)), "dtype must be one of"),
        (lambda g: g.random_gamma([1], np.array([2.0, -1.0])), "alpha must be between 0 and .* got -1.0"),
        (lambda g: g.random_gamma([1], np.array(np.nan)), "alpha must be between 0 and .* got nan"),
        (lambda g: g.random_poisson([1], np.array([2.0, np.inf])), "rate must be between 0 and .* got inf"),
        (lambda g: g.random_poisson([1], np.array(1e9), np.float16), "rate must be between 0 and 65504"),
    ],
)
def test_bad_arguments_are_named(call, message):
    generator = Philox(1, 2)
    before = generator.get_state()
    with pytest.raises(InvalidArgumentError, match=message):
        call(generator)
    np.testing.assert_array_equal(generator.get_state()["philox"], before["philox"])
