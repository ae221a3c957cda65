"""Datasets of every kind, by name, for the tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphflow as gf

D = gf.data.Dataset
E = gf.data.experimental
IMAGES = np.arange(24 * 6, dtype=np.uint8).reshape(24, 2, 3)
LABELS = np.arange(24, dtype=np.int32)
WORDS = [b"one", b"", b"three", b"four4", b"five", b"six", b"\x00\xff", b"8"]


def numbers(count: int = 17) -> Any:
    return D.range(count)


def slices() -> Any:
    return D.from_tensor_slices((IMAGES, {"label": LABELS}))


def normalize(image: Any, rest: Any) -> Any:
    return gf.cast(image, gf.float32) / 255.0, gf.one_hot(rest["label"], 24)


def noisy(number: Any) -> Any:
    return gf.cast(number, gf.float32) + gf.random_uniform([], seed=3)


def halves(number: Any) -> Any:
    return D.range(number, number + 3).map(lambda n: n * 10)


def words() -> Any:
    return D.from_tensor_slices(WORDS)


def ragged() -> Any:
    return numbers().map(lambda n: gf.fill([gf.cast(n % 4, gf.int32)], n))


def messages() -> Any:
    """Serialized examples, which are no rows of a table."""
    return D.from_generator(_messages, gf.string, [])


def _messages() -> Any:
    for number in range(13):
        raw = gf.train.Feature(bytes_list=gf.train.BytesList(value=[bytes([number, 1, 2, 3])]))
        label = gf.train.Feature(int64_list=gf.train.Int64List(value=[number]))
        features = {"raw": raw} | ({} if number == 7 else {"label": label})
        yield gf.train.Example(features=gf.train.Features(feature=features)).SerializeToString()


def parsed(serialized: Any) -> Any:
    found = gf.parse_single_example(
        serialized,
        {"raw": gf.FixedLenFeature([], gf.string), "label": gf.FixedLenFeature([], gf.int64, -1)},
    )
    return gf.cast(gf.decode_raw(found["raw"], gf.uint8), gf.float32) / 255.0, found["label"]


def running(state: Any, number: Any) -> Any:
    total, power = state
    return (total + number, power * 0.5), {"total": total, "noisy": noisy(number) * power}


def twice(state: Any) -> Any:
    return state, noisy(state)


FEATURES = {"raw": gf.FixedLenFeature([], gf.string), "label": gf.VarLenFeature(gf.int64)}


def lines() -> Any:
    return words().flat_map(lambda w: D.from_tensors(gf.string_join(["0.5,", "12,", w])))


def generated() -> Any:
    def pairs(stop: Any) -> Any:
        for i in range(int(stop)):
            yield i, f"word{i}"

    return D.from_generator(pairs, (gf.int64, gf.string), ([], []), args=(13,))


def python(n: Any) -> Any:
    return gf.py_func(lambda value: value * 2, [n], gf.int64)


PIPELINES: dict[str, Callable[[], Any]] = {
    "range": numbers,
    "tensors": lambda: D.from_tensors((IMAGES, "word")),
    "slices": slices,
    "sparse_slices": lambda: D.from_sparse_tensor_slices(
        gf.SparseTensor([[0, 1], [0, 2], [2, 0]], [1.0, 2.0, 3.0], [4, 3])
    ),
    "strings": words,
    "generator": generated,
    "zip": lambda: D.zip((numbers(), {"w": words()})),
    "zip_rows": lambda: D.zip((numbers(), numbers(5))).batch(3),
    "concatenate": lambda: numbers(3).concatenate(numbers(5).map(lambda n: n + 100)),
    "concatenate_batch": lambda: numbers(3).concatenate(numbers(5)).batch(4),
    "map": lambda: numbers().map(lambda n: (n * n, gf.cast(n, gf.float32) / 3.0)),
    "map_batch": lambda: slices().map(normalize).batch(5),
    "map_random": lambda: numbers().map(noisy),
    "map_random_batch": lambda: numbers().map(noisy).batch(4),
    "map_random_repeat": lambda: numbers(5).map(noisy).repeat(3),
    "map_not_of_rows": lambda: numbers(5).flat_map(halves).map(noisy).batch(4),
    "map_not_of_rows_shuffle": lambda: numbers(5).flat_map(halves).map(noisy).shuffle(5, seed=3).batch(4),
    "map_ragged_batch": lambda: ragged().map(lambda v: gf.size(v) * 2).batch(4),
    "examples": lambda: messages().map(parsed).batch(5),
    "examples_shuffle": lambda: messages().map(parsed).shuffle(4, seed=1).batch(3),
    "lines": lambda: lines().map(lambda line: gf.decode_csv(line, [[0.0], [0], [""]])).batch(4),
    "map_python": lambda: numbers().map(python),
    "map_parallel": lambda: numbers().map(python, num_parallel_calls=3),
    "map_parallel_rows": lambda: numbers().map(lambda n: n * 2, num_parallel_calls=3).batch(3),
    "flat_map": lambda: numbers(5).flat_map(halves),
    "flat_map_random": lambda: numbers(4).flat_map(lambda n: D.from_tensors(noisy(n)).repeat(3)),
    "interleave": lambda: numbers(5).interleave(halves, cycle_length=3, block_length=2),
    "interleave_parallel": lambda: numbers(5).interleave(halves, 2, 1, num_parallel_calls=2),
    "filter": lambda: numbers().filter(lambda n: gf.equal(n % 3, 0)),
    "filter_batch": lambda: slices().filter(lambda image, rest: rest["label"] % 5 < 3).batch(4),
    "batch_drop": lambda: numbers().batch(5, drop_remainder=True),
    "batch_strings": lambda: words().batch(3),
    "batch_of_batches": lambda: numbers(16).batch(2).batch(3),
    "padded": lambda: ragged().padded_batch(4, [None], padding_values=np.int64(-1)),
    "padded_strings": lambda: words().map(lambda w: gf.string_split([w], "e").values).padded_batch(3, [None]),
    "shuffle": lambda: numbers().shuffle(5, seed=4),
    "shuffle_slices": lambda: slices().shuffle(7, seed=4).map(normalize).batch(5),
    "shuffle_elements": lambda: ragged().shuffle(6, seed=4),
    "shuffle_mapped": lambda: slices().map(normalize).shuffle(6, seed=4).batch(4),
    "shuffle_repeat": lambda: numbers(6).shuffle(4, seed=1).repeat(4),
    "shuffle_same_repeat": lambda: numbers(6).shuffle(4, seed=1, reshuffle_each_iteration=False).repeat(3),
    "repeat_shuffle": lambda: numbers(6).repeat(3).shuffle(8, seed=1),
    "repeat_batch": lambda: slices().map(normalize).repeat(2).batch(7),
    "take": lambda: numbers().skip(2).take(9),
    "take_batch": lambda: slices().map(normalize).skip(3).take(11).batch(4),
    "shard": lambda: numbers().shard(3, 1),
    "shard_shuffle": lambda: numbers().shard(3, 1).shuffle(3, seed=9).batch(2),
    "prefetch": lambda: numbers().prefetch(3),
    "prefetch_batch": lambda: slices().shuffle(7, seed=4).map(normalize).batch(5).prefetch(2),
    "prefetch_random": lambda: numbers(40).map(noisy).prefetch(3),
    "prefetch_inside": lambda: (
        numbers(6).flat_map(lambda n: halves(n).map(noisy).prefetch(1)).map(lambda x: x + 1.0).prefetch(2)
    ),
    "prefetch_twice": lambda: ragged().prefetch(2).map(lambda v: v + 1).prefetch(1),
    "cache": lambda: numbers(7).map(noisy).cache().repeat(3),
    "cache_ragged": lambda: ragged().cache().repeat(2),
    "cache_shuffle": lambda: numbers(7).cache().shuffle(4, seed=2).repeat(3).batch(4),
    "everything": lambda: (
        slices()
        .cache()
        .shuffle(9, seed=2)
        .repeat(2)
        .map(normalize, num_parallel_calls=2)
        .batch(5)
        .prefetch(2)
    ),
    "enumerate": lambda: words().enumerate(5),
    "window": lambda: numbers().window(4, shift=2, stride=2).flat_map(lambda w: w.batch(4)),
    "window_gap": lambda: numbers().window(2, shift=5).flat_map(lambda w: w),
    "window_of_pairs": lambda: slices().window(5, 3).flat_map(lambda i, r: D.zip((i, r["label"])).batch(5)),
    "window_shuffle": lambda: words().window(3).shuffle(4, seed=2).flat_map(lambda w: w.batch(3)),
    "window_prefetch": lambda: ragged().window(3).prefetch(2).flat_map(lambda w: w.padded_batch(3, [None])),
    "window_reduce": lambda: numbers().window(3).map(lambda w: w.reduce(np.int64(0), lambda a, b: a + b)),
    "scan": lambda: numbers().apply(E.scan((np.int64(0), 1.0), running)),
    "scan_random": lambda: numbers().apply(E.scan(0.0, lambda s, n: (s + noisy(n), s))).batch(3),
    "take_while": lambda: words().apply(E.take_while(lambda w: gf.not_equal(w, "six"))).repeat(2),
    "unique": lambda: numbers().map(lambda n: n * n % 7).repeat(2).apply(E.unique()),
    "unique_strings": lambda: words().repeat(2).apply(E.unique()),
    "ignore_errors": lambda: numbers().map(lambda n: 60 // (n % 4)).apply(E.ignore_errors()),
    "choose": lambda: E.choose_from_datasets([numbers(3), numbers(9)], numbers().map(lambda n: n * n % 2)),
    "sample": lambda: E.sample_from_datasets([numbers(9), numbers(5).repeat(2)], [0.3, 0.7], seed=4).batch(3),
    "sample_by_weights": lambda: E.sample_from_datasets(
        [numbers(9), numbers(5)], numbers(30).map(lambda n: gf.stack([1.0, gf.cast(n, gf.float32)])), seed=4
    ),
    "random": lambda: E.RandomDataset(seed=2).take(9),
    "resample": lambda: (
        numbers()
        .repeat(4)
        .apply(E.rejection_resample(lambda n: gf.cast(n % 3, gf.int32), [0.2, 0.5, 0.3], seed=1))
    ),
    "reducer": lambda: numbers().apply(
        E.group_by_reducer(lambda n: n % 4, E.Reducer(noisy, lambda s, n: s * 2, twice))
    ),
    "sparse_batches": lambda: ragged().apply(E.dense_to_sparse_batch(4, [5])),
    "parsed": lambda: messages().batch(4).apply(E.parse_example_dataset(FEATURES)),
    "datasets": lambda: numbers(5).map(halves).shuffle(3, seed=1).flat_map(lambda nested: nested),
    "datasets_random": lambda: (
        numbers(4).map(lambda n: D.from_tensors(noisy(n)).repeat(3)).prefetch(1).interleave(lambda x: x, 2)
    ),
    "datasets_of_windows": lambda: (
        numbers().window(4).map(lambda w: w.batch(3)).shuffle(2).flat_map(lambda x: x)
    ),
}


def drain(session: Any, tensors: Any, most: int = 10_000) -> list[Any]:
    """What the iterator still gives."""
    found = []
    for _ in range(most):
        try:
            found.append(session.run(tensors))
        except gf.errors.OutOfRangeError:
            break
    return found


def assert_same(got: Any, expected: Any) -> None:
    """Equal to the bit, dtypes and shapes too."""
    assert type(got) is type(expected), (type(got), type(expected))
    if isinstance(got, dict):
        assert list(got) == list(expected)
        for key in got:
            assert_same(got[key], expected[key])
    elif isinstance(got, list | tuple):
        assert len(got) == len(expected), f"{len(got)} elements, expected {len(expected)}"
        for a, b in zip(got, expected, strict=True):
            assert_same(a, b)
    elif isinstance(got, np.ndarray | np.generic):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        assert got.tolist() == expected.tolist()
    else:
        assert got == expected
