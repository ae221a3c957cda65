"""Protects: fused loop nests compute what NumPy does, for every reduction pattern, the same bits for any cut."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.machine import Machine, Step
from graphflow._core.codegen.cpu.regions.region import (
    Region,
    RegionInput,
    RegionOutput,
    Statement,
    broadcast_strides,
    collapse,
    layout,
)
from graphflow._core.codegen.cpu.regions.region_source import region_source, region_steps

Runner = Callable[..., list[np.ndarray]]

X2 = RegionInput("x", "float32", (True, True))
X1 = RegionInput("x", "float32", (True,))
REDUCERS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_every_pattern_of_reduced_axes(run_region: Runner, rank: int) -> None:
    """All reductions of a pattern in one kernel, together with a whole store."""
    x_input = RegionInput("x", "float32", (True,) * rank)
    for count in range(1, rank + 1):
        for axes in itertools.combinations(range(rank), count):
            outputs = (
                RegionOutput("y", "float32"),
                *(RegionOutput("y", "float32", r, axes) for r in REDUCERS),
            )
            region = Region(rank, (x_input,), (Statement("y", "float32", "x * 0.5 + 1"),), outputs)
            for sizes in [(5, 3, 7)[:rank], (1, 70, 33)[:rank], (67, 1, 300)[:rank]]:
                x = np.random.RandomState(0).rand(*sizes).astype(np.float32) * 0.2
                y = x * np.float32(0.5) + np.float32(1)
                got = run_region(region, sizes, [x], threads=2)
                np.testing.assert_array_equal(got[0], y)
                with np.errstate(over="ignore"):
                    for name, result in zip(REDUCERS, got[1:], strict=True):
                        want = REDUCERS[name](y.astype(np.float64), axis=axes).astype(np.float32)
                        np.testing.assert_allclose(result, want, rtol=2e-5, err_msg=f"{name} {axes} {sizes}")


def test_outputs_that_reduce_different_axes_share_a_kernel(run_region: Runner) -> None:
    axes = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    outputs = tuple(RegionOutput("x", "float64", "sum", a) for a in axes)
    region = Region(3, (RegionInput("x", "float64", (True,) * 3),), (), outputs)
    x = np.random.RandomState(3).randn(300, 11, 13)
    for got, a in zip(run_region(region, x.shape, [x], threads=2), axes, strict=True):
        np.testing.assert_allclose(got, x.sum(axis=a), rtol=1e-10, atol=1e-10)


def test_a_sum_is_as_accurate_as_pairwise_summation(run_region: Runner) -> None:
    x = np.random.RandomState(0).rand(1_000_003).astype(np.float32)
    region = Region(1, (X1,), (), (RegionOutput("x", "float32", "sum", (0,)),))
    (got,) = run_region(region, x.shape, [x])
    exact = x.sum(dtype=np.float64)
    assert abs(float(got) - exact) <= max(abs(float(x.sum()) - exact), 3e-7 * exact)
    rows = Region(2, (X2,), (), (RegionOutput("x", "float32", "sum", (1,)),))
    (got,) = run_region(rows, (2, 500_000), [x[:1_000_000].reshape(2, -1)])
    np.testing.assert_allclose(got, x[:1_000_000].reshape(2, -1).sum(1, dtype=np.float64), rtol=1e-6)


def test_the_same_bits_on_one_and_two_threads_and_for_any_cut(compiler: Compiler, machine: Machine) -> None:
    outputs = (
        RegionOutput("y", "float32"),
        RegionOutput("y", "float32", "sum", (0,)),
        RegionOutput("y", "float32", "sum", (0, 1)),
    )
    region = Region(2, (X2,), (Statement("y", "float32", "tanh(x) * exp(-x)"),), outputs)
    kernel = compiler.compile_async(region_source(region)).result(250)
    x = np.random.RandomState(4).randn(1003, 97).astype(np.float32)
    plan = layout(region, x.shape)
    seen = set()
    for cut in (0, 1, 2, 3, plan.units):
        for threads in (1, 2):
            y, rows, total = np.zeros_like(x), np.zeros(97, np.float32), np.zeros((), np.float32)
            scratch, status = np.zeros(plan.scratch, np.uint8), np.zeros(1, np.int64)
            first, last = region_steps(
                region,
                kernel,
                x.shape,
                [(x.ctypes.data, (97, 1))],
                [(a.ctypes.data, None) for a in (y, rows, total)],
                int(status.ctypes.data),
                int(scratch.ctypes.data),
            )
            step = Step(first.kernel, first.args, 0, plan.units, cut)
            assert machine.program([step, last], threads).run() == 0
            seen.add((y.tobytes(), rows.tobytes(), total.tobytes()))
    assert len(seen) == 1


def test_broadcast_operands(run_region: Runner) -> None:
    inputs = (
        RegionInput("a", "float32", (True, True, True)),
        RegionInput("b", "float32", (False, True, False)),
        RegionInput("c", "float32", (True, False, True)),
        RegionInput("s", "float32", (False, False, False)),
    )
    region = Region(3, inputs, (Statement("y", "float32", "a * b + c - s"),), (RegionOutput("y", "float32"),))
    random = np.random.RandomState(5)
    a, b, c, s = random.randn(4, 5, 6), random.randn(5), random.randn(4, 6), random.randn()
    (got,) = run_region(region, (4, 5, 6), [a, b, c, s])
    a, b, c, s = (np.asarray(v, np.float32) for v in (a, b, c, s))
    np.testing.assert_array_equal(got, a * b[:, None] + c[:, None, :] - s)


def test_the_position_in_the_space_can_be_read(run_region: Runner) -> None:
    labels = RegionInput("label", "int32", (True, False))
    one_hot = Statement("y", "float32", "1 if cast(label, int64) == axis1 and axis0 >= 0 else 0")
    region = Region(2, (labels,), (one_hot,), (RegionOutput("y", "float32"),))
    (got,) = run_region(region, (4, 6), [[5, 0, 3, -1]])
    np.testing.assert_array_equal(got, np.eye(6)[[5, 0, 3, 0]] * [[1], [1], [1], [0]])
    counter = Region(1, (), (Statement("y", "int64", "axis0 * 3"),), (RegionOutput("y", "int64"),))
    np.testing.assert_array_equal(run_region(counter, (70_000,), [], threads=2)[0], np.arange(70_000) * 3)


def test_updates_in_place(run_region: Runner) -> None:
    inputs = tuple(RegionInput(n, "float32", (True,)) for n in ("w", "m", "g")) + (
        RegionInput("r", "float32", (False,)),
    )
    statements = (Statement("m2", "float32", "m * 0.9 + g"), Statement("w2", "float32", "w - r * m2"))
    outputs = (RegionOutput("w2", "float32", in_place=0), RegionOutput("m2", "float32", in_place=1))
    w, m, g = np.random.RandomState(6).randn(3, 70_001).astype(np.float32)
    got = run_region(Region(1, inputs, statements, outputs), w.shape, [w, m, g, 0.01], threads=2)
    momentum = m * np.float32(0.9) + g
    np.testing.assert_array_equal(got[1], momentum)
    np.testing.assert_array_equal(got[0], w - np.float32(0.01) * momentum)


def test_strided_inputs_and_outputs(compiler: Compiler, machine: Machine) -> None:
    """A column block of a matrix in, every other element of a wider buffer out."""
    inputs = (X2, RegionInput("t", "float32", (True, True), strided=True))
    region = Region(
        2, inputs, (Statement("y", "float32", "x + t"),), (RegionOutput("y", "float32", strided=True),)
    )
    z = np.arange(64 * 512, dtype=np.float32).reshape(64, 512)
    t = np.random.RandomState(7).randn(128, 64).astype(np.float32)
    out = np.zeros((64, 256), np.float32)
    status = np.zeros(1, np.int64)
    steps = region_steps(
        region,
        compiler.compile_async(region_source(region)).result(250),
        (64, 128),
        [(z[:, 128:256].ctypes.data, (512, 1)), (t.ctypes.data, (1, 64))],
        [(out.ctypes.data, (256, 2))],
        int(status.ctypes.data),
    )
    assert machine.program(steps).run() == 0
    np.testing.assert_array_equal(out[:, ::2], z[:, 128:256] + t.T)
    assert not out[:, 1::2].any()


def test_nan_goes_through_extrema_and_empty_reductions_give_the_identity(run_region: Runner) -> None:
    outputs = tuple(RegionOutput("x", "float32", r, (1,)) for r in ("max", "min", "sum", "prod"))
    region = Region(2, (X2,), (), outputs)
    x = np.ones((3, 50), np.float32)
    x[1, 17] = np.nan
    got = run_region(region, x.shape, [x])
    for result in got:
        np.testing.assert_array_equal(np.isnan(result), [False, True, False])
    got = run_region(region, (3, 0), [np.zeros((3, 0))])
    np.testing.assert_array_equal(np.array(got), np.array([[-np.inf] * 3, [np.inf] * 3, [0] * 3, [1] * 3]))
    whole = Region(1, (X1,), (), (RegionOutput("x", "float32"), RegionOutput("x", "float32", "sum", (0,))))
    assert run_region(whole, (0,), [np.zeros(0)])[1] == 0


def test_reductions_of_integers_and_bool(run_region: Runner) -> None:
    inputs = (RegionInput("i", "int32", (True, True)), RegionInput("b", "bool", (True, True)))
    outputs = (
        *(RegionOutput("i", "int32", r, (0,)) for r in ("sum", "max", "min", "prod")),
        RegionOutput("b", "bool", "max", (0,)),
        RegionOutput("b", "bool", "min", (0,)),
        RegionOutput("n", "bool"),
    )
    region = Region(2, inputs, (Statement("n", "bool", "not b"),), outputs)
    i = np.random.RandomState(8).randint(-9, 9, (200, 21)).astype(np.int32)
    b = np.random.RandomState(9).rand(200, 21) < 0.01
    got = run_region(region, i.shape, [i, b])
    for result, want in zip(
        got, [i.sum(0), i.max(0), i.min(0), i.prod(0, dtype=np.int32), b.any(0), b.all(0), ~b], strict=True
    ):
        np.testing.assert_array_equal(result, want)


def test_collapse_merges_what_all_operands_walk_alike() -> None:
    space = (4, 1, 5, 6)
    full, bias = broadcast_strides((4, 1, 5, 6), space), broadcast_strides((6,), space)
    assert collapse(space, [full, full]) == ((120,), [(1,), (1,)], [])
    assert collapse(space, [full, bias]) == ((20, 6), [(6, 1), (0, 1)], [])
    assert collapse(space, [full], [frozenset({0, 2})]) == ((20, 6), [(6, 1)], [(0,)])
    assert collapse(space, [full], [frozenset({1})]) == ((120,), [(1,)], [()])
    assert collapse((1, 1), [(1, 1)]) == ((1,), [(1,)], [])
    assert collapse((3, 4), [(8, 1)]) == ((3, 4), [(8, 1)], [])


def test_inconsistent_regions_are_refused() -> None:
    with pytest.raises(ValueError, match="not a value of dtype"):
        Region(1, (X1,), (), (RegionOutput("x", "float64"),))
    with pytest.raises(ValueError, match="no reduction"):
        Region(1, (X1,), (), (RegionOutput("x", "float32", "sum", (1,)),))
    with pytest.raises(ValueError, match="in place"):
        Region(1, (RegionInput("x", "float32", (False,)),), (), (RegionOutput("x", "float32", in_place=0),))
