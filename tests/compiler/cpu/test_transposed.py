"""Protects large transposed values in compiled code: copied by tiles once, also where they change between two uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, run


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


def _parts(x: Any) -> list[Any]:
    rows, columns = x.shape.as_list()
    return [
        gf.reverse(x, [1]),
        gf.reverse(x, [0]),
        gf.reverse(x, [0, 1]),
        *gf.split(x, [columns // 3, columns - columns // 3], 1),
        x[::2, 1:],
        x[5:, ::-2],
        gf.transpose(gf.reverse(x, [1])),
        x[: rows - 1],
    ]


@pytest.mark.parametrize("dtype", [gf.float32, gf.float64, gf.int32, gf.uint8, gf.bool, gf.int64])
@pytest.mark.parametrize("made", [False, True], ids=["of a feed", "of what is computed"])
def test_large_views_that_are_fetched(dtype: Any, made: bool) -> None:
    """They are laid in order by compiled code; numbers that are none stay as they are."""

    def model() -> Any:
        fed = np.random.RandomState(2).randint(0, 100, (601, 397)).astype(dtype.as_numpy_dtype)
        if dtype.is_floating:
            fed[::7, ::5], fed[1::7, 1::5], fed[2::9] = np.nan, -np.inf, -0.0
        x = gf.placeholder(dtype, fed.shape)
        return _parts(gf.where(gf.equal(x, x), x, x) if made else x), {x: fed}

    check(model, runs=2)


def test_a_plan_of_nothing_but_a_large_view_is_compiled() -> None:
    """NumPy copied it on one core."""

    def model() -> Any:
        w = gf.get_variable("w", initializer=np.random.RandomState(1).randn(300, 1260).astype("f"))
        return [gf.reverse(w, [1])], {}

    check(model)
    _, groups = run(model, "always")
    assert groups == ["ReverseV2"]


def test_a_view_of_a_variable_that_changes_later_is_what_it_was() -> None:
    def model() -> Any:
        w = gf.get_variable("w", initializer=np.random.RandomState(1).randn(300, 1260).astype("f"))
        before = gf.reverse(w.read_value(), [1])
        with gf.control_dependencies([before]):
            return [before, w.assign_add(gf.ones_like(w))], {}

    check(model, runs=3)
