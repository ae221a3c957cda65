"""Protects: in which order a run is added, to the bit, whatever else the loop reduces and however long the run is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.cpu.regions.region import Region, RegionInput, RegionOutput, Statement
from graphflow._core.codegen.cpu.regions.region_source import LANES, RUN

Runner = Callable[..., list[np.ndarray]]
LENGTHS = (1, 7, LANES - 1, LANES, LANES + 1, 100, 1000, RUN - 1, RUN, RUN + 1, 2 * RUN + 45)


def in_lanes(row: Any, combine: Any, start: Any) -> Any:
    """A row as it is added: groups to lanes, the rest to a tail, lanes by halves, then the tail; run by run."""
    line = start
    for first in range(0, len(row), RUN):
        run = row[first : first + RUN]
        whole = len(run) // LANES * LANES
        lanes, tail = np.full(LANES, start, row.dtype), start
        for group in run[:whole].reshape(-1, LANES):
            lanes = combine(lanes, group)
        for value in run[whole:]:
            tail = combine(tail, value)
        while len(lanes) > 1:
            lanes = combine(*np.split(lanes, 2))
        line = combine(line, combine(lanes[0], tail))
    return combine(start, line)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside others"])
def test_the_order_of_a_run(run_region: Runner, dtype: str, alone: bool) -> None:
    """Beside others: extrema, a count, a sum over the other axis, the values themselves, and a mean."""
    outputs = [RegionOutput("y", dtype, "sum", (1,)), RegionOutput("y", dtype, "prod", (1,))]
    if not alone:
        outputs += [
            RegionOutput("y", dtype, "max", (1,)),
            RegionOutput("positive", "bool", "max", (1,)),
            RegionOutput("small", "int16", "sum", (1,)),
            RegionOutput("y", dtype),
            RegionOutput("y", dtype, "mean", (1,)),
        ]
    statements = (
        Statement("y", dtype, "x * 0.75"),
        Statement("positive", "bool", "y > 0.9"),
        Statement("small", "int16", "cast(positive, int16)"),
    )
    region = Region(
        2, (RegionInput("x", dtype, (True, True)),), statements[: 1 if alone else 3], tuple(outputs)
    )
    kind = np.dtype(dtype).type
    for length in LENGTHS:
        x = (np.random.RandomState(length).rand(3, length) + 0.85).astype(dtype)
        y = x * kind(0.75)
        got = run_region(region, x.shape, [x])
        total = np.array([in_lanes(row, np.add, kind(0)) for row in y])
        np.testing.assert_array_equal(got[0], total, err_msg=str(length))
        np.testing.assert_array_equal(got[1], [in_lanes(row, np.multiply, kind(1)) for row in y])
        if alone:
            continue
        large = y > kind(0.9)
        for result, want in zip(
            got[2:], (y.max(1), large.any(1), large.sum(1), y, total / kind(length)), strict=True
        ):
            np.testing.assert_array_equal(result, want, err_msg=str(length))


@pytest.mark.parametrize("count", [2, 7, 20])
def test_many_runs_in_one_loop(run_region: Runner, count: int) -> None:
    """Each has lanes of its own: one more element was begun than there were lanes, which was the next one's first."""
    statements = tuple(Statement(f"y{k}", "float32", f"x * {0.5 * k - 1.0}") for k in range(count))
    outputs = tuple(RegionOutput(f"y{k}", "float32", "sum", (0,)) for k in range(count))
    region = Region(1, (RegionInput("x", "float32", (True,)),), statements, outputs)
    for length in (LANES - 1, LANES + 1, 84, 108, 5 * LANES):
        x = np.random.RandomState(length).rand(length).astype(np.float32)
        got = run_region(region, x.shape, [x])
        want = [in_lanes(x * np.float32(0.5 * k - 1.0), np.add, np.float32(0)) for k in range(count)]
        np.testing.assert_array_equal(np.ravel(got), want, err_msg=str(length))
