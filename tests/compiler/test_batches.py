"""Protects products of batches of matrices: the matrices of a batch are found however its axes are walked.

An axis of one place has a stride that says nothing, as after the transposition of attention with one head.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.compiler.values import Value
from tests.runtime.compiled.tiers import check


def _numbers(seed: int, *shape: int) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype("f")


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", [1, 5])
def test_attention_of_any_number_of_heads(batch: int, length: int, heads: int) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [batch, length, 4 * heads])
        split = gf.transpose(gf.reshape(gf.tanh(x), [batch, length, heads, 4]), [0, 2, 1, 3])
        scores = gf.matmul(split, split * 0.5, transpose_b=True)
        mixed = gf.matmul(gf.nn.softmax(scores), split)
        return [mixed, gf.gradients(gf.reduce_sum(mixed * mixed), x)], {
            x: _numbers(0, batch, length, 4 * heads)
        }

    check(model)


@pytest.mark.parametrize(
    "order", [(0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 3, 2), (2, 0, 1, 3), (0, 2, 1, 3), (3, 0, 1, 2)]
)
@pytest.mark.parametrize(
    "shape", [(3, 1, 4, 5), (1, 3, 4, 5), (3, 4, 1, 5), (1, 1, 4, 5), (3, 2, 1, 1), (2, 3, 4, 1)]
)
def test_transposed_batches(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, shape)
        seen = gf.transpose(x, order)
        return gf.matmul(seen, seen, transpose_b=True), {x: _numbers(1, *shape)}

    check(model)


def test_axes_walked_as_one() -> None:
    assert Value("x", "float32", (3, 1, 4, 5), (20, 7, 5, 1)).step_over(2) == 20
    assert Value("x", "float32", (1, 3, 4, 5), (7, 20, 5, 1)).step_over(2) == 20
    assert Value("x", "float32", (2, 3, 4, 5), (60, 20, 5, 1)).step_over(2) == 20
    assert Value("x", "float32", (2, 3, 4, 5), (20, 40, 5, 1)).step_over(2) is None
    assert Value("x", "float32", (2, 3, 4, 5), (5, 0, 5, 1)).step_over(2) is None
    assert Value("x", "float32", (2, 3, 4, 5), (0, 0, 5, 1)).step_over(2) == 0
    assert Value("x", "float32", (1, 1, 4, 5), (7, 8, 5, 1)).step_over(2) == 0
    assert Value("x", "float32", (4, 5), (5, 1)).step_over(0) == 0
