"""Protects map_and_batch: an element whose function fails takes its whole batch, and the next one is as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


def inverse(x: gf.Tensor) -> gf.Tensor:
    return gf.check_numerics(1.0 / gf.cast(x - 3, gf.float32), "not a number")


def elements(dataset: gf.data.Dataset) -> list[Any]:
    following = dataset.make_one_shot_iterator().get_next()
    found: list[Any] = []
    with gf.Session() as session:
        while True:
            try:
                found.append(np.round(1 / session.run(following) + 3).tolist())
            except gf.errors.InvalidArgumentError:
                found.append("failed")
            except gf.errors.OutOfRangeError:
                return found


@pytest.mark.parametrize("calls", [None, 2])
def test_a_failed_element_takes_its_batch_with_it(calls: int | None) -> None:
    numbers = gf.data.Dataset.range(8)
    joined = numbers.apply(gf.data.experimental.map_and_batch(inverse, 2, num_parallel_calls=calls))
    assert elements(joined) == [[0, 1], "failed", [4, 5], [6, 7]]
    assert elements(joined.apply(gf.data.experimental.ignore_errors())) == [[0, 1], [4, 5], [6, 7]]
    dropped = numbers.apply(gf.data.experimental.map_and_batch(inverse, 3, drop_remainder=True))
    assert elements(dropped) == [[0, 1, 2], "failed"]


def test_map_and_then_batch_go_on_behind_the_failed_element() -> None:
    assert elements(gf.data.Dataset.range(6).map(inverse).batch(2)) == [[0, 1], "failed", [4, 5]]
