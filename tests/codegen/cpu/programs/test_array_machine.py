"""Protects: the array machine gives the bits of a region's own kernel, for every operation, layout and reduction.

The fixture run_region runs both forms and compares them; test_region.py goes through it, too.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.array_machine import array_code, array_steps
from graphflow._core.codegen.cpu.programs.machine import Machine, Step
from graphflow._core.codegen.cpu.regions.region import Region, RegionInput, RegionOutput, Statement, layout
from graphflow._core.codegen.cpu.regions.region_source import (
    ERROR_DIVISION_BY_ZERO,
    region_source,
    region_steps,
)
from graphflow._core.codegen.cpu.regions.scalar_text import (
    DTYPES,
    FLOAT_FUNCTIONS,
    FLOATS,
    ROUNDINGS,
    ScalarTextError,
)

Runner = Callable[..., list[np.ndarray]]
BINARY = ("x + y", "x - y", "x * y", "min(x, y)", "max(x, y)")
UNARY = ("-x", "x ** 2", "abs(x)", "sign(x)")
COMPARED = ("x < y", "x <= y", "x == y", "x != y")
DIVIDED = ("x // y", "x % y", "truncatediv(x, y)", "truncatemod(x, y)")


def texts(dtype: str) -> list[tuple[str, str]]:
    """Each operation on x and y of a dtype: its text and the dtype of its result."""
    if dtype == "bool":
        found = [(t, "bool") for t in ("x and y", "x or y", "x ^ y", "not x", "x == y", "x != y")]
    else:
        found = [(t, dtype) for t in (*BINARY, *UNARY, *DIVIDED)] + [(t, "bool") for t in COMPARED]
    if dtype in FLOATS:
        found += [(t, dtype) for t in ("x / y", "pow(x, y)", "atan2(x, y)", "x ** 0.5", "x ** -1", "x ** 3")]
        found += [(f"{name}(x)", dtype) for name in (*ROUNDINGS, *FLOAT_FUNCTIONS)]
        found += [("isnan(x) or isinf(y)", "bool")]
    elif dtype != "bool":
        found += [(t, dtype) for t in ("x & y", "x | y", "x ^ y", "x << 3", "x >> 2", "~x")]
    found += [(f"cast(x, {target})", target) for target in DTYPES if target != dtype]
    return [*found, ("x if c else y", dtype)]


def values(dtype: str, count: int) -> np.ndarray:
    """Numbers of all magnitudes, and those at the ends of the dtype; no zero among integers, which are divisors."""
    generator = np.random.RandomState(3)
    if dtype == "bool":
        return generator.rand(count) < 0.5
    if dtype in FLOATS:
        info = np.finfo(dtype)
        special = [
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            info.max,
            info.tiny,
            info.tiny / 8,
            -info.tiny / 8,
            1,
            -1,
            0.5,
        ]
        found = generator.randn(count) * 10.0 ** generator.randint(-6, 4, count)
        found[: 3 * len(special)] = generator.permutation(np.repeat(special, 3))
        return found.astype(dtype)
    limits = np.iinfo(dtype)
    found = generator.randint(max(limits.min, -(2**40)), min(limits.max, 2**40), count).astype(dtype)
    found[:4] = limits.max, limits.min, 1, limits.max // 2
    return np.where(found == 0, 7, found).astype(dtype)


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation(run_region: Runner, dtype: str, part: int) -> None:
    """In regions of up to twenty results, as many as a region may have."""
    chosen = texts(dtype)[part * 20 : part * 20 + 20]
    if not chosen:
        return
    inputs = (*(RegionInput(n, dtype, (True,)) for n in "xy"), RegionInput("c", "bool", (True,)))
    statements = tuple(Statement(f"r{k}", kind, text) for k, (text, kind) in enumerate(chosen))
    outputs = tuple(RegionOutput(f"r{k}", kind) for k, (_, kind) in enumerate(chosen))
    x, y = values(dtype, 1037), values(dtype, 1037)[::-1]
    chosen_side = np.random.RandomState(5).rand(1037) < 0.5
    got = run_region(Region(1, inputs, statements, outputs), (1037,), [x, y, chosen_side])
    with np.errstate(all="ignore"):
        for (text, _), result in zip(chosen, got, strict=True):
            if text in NUMPY:
                np.testing.assert_array_equal(result, NUMPY[text](x, y), err_msg=text)


NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": lambda x, y: x + y,
    "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "-x": lambda x, y: -x,
    "x < y": lambda x, y: x < y,
    "x == y": lambda x, y: x == y,
    "x & y": lambda x, y: x & y,
    "x << 3": lambda x, y: x << 3,
    "not x": lambda x, y: ~x,
    "floor(x)": lambda x, y: np.floor(x),
}


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_a_division_by_zero_is_an_error_only_where_it_is_chosen(run_region: Runner, dtype: str) -> None:
    inputs = tuple(RegionInput(n, dtype, (True,)) for n in "xy")
    x, y = values(dtype, 700), values(dtype, 700)
    y[650] = 0
    for text, status in (
        ("x // y", ERROR_DIVISION_BY_ZERO),
        ("x % y if y != 0 else x", 0),
        ("(x // y if x == x else y) if y != 0 else x", 0),
        ("(x if y != 0 else x // y) + x", ERROR_DIVISION_BY_ZERO),
        ("x // y if y == 0 else x", ERROR_DIVISION_BY_ZERO),
    ):
        region = Region(1, inputs, (Statement("z", dtype, text),), (RegionOutput("z", dtype),))
        run_region(region, (700,), [x, y], expect_status=status)


class _Regions:
    """Random regions: expressions over inputs that are broadcast in some way, results whole and reduced."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rank = self.random.randint(1, 4)
        self.sizes = tuple(self.random.choice((1, 2, 3, 5, 8, 33, 70)) for _ in range(self.rank))
        if self.random.random() < 0.5:
            self.sizes = (*self.sizes[:-1], self.random.choice((511, 512, 513, 700, 4097)))
        while np.prod(self.sizes) > 300_000:
            self.sizes = tuple(max(1, size // 2) for size in self.sizes)

    def region(self) -> Region:
        choose = self.random
        inputs = []
        for k in range(choose.randint(1, 4)):
            varies = tuple(choose.random() < 0.8 for _ in range(self.rank))
            inputs.append(
                RegionInput(f"i{k}", choose.choice(("float32", "float64", "int32", "bool")), varies)
            )
        names = {i.name: i.dtype for i in inputs}
        statements = []
        for k in range(choose.randint(1, 5)):
            dtype = choose.choice(("float32", "float32", "float64", "int32"))
            statements.append(Statement(f"s{k}", dtype, self.text(dtype, names, 3)))
            names[f"s{k}"] = dtype
        outputs = [RegionOutput(statements[-1].target, statements[-1].dtype)]
        for _ in range(choose.randint(0, 4)):
            name = choose.choice([n for n, dtype in names.items() if dtype != "bool"])
            kinds = ("sum", "mean", "max", "min") if names[name] in FLOATS else ("sum", "max", "min")
            axes = tuple(axis for axis in range(self.rank) if choose.random() < 0.5)
            outputs.append(RegionOutput(name, names[name], choose.choice(kinds) if axes else None, axes))
        return Region(self.rank, tuple(inputs), tuple(statements), tuple(outputs))

    def text(self, dtype: str, names: dict[str, str], depth: int) -> str:
        choose = self.random
        have = [name for name, kind in names.items() if kind == dtype]
        if depth == 0 or choose.random() < 0.15:
            others = [name for name, kind in names.items() if kind != dtype]
            if have and choose.random() < 0.7:
                return choose.choice(have)
            if others and choose.random() < 0.7:
                return f"cast({choose.choice(others)}, {dtype})"
            return choose.choice(("2", "3", f"cast(axis{choose.randrange(self.rank)}, {dtype})"))
        left, right = self.text(dtype, names, depth - 1), self.text(dtype, names, depth - 1)
        if choose.random() < 0.2:
            return f"({left} if {self.text(dtype, names, 1)} < cast(7, {dtype}) else {right})"
        if dtype in FLOATS and choose.random() < 0.3:
            return f"{choose.choice(('tanh', 'exp', 'sqrt', 'abs', 'sigmoid'))}({left})"
        return choose.choice(
            (f"({left} + {right})", f"({left} * {right})", f"min({left}, {right})", f"-({left})")
        )

    def values(self, region: Region) -> list[np.ndarray]:
        generator = np.random.RandomState(self.random.randrange(1000))
        found = []
        for given in region.inputs:
            shape = [s for s, varies in zip(self.sizes, given.varies, strict=True) if varies]
            found.append(np.array(generator.randn(*shape) * 3).astype(given.dtype))
        return found


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=pytest.mark.slow if s >= 6 else ()) for s in range(12)]
)
def test_random_regions(run_region: Runner, seed: int) -> None:
    made = _Regions(seed)
    region = made.region()
    with np.errstate(all="ignore"):
        run_region(region, made.sizes, made.values(region), threads=2)


F = "float32"


def test_results_in_place_that_read_each_others_inputs(run_region: Runner) -> None:
    """Exchanged, read after they are overwritten, and reduced as they were."""
    inputs = tuple(RegionInput(n, F, (True,)) for n in "xyz")
    statements = (Statement("a", F, "x + z"), Statement("b", F, "x * y"), Statement("c", F, "a - y"))
    outputs = (
        RegionOutput("y", F, in_place=0),
        RegionOutput("x", F, in_place=1),
        RegionOutput("c", F, in_place=2),
        RegionOutput("b", F),
        RegionOutput("x", F, "sum", (0,)),
        RegionOutput("z", F, "max", (0,)),
    )
    x, y, z = np.random.RandomState(0).randn(3, 1500).astype(np.float32)
    got = run_region(Region(1, inputs, statements, outputs), (1500,), [x, y, z])
    for result, want in zip(got[:4], (y, x, x + z - y, x * y), strict=True):
        np.testing.assert_array_equal(result, want)
    np.testing.assert_allclose(got[4], x.sum(), rtol=1e-4, atol=1e-4)
    assert got[5] == z.max()


def _steps(
    form: str, compiler: Compiler, region: Region, sizes: tuple[int, ...], *operands: Any
) -> list[Step]:
    if form == "kernel":
        return region_steps(
            region, compiler.compile_async(region_source(region)).result(250), sizes, *operands
        )
    code = array_code(region)
    kernels = [handle.result(250) for handle in compiler.compile_many(code.sources)]
    return array_steps(code, kernels, sizes, *operands)


@pytest.mark.parametrize("known", [False, True])
def test_operands_that_are_walked_backwards_across_or_not_at_all(
    compiler: Compiler, machine: Machine, known: bool
) -> None:
    inputs = (
        RegionInput("x", F, (True, True), strided=True, backwards=known),
        RegionInput("t", F, (True, True), strided=True),
        RegionInput("s", F, (False, True), strided=True),
        RegionInput("w", F, (True, True), strided=True),
    )
    statements = (Statement("y", F, "x * 2 + t - s"), Statement("w2", F, "w + y"))
    outputs = (
        RegionOutput("y", F, strided=True),
        RegionOutput("y", F, "sum", (1,)),
        RegionOutput("w2", F, in_place=3),
    )
    region = Region(2, inputs, statements, outputs)
    generator = np.random.RandomState(1)
    base, t, s = (generator.randn(*n).astype(F) for n in ((40, 600), (600, 40), (1200,)))
    x = base[::-1, ::-1]
    found = []
    for form in ("kernel", "machine"):
        wide, out, rows = np.ones((40, 1800), F), np.zeros((40, 1200), F), np.zeros(40, F)
        status = np.zeros(1, np.int64)
        steps = _steps(
            form,
            compiler,
            region,
            (40, 600),
            [
                (x.ctypes.data, (-600, -1)),
                (t.ctypes.data, (1, 40)),
                (s.ctypes.data, (0, 2)),
                (wide.ctypes.data, (1800, 3)),
            ],
            [(out.ctypes.data, (1200, 2)), (rows.ctypes.data, None), (wide.ctypes.data, (1800, 3))],
            int(status.ctypes.data),
        )
        assert machine.program(steps, 2).run() == 0
        want = x * np.float32(2) + t.T - s[::2]
        np.testing.assert_array_equal(out[:, ::2], want)
        np.testing.assert_array_equal(wide[:, ::3], 1 + want)
        assert not out[:, 1::2].any() and (wide[:, 1::3] == 1).all()
        found.append(rows.tobytes())
    assert found[0] == found[1]


def test_the_same_bits_for_any_cut_and_on_threads_with_small_stacks(
    compiler: Compiler, machine: Machine
) -> None:
    inputs = (RegionInput("x", F, (True, True)), RegionInput("b", F, (False, True)))
    outputs = (
        RegionOutput("y", F),
        RegionOutput("y", F, "sum", (0,)),
        RegionOutput("y", F, "sum", (0, 1)),
        RegionOutput("y", F, "mean", (1,)),
    )
    region = Region(2, inputs, (Statement("y", F, "tanh(x) * exp(-b)"),), outputs)
    x = np.random.RandomState(4).randn(1003, 97).astype(F)
    plan, seen = layout(region, x.shape), set()

    def run(cut: int, threads: int) -> None:
        results = [np.zeros(n, F) for n in ((1003, 97), 97, (), 1003)]
        scratch, status = np.zeros(plan.scratch, np.uint8), np.zeros(1, np.int64)
        first, last = _steps(
            "machine",
            compiler,
            region,
            x.shape,
            [(x.ctypes.data, (97, 1)), (x.ctypes.data, (0, 1))],
            [(r.ctypes.data, None) for r in results],
            int(status.ctypes.data),
            int(scratch.ctypes.data),
        )
        step = Step(first.kernel, first.args, 0, plan.units, cut)
        assert machine.program([step, last], threads).run() == 0
        seen.add(b"".join(r.tobytes() for r in results))

    before = threading.stack_size(256 << 10)
    try:
        for cut in (0, 1, 3, plan.units):
            for threads in (1, 2):
                thread = threading.Thread(target=run, args=(cut, threads))
                thread.start()
                thread.join()
    finally:
        threading.stack_size(before)
    assert len(seen) == 1


def test_what_the_machine_lacks_is_said() -> None:
    x = RegionInput("x", F, (True,))
    many = tuple(Statement(f"s{k}", F, f"x * {k + 2}") for k in range(400))
    total = Statement("y", F, " + ".join(s.target for s in many[:390]))
    with pytest.raises(ScalarTextError, match="no room"):
        array_code(Region(1, (x,), (*many, total), (RegionOutput("y", F),)))
    with pytest.raises(ScalarTextError, match="takes no literal"):
        array_code(
            Region(
                1,
                (x,),
                (Statement("y", "int64", f"cast(x, int64) + {1 << 61}"),),
                (RegionOutput("y", "int64"),),
            )
        )
    region = Region(1, (x,), (), (RegionOutput("x", F),))
    with pytest.raises(ScalarTextError, match="empty space"):
        array_steps(
            array_code(region), [0] * len(array_code(region).sources), (0,), [(0, (1,))], [(0, None)], 0
        )
