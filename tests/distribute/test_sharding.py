"""Protects how datasets are cut for workers: together they see each example once, whatever the pipeline is.

Promise 28: a strategy shards the dataset, also where examples are shuffled without a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.distribute.sharding import shard_dataset

Dataset = gf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def drained(dataset: Any, most: int = 1000) -> list[Any]:
    element = dataset.make_one_shot_iterator().get_next()
    found: list[Any] = []
    with gf.Session() as session:
        try:
            while len(found) < most:
                found.append(session.run(element))
        except gf.errors.OutOfRangeError:
            pass
    return found


def examples(make: Callable[[], Any], workers: int) -> list[list[int]]:
    """The examples that each worker sees; every one builds the dataset itself, in a process of its own."""
    seen = []
    for index in range(workers):
        with gf.Graph().as_default():
            parts = drained(shard_dataset(make(), workers, index))
            seen.append([int(x) for part in parts for x in np.ravel(part)])
    return seen


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(24),
        lambda: Dataset.range(24).shuffle(24),
        lambda: Dataset.range(24).map(lambda x: x).shuffle(24).batch(4).prefetch(1),
        lambda: Dataset.range(30).take(24).shuffle(24).batch(5),
        lambda: Dataset.range(24).shuffle(24, seed=3).skip(0).batch(2),
        lambda: Dataset.range(12).concatenate(Dataset.range(12, 24)).shuffle(24).cache(),
        lambda: Dataset.range(4).flat_map(lambda i: Dataset.range(6 * i, 6 * i + 6)).shuffle(9).batch(3),
        lambda: Dataset.from_tensors(np.arange(24)).flat_map(Dataset.from_tensor_slices).shuffle(24),
        lambda: Dataset.from_tensor_slices(np.arange(24).reshape(2, 12)),
        lambda: Dataset.from_generator(lambda: range(24), gf.int64, []).shuffle(24).filter(lambda x: x >= 0),
        lambda: Dataset.zip((Dataset.range(24),)).map(lambda x: x).shuffle(24),
    ],
)  # fmt: skip
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_promise_28_workers_see_each_example_once(make: Callable[[], Any], workers: int) -> None:
    seen = examples(make, workers)
    assert sorted(x for part in seen for x in part) == list(range(24))


def test_every_epoch_has_the_same_part() -> None:
    seen = examples(lambda: Dataset.range(6).shuffle(6).repeat(2).batch(3), 2)
    assert [sorted(part) for part in seen] == [[0, 0, 2, 2, 4, 4], [1, 1, 3, 3, 5, 5]]


def test_one_example_again_and_again_is_for_all() -> None:
    seen = examples(lambda: Dataset.from_tensors(7).repeat(6).batch(2), 3)
    assert seen == [[7, 7]] * 3


def test_a_shuffle_that_workers_would_not_agree_on_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"ShuffleDataset.* without a seed before TakeDataset"):
        shard_dataset(Dataset.range(10).shuffle(10).take(5), 2, 0)


def test_towers_take_elements_in_turn_and_iterators_can_begin_again() -> None:
    strategy = gf.distribute.MirroredStrategy(num_devices=2)
    with strategy.scope():
        iterator = strategy.distribute_dataset(lambda: Dataset.range(6)).make_initializable_iterator()
        element = strategy.unwrap(iterator.get_next())
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        for _ in range(2):
            session.run(iterator.initializer)
            assert [session.run(element) for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
            with pytest.raises(gf.errors.OutOfRangeError):
                session.run(element)
