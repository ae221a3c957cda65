"""Protects that a GPU draws the CPU's random numbers, bit for bit, run after run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both

LOGITS = np.array([[0, 1, -np.inf, 2, 0.5], [np.inf, -1, 800, 799, 3], [np.nan] * 5], "f")
pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


@pytest.mark.parametrize(
    "draw",
    [
        lambda: gf.random_uniform([2, 7]),
        lambda: gf.random_normal([13]),
        lambda: gf.random_uniform([5], 3, 9, gf.int32),
        lambda: gf.random_uniform([3, 3], dtype=gf.float64),
        lambda: gf.random_uniform([7], -(2**62), 2**60 + 5, gf.int64),
        lambda: gf.truncated_normal([301]),
        lambda: gf.truncated_normal([1]),
        lambda: gf.multinomial(LOGITS, 13),
        lambda: gf.multinomial(LOGITS[:1, 1:], 5, output_dtype=gf.int32),
    ],
    ids=[
        "uniform",
        "normal",
        "integers",
        "doubles",
        "long integers",
        "truncated",
        "one truncated",
        "classes",
        "other classes",
    ],
)
def test_random_numbers_are_those_of_the_cpu(draw: Callable[[], Any]) -> None:
    cpu, gpu = on_both(lambda: (draw(), {}))
    assert not np.array_equal(cpu[0], cpu[1])
    for got, wanted in zip(gpu, cpu, strict=True):
        np.testing.assert_array_equal(got, wanted)
