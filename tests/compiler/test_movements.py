"""Protects ops that only move elements, in compiled code: tiles, mirrors, shifts, blocks of space, diagonals, bands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

Build = Callable[[Any], Any]

MOVED: dict[str, tuple[tuple[int, ...], Build]] = {
    "tile": ((3, 1, 2), lambda x: gf.tile(x, [2, 3, 1])),
    "tile of one axis": ((5,), lambda x: gf.tile(x, [4])),
    "tile once": ((2, 3), lambda x: gf.tile(x, [1, 1])),
    "reflect": ((4, 5), lambda x: gf.pad(x, [[2, 3], [0, 4]], "REFLECT")),
    "symmetric": ((3, 4, 2), lambda x: gf.pad(x, [[3, 1], [2, 0], [0, 0]], "SYMMETRIC")),
    "reflected images": ((2, 5, 3, 2), lambda x: gf.pad(x, [[0, 0], [1, 1], [2, 2], [0, 0]], "REFLECT")),
    "roll": ((4, 5), lambda x: gf.roll(x, [3, -7], [0, 1])),
    "space to depth": ((2, 4, 6, 3), lambda x: gf.space_to_depth(x, 2)),
    "depth to space": ((1, 3, 2, 8), lambda x: gf.depth_to_space(x, 2)),
    "space to batch": (
        (2, 5, 3, 2),
        lambda x: gf.space_to_batch_nd(x, [2, 3], [[1, 0], [0, 3]]),
    ),
    "batch to space": ((6, 2, 3, 1), lambda x: gf.batch_to_space_nd(x, [3, 2], [[1, 2], [0, 1]])),
    "a diagonal matrix": ((2, 3), lambda x: gf.matrix_diag(x)),
    "diagonals": ((2, 3, 5), lambda x: gf.matrix_diag_part(x)),
    "a diagonal of several axes": ((2, 3), lambda x: gf.diag(x)),
    "its part": ((2, 3, 2, 3), lambda x: gf.diag_part(x)),
    "another diagonal": ((2, 4, 3), lambda x: gf.matrix_set_diag(x, x[:, 0, :])),
    "a band": ((2, 4, 6), lambda x: gf.matrix_band_part(x, 1, 2)),
    "below the diagonal": ((5, 5), lambda x: gf.matrix_band_part(x, -1, 0)),
    "all of it": ((3, 4), lambda x: gf.matrix_band_part(x, -1, -1)),
    "cross": ((4, 3), lambda x: gf.cross(x, x[::-1])),
    "turned": ((2, 3, 4), lambda x: gf.transpose(x, [2, 0, 1], conjugate=True)),
    "parts": ((3, 2), lambda x: gf.stack([2.0 * p for p in gf.unstack(x, axis=1)] + [x[1, 1] * x[:, 0]])),
    "norm": ((3, 4), lambda x: gf.norm(x + 3.0, axis=1)),
    "bias by channels": (
        (2, 3, 2, 4),
        lambda x: gf.nn.bias_add(x, x[0, :, 0, 0], data_format="NCHW"),
    ),
}


def _model(shape: tuple[int, ...], build: Build, dtype: Any, strided: bool) -> Callable[[], Any]:
    """What is made of a value between two native operations, and the gradient where there is one."""

    def model() -> Any:
        values = np.random.RandomState(1).randn(*shape) * 7
        given = values[..., ::-1] if not strided else values.T
        fed = np.asarray(given, dtype.as_numpy_dtype)
        x = gf.placeholder(dtype, fed.shape)
        base = gf.transpose(x * 2) if strided else x * 2
        found = build(base)
        if not dtype.is_floating:
            return [found * 3], {x: fed}
        weights = np.cos(np.arange(found.shape.num_elements())).reshape(found.shape.as_list())
        loss = gf.reduce_sum(gf.tanh(found * 0.1) * gf.constant(weights, dtype))
        return [found * 3, gf.gradients(loss, x)[0]], {x: fed}

    return model


@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize("strided", [False, True])
def test_it_is_native_with_its_gradient(name: str, strided: bool) -> None:
    model = _model(*MOVED[name], gf.float32, strided)
    check(model, runs=2)
    assert left_to_numpy(model) == []


@pytest.mark.parametrize("dtype", [gf.float64, gf.int32, gf.int64, gf.uint8])
def test_dtypes(dtype: Any) -> None:
    """All that take integers, in one plan."""
    names = [n for n in MOVED if n not in ("norm", "parts") and (dtype != gf.uint8 or n != "cross")]

    def model() -> Any:
        fetches, feeds = [], {}
        for name in names[:: 1 if dtype == gf.float64 else 3]:
            found, fed = _model(*MOVED[name], dtype, False)()
            fetches += found
            feeds.update(fed)
        return fetches, feeds

    check(model, runs=2, tolerance=1e-12)
    assert left_to_numpy(model) == []


def test_booleans_have_bands_and_tiles() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.bool, [2, 3])
        found = gf.matrix_band_part(gf.tile(gf.logical_not(x), [2, 1]), 0, 1)
        return gf.logical_xor(found, gf.transpose(gf.transpose(found))), {x: [[True, False, True]] * 2}

    check(model, runs=2)


def test_shifts_are_those_of_numpy() -> None:
    """Also by more bits than there are, and by fewer than none."""

    def model() -> Any:
        x, y = (gf.placeholder(gf.int32, [5]) for _ in range(2))
        fed = {x: [-5, 7, 1, -1, 12345], y: [1, 40, -3, 31, 2]}
        return [gf.bitwise.left_shift(x + 0, y), gf.bitwise.right_shift(x + 0, y)], fed

    check(model, runs=2)
    assert left_to_numpy(model) == []


def test_a_variable_under_a_diagonal_is_read_before_it_changes() -> None:
    def model() -> Any:
        w = gf.get_variable("w", initializer=np.arange(9, dtype="f").reshape(3, 3))
        part = gf.matrix_diag_part(w)
        with gf.control_dependencies([part]):
            step = w.assign_add(gf.ones([3, 3]))
        return [part * 2, step.op], {}

    check(model)


@pytest.mark.parametrize("build", [lambda x: gf.tile(x, [0, 2]), lambda x: gf.tile(x[:0], [2, 1])])
def test_nothing_stays_nothing(build: Build) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [2, 3])
        return [build(x * 2), x * 3], {x: np.ones([2, 3], "f")}

    check(model, runs=2)
