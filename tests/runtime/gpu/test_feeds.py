"""Protects feeds on a GPU: what is fed is what is computed with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import session

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def test_what_is_fed_is_taken_also_where_its_operation_runs() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [3])
        inner = gf.exp(x) * 2.0
        y = gf.tanh(-inner) + 1.0
        values, places = gf.nn.top_k(x * 1.0, 1)
        doubled = values * 2.0
    with session() as one:
        for _ in range(3):
            found, _ = one.run([y, inner.op], {x: [1.0, 2.0, 3.0], inner: [0.5, 0.0, 1.0]})
            np.testing.assert_allclose(found, 1.0 - np.tanh([0.5, 0.0, 1.0]), 1e-6)
            assert [v.tolist() for v in one.run([doubled, places], {values: [9.0], x: [1, 2, 3]})] == [
                [18.0],
                [2],
            ]


def test_a_constant_and_a_variable_may_be_fed() -> None:
    with gf.device("/gpu:0"):
        c, v = gf.constant([1.0, 2.0]), gf.Variable([5.0, 5.0])
        y = c + v * 2.0
    with session() as one:
        one.run(v.initializer)
        for _ in range(3):
            np.testing.assert_array_equal(one.run([y, c.op], {c: [4.0, 3.0]})[0], [14.0, 13.0])
            np.testing.assert_array_equal(one.run(y, {v: [1.0, 0.0]}), [3.0, 2.0])
            np.testing.assert_array_equal(one.run(y), [11.0, 12.0])
