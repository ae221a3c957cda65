"""Protects feeds of results whose operation runs in the same step: what is fed is what is computed with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


@pytest.mark.parametrize("compiled", ["never", "always"])
def test_what_is_fed_is_taken_also_where_its_operation_runs(compiled: str) -> None:
    x = gf.placeholder(gf.float32, [3])
    inner = gf.exp(x) * 2.0
    y = gf.tanh(-inner) + 1.0
    values, places = gf.nn.top_k(x * 1.0, 1)
    doubled = values * 2.0
    with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
        for _ in range(3):
            found, _ = session.run([y, inner.op], {x: [1.0, 2.0, 3.0], inner: [0.5, 0.0, 1.0]})
            np.testing.assert_allclose(found, 1.0 - np.tanh([0.5, 0.0, 1.0]), 1e-6)
            some = session.run([doubled, places], {values: [9.0], x: [1.0, 2.0, 3.0]})
            assert [v.tolist() for v in some] == [[18.0], [2]]
