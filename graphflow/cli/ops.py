"""graphflow ops: what there is for each op type, as a table for a terminal or as the page docs/ops.md."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import graphflow
from graphflow._core.common.shown.tables import table
from graphflow._core.common.shown.terminal import tell
from graphflow._core.compiler.cpu import without_native
from graphflow._core.compiler.gpu.without_kernel import REASONS
from graphflow._core.compiler.support import Support, op_types, support
from graphflow._core.graph.op_def import OpDef
from graphflow.cli import imports
from graphflow.cli.main import UsageError

_PAGE: Final = """\
# Ops

All {count} op types of graphflow. This page is written by `graphflow ops --markdown`; `graphflow ops NAME` shows the
same of some, by name (`MatMul`), by a part of it (`matmul`, `reduce_sum`) or by a pattern (`Sparse*`).

* **gradient**: `yes`; `none`: no gradient flows through it; `refused`: asking for one is an error, as in TensorFlow.
* **NumPy**: `kernel`; `plan`: the plan itself holds it; `lifted`: a part of a branch or loop, which runs as a whole.
* **compiled**: `rule`: it has a lowering rule of its own; `scalar`: code is made of its elementwise meaning; `view`:
  the same memory, walked otherwise; `shapes`: a constant once shapes are known; `plan` and `lifted` as above. If the
  field is empty, NumPy computes it between compiled stretches; [why, and what that costs](#no-native-form). What a
  rule does not take runs on NumPy too.
* **GPU**: whether a GPU runs it; [what its kernels are](gpu.md#kernels), and
  [why others have none](#no-kernel-on-a-gpu).
* **TensorFlow**: whether TensorFlow 1.15 has an op type of that name. The others are graphflow's own.
* **since**: the version of graphflow that has had it first.
* **gf.**: the public functions and classes that add such an operation themselves. Gradients, operators and other
  functions add some, too.

"""
_NOT_NATIVE: Final = """
## No native form

On a processor NumPy computes these between the compiled stretches of a plan. `*` stands for any letters.

| why | what it costs | ops |
|--|--|--|
"""
_REASONS: Final = """
## No kernel on a GPU

Under soft placement these run on the CPU, wherever they are asked for. `*` stands for any letters.

| why | ops |
|--|--|
"""
_HEAD: Final = ("op", "gradient", "NumPy", "compiled", "GPU", "TensorFlow", "since", "gf.")
_ALIASES: Final = frozenset({"compat", "contrib", "extend", "protos", "test", "testing"})
"""Packages that hold what others define, or what is for tests."""
_SHOWN: Final = 4
"""The most names of functions that are shown for an op."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = (
        "Lists the op types, and what there is for each: a gradient, a NumPy kernel, compiled code, "
        "a kernel on a GPU, TensorFlow's op of the same name, the version of graphflow that has had it first, and "
        "the functions of graphflow that add one."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="an op type, a part of its name or of a function's that adds it, or a pattern such as 'Sparse*'",
    )
    imports.add_imports(parser)
    parser.add_argument("--markdown", action="store_true", help="print the page docs/ops.md is")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the ops that were asked for, by default all; returns the exit status."""
    imports.load(arguments)
    functions = functions_of_ops()
    rows = [support(name) for name in op_types()]
    if arguments.names:
        for name in arguments.names:
            if not any(_asked_for(row, functions, [name]) for row in rows):
                raise UsageError(
                    f"there is no op type {name!r}, no pattern of one, and no function of that name that adds one. "
                    "`graphflow ops` lists all."
                )
        rows = [row for row in rows if _asked_for(row, functions, arguments.names)]
    if arguments.markdown:
        tell(page([row for row in rows if not row.extension], functions).rstrip("\n"))
        return 0
    tell(table([tuple(h.upper() if h != "gf." else h for h in _HEAD), *(_cells(r, functions) for r in rows)]))
    if arguments.names:
        for row in rows:
            if not row.compiled and (reason := without_native.reason_without_native(row.name)):
                tell(f"{row.name} has no native form on a processor: {reason}.")
            if row.gpu_reason:
                tell(f"{row.name} has no kernel on a GPU: {row.gpu_reason}.")
    return 0


def page(rows: Sequence[Support], functions: dict[str, list[str]]) -> str:
    """The page docs/ops.md with these rows; `functions` as functions_of_ops gives it."""
    lines = [_HEAD, ("--",) * len(_HEAD)]
    for row in rows:
        name, *cells, found = _cells(row, functions)
        lines.append((f"`{name}`", *cells, found))
    body = "".join(
        f"| {' | '.join(line)} |\n".replace("|  |", "| |").replace("|  |", "| |") for line in lines
    )
    not_native = "".join(
        f"| {reason} | {cost} | {_but_for(patterns, others)} |\n"
        for reason, cost, patterns, others in without_native.REASONS
    )
    reasons = "".join(
        f"| {reason} | {_but_for(patterns, others)} |\n" for reason, patterns, others in REASONS
    )
    return _PAGE.format(count=len(rows)) + body + _NOT_NATIVE + not_native + _REASONS + reasons


def functions_of_ops() -> dict[str, list[str]]:
    """The public functions and classes whose own code adds each op type, by their names behind `gf.`, the best first.

    They are found by the definitions that their code names: an op's name is written down once, at its definition. If
    nobody's code names an op's, it is added by the function that is called like it: scatter_add for ScatterAdd.
    """
    found: dict[str, dict[int, list[str]]] = {}
    public = list(_public())
    for name, value in public:
        for op_type in _added_by(value):
            found.setdefault(op_type, {}).setdefault(id(value), []).append(name)
    alike = {
        name.lower().replace("_", ""): (name, id(v)) for name, v in public if isinstance(v, FunctionType)
    }
    for op_type in op_types():
        if op_type not in found and op_type.lower() in alike:
            name, identity = alike[op_type.lower()]
            found[op_type] = {identity: [name]}
    shortest = {
        op_type: [min(names, key=lambda n: (n.count("."), len(n), n)) for names in by_function.values()]
        for op_type, by_function in found.items()
    }
    return {op_type: sorted(names, key=lambda n: (n.count("."), n)) for op_type, names in shortest.items()}


def _public() -> Iterator[tuple[str, Any]]:
    spaces: list[tuple[str, Any]] = [("", graphflow)]
    for name in sorted(dir(graphflow)):
        value = getattr(graphflow, name)
        if isinstance(value, ModuleType) and not name.startswith("_") and name not in _ALIASES:
            spaces.append((f"{name}.", value))
    for prefix, space in spaces:
        for name in sorted(dir(space)):
            if not name.startswith("_"):
                value = getattr(space, name)
                yield f"{prefix}{name}", inspect.unwrap(value) if isinstance(value, FunctionType) else value


def _added_by(value: Any) -> set[str]:
    """The op types that the code of a function, or of a class's own methods, names."""
    if isinstance(value, type):
        if not str(value.__module__).startswith("graphflow."):  # That of a protobuf message is None.
            return set()
        methods = (getattr(m, "fget", None) or getattr(m, "__func__", m) for m in vars(value).values())
        return {
            op_type for method in methods if isinstance(method, FunctionType) for op_type in _added_by(method)
        }
    if not isinstance(value, FunctionType):
        return set()
    found: set[str] = set()
    for code in _codes(value.__code__):
        known = [value.__globals__.get(name) for name in code.co_names]
        for space in [v for v in known if isinstance(v, ModuleType) and v.__name__.startswith("graphflow.")]:
            known.extend(vars(space).get(name) for name in code.co_names)
        tables = [item for v in known if isinstance(v, tuple) for item in v]
        found.update(v.name for v in (*known, *tables) if isinstance(v, OpDef))
    cells = (cell.cell_contents for cell in value.__closure__ or ())
    return found | {v.name for v in cells if isinstance(v, OpDef)}


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _asked_for(row: Support, functions: dict[str, list[str]], names: Sequence[str]) -> bool:
    known = (row.name, *functions.get(row.name, ()))
    if any(name in known for name in names):
        return True
    return any(
        fnmatchcase(row.name, name) if "*" in name or "?" in name else name.lower() in other.lower()
        for name in names
        for other in known
    )


def _cells(row: Support, functions: dict[str, list[str]]) -> tuple[str, ...]:
    names = functions.get(row.name, [])
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    marks = ("yes" if row.gpu else "", "yes" if row.tensorflow else "", row.since)
    return (row.name, row.gradient, row.numpy, row.compiled, *marks, _of(row) if row.extension else shown)


def _of(row: Support) -> str:
    return f"of the extension {row.extension}"


def _but_for(patterns: Sequence[str], others: Sequence[str]) -> str:
    return f"{_patterns(patterns)}{' but for ' if others else ''}{_patterns(others)}"


def _patterns(patterns: Sequence[str]) -> str:
    return ", ".join(f"`{p}`" for p in patterns)
