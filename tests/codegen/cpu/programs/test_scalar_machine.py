"""Protects: the scalar machine computes as NumPy scalars do, loops, stops on errors and can be interrupted."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.machine import Machine
from graphflow._core.codegen.cpu.programs.scalar_machine import Label, Register, ScalarProgram
from graphflow._core.codegen.cpu.programs.scalar_machine_source import (
    COMMON,
    EXPRESSIONS,
    OPCODES,
    interpreter_source,
)
from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError


@pytest.fixture(scope="module")
def interpreter(compiler: Compiler) -> int:
    return compiler.compile_async(interpreter_source()).result(250)


@pytest.fixture(scope="module")
def small_interpreter(compiler: Compiler) -> int:
    return compiler.compile_async(interpreter_source(common=True)).result(250)


def at(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def evaluate(machine: Machine, interpreter: int, text: str, dtype: str, **values: object) -> np.generic:
    """One text over named NumPy scalars; the status is in place of the value when it is not 0."""
    memory = {name: np.atleast_1d(np.asarray(value)) for name, value in values.items()}
    scalars, out = ScalarProgram(), np.zeros(1, dtype)
    names = {name: scalars.load(at(array), str(array.dtype)) for name, array in memory.items()}
    scalars.store(scalars.evaluate(text, dtype, names), at(out))
    status = machine.program([scalars.step(interpreter)]).run()
    return np.int64(-status) if status else out[0]


COMMON_TEXTS = [
    ("x - y * x / y + sqrt(abs(x)) * (-x)", "float32"),
    (
        "pow(x, floor(cast(i, float32) / 100.0)) if i > 4 and not x == 1.0 else min(x, max(y, square(x)))",
        "float32",
    ),
    ("i // 7 % 3 + cast(j, int64)", "int64"),
    ("j % 3 - cast(x < y or i >= 3, int32) + abs(-j) * sign(j)", "int32"),
]


@pytest.mark.parametrize(("text", "dtype"), COMMON_TEXTS)
def test_the_small_interpreter_gives_the_same_bits(
    machine: Machine, interpreter: int, small_interpreter: int, text: str, dtype: str
) -> None:
    given = {"x": np.float32(1.7), "y": np.float32(-0.3), "i": np.int64(250), "j": np.int32(-8)}
    want = evaluate(machine, interpreter, text, dtype, **given)
    assert evaluate(machine, small_interpreter, text, dtype, **given) == want


def test_what_the_small_interpreter_lacks_is_noted() -> None:
    program = ScalarProgram()
    x = program.evaluate("x * 2.0", "float32", {"x": program.variable("float32")})
    assert program.common
    program.evaluate("cos(x)", "float32", {"x": x})
    program.evaluate("x + 1.0", "float32", {"x": x})
    assert not program.common


def test_every_common_program_has_all_that_it_needs() -> None:
    """An operation that an interpreter does not know would do nothing."""
    small = interpreter_source(common=True)
    control = [key for key in OPCODES if key not in EXPRESSIONS]
    assert set(EXPRESSIONS) > COMMON
    assert all(f" operation == {OPCODES[key]}:\n" in small for key in (*COMMON, *control))
    assert not any(f" operation == {OPCODES[key]}:\n" in small for key in set(EXPRESSIONS) - COMMON)


F, D, I32, I64 = np.float32, np.float64, np.int32, np.int64
CASES = [
    ("x + y * 3 - 1", "float32", {"x": F(0.1), "y": F(0.7)}, F(0.1) + F(0.7) * F(3) - F(1)),
    ("x / y", "float64", {"x": D(1), "y": D(3)}, D(1) / D(3)),
    ("x % y", "float32", {"x": F(-7.5), "y": F(2)}, F(-7.5) % F(2)),
    ("x // y", "float32", {"x": F(-7.5), "y": F(2)}, F(-4)),
    ("max(x, y) + min(x, y)", "float32", {"x": F(np.nan), "y": F(2)}, F(np.nan)),
    ("-x if x < 0 else x * 2", "float32", {"x": F(-3)}, F(3)),
    ("i // j", "int32", {"i": I32(-7), "j": I32(2)}, I32(-4)),
    ("i % j", "int64", {"i": I64(-7), "j": I64(2)}, I64(1)),
    ("i * i + 1", "int32", {"i": I32(65536)}, I32(1)),
    ("-i", "int32", {"i": I32(-(2**31))}, I32(-(2**31))),
    ("abs(i) + sign(i)", "int32", {"i": I32(-5)}, I32(4)),
    ("i < 3 and not i == 2", "bool", {"i": I32(1)}, True),
    ("cast(i, float32) / 2", "float32", {"i": I32(5)}, F(2.5)),
    ("cast(x, int32)", "int32", {"x": F(-2.9)}, I32(-2)),
    ("cast(x, bool)", "bool", {"x": F(0.5)}, True),
    ("cast(b, int64) + 1", "int64", {"b": np.True_}, I64(2)),
    ("i // j if j != 0 else -1", "int32", {"i": I32(7), "j": I32(0)}, I32(-1)),
    ("i // j", "int32", {"i": I32(7), "j": I32(0)}, -1),
    ("~i & 255", "int64", {"i": I64(1)}, I64(254)),
    ("round(x) + floor(x) + ceil(x)", "float64", {"x": D(2.5)}, D(7)),
    ("isnan(x) or isinf(x)", "bool", {"x": F(np.inf)}, True),
]


@pytest.mark.parametrize(("text", "dtype", "values", "want"), CASES)
def test_operations(
    machine: Machine, interpreter: int, text: str, dtype: str, values: dict, want: object
) -> None:
    np.testing.assert_array_equal(evaluate(machine, interpreter, text, dtype, **values), want)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sqrt", "sin", "log1p", "expm1"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions(machine: Machine, interpreter: int, name: str, dtype: str) -> None:
    for value in (0.3, 2.7, 30.0):
        got = evaluate(machine, interpreter, f"{name}(x)", dtype, x=np.dtype(dtype).type(value))
        np.testing.assert_allclose(got, getattr(np, name)(np.dtype(dtype).type(value)), rtol=5e-7)


def test_a_chain_rounds_to_float32_at_every_operation(machine: Machine, interpreter: int) -> None:
    x, out = np.array([0.1], np.float32), np.zeros(1, np.float32)
    scalars = ScalarProgram()
    value, want = scalars.load(at(x), "float32"), x[0]
    for k in range(1000):
        value = scalars.evaluate(
            "x + c", "float32", {"x": value, "c": scalars.constant(k % 7 / 10, "float32")}
        )
        want = np.float32(want + np.float32(k % 7 / 10))
    scalars.store(value, at(out))
    assert machine.program([scalars.step(interpreter)]).run() == 0
    assert out[0] == want


def loop(limit: int, out: tuple[np.ndarray, np.ndarray]) -> ScalarProgram:
    """i, a = 0, 1; while i < limit: i, a = i + 1, a * 1.0001."""
    scalars, body, test = ScalarProgram(), Label(), Label()
    i, a = scalars.variable("int64"), scalars.variable("float32")
    names: dict[str, Register] = {"i": i, "a": a}
    scalars.assign(i, scalars.constant(0, "int64"))
    scalars.assign(a, scalars.constant(1, "float32"))
    scalars.jump(test)
    scalars.place(body)
    scalars.evaluate("a * 1.0001", "float32", names, target=a)
    scalars.evaluate("i + 1", "int64", names, target=i)
    scalars.place(test)
    scalars.jump(body, scalars.evaluate(f"i < {limit}", "bool", names))
    scalars.store(i, at(out[0]))
    scalars.store(a, at(out[1]))
    return scalars


def test_a_loop(machine: Machine, interpreter: int) -> None:
    i, a = np.zeros(1, np.int64), np.zeros(1, np.float32)
    scalars = loop(1000, (i, a))
    program = machine.program([scalars.step(interpreter)])
    want = np.float32(1)
    for _ in range(1000):
        want = np.float32(want * np.float32(1.0001))
    for _ in range(2):
        assert program.run() == 0
        assert (i[0], a[0]) == (1000, want)


def test_a_long_loop_goes_on_after_coming_back_and_an_endless_one_can_be_aborted(
    machine: Machine, interpreter: int
) -> None:
    i, a = np.zeros(1, np.int64), np.zeros(1, np.float32)
    long = loop(5_000_000, (i, a))
    assert machine.program([long.step(interpreter)]).run() == 0
    assert i[0] == 5_000_000
    endless = loop(2**62, (i, a))
    program = machine.program([endless.step(interpreter)])
    ended = threading.Event()

    def abort() -> None:
        """Again and again: what comes before the run begins does not end it."""
        while not ended.wait(0.2):
            program.abort(9)

    aborting = threading.Thread(target=abort)
    aborting.start()
    assert program.run() == 9
    ended.set()
    aborting.join()
    short = loop(3, (i, a))
    assert machine.program([short.step(interpreter)]).run() == 0 and i[0] == 3


def test_what_the_machine_lacks_is_said() -> None:
    with pytest.raises(ScalarTextError, match="no dtype uint8"):
        ScalarProgram().variable("uint8")
    scalars = ScalarProgram()
    i = scalars.variable("int32")
    with pytest.raises(ScalarTextError, match="no lshift int32"):
        scalars.evaluate("i << 2", "int32", {"i": i})
