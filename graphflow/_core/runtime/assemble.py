"""Assembles a part of a plan: turns it into one Python function that calls NumPy kernels, the tier that runs at once.

Every instruction is a line of the function. Its kernel and constants are bound as globals, so that a run looks nothing
up. If a line fails, its number tells the instruction. Branches and loops become `if` and `while`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.arrays import kind_of
from graphflow._core.common.records import dataclass
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan, walk
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell

INSTRUCTIONS: Final = "instructions"
"""The global of an assembled function that has the instruction of each line, for who meets it in a thread."""


@dataclass(frozen=True)
class Assembled:
    """A part that can run: function(run, *feeds) returns the tuple of its fetches.

    lines: the instruction of each line of `source`. cells: the variables that it uses. computes: whether it calls any
    kernel.
    """

    function: Callable[..., Any]
    source: str
    lines: Sequence[Instruction | None]
    cells: Sequence[VariableCell]
    filename: str
    computes: bool


def assemble(
    plan: Plan,
    store: ResourceStore,
    kernels: KernelTable,
    *,
    trace: bool = False,
    check_numerics: bool = False,
    observe: Callable[[str, Any], None] | None = None,
    borrows: bool = False,
) -> Assembled:
    """Compiles a part for a store.

    `trace` records start and end of every instruction in run.trace; `check_numerics` raises at the first NaN or
    infinity; observe(name, result) is called with every result; with `borrows` fetched variables are not copied.
    """
    return _Assembler(plan, store, kernels, trace, check_numerics, observe, borrows).finish()


def own(value: Any) -> Any:
    """The value, or a copy that shares memory with nothing else."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        return value if value.flags.owndata and value.base is None else value.copy()
    return value


@dataclass(frozen=True)
class _Line:
    depth: int
    text: str
    instruction: Instruction | None


_GIVES = frozenset({"CollectiveEnd"})
"""Types whose results are handed out as they are: nobody else has them, though their memory is shared."""
_LOCAL = re.compile(r"\bv\d+\b")


class _Assembler:
    def __init__(
        self,
        plan: Plan,
        store: ResourceStore,
        kernels: KernelTable,
        trace: bool,
        check: bool,
        observe: Callable[[str, Any], None] | None,
        borrows: bool,
    ) -> None:
        self._observe = observe
        self._borrows = borrows
        self._plan = plan
        self._store = store
        self._kernels = kernels
        self._trace = trace
        self._check = check
        self._globals: dict[str, Any] = {"own": own}
        self._names: dict[str, str] = {}
        self._fed: dict[str, str] = {}
        self._cells: dict[str, str] = {}
        self._cell_objects: list[VariableCell] = []
        self._borrowed: set[str] = set()
        """Expressions whose memory may be somebody else's: feeds, constants, variables, and views of these."""
        self._lines: list[_Line] = []
        self._scalars: set[str] = set()
        self._count = 0
        self._written = {name for i in walk(plan) for name in i.writes()}
        self._given = {o for i in plan.instructions if i.type in _GIVES for o in i.outputs}

    # ---- names ----------------------------------------------------------------------------------------------------

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _bind(self, prefix: str, value: Any) -> str:
        name = self._fresh(prefix)
        self._globals[name] = value
        return name

    def _emit(self, text: str, depth: int, instruction: Instruction | None = None) -> None:
        self._lines.append(_Line(depth, text, instruction))

    def _use(self, value: str, *, keep: bool = False) -> str:
        """The expression for a value; with `keep`, one whose value no later write of a variable changes."""
        if value in self._fed:
            return self._fed[value]
        if value in self._cells:
            copied = ".copy()" if keep and value in self._written else ""
            return f"{self._cells[value]}.get(){copied}"
        return self._names[value]

    # ---- the function ---------------------------------------------------------------------------------------------

    def finish(self) -> Assembled:
        feeds = []
        for position, value in enumerate(self._plan.feeds):
            self._names[value] = f"f{position}"
            self._borrowed.add(f"f{position}")
            feeds.append(f"f{position}")
            self._fed[value] = f"f{position}"
        self._emit(f"def part({', '.join(['run', *feeds])}):", 0)
        self._level(self._plan, 1)
        self._emit(
            f"return ({''.join(self._fetch(f, i) + ', ' for i, f in enumerate(self._plan.fetches))})", 1
        )
        lines = _forget_early(self._lines, self._scalars)
        source = "\n".join("    " * line.depth + line.text for line in lines)
        filename = f"<graphflow plan {id(self):x}>"
        instructions = [line.instruction for line in lines]
        self._globals[INSTRUCTIONS] = instructions
        exec(compile(source, filename, "exec"), self._globals)
        return Assembled(
            self._globals["part"],
            source,
            instructions,
            tuple(self._cell_objects),
            filename,
            any(name.startswith("k") for name in self._globals),
        )

    def _fetch(self, value: str, position: int) -> str:
        expression = self._use(value)
        again = value in self._plan.fetches[:position]
        if value in self._cells and self._borrows:
            return f"{self._cells[value]}.borrow()"
        if value in self._cells or again or expression in self._borrowed:
            self._globals.setdefault("copied", copied)
            return f"copied({expression})"
        return expression if value in self._given else f"own({expression})"

    def _level(self, plan: Plan, depth: int) -> None:
        for instruction in plan.instructions:
            self._instruction(instruction, depth)
            if self._observe is not None:
                self._observed(instruction.outputs, depth, instruction)

    def _observed(self, values: Sequence[str], depth: int, instruction: Instruction) -> None:
        self._globals.setdefault("observe", self._observe)
        for value in values:
            if value not in self._cells:
                self._emit(f"observe({self._bind('o', value)}, {self._use(value)})", depth, instruction)

    def _instruction(self, i: Instruction, depth: int) -> None:
        if i.is_variable:
            self._variable(i)
        elif i.is_constant:
            value = i.attrs["value"]
            self._names[i.outputs[0]] = name = self._bind(
                "c", value[()] if value.ndim == 0 and value.dtype != object else value
            )
            self._borrowed.add(name)
            if self._trace:
                self._emit(f"run.trace({self._bind('i', i)}, {self._bind('t', _clock())}())", depth, i)
        elif i.type == kinds.IF:
            self._branch(i, depth)
        elif i.type == kinds.WHILE:
            self._loop(i, depth)
        elif i.type == kinds.NO_OP:
            pass
        elif i.type in PASS_THROUGH and i.inputs[0] not in self._cells:
            self._names[i.outputs[0]] = self._names[i.inputs[0]]
        else:
            self._work(i, depth)

    def _variable(self, i: Instruction) -> None:
        cell = self._store.cell(i)
        self._cell_objects.append(cell)
        self._cells[i.outputs[0]] = self._bind("w", cell)

    def _work(self, i: Instruction, depth: int) -> None:
        if self._trace:
            self._emit(f"started = {self._bind('t', _clock())}()", depth, i)
        outputs = [self._define(o) for o in i.outputs]
        if self._kernels.may_view(i.type) or i.type in PASS_THROUGH:
            self._borrowed.update(outputs)
        self._scalars |= {local for local, dims in zip(outputs, i.shapes, strict=True) if dims == ()}
        target = f"{', '.join(outputs)}{',' if len(outputs) > 1 else ''} = " if outputs else ""
        self._emit(target + self._call(i), depth, i)
        if self._check and outputs:
            checker = self._bind("n", _numerics_checker(i, self._kernels))
            self._emit(f"{checker}({', '.join(outputs)})", depth, i)
        if self._trace:
            self._emit(f"run.trace({', '.join([self._bind('i', i), 'started', *outputs])})", depth, i)

    def _call(self, i: Instruction) -> str:
        keep = self._kernels.may_view(i.type) or i.type in PASS_THROUGH
        refs = i.ref_mask()
        arguments = [
            self._cells[n] if ref else self._use(n, keep=keep) for n, ref in zip(i.inputs, refs, strict=True)
        ]
        if i.type in PASS_THROUGH:
            return arguments[0]
        if self._kernels.is_stateful(i.type):
            arguments.insert(0, "run")
        return f"{self._bind('k', self._kernels.make(i))}({', '.join(arguments)})"

    def _define(self, value: str) -> str:
        """The name of the local variable for a result; a result that is fed keeps the fed value."""
        name = self._fresh("v")
        if value not in self._fed:
            self._names[value] = name
        return name

    def _called(self, i: Instruction, depth: int) -> None:
        """A branch or loop that a function does, which is given the inputs, and None for variables."""
        values = ["None" if n in self._cells else self._use(n) for n in i.inputs]
        outputs = [self._define(o) for o in i.outputs]
        target = f"{', '.join(outputs)}, = " if outputs else ""
        self._emit(f"{target}{self._bind('k', i.attrs['compiled'])}({', '.join(['run', *values])})", depth, i)

    def _branch(self, i: Instruction, depth: int) -> None:
        if "compiled" in i.attrs:
            self._called(i, depth)
            return
        outputs = [self._fresh("v") for _ in i.outputs]
        predicate = self._use(i.inputs[0])
        for keyword, body in zip((f"if {predicate}:", "else:"), i.bodies, strict=True):
            self._emit(keyword, depth, i)
            self._level(body, depth + 1)
            for local, value in zip(outputs, body.fetches, strict=True):
                self._emit(f"{local} = {self._use(value, keep=True) if value else None}", depth + 1, i)
            self._emit("pass", depth + 1)
        self._borrowed.update(outputs)
        for value, local in zip(i.outputs, outputs, strict=True):
            self._names[value] = local

    def _loop(self, i: Instruction, depth: int) -> None:
        if "compiled" in i.attrs:
            self._called(i, depth)
            return
        condition, body = i.bodies
        parameters = [self._fresh("v") for _ in body.feeds]
        for local, value in zip(parameters, i.inputs, strict=False):
            self._emit(f"{local} = {self._use(value, keep=True)}", depth, i)
        self._names.update(zip(body.feeds, parameters, strict=True))
        self._emit("while True:", depth, i)
        self._emit("run.check()", depth + 1, i)
        if self._observe is not None:
            self._observed(body.feeds, depth + 1, i)
        self._level(condition, depth + 1)
        self._emit(f"if not {self._use(condition.fetches[0])}: break", depth + 1, i)
        self._level(body, depth + 1)
        if parameters:
            nexts = ", ".join(self._use(v, keep=True) for v in body.fetches)
            self._emit(f"{', '.join(parameters)}, = {nexts},", depth + 1, i)
        self._borrowed.update(parameters)
        for value, local in zip(i.outputs, parameters, strict=True):
            self._names[value] = local


def operand(value: Any) -> Any:
    """A fetched value as kernels take it: a single string is an array, as everywhere inside a run."""
    return np.array(value, object) if isinstance(value, bytes) else value


def copied(value: Any) -> Any:
    """A copy of a value that belongs to somebody else."""
    return value.copy() if isinstance(value, np.ndarray) and value.ndim else own(value)


def _blocks(lines: list[_Line]) -> list[tuple[int, ...]]:
    """For each line the numbers of the lines that open the blocks around it."""
    result: list[tuple[int, ...]] = []
    headers: list[int] = []
    for number, line in enumerate(lines):
        del headers[line.depth :]
        result.append(tuple(headers))
        headers.append(number)
    return result


def _forget_early(lines: list[_Line], scalars: set[str]) -> list[_Line]:
    """The lines, with each array forgotten after the statement that uses it last.

    That is a statement of the innermost block which has all its uses: what a loop takes from outside lives as long as
    the loop.
    """
    blocks = _blocks(lines)
    homes: dict[str, tuple[int, ...]] = {}
    last: dict[str, int] = {}
    for number, line in enumerate(lines):
        for local in _LOCAL.findall(line.text):
            home = homes.setdefault(local, blocks[number])
            common = next(
                (k for k, (x, y) in enumerate(zip(home, blocks[number], strict=False)) if x != y),
                min(len(home), len(blocks[number])),
            )
            homes[local] = home[:common]
            last[local] = number
    after: dict[int, list[str]] = {}
    for local, number in last.items():
        depth = len(homes[local])
        if local in scalars or lines[number].text.startswith("return"):
            continue
        while number + 1 < len(lines) and (
            lines[number + 1].depth > depth
            or (lines[number + 1].depth == depth and lines[number + 1].text == "else:")
        ):
            number += 1
        if number + 1 < len(lines) and lines[number + 1].depth == depth:
            after.setdefault(number, []).append(local)
    result: list[_Line] = []
    for number, line in enumerate(lines):
        result.append(line)
        if number in after:
            depth = len(homes[after[number][0]])
            result.append(_Line(depth, f"{' = '.join(after[number])} = None", None))
    return result


def _clock() -> Callable[[], int]:
    import time

    return time.perf_counter_ns


def _numerics_checker(i: Instruction, kernels: KernelTable) -> Callable[..., None]:
    def check(*values: Any) -> None:
        for value in values:
            array = np.asarray(value)
            if kind_of(array.dtype) in "fc" and not np.isfinite(array).all():
                kind = "NaN" if np.isnan(array).any() else "Inf"
                raise errors.InvalidArgumentError(
                    None, None,
                    f"the result has {kind} (check_numerics): {int((~np.isfinite(array)).sum())} of "
                    f"{array.size} elements; "
                    f"its inputs are {', '.join(i.inputs) or 'none'}",
                )  # fmt: skip

    return check
