"""Protects that what datasets of files and iterators build counts in seeds as TensorFlow's operations do.

So a program that sets a graph's seed alone shuffles, draws and begins with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphflow as gf

NAMES = ["a", "b"]
data = gf.data
CASES: dict[str, tuple[Callable[[], Any], int]] = {
    "lines": (lambda: data.TextLineDataset(NAMES), 5),
    "records": (lambda: data.TFRecordDataset(NAMES[0]), 5),
    "blocks": (lambda: data.FixedLengthRecordDataset(NAMES, 3, header_bytes=1), 5),
    "of a tensor": (lambda: data.TFRecordDataset(gf.constant(NAMES)), 5),
    "of a dataset": (lambda: data.TFRecordDataset(data.Dataset.from_tensor_slices(NAMES)), 3),
    "lines in turns": (lambda: data.TextLineDataset(NAMES, num_parallel_reads=4), 10),
    "blocks in turns": (lambda: data.FixedLengthRecordDataset(NAMES, 3, num_parallel_reads=4), 10),
    "initializable": (lambda: data.Dataset.range(5).make_initializable_iterator(), 10),
    "once": (lambda: data.Dataset.range(5).make_one_shot_iterator().get_next(), 7),
}
"""What is built, and how many operations TensorFlow 1.15.5 builds for it."""


@pytest.mark.parametrize("name", CASES)
def test_what_is_built_counts_as_in_tensorflow(name: str) -> None:
    build, count = CASES[name]
    with gf.Graph().as_default():
        gf.set_random_seed(1)
        before = gf.get_seed(None)[1]
        build()
        assert gf.get_seed(None)[1] - before == count
