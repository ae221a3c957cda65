"""Protects large transposed values in compiled code: copied by tiles once, also where they change between two uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check


@pytest.mark.parametrize(
    ("shape", "order"), [((301, 257), (1, 0)), ((3, 190, 133), (0, 2, 1)), ((2, 40, 33, 37), (0, 3, 1, 2))]
)
@pytest.mark.parametrize("dtype", [gf.float32, gf.float64, gf.uint8])
def test_what_is_made_of_large_transposed_values(shape: tuple[int, ...], order: Any, dtype: Any) -> None:
    def model() -> Any:
        x = gf.placeholder(dtype, shape)
        turned = gf.transpose(x * 2, order)
        fed = np.random.RandomState(0).randint(0, 100, shape).astype(dtype.as_numpy_dtype)
        both = turned * turned + gf.reverse(turned, [len(shape) - 1])
        return [both, gf.reduce_max(turned, 0), gf.transpose(both, np.argsort(order)) * 3], {x: fed}

    check(model, runs=2)


def test_a_variable_that_changes_is_read_each_time() -> None:
    def model() -> Any:
        w = gf.get_variable("w", initializer=np.random.RandomState(1).randn(300, 260).astype("f"))
        before = gf.transpose(w) * 2
        with gf.control_dependencies([before]):
            step = w.assign_add(gf.ones([300, 260]))
        with gf.control_dependencies([step]):
            after = gf.transpose(w.read_value()) * 2
        return [before, after], {}

    check(model)
