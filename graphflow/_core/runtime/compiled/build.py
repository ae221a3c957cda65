"""CompiledPlan: the groups of a plan as native programs and stretches of the NumPy tier, over one arena.

The addresses of feeds and variables are not known beforehand. So each gets a range of addresses that no memory has, and
before a run the words of the programs that lie in such a range are patched. A compiled plan serves one run at a time,
and so do the plans for several sizes that share their memory; a run that comes meanwhile uses the NumPy tier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.codegen.cpu.blas import single_threaded
from graphflow._core.codegen.cpu.programs.machine import Machine
from graphflow._core.common.denormals import flush, restore
from graphflow._core.compiler.compile_job import CompileJob, LoopJob
from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.nodes import KernelNode, PythonNode
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction, Plan, producers, taken_beside
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.runtime.assemble import assemble, copied, operand, own
from graphflow._core.runtime.compiled.arena import Arena
from graphflow._core.runtime.compiled.laying import (
    ALIGNMENT,
    EXTERNAL,
    RANGE,
    NativeSteps,
    Patches,
    array_of,
    laid_out,
    layout_of,
    scratch_name,
)
from graphflow._core.runtime.compiled.loops import CompiledLoop, with_loops
from graphflow._core.runtime.compiled.native_loop import NativeLoop
from graphflow._core.runtime.compiled.segments import HandedOut, NativeSegment, Parts, PythonSegment
from graphflow._core.runtime.compiled.watching import Watch, left_by
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Unusable
from graphflow._core.runtime.explain import raise_explained

_HANDED_FROM: Final = 64 << 10
_SMALL_BYTES: Final = 2 << 10
"""What takes no more is copied to and from stages, which is sooner done than its address is put where it counts."""


def _is_small(shape: tuple[int, ...], dtype: str) -> bool:
    return math.prod(shape) * np.dtype(dtype).itemsize <= _SMALL_BYTES


class CompiledPlan:
    """A compile job whose kernels are there, laid out in memory and ready to run."""

    def __init__(
        self,
        job: CompileJob,
        machine: Machine,
        threads: int,
        store: ResourceStore,
        kernels: KernelTable,
        borrows: bool = False,
        watch: Watch | None = None,
        arena: Arena | None = None,
    ) -> None:
        """`borrows`: whether it is a stage, whose fetched values may be borrowed, so that they need not be copied.

        watch: is shown the values that each group has computed, before the next one runs. arena: gives its memory,
        also to the plans for other sizes.
        """
        self._borrows = borrows
        self._watch = watch
        self._left = [] if watch is None else left_by(job.groups, job.stored, job.lowering.values.items())
        self._job = job
        self._lowering = job.lowering
        self._store = store
        self._machine, self._threads = machine, threads
        self._plan = job.plan
        self._externals: dict[str, int] = {}
        self._cells: list[tuple[str, VariableCell, tuple[int, ...]]] = []
        self._staging: dict[str, Any] = {}
        self._constants: dict[str, Any] = {}
        self._writes = any(node.variables for node in job.lowering.nodes)
        kernel_nodes = [n for n in job.lowering.nodes if isinstance(n, KernelNode)]
        self._uses_blas = any(n.blas for n in kernel_nodes)
        self._find_externals()
        written = {root for node in job.lowering.nodes for root in node.variables}
        self._written = [cell for name, cell, _ in self._cells if name in written]
        self._handed = self._find_handed()
        self._lay_out(Arena() if arena is None else arena)
        self._seen: dict[str, Any] = {}
        self._segments: list[NativeSegment | PythonSegment] = []
        self._make_segments(machine, threads, kernels)
        self._before = [(n.before, self._array(n.reads[0])) for n in kernel_nodes if n.before is not None]
        programs = [
            words
            for segment in self._segments
            if isinstance(segment, NativeSegment)
            for words in segment.made.all_words()
        ]
        self._patches = Patches.found_in(programs, self._externals)
        self._fetch = self._fetchers()

    @property
    def segments(self) -> Sequence[NativeSegment | PythonSegment]:
        """Its native programs and stretches of the NumPy tier, in order."""
        return self._segments

    @property
    def arena_bytes(self) -> int:
        """The bytes that its values share."""
        return self._block.size

    @property
    def job(self) -> CompileJob:
        """What it was made from."""
        return self._job

    @property
    def groups(self) -> Sequence[Group]:
        """The groups, in the order in which they run."""
        return self._job.groups

    @property
    def interpreted(self) -> set[int]:
        """The numbers of the groups that the array machine, or a kernel of any sizes, runs."""
        segments = [segment for segment in self._segments if isinstance(segment, NativeSegment)]
        return {number for segment in segments for number in segment.made.interpreted}

    @property
    def offsets(self) -> Mapping[str, int]:
        """The offset of each block in the arena."""
        return self._offsets

    @property
    def parts(self) -> Parts:
        """What a template needs to know of it."""
        simple = not (self._before or self._borrows) and self._watch is None
        return Parts(self._plan, self._lowering, self._externals, self._staging, self._handed.takers, simple)

    # ---- memory ---------------------------------------------------------------------------------------------------

    def _find_externals(self) -> None:
        known = self._lowering.known
        for name in self._plan.feeds:
            if name in self._lowering.values:
                shape, dtype = known[name]
                if shape == () or (self._borrows and _is_small(shape, dtype)):
                    self._staging[name] = np.zeros(shape or 1, dtype)
                else:
                    self._externals[name] = EXTERNAL + len(self._externals) * RANGE
        for name, i in self._lowering.variables.items():
            self._cells.append((name, self._store.cell(i), known[name][0]))
            self._externals[name] = EXTERNAL + len(self._externals) * RANGE

    def _find_handed(self) -> HandedOut:
        """The large results."""
        handed = HandedOut()
        if self._borrows and not self._store.memory.usable:
            return handed
        lowering = self._lowering
        inside = {root for cluster in lowering.clusters.values() for root in cluster}
        inside |= {r for n in lowering.nodes if isinstance(n, PythonNode) for r in n.makes}
        for position, fetch in enumerate(self._plan.fetches):
            value = lowering.values.get(fetch)
            if value is None or value.root in inside or value.root not in self._job.stored:
                continue
            length = value.size * np.dtype(value.dtype).itemsize
            whole = value.offset == 0 and value.contiguous and lowering.blocks.get(value.root) == length
            if whole and length >= _HANDED_FROM and value.root not in self._externals:
                handed.values[value.root] = value
                handed.takers[position] = value.root
                self._externals[value.root] = EXTERNAL + len(self._externals) * RANGE
        return handed

    def _lay_out(self, arena: Arena) -> None:
        fetched = [self._lowering.values.get(fetch) for fetch in self._plan.fetches]
        offsets, total = laid_out(self._job, [v.root for v in fetched if v is not None], self._handed.values)
        self._block = arena.block(total + ALIGNMENT)
        shift = -self._block.address % ALIGNMENT
        self._offsets = {root: offset + shift for root, offset in offsets.items()}

    def address(self, value: Value) -> int:
        """The address of a value's first element, now or after patching."""
        shift = value.offset * np.dtype(value.dtype).itemsize
        return self.root_address(value.root) + shift

    def scratch(self, number: int) -> int:
        """Where the working memory of a group lies."""
        return self._block.address + self._offsets.get(scratch_name(number), 0)

    def root_address(self, root: str) -> int:
        """The address of a block."""
        if root in self._externals:
            return self._externals[root]
        if root in self._offsets:
            return self._block.address + self._offsets[root]
        if root in self._staging:
            return int(self._staging[root].ctypes.data)
        if root not in self._constants:
            self._constants[root] = np.array(self._lowering.constants[root], order="C", ndmin=1)
        return int(self._constants[root].ctypes.data)

    def _array(self, value: Value) -> Any:
        """The value as a NumPy array on the arena or a constant."""
        return array_of(value, self.block(value.root))

    # ---- programs -------------------------------------------------------------------------------------------------

    def _make_segments(self, machine: Machine, threads: int, kernels: KernelTable) -> None:
        groups = self._job.groups
        position = 0
        while position < len(groups):
            end = position + (self._watch is not None)
            python = isinstance(groups[position].nodes[0], PythonNode)
            while (
                self._watch is None
                and end < len(groups)
                and isinstance(groups[end].nodes[0], PythonNode) == python
            ):
                if python and _views_what_is_made(groups[position:end], groups[end], self._lowering.values):
                    break
                end += 1
            if python:
                self._segments.append(self._python_segment(groups[position:end], kernels))
            else:
                self._segments.append(self._native_segment(range(position, end), machine, threads))
            position = end

    def _native_segment(self, numbers: range, machine: Machine, threads: int) -> NativeSegment:
        part = NativeSteps(self._job, numbers, self, machine, threads)
        program = part.made(machine.program(part.steps, threads, self._borrows))
        return NativeSegment(program, [self._job.groups[n] for n in numbers], part.starts, part)

    def _python_segment(self, groups: Sequence[Group], kernels: KernelTable) -> PythonSegment:
        nodes = [node for group in groups for node in group.nodes if isinstance(node, PythonNode)]
        inside = {o for node in nodes for o in node.instruction.outputs}
        makers = {o: i for i in self._plan.instructions for o in i.outputs}
        extra: dict[str, Instruction] = {}
        inputs: dict[str, None] = {}
        for node in nodes:
            for name in node.instruction.free_variables():
                maker = makers.get(name)
                if name in inside:
                    continue
                if maker is not None and (maker.is_variable or maker.is_constant):
                    extra[maker.name] = maker
                else:
                    inputs[name] = None
        outputs = [o for node in nodes for o in node.instruction.outputs]
        if self._watch is None:
            taken = taken_beside(self._plan, {node.instruction.name for node in nodes})
            outputs = [o for o in outputs if o in taken]
        sub_plan = Plan(
            (*extra.values(), *[n.instruction for n in nodes]), feeds=tuple(inputs), fetches=tuple(outputs)
        )
        if self._job.loops:
            sub_plan = self._with_compiled_loops(sub_plan, kernels)
        part = assemble(sub_plan, self._store, kernels)
        targets = [
            (o, self._array(self._lowering.values[o]) if o in self._lowering.values else None)
            for o in outputs
        ]
        kept = {
            name
            for node in nodes
            if node.instruction.bodies or node.instruction.stateful or kernels.may_view(node.instruction.type)
            for name in node.instruction.free_variables()
        }
        return PythonSegment(
            part,
            [
                _kept(self._reader(n)) if n in kept and n in self._lowering.values else self._reader(n)
                for n in inputs
            ],
            targets,
        )

    def _with_compiled_loops(self, plan: Plan, kernels: KernelTable) -> Plan:
        def built(loop: LoopJob) -> CompiledLoop | NativeLoop:
            arena = self._block.arena.inside(loop.instruction.name)

            def build(job: CompileJob) -> CompiledPlan:
                return CompiledPlan(job, self._machine, self._threads, self._store, kernels, arena=arena)

            if loop.native is not None:
                return NativeLoop(
                    loop,
                    loop.native,
                    self._job.loop_kernel,
                    self._machine,
                    self._threads,
                    self._store,
                    kernels,
                )
            return CompiledLoop(loop, build, self._store, kernels)

        names = {i.name for i in plan.instructions}
        loops = {
            loop.instruction.name: built(loop) for loop in self._job.loops if loop.instruction.name in names
        }
        return with_loops(plan, loops)

    def _reader(self, name: str) -> Callable[[dict[str, Any]], Any]:
        value = self._lowering.values.get(name)
        if value is None:
            constant = self._lowering.constants.get(name)
            return (lambda objects: objects[name]) if constant is None else (lambda objects: constant)
        if value.root in self._externals:
            root = value.root
            shape, dtype, offset, strides = layout_of(value)
            return lambda objects: np.ndarray(shape, dtype, objects[root], offset, strides)
        array = self._array(value)
        return (lambda objects: array[()]) if not value.shape else (lambda objects: array)

    def _view(self, value: Value, objects: dict[str, Any]) -> Any:
        """A value of this run, as a view of its memory."""
        if value.root not in self._externals:
            return self._array(value)
        return array_of(value, objects[value.root])

    def _fetchers(self) -> list[Callable[[dict[str, Any]], Any]]:
        made = {*producers(self._plan), *self._plan.feeds}
        # A branch that is not taken here leaves nothing for what goes back through it on another device.
        return [
            self._fetcher(f, self._handed.takers.get(position)) if f in made else lambda objects: None
            for position, f in enumerate(self._plan.fetches)
        ]

    def _fetcher(self, name: str, taken: str | None) -> Callable[[dict[str, Any]], Any]:
        """What gives a fetched value; taken: the block that is handed out as this value."""
        value = self._lowering.values.get(name)
        read = self._reader(name)
        memory = self._store.memory
        if value is None:
            return lambda objects: own(read(objects))
        if taken is not None and not self._borrows:
            return lambda objects: objects[taken]
        if not value.shape:
            return lambda objects: copied(read(objects))
        if value.root not in self._externals and (not self._borrows or _is_small(value.shape, value.dtype)):
            array = self._array(value)
            return lambda objects: array.copy()
        if not self._borrows:
            return lambda objects: copied(read(objects))
        handed = self._handed.values
        if value.root in handed and value.dtype == handed[value.root].dtype:
            root, shape = value.root, value.shape
            if value.contiguous and value.size == handed[root].size:
                return lambda objects: objects[root].reshape(shape)
        for name, cell, shape in self._cells:
            whole = value.root == name and (value.shape, value.offset) == (shape, 0) and value.contiguous
            if whole and value.dtype == cell.dtype.name:
                borrow = cell.borrow
                return lambda objects: borrow()
        return lambda objects: memory.copied(read(objects))

    # ---- a run ----------------------------------------------------------------------------------------------------

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """One run; Unusable if the NumPy tier has to do it, before anything happened."""
        if not self._block.lock.acquire(blocking=False):
            raise Unusable
        mode = flush()
        try:
            if self._writes and not self._store.begin_in_place():
                raise Unusable
            try:
                for cell in self._written:
                    cell.copy_if_borrowed()
                objects = self._bind(feeds)
                for before, words in self._before:
                    words[...] = before(run)
                with single_threaded() if self._uses_blas else _NOTHING:
                    for number, segment in enumerate(self._segments):
                        if isinstance(segment, NativeSegment):
                            if segment.program.run(run.check):
                                self._fail(segment, objects)
                        else:
                            self._run_python(segment, run, objects)
                        if self._watch is not None:
                            self._look(self._watch, number, objects)
                return tuple([fetch(objects) for fetch in self._fetch])
            finally:
                if self._writes:
                    self._store.end_in_place()
        finally:
            restore(mode)
            self._block.lock.release()

    def _look(self, watch: Watch, number: int, objects: dict[str, Any]) -> None:
        """Shows the values that a group has computed to the watch."""
        kernel = self._job.groups[number].instructions

        def read_value(value: Value) -> Any:
            return np.array(self._view(value, objects))

        def read_variable(name: str) -> Any:
            return np.array(self._store.cell(self._lowering.variables[name]).value)

        for left in self._left[number]:
            watch(left.sight(kernel, read_value, read_variable))

    def _bind(self, feeds: Sequence[Any]) -> dict[str, Any]:
        """Checks variables and feeds, and patches the programs if their addresses have changed."""
        objects: dict[str, Any] = {}
        staging = self._staging
        for name, cell, shape in self._cells:
            array = cell.value
            if array is None or array.shape != shape or not array.flags.c_contiguous:
                raise Unusable
            objects[name] = array
        for name, value in zip(self._plan.feeds, feeds, strict=True):
            staged = staging.get(name)
            if staged is not None:
                staged[...] = value
            elif name in self._externals:
                objects[name] = (
                    value if value.flags.c_contiguous and value.flags.aligned else np.array(value, order="C")
                )
            else:
                objects[name] = operand(value)
        empty = self._store.memory.empty if self._borrows else np.empty
        for root, value in self._handed.values.items():
            objects[root] = empty(value.shape, value.dtype)
        self._patches.bind(objects)
        return objects

    def _run_python(self, segment: PythonSegment, run: RunContext, objects: dict[str, Any]) -> None:
        try:
            with np.errstate(all="ignore"):
                results = segment.part.function(run, *[read(objects) for read in segment.inputs])
        except Exception as error:
            raise_explained(error, segment.part)
        for (name, target), result in zip(segment.outputs, results, strict=True):
            if target is not None:
                if np.shape(result) != target.shape:
                    raise errors.InternalError(
                        None,
                        None,
                        f"{name!r} changed its shape from {target.shape} to {np.shape(result)} in a compiled plan.",
                    )
                target[...] = result
            else:
                objects[name] = operand(result)

    def _fail(self, segment: NativeSegment, objects: dict[str, Any]) -> None:
        self._seen = objects
        try:
            raise segment.made.failing().error()
        finally:
            self._seen = {}

    def block(self, root: str) -> Any:
        """The bytes of a block; while an error is told, also one that this run has brought."""
        if root in self._seen:
            return self._seen[root].reshape(-1).view(np.uint8)
        if root in self._offsets:
            return self._block.bytes[self._offsets[root] :].view(np.uint8)
        self.root_address(root)
        source = self._staging.get(root)
        return (self._constants[root] if source is None else source).reshape(-1).view(np.uint8)


_NOTHING: Final = nullcontext()


def _views_what_is_made(before: Sequence[Group], group: Group, values: Mapping[str, Value]) -> bool:
    """Whether a group takes a view of memory that a group before it in the same program fills."""
    outputs = {o for g in before for node in g.nodes for o in node.instruction.outputs}
    made = {root for g in before for node in g.nodes for root in node.makes}
    names = [n for node in group.nodes for n in node.instruction.free_variables() if n not in outputs]
    taken = [values.get(n) for n in names]
    return any(value is not None and value.root in made for value in taken)


def _kept(read: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """A reader for a kernel that may keep the value after its segment has run, when the memory is used again."""
    return lambda objects: copied(read(objects))
