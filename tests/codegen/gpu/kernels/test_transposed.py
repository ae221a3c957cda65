"""Protects operands that lie along another axis than the results: whole squares, those that stick out, several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.gpu.discovery import found

pytestmark = pytest.mark.device
CASES: dict[
    str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], tuple[int, ...], tuple[int, ...]]
] = {
    "a matrix": (lambda x, y: gf.transpose(x) + y, lambda x, y: x.T + y, (35, 70), (70, 35)),
    "two of them": (
        lambda x, y: gf.transpose(x) * gf.transpose(y) + gf.transpose(x),
        lambda x, y: x.T * y.T + x.T,
        (33, 64),
        (33, 64),
    ),
    "inside a batch": (
        lambda x, y: gf.transpose(x, [0, 2, 1]) - y,
        lambda x, y: x.transpose(0, 2, 1) - y,
        (3, 20, 40),
        (40, 20),
    ),
    "the first axis last": (
        lambda x, y: gf.nn.relu(gf.transpose(x, [1, 2, 0])) + y,
        lambda x, y: np.maximum(x.transpose(1, 2, 0), 0) + y,
        (17, 3, 19),
        (17,),
    ),
    "truth values": (
        lambda x, y: gf.cast(gf.transpose(x > 0.5), gf.float32) + y,
        lambda x, y: (x > 0.5).T + y,
        (40, 24),
        (24, 40),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("fed", [True, False])
def test_operands_along_another_axis(name: str, fed: bool) -> None:
    build, expected, *shapes = CASES[name]
    rng = np.random.default_rng(0)
    # The simulator has squares of two.
    less = 5 if found().simulated else 1
    x, y = (rng.normal(size=[-(-n // less) for n in shape]).astype("f") for shape in shapes)
    with gf.Graph().as_default(), gf.device("/gpu:0"):
        operands = [gf.placeholder(gf.float32, v.shape) if fed else gf.Variable(v) for v in (x, y)]
        z = build(*operands)
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for _ in range(3):
                value = session.run(z, dict(zip(operands, (x, y), strict=True)) if fed else None)
    np.testing.assert_allclose(value, expected(x, y), 1e-5, 1e-6)


def test_a_variable_becomes_its_transpose_plus_one() -> None:
    side = 8 if found().simulated else 40
    x = np.arange(side * side, dtype=np.float32).reshape(side, side)
    with gf.Graph().as_default(), gf.device("/gpu:0"):
        v = gf.Variable(x)
        step = v.assign(gf.transpose(v) + 1.0)
        with gf.Session() as session:
            session.run(v.initializer)
            for _ in range(3):
                value = session.run(step)
    np.testing.assert_array_equal(value, x.T + 3)
