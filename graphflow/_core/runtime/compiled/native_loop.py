"""NativeLoop: a loop that runs turn after turn without Python, and its lists and stacks.

Python comes in before the first turn and after the last one, some ten times a second to see whether the run is to end,
and if a list asks for it: to grow, to give zeros for what was never written, or to say what is wrong. Loops whose
values have other shapes than those that it is made for run on NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from operator import itemgetter
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.codegen.cpu.blas import single_threaded
from graphflow._core.codegen.cpu.programs import control_source as words
from graphflow._core.codegen.cpu.programs.machine import KERNEL_PROTOTYPE, Machine
from graphflow._core.codegen.cpu.programs.machine_source import RESUME, STATUS_AGAIN
from graphflow._core.common.arrays import memory_address
from graphflow._core.compiler.compile_job import LoopJob
from graphflow._core.compiler.cpu.list_rules import RowNode
from graphflow._core.compiler.native_parts import draws
from graphflow._core.compiler.nodes import Binding, KernelNode, NestedNode, Part
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.control_flow.lists import ArrayList
from graphflow._core.kernels.control_flow.rows import Rows, RowStack
from graphflow._core.kernels.table import KernelTable
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import assemble, operand
from graphflow._core.runtime.compiled.laying import EXTERNAL, RANGE, Control, Patches, Stopped
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.explain import failure

_NO_TYPE: Final = np.dtype("V1")
"""Of what is no array; NumPy takes None for float64."""
_LARGEST: Final = 1 << 24
"""The most rows for which a list or stack has room from the start, because it had so many before."""


class NativeLoop:
    """A While that can be called: (run, initial values, captured values) gives the values after the loop."""

    def __init__(
        self,
        loop: LoopJob,
        parts: Sequence[Part],
        kernel: int,
        machine: Machine,
        threads: int,
        store: ResourceStore,
        kernels: KernelTable,
    ) -> None:
        self._count = len(loop.instruction.bodies[1].feeds)
        self._inputs = [loop.instruction.inputs.index(n) for n in loop.body.feeds[self._count :]]
        self._condition = assemble(loop.condition, store, kernels).function
        self._base = assemble(loop.body, store, kernels).function
        known = parts[1].job.lowering.known
        self._types = [_kind(known[name]) for name in loop.body.feeds[: self._count]]
        self._bindings: dict[str, Binding] = {}
        for part in parts:
            self._bindings.update(part.job.lowering.around.bindings)
        variables = {name: i for part in parts for name, i in part.job.lowering.variables.items()}
        self._cells = [(name, store.cell(i), *_kind(known[name])) for name, i in variables.items()]
        self._find_captured(loop, parts)
        self._threads_of_blas: Callable[[], AbstractContextManager[Any]] = (
            single_threaded if any(_uses_blas(part) for part in parts) else nullcontext
        )
        node = NestedNode(loop.instruction, [], [], parts=parts)
        self._seen: dict[str, Any] = {}
        self._control = Control(node, 0, machine, threads, self, hosted=True)
        self._words = self._control.words = np.array(self._control.step.args, np.int64)
        self._status = np.zeros(1, np.int64)
        self._words[words.STATUS] = memory_address(self._status)
        self._call = KERNEL_PROTOTYPE(kernel)
        self._variables = [
            memory[: memory.size].view(dtype).reshape(shape)
            for memory, (shape, dtype) in zip(self._control.frame.values(), self._types, strict=True)
        ]
        self._draws = [
            (name, state, program.constant(root).view(np.int64))
            for part, program in zip(parts, self._control.parts, strict=True)
            for name, state, root in draws(part)
        ]
        self._draws.sort(key=itemgetter(0))  # Who holds several states has taken them in one order.
        self._patches = Patches.found_in(self._control.all_words(), self._externals)
        self._row_types = {root: np.dtype(binding.dtype) for root, binding in self._bindings.items()}
        self._stacks = {
            r: _Stack(b, self._row_types[r]) for r, b in self._bindings.items() if b.kind == "stack"
        }
        self._used: dict[int, ArrayList | RowStack] = {}
        """The lists and stacks of a run, by the places of their descriptors."""
        self._lists: dict[str, Rows] = {}
        self._rooms: dict[str, int] = {}
        """The rows of a run's lists, and the most that each had; one that grows has room for as many from the start."""

    def _find_captured(self, loop: LoopJob, parts: Sequence[Part]) -> None:
        """Where what the loop takes lies: a scalar is brought to a place of its own, all else is told its address."""
        taken = {name for part in parts for name in part.feeds}
        self._externals: dict[str, int] = {}
        self._scalars: dict[str, Any] = {}
        self._captured: list[tuple[int, str, tuple[int, ...], np.dtype[Any]]] = []
        handles = set(self._handled())
        names = [name for name in loop.body.feeds[self._count :] if name in taken]
        for name in names:
            shape, dtype = _kind(next(p.job.lowering.known[name] for p in parts if name in p.feeds))
            if name in handles:
                continue
            self._captured.append((loop.instruction.inputs.index(name), name, shape, dtype))
            if shape == ():
                self._scalars[name] = np.zeros(1, dtype)
        outside = [name for _, name, shape, _ in self._captured if shape != ()]
        for number, name in enumerate([*outside, *(name for name, *_ in self._cells), *self._bindings]):
            self._externals[name] = EXTERNAL + number * RANGE
        self._handles = {
            name: loop.instruction.inputs.index(name) for name in handles if name in loop.instruction.inputs
        }

    def _handled(self) -> Iterator[str]:
        for root, binding in self._bindings.items():
            if binding.kind != "stack":
                yield root
                yield binding.of

    # ---- where values lie -----------------------------------------------------------------------------------------

    def address(self, value: Value) -> int:
        """See Addresses."""
        return self.root_address(value.root) + value.offset * np.dtype(value.dtype).itemsize

    def root_address(self, root: str) -> int:
        """See Addresses."""
        if root in self._scalars:
            return memory_address(self._scalars[root])
        return self._externals[root]

    def scratch(self, number: int) -> int:
        """See Addresses."""
        raise AssertionError("A loop that is called has no groups of its own.")

    def block(self, root: str) -> Any:
        """See Addresses."""
        found = self._scalars[root] if root in self._scalars else self._seen[root]
        return found.reshape(-1).view(np.uint8)

    # ---- a run ----------------------------------------------------------------------------------------------------

    def __call__(self, run: RunContext, *values: Any) -> tuple[Any, ...]:
        """Runs the loop; `values` are the instruction's inputs, None for variables."""
        found = self._found(run, values)
        if found is None:
            return self._on_numpy(run, values)
        self._patches.bind(found)
        for variable, value in zip(self._variables, values, strict=False):
            variable[...] = value
        with self._threads_of_blas():
            self._turn(run, found)
        for stack in self._stacks.values():
            stack.end(run)
        for root, rows in self._lists.items():
            self._rooms[root] = min(_LARGEST, max(self._rooms.get(root, 0), rows.size))
        self._used, self._lists = {}, {}
        return tuple([variable.copy()[()] for variable in self._variables])

    @contextmanager
    def _drawing(self, run: RunContext) -> Iterator[None]:
        """Has the states of random operations in native memory while the loop runs, and moved on afterwards.

        That is for some tenth of a second at most, so that other runs which draw the same need not wait for its end.
        """
        if not self._draws:
            yield
            return
        with ExitStack() as stack:
            held = [(own, stack.enter_context(state(run).held())) for _, state, own in self._draws]
            for own, state in held:
                own[...] = state
            try:
                yield
            finally:
                for own, state in held:
                    state[...] = own

    def _turn(self, run: RunContext, found: dict[str, Any]) -> None:
        status, place = self._status, memory_address(self._words)
        status[0], begin = 0, 0
        self._words[words.PHASE] = words.BEGUN
        run.check()
        while True:
            with self._drawing(run):
                self._call(place, begin, 1)
            if not status[0]:
                return
            again = status[0] == STATUS_AGAIN
            status[0], begin = 0, RESUME
            current = self._control.current()
            if not again:
                assert current is not None
                self._seen = found
                try:
                    raise current.steps.failing().error()
                finally:
                    self._seen = {}
            run.check()
            stopped = None if current is None else current.steps.asking()
            if stopped is not None:
                self._seen = found
                try:
                    self._answer(stopped)
                finally:
                    self._seen = {}

    def _on_numpy(self, run: RunContext, values: Sequence[Any]) -> tuple[Any, ...]:
        variables = tuple(values[: self._count])
        captured = tuple(values[k] for k in self._inputs)
        while True:
            run.check()
            if not self._condition(run, *variables, *captured)[0]:
                return variables
            variables = tuple(map(operand, self._base(run, *variables, *captured)))

    # ---- what it takes --------------------------------------------------------------------------------------------

    def _found(self, run: RunContext, values: Sequence[Any]) -> dict[str, Any] | None:
        """What lies elsewhere in this run, by name; None if it is not as the loop was made for."""
        for value, (shape, dtype) in zip(values, self._types, strict=False):
            if getattr(value, "dtype", _NO_TYPE) != dtype or value.shape != shape:
                return None
        found: dict[str, Any] = {}
        for position, name, shape, dtype in self._captured:
            value = values[position]
            if getattr(value, "dtype", _NO_TYPE) != dtype or value.shape != shape:
                return None
            if shape == ():
                self._scalars[name][0] = value
            else:
                plain = value.flags.c_contiguous and value.flags.aligned
                found[name] = value if plain else np.array(value, order="C")
        for name, cell, shape, dtype in self._cells:
            value = cell.value
            if value is None or value.dtype != dtype or value.shape != shape or not value.flags.c_contiguous:
                return None
            found[name] = value
        self._used = used = dict[int, ArrayList | RowStack]()
        for root, binding in self._bindings.items():
            rows: RowStack | Rows | None
            if binding.kind == "stack":
                rows = self._stacks[root].begin(run)
                behind: ArrayList | RowStack | None = rows
            else:
                behind = self._array_of(root, values)
                room = self._rooms.get(root, 0)
                rows = None if behind is None else behind.as_rows(binding.shape, self._row_types[root], room)
                if rows is not None:
                    self._lists[root] = rows
            if rows is None or behind is None:
                return None
            used[rows.place] = behind
            found[root] = rows.descriptor
        return found

    def _array_of(self, root: str, values: Sequence[Any]) -> ArrayList | None:
        binding = self._bindings.get(root)
        if binding is None or binding.kind == "list":
            found = values[self._handles[root]] if root in self._handles else None
            return found if isinstance(found, ArrayList) else None
        source = self._array_of(binding.of, values)
        return None if source is None else source.gradient(binding.source)

    # ---- what it asks for -----------------------------------------------------------------------------------------

    def _answer(self, stopped: Stopped) -> None:
        """Does a step on a list or stack as the NumPy tier does it; raises what that raises."""
        node = stopped.node
        assert isinstance(node, RowNode)
        place = int(stopped.steps.program.arguments(stopped.step)[1])
        operands = [stopped.array(value).copy()[()] for value in node.reads[1:]]
        try:
            made = node.answer(self._used[place], *operands)
        except errors.OpError as error:
            raise failure(node.instruction, error.message, type(error)) from error
        if made is not None:
            stopped.made()[...] = made


class _Stack:
    """A stack that a loop uses: that of each run, and those that are kept for later ones."""

    def __init__(self, binding: Binding, dtype: np.dtype[Any]) -> None:
        self._name, self._shape, self._dtype = binding.of, binding.shape, dtype
        self._room = 0
        self._home: list[RowStack] = []
        self._used: RowStack | None = None

    def begin(self, run: RunContext) -> RowStack | None:
        """The stack of a run; None if something else lies on it."""
        stack = run.per_run.get(self._name)
        if not isinstance(stack, RowStack):
            lying = stack or []
            try:
                stack = self._home.pop()
                stack.home = self._home
            except IndexError:
                stack = RowStack(self._shape, self._dtype, max(self._room, 2 * len(lying)), self._home)
            for value in lying:
                stack.append(value)
            run.per_run[self._name] = stack
        if not stack.plain or stack.shape != self._shape or stack.dtype != self._dtype:
            return None
        self._used = stack
        return stack

    def end(self, run: RunContext) -> None:
        """Called after the loop has run: how large the next stack is to be is known now."""
        stack, self._used = self._used, None
        if stack is not None:
            if stack.room > self._room:
                self._room = min(_LARGEST, stack.room)
            if stack.go_home():
                del run.per_run[self._name]


def _kind(known: tuple[tuple[int, ...], str]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    return known[0], np.dtype(known[1])


def _uses_blas(part: Part) -> bool:
    return any(isinstance(node, KernelNode) and node.blas for node in part.job.lowering.nodes)
