"""Protects uniform numbers in compiled code: bit for bit those of the NumPy tier, run after run, on any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import left_to_numpy, run


def model() -> Any:
    gf.set_random_seed(7)
    x = gf.placeholder(gf.float32, [None, 5])
    mask = gf.random_uniform(gf.shape(x), seed=3)
    wide = gf.random_uniform([2, 3], -1, 2, gf.float64)
    dropped = gf.nn.dropout(x, rate=0.4, seed=5)
    return [mask, mask * x, wide, dropped, gf.gradients(dropped, x)[0]], {x: np.ones([40001, 5], "f")}


@pytest.mark.parametrize("threads", [1, 2])
def test_the_numbers_are_numpys(threads: int) -> None:
    expected, _ = run(model, "never", 4)
    got, groups = run(model, "always", 4, threads=threads)
    assert any("RandomUniform" in group for group in groups)
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert not np.array_equal(got[0], got[5]), "each run draws anew"


def test_dropout_is_native() -> None:
    assert left_to_numpy(model) == []


def test_both_tiers_go_on_from_the_same_state() -> None:
    """A run with a deadline is NumPy's; the next one goes on where it stopped."""

    def drawn(tier: str) -> list[Any]:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            gf.set_random_seed(1)
            x = gf.random_uniform([11], seed=2) + gf.placeholder_with_default(gf.zeros([]), [])
            late = gf.RunOptions(timeout_in_ms=60_000)
            return [session.run(x, options=late if k == 3 else None) for k in range(6)]

    np.testing.assert_array_equal(drawn("always"), drawn("never"))
