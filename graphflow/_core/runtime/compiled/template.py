"""Template: a compiled plan whose sizes may be others, filled in for new ones in a fraction of a millisecond.

What a compiled plan is made of for some sizes, the words of its program above all, follows from them by arithmetic.
This is traced once (compiler/traced), while the same is done as for any plan: shapes are inferred, the plan is lowered
and fused. The words that come out must be those of a plan that was made for the same sizes in the usual way. For other
sizes the arithmetic is done again. Where a decision would be another one, as for a size of 1, which is broadcast, the
template does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np

from graphflow._core.codegen import shared
from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS, Program, Step, Words
from graphflow._core.codegen.cpu.programs.machine_source import CONTROL_WORDS
from graphflow._core.codegen.cpu.programs.scalar_machine import CODE, REGISTERS
from graphflow._core.codegen.traced_sizes import Size, is_traced, number
from graphflow._core.common.arrays import memory_address
from graphflow._core.common.denormals import computing
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.compiler.emit import scalar_program
from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import KernelNode
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.traced.job import TracedJob
from graphflow._core.compiler.traced.memory import Stack
from graphflow._core.compiler.traced.shapes import NotTraced
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import assemble
from graphflow._core.runtime.compiled.arena import Arena
from graphflow._core.runtime.compiled.build import CompiledPlan
from graphflow._core.runtime.compiled.laying import (
    ALIGNMENT,
    EXTERNAL,
    RANGE,
    Patches,
    scratch_name,
    to_lay_out,
)
from graphflow._core.runtime.compiled.segments import HandedOut, NativeSegment
from graphflow.errors import OpError

_LEAST_ADDRESS: Final = 1 << 32


@dataclass(frozen=True)
class _Place:
    """Stands for a number of a replay: its position there."""

    position: int


class _Asked:
    """The nodes of a trace whose numbers a replay gives, in order."""

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self._places: dict[int, int] = {}

    def place(self, value: Any) -> Any:
        """Where the number of a size will be; another value as it is."""
        if type(value) is not Size:
            return value
        if value.node not in self._places:
            self._places[value.node] = len(self.nodes)
            self.nodes.append(value.node)
        return _Place(self._places[value.node])

    def value(self, value: Value) -> Value:
        """A value with places for its sizes."""
        shape, strides = (tuple(map(self.place, of)) for of in (value.shape, value.strides))
        return Value(value.root, value.dtype, shape, strides, self.place(value.offset))


def _at(value: Any, numbers: Sequence[int]) -> Any:
    return numbers[value.position] if type(value) is _Place else value


def _value_at(value: Value, numbers: Sequence[int]) -> Value:
    shape, strides = (tuple([_at(n, numbers) for n in of]) for of in (value.shape, value.strides))
    return Value(value.root, value.dtype, shape, strides, _at(value.offset, numbers))


class Template:
    """What `FilledPlan`s are made from. Thread-safe."""

    def __init__(
        self,
        traced: TracedJob,
        model: CompiledPlan,
        shapes: Sequence[Any],
        places: Sequence[tuple[int, int]],
        store: ResourceStore,
        kernels: KernelTable,
        prepare: Callable[[Known], CompileJob],
    ) -> None:
        """model: a plan made for the same sizes in the usual way, `shapes`. places: where among these the sizes of the
        trace are. prepare: makes a job for known shapes.

        Raises NotTraced, or TraceError, if there is no template.
        """
        self.traced = traced
        self.model = model
        self._store, self._kernels = store, kernels
        self._prepare = prepare
        self._check()
        job, trace = traced.job, traced.trace
        self._places = places
        fetched = [job.lowering.values.get(fetch) for fetch in model.parts.plan.fetches]
        handed = model.parts.takers
        for position, root in handed.items():
            value = fetched[position]
            if value is None or value.offset != 0 or not value.contiguous:
                raise NotTraced("It hands out something else.")
            if value.size * np.dtype(value.dtype).itemsize != job.lowering.blocks[root]:
                raise NotTraced("It hands out a part of something.")
        roots = [value.root for value in fetched if value is not None]
        sizes, lives = to_lay_out(job, roots, set(handed.values()))
        self._stack = Stack(
            lives, {root: model.offsets[root] for root in lives}, set(job.lowering.clusters.values())
        )
        self.roots = self._stack.roots
        self._asked = _Asked()
        self._sizes = [self._asked.place(sizes[root]) for root in self._stack.roots]
        self.own: list[tuple[str, Any]] = []
        self._addresses: dict[str, Any] = {
            root: trace.size(model.root_address(root)) for root in self._stack.roots
        }
        self._made = _Made(traced, self._asked, store, kernels)
        for root in (*self._made.names, *model.parts.staging):
            self.own.append((root, None))
            self._addresses[root] = trace.size(model.root_address(root))
        self._program()
        self.fetched = {
            name: self._asked.value(job.lowering.values[name])
            for name in model.parts.plan.fetches
            if name in job.lowering.values
        }
        self._know: Any = None
        self._first = trace.replay(self._asked.nodes)
        trace.close()
        self._check_replay(shapes)

    def _check(self) -> None:
        job, model = self.traced.job, self.model
        if job.structure != model.job.structure or model.interpreted or model.job.loops:
            raise NotTraced("It is another plan.")
        plain = len(model.segments) == 1 and isinstance(model.segments[0], NativeSegment)
        if not plain or not model.parts.simple:
            raise NotTraced("Not all of it is one program.")

    def _check_replay(self, shapes: Sequence[Any]) -> None:
        """The sizes of the model must give the model again, without an address."""
        try:
            numbers = self._first(self._sizes_of(shapes))
        except IndexError:
            numbers = None
        if numbers is None:
            raise NotTraced("A decision depends on where something lies.")

    # ---- the words of the program ---------------------------------------------------------------------------------

    def _address(self, value: Value) -> Any:
        shift = value.offset * np.dtype(value.dtype).itemsize
        address = self._addresses.get(value.root)
        return (self.model.root_address(value.root) if address is None else address) + shift

    def _steps(self, words: Any, starts: Sequence[tuple[int, int]]) -> list[Step]:
        """The steps of the program, with sizes and addresses of the trace."""
        job, trace = self.traced.job, self.traced.trace
        steps: list[Step] = []
        for position, group in enumerate(job.groups):
            node = group.nodes[0]
            if isinstance(node, KernelNode):
                assert node.emit is not None
                steps += node.emit(job.kernels(position), self._address)
            elif position in job.regions:
                scratch = self._addresses.get(scratch_name(position), self.model.scratch(position))
                region = job.regions[position]
                steps += region.steps(job.kernels(position)[0], self._address, scratch, PROGRAM_STATUS)
            else:
                program = scalar_program(group, job.stored, self._address)
                step = program.step(job.kernels(position)[0])
                assert program.memory is not None
                start = starts[len(steps)][1]
                registers = trace.size(int(words[start + REGISTERS]))
                self.own.append(("", program.memory[1]))
                self._addresses[f"registers {position}"] = registers
                arguments: list[Any] = list(step.args)
                arguments[CODE], arguments[REGISTERS] = int(words[start + CODE]), registers
                steps.append(Step(step.kernel, arguments, step.begin, step.end, step.grain))
        return steps

    def _program(self) -> None:
        """Finds the words that depend on sizes, and those that runs put in; all must be as the model has them."""
        segment = self.model.segments[0]
        assert isinstance(segment, NativeSegment)
        self.program: Program = segment.program
        words, starts = self.program.words, self.program.places
        steps = self._steps(words, starts)
        if len(steps) != len(starts):
            raise NotTraced("It has another number of steps.")
        asked = _Asked()
        changing: dict[int, Any] = {}
        patches: list[tuple[str, int, int, Any]] = []
        names = {address: name for name, address in self.model.parts.externals.items()}
        for step, (table, start) in zip(steps, starts, strict=True):
            ranges = (step.begin, step.end, step.grain)
            given = [(table, step.kernel), *enumerate(ranges, table + 2), *enumerate(step.args, start)]
            for position, word in given:
                if not is_traced(word) and word == PROGRAM_STATUS:
                    continue
                found = number(word)
                first = EXTERNAL + (found - EXTERNAL) // RANGE * RANGE
                if first in names:
                    patches.append((names[first], position, first, asked.place(word)))
                    continue
                if found != words[position]:
                    raise NotTraced(f"Word {position} is {found}, not {words[position]}.")
                if is_traced(word):
                    changing[position] = asked.place(word)
        self.places = np.array(list(changing), np.int64)
        self.positions = [place.position for place in changing.values()]
        self.patches = patches
        self._second = self.traced.trace.replay(asked.nodes, False)

    def words(self, sizes: Sequence[int]) -> list[int]:
        """The words that depend on sizes, for these and the addresses of all blocks and arrays."""
        found = self._second(sizes)
        assert found is not None  # It looks at no comparison.
        return found

    # ---- for other sizes ------------------------------------------------------------------------------------------

    def _sizes_of(self, shapes: Sequence[Any]) -> list[int]:
        return [shapes[place][axis] for place, axis in self._places]

    def holds(self, shapes: Sequence[Any]) -> bool:
        """Whether it holds for fed shapes, which are of the same ranks."""
        return self._first(self._sizes_of(shapes)) is not None

    def gives(self, shapes: Sequence[Any], compiled: CompiledPlan) -> bool:
        """Whether it gives the same as a plan that was made in the usual way."""
        filled = self.fill(shapes, Arena())
        return filled is not None and same_program(filled, compiled)

    def known(self, shapes: Sequence[Any]) -> Known:
        """The shapes of all values."""
        if self._know is None:
            asked, known = _Asked(), self.traced.shapes.known
            placed = {name: (tuple(map(asked.place, shape)), dtype) for name, (shape, dtype) in known.items()}
            self._know = self.traced.trace.replay(asked.nodes), placed
        replay, placed = self._know
        numbers = replay(self._sizes_of(shapes)) or ()
        return {
            name: (tuple([_at(n, numbers) for n in shape]), dtype) for name, (shape, dtype) in placed.items()
        }

    def usual(self, shapes: Sequence[Any]) -> CompileJob:
        """The job that is made for fed shapes in the usual way."""
        return self._prepare(self.known(shapes))

    def is_right(self, shapes: Sequence[Any]) -> bool:
        """Whether it gives what is made for fed shapes in the usual way, which is done to find out."""
        job = self.usual(shapes)
        return self.gives(shapes, CompiledPlan(job, shared.machine(), 1, self._store, self._kernels))

    def fill(self, shapes: Sequence[Any], arena: Arena) -> FilledPlan | None:
        """The plan for fed shapes; None if the template does not hold for these."""
        sizes = self._sizes_of(shapes)
        numbers = self._first(sizes)
        if numbers is None:
            return None
        constants = self._made.at(numbers)
        if constants is None:
            return None
        offsets, total = self._stack.offsets([_at(size, numbers) for size in self._sizes])
        return FilledPlan(self, shapes, sizes, numbers, constants, offsets, total, arena)


class _Made:
    """The constants that are made of sizes."""

    def __init__(self, traced: TracedJob, asked: _Asked, store: ResourceStore, kernels: KernelTable) -> None:
        self.names = traced.made
        shapes = traced.shapes
        self._types = {
            name: (tuple(map(asked.place, shapes.known[name][0])), shapes.known[name][1])
            for name in self.names
        }
        self._integers = {
            name: [asked.place(n) for n in shapes.contents[name].reshape(-1)]
            for name in self.names
            if name in shapes.contents
        }
        others = tuple(name for name in self.names if name not in shapes.contents)
        inside = {output for i in traced.part for output in i.outputs}
        given = dict.fromkeys(n for i in traced.part for n in i.inputs if n not in inside)
        self._given = [
            (
                np.dtype(shapes.known[name][1]),
                shapes.contents[name].shape,
                list(map(asked.place, shapes.contents[name].reshape(-1))),
            )
            for name in given
        ]
        self._others = others
        self._part = (
            assemble(Plan(tuple(traced.part), tuple(given), others), store, kernels) if others else None
        )

    def at(self, numbers: Sequence[int]) -> dict[str, Any] | None:
        """The constants for some sizes, as arrays; None if they do not fit."""
        found: dict[str, Any] = {}
        try:
            for name, places in self._integers.items():
                found[name] = np.array([_at(n, numbers) for n in places], self._types[name][1])
            if self._part is not None:
                given = [
                    np.array([_at(n, numbers) for n in places], dtype).reshape(shape)[()]
                    for dtype, shape, places in self._given
                ]
                with computing():
                    values = self._part.function(None, *given)
                found.update(zip(self._others, values, strict=True))
        except (
            OverflowError,
            ValueError,
            OpError,
        ):  # A plan that is made for these sizes says what is wrong.
            return None
        for name, (shape, dtype) in self._types.items():
            wanted = tuple([_at(n, numbers) for n in shape])
            array = np.array(found[name], dtype, order="C").reshape(wanted)
            found[name] = array if wanted else array.reshape(1)
        return found


class _Usual:
    """The job that would have been made for some shapes, which is made when somebody asks for it."""

    def __init__(self, template: Template, shapes: Sequence[Any]) -> None:
        self._template = template
        self._shapes = shapes

    @cached_property
    def job(self) -> CompileJob:
        """The job."""
        return self._template.usual(self._shapes)


class FilledPlan(CompiledPlan):
    """A compiled plan that was made from a template."""

    def __init__(
        self,
        template: Template,
        shapes: Sequence[Any],
        sizes: Sequence[int],
        numbers: Sequence[int],
        constants: dict[str, Any],
        offsets: Sequence[int],
        total: int,
        arena: Arena,
    ) -> None:
        self.__dict__.update(template.model.__dict__)
        self._job = cast("CompileJob", _Usual(template, tuple(shapes)))
        self._block = arena.block(total + ALIGNMENT)
        address = self._block.address
        shift = -address % ALIGNMENT
        self._offsets = {root: offset + shift for root, offset in zip(template.roots, offsets, strict=True)}
        self._staging = {name: np.zeros(1, array.dtype) for name, array in self._staging.items()}
        self._constants = {**self._constants, **constants}
        addresses = [address + shift + offset for offset in offsets]
        keep = []
        for root, array in template.own:
            if array is None:
                array = constants[root] if root in constants else self._staging[root]
            else:
                array = array.copy()
                keep.append(array)
            addresses.append(memory_address(array))
        found = template.words([*sizes, *addresses])
        program = template.program.filled(template.places, [found[k] for k in template.positions])
        model = template.model.segments[0]
        assert isinstance(model, NativeSegment)
        steps = copy(model.made)
        steps.memory, steps.kept = self, keep
        steps.made(program)
        self._segments = [NativeSegment(program, model.groups, model.starts, steps)]
        words = program.words
        self._patches = Patches(self._externals)
        for name, position, first, word in template.patches:
            self._patches.add(name, words, position, _at(word, found) - first)
        values = {name: _value_at(value, numbers) for name, value in template.fetched.items()}
        fetches = self._plan.fetches
        takers = self._handed.takers
        self._handed = HandedOut({r: values[fetches[position]] for position, r in takers.items()}, takers)
        self._lowering = cast("Lowering", SimpleNamespace(values=values, constants=self._constants))
        self._fetch = self._fetchers()

    @property
    def job(self) -> CompileJob:
        """What would have been made for its sizes in the usual way."""
        return cast("_Usual", self._job).job

    @property
    def groups(self) -> Sequence[Group]:
        """The groups, in the order in which they run."""
        return self.job.groups

    def _fail(self, segment: NativeSegment, objects: dict[str, Any]) -> None:
        segment.made.job, segment.made.groups = self.job, list(self.job.groups)
        self._lowering = self.job.lowering
        super()._fail(segment, objects)


def same_program(first: CompiledPlan, second: CompiledPlan) -> bool:
    """Whether the native programs of two plans are the same, apart from addresses."""
    pairs = zip(first.segments, second.segments, strict=False)
    return len(first.segments) == len(second.segments) and all(
        isinstance(a, NativeSegment) and isinstance(b, NativeSegment) and _same_words(a.program, b.program)
        for a, b in pairs
    )


def _same_words(first: Program, second: Program) -> bool:
    a, b = first.words[CONTROL_WORDS:], second.words[CONTROL_WORDS:]
    if len(a) != len(b):
        return False
    differ = a != b
    if not differ.any():
        return True
    heap = _heap()
    return bool(np.all(_may_be_addresses(a[differ], heap) & _may_be_addresses(b[differ], heap)))


def _may_be_addresses(words: Words, heap: tuple[int, int]) -> Any:
    return (words > _LEAST_ADDRESS) | ((words >= heap[0]) & (words < heap[1]))


def _heap() -> tuple[int, int]:
    """Where the heap begins and ends, in which small arrays lie; nowhere if the system does not say.

    Debian's and Ubuntu's Python is not position-independent, so that its heap is below _LEAST_ADDRESS.
    """
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            ranges = [
                line.split(maxsplit=1)[0].split("-") for line in file if line.rstrip().endswith("[heap]")
            ]
    except OSError:
        return 0, 0
    return min((int(r[0], 16) for r in ranges), default=0), max((int(r[1], 16) for r in ranges), default=0)
