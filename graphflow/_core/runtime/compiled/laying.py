"""What compiled plans and the parts of loops in them have in common: where blocks lie, and the steps of a program.

A part of a loop or branch is a program of its own with memory of its own. Where the values lie that it takes from
around it is known when it is laid out, or patched like that of what is around it.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Protocol

import numpy as np

import graphflow.errors as errors
from graphflow._core.codegen.cpu.programs import control_source as words
from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS, Machine, Program, Step
from graphflow._core.codegen.cpu.programs.machine_source import CONTROL_NEXT, CONTROL_STATUS, STATUS_AGAIN
from graphflow._core.common.arrays import memory_address
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.compiler.emit import scalar_program
from graphflow._core.compiler.memory import assign_clusters
from graphflow._core.compiler.nodes import KernelNode, NestedNode, Node, Part
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.control_flow.rows import row_bytes
from graphflow._core.kernels.math.arithmetic import DIVISION_BY_ZERO
from graphflow._core.runtime.explain import failure

ALIGNMENT: Final = 64
EXTERNAL: Final = 1 << 61
RANGE: Final = 1 << 44
"""What lies elsewhere in each run has, until it is bound, a range of addresses that no memory has, from EXTERNAL on."""


def scratch_name(number: int) -> str:
    """The name of a group's working memory among the blocks."""
    return f"scratch {number}"


def laid_out(
    job: CompileJob, fetched: Iterable[str], beside: Collection[str] = ()
) -> tuple[dict[str, int], int]:
    """The offset of each block of a job in its memory, and the bytes in all; see `to_lay_out`."""
    sizes, lives = to_lay_out(job, fetched, beside)
    return assign_clusters(sizes, lives, set(job.lowering.clusters.values()))


def to_lay_out(
    job: CompileJob, fetched: Iterable[str], beside: Collection[str] = ()
) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """The bytes of each block of a job, and the first and last group that uses it.

    fetched: the roots that are taken after the last group. beside: those that lie elsewhere.
    """
    groups, blocks = job.groups, job.lowering.blocks
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for position, group in enumerate(groups):
        for node in group.nodes:
            for root in [v.root for v in node.reads] + list(node.makes):
                if root in blocks:
                    first.setdefault(root, position)
                    last[root] = position
    for root in fetched:
        if root in blocks:
            first.setdefault(root, len(groups))
            last[root] = len(groups)
    sizes = {root: blocks[root] for root in first if root in job.stored and root not in beside}
    for position, region in job.regions.items():
        if region.scratch:
            sizes[scratch_name(position)] = region.scratch
            first[scratch_name(position)] = last[scratch_name(position)] = position
    return sizes, {root: (first[root], last[root]) for root in sizes}


class Addresses(Protocol):
    """Where the values of a job lie."""

    def address(self, value: Value) -> int:
        """The address of a value's first element, now or after patching."""

    def root_address(self, root: str) -> int:
        """The address of a block, of the job or around it."""

    def scratch(self, number: int) -> int:
        """Where the working memory of a group lies."""

    def block(self, root: str) -> Any:
        """The bytes of a block while a run lasts."""


def layout_of(value: Value) -> tuple[tuple[int, ...], np.dtype[Any], int, tuple[int, ...]]:
    """Shape, dtype, and in bytes offset and strides of a value on its block."""
    dtype = np.dtype(value.dtype)
    item = dtype.itemsize
    return value.shape, dtype, value.offset * item, tuple(s * item for s in value.strides)


def array_of(value: Value, block: Any) -> Any:
    """A value as an array on its block."""
    shape, dtype, offset, strides = layout_of(value)
    return np.ndarray(shape, dtype, block, offset, strides)


class Patches:
    """The words of programs that hold addresses of arrays which lie elsewhere in each run. For one run at a time."""

    def __init__(self, names: Iterable[str]) -> None:
        self._words: dict[str, list[tuple[Any, int, int]]] = {name: [] for name in names}
        self._bound: dict[str, weakref.ref[Any]] = {}
        """The array whose address each name has in the programs."""

    @classmethod
    def found_in(cls, programs: Iterable[Any], externals: Mapping[str, int]) -> Patches:
        """Those of programs, given as arrays of words. externals: where the range of each name begins."""
        made = cls(externals)
        names = {start: name for name, start in externals.items()}
        end = EXTERNAL + len(names) * RANGE
        for program in programs:
            for position in np.flatnonzero((program >= EXTERNAL) & (program < end)):
                shift = (int(program[position]) - EXTERNAL) % RANGE
                made.add(names[int(program[position]) - shift], program, int(position), shift)
        return made

    def add(self, name: str, program: Any, position: int, shift: int) -> None:
        """Adds a word that is to hold the address of a byte of an array, so many bytes from its start."""
        self._words[name].append((program, position, shift))

    def bind(self, arrays: Mapping[str, Any]) -> None:
        """Has the words hold the addresses of these arrays, of which there is one for each name."""
        bound = self._bound
        for name, places in self._words.items():
            array = arrays[name]
            before = bound.get(name)
            if before is None or before() is not array:
                start = memory_address(array)
                for program, position, shift in places:
                    program[position] = start + shift
                bound[name] = weakref.ref(array)


class NativeSteps:
    """The steps of some groups of a job, and what they need in memory."""

    def __init__(
        self, job: CompileJob, numbers: range, memory: Addresses, machine: Machine, threads: int
    ) -> None:
        self.steps: list[Step] = []
        self.starts: list[int] = []
        """The first step of each group."""
        self.interpreted: set[int] = set()
        self.job, self.memory = job, memory
        self.groups = [job.groups[number] for number in numbers]
        self.controls: dict[int, Control] = {}
        """The loops and branches by the numbers of their steps."""
        self._program: Program | None = None
        self._keep: list[Any] = []
        self.kept: list[Any] = []
        """What else its words point to."""
        for number in numbers:
            self._add(job, number, memory, machine, threads)

    def _add(self, job: CompileJob, number: int, memory: Addresses, machine: Machine, threads: int) -> None:
        self.starts.append(len(self.steps))
        group = job.groups[number]
        node = group.nodes[0]
        if isinstance(node, NestedNode):
            control = Control(node, job.kernels(number)[0], machine, threads, memory)
            self.controls[len(self.steps)] = control
            self.steps.append(control.step)
        elif isinstance(node, KernelNode):
            self.steps += job.kernel_steps(number, self.interpreted, memory.address)
        elif number in job.regions:
            scratch = memory.scratch(number)
            self.steps += job.region_steps(number, self.interpreted, memory.address, scratch, PROGRAM_STATUS)
        else:
            program = scalar_program(group, job.stored, memory.address)
            self._keep.append(program)
            self.steps.append(program.step(job.kernels(number)[0]))

    def made(self, program: Program) -> Program:
        """Notes the program that was made of the steps."""
        self._program = program
        for step, control in self.controls.items():
            control.words = program.arguments(step)
        return program

    @property
    def program(self) -> Program:
        """The program that was made of the steps."""
        assert self._program is not None
        return self._program

    def all_words(self) -> Iterator[Any]:
        """The words in which addresses stand, those of loops and branches included."""
        yield from self.program.all_arguments()
        for control in self.controls.values():
            yield from control.all_words()

    def node_at(self, step: int) -> Node:
        """The node that a step belongs to, or the one of its group that may fail."""
        return self.groups[max(k for k, start in enumerate(self.starts) if start <= step)].fallible_node

    def failing(self) -> Stopped:
        """Where the program has stopped with an error."""
        step = max(0, self.program.stopped_at - 1)
        control = self.controls.get(step)
        inner = None if control is None else control.current()
        return Stopped(self, step) if inner is None else inner.steps.failing()

    def asking(self) -> Stopped | None:
        """Where it waits for Python; None if it does not."""
        status, following = self.program.control[CONTROL_STATUS], self.program.control[CONTROL_NEXT]
        if status == words.ASK:
            return Stopped(self, following - 1)
        control = self.controls.get(following) if status == STATUS_AGAIN else None
        inner = None if control is None else control.current()
        return None if inner is None else inner.steps.asking()


@dataclass(frozen=True)
class Stopped:
    """A step at which a program has stopped."""

    steps: NativeSteps
    step: int

    @property
    def node(self) -> Node:
        """Whose step it is."""
        return self.steps.node_at(self.step)

    def array(self, value: Value) -> Any:
        """A value that the node takes or makes, as it is now."""
        return array_of(value, self.steps.memory.block(value.root))

    def made(self) -> Any:
        """What the node, of one result, makes."""
        name = self.node.instruction.outputs[0]
        value = self.steps.job.lowering.values[name]
        return self.array(value)

    def error(self) -> errors.OpError:
        """What is wrong."""
        node = self.node
        what = DIVISION_BY_ZERO
        kind: type[errors.OpError] = errors.InvalidArgumentError
        if isinstance(node, KernelNode) and node.check is not None:
            try:  # What was read is still there, since nothing has run after it.
                node.check(*map(self.array, node.checked))
            except errors.OpError as error:
                what, kind = error.message, type(error)
        return failure(node.instruction, what, kind)


class PartProgram:
    """A part of a loop or branch as a program in memory of its own."""

    def __init__(
        self,
        part: Part,
        machine: Machine,
        threads: int,
        inputs: Mapping[str, Value],
        frame: Mapping[str, Any],
        around: Addresses,
    ) -> None:
        """inputs: where the values lie around it that it takes. frame: the memory of a loop's variables."""
        self._job, self._inputs, self._frame, self._around = part.job, inputs, frame, around
        self._constants: dict[str, Any] = {}
        self._offsets, total = laid_out(part.job, [value.root for value in part.results])
        memory = np.zeros(total + ALIGNMENT, np.uint8)
        self._memory = memory[-int(memory.ctypes.data) % ALIGNMENT :]
        self.steps = NativeSteps(part.job, range(len(part.job.groups)), self, machine, threads)
        self.program = self.steps.made(machine.program(self.steps.steps, threads))

    def address(self, value: Value) -> int:
        """See Addresses."""
        return self.root_address(value.root) + value.offset * np.dtype(value.dtype).itemsize

    def root_address(self, root: str) -> int:
        """See Addresses."""
        if root in self._offsets:
            return int(self._memory.ctypes.data) + self._offsets[root]
        if root in self._frame:
            return int(self._frame[root].ctypes.data)
        if root in self._inputs:
            return self._around.address(self._inputs[root])
        if root in self._job.lowering.constants:
            return int(self.constant(root).ctypes.data)
        return self._around.root_address(root)

    def scratch(self, number: int) -> int:
        """See Addresses."""
        return int(self._memory.ctypes.data) + self._offsets.get(scratch_name(number), 0)

    def block(self, root: str) -> Any:
        """See Addresses."""
        if root in self._offsets:
            return self._memory[self._offsets[root] :]
        if root in self._frame:
            return self._frame[root]
        if root in self._inputs:
            value = self._inputs[root]
            return (
                self._around.block(value.root)
                .reshape(-1)
                .view(np.uint8)[value.offset * np.dtype(value.dtype).itemsize :]
            )
        if root in self._job.lowering.constants:
            return self.constant(root)
        return self._around.block(root)

    def constant(self, root: str) -> Any:
        """The bytes of a constant of its own."""
        if root not in self._constants:
            constant = np.array(self._job.lowering.constants[root], order="C", ndmin=1)
            self._constants[root] = constant.reshape(-1).view(np.uint8)
        return self._constants[root]


class Control:
    """A loop or branch as a step: its parts as programs, the memory of its variables, and what is copied when."""

    def __init__(
        self,
        node: NestedNode,
        kernel: int,
        machine: Machine,
        threads: int,
        around: Addresses,
        hosted: bool = False,
    ) -> None:
        """hosted: whether Python calls it and brings the initial values of a loop to its variables."""
        first, second = node.parts
        self.frame: dict[str, Any] = {}
        """The memory of a loop's variables, as bytes."""
        if node.is_loop:
            known = second.job.lowering.known
            for name in node.instruction.bodies[1].feeds:
                shape, dtype = known[name]
                self.frame[name] = np.zeros(max(1, row_bytes(shape, dtype)), np.uint8)
        self.parts = [
            PartProgram(part, machine, threads, node.inputs, self.frame, around) for part in node.parts
        ]
        ways = self._of_loop(node, around) if node.is_loop else self._of_branch(node, around)
        if node.is_loop:
            predicate = self.parts[0].address(first.results[0])
        else:
            assert node.predicate is not None
            predicate = around.address(node.predicate)
        self._tables = [np.array([word for row in way for word in row], np.int64) for way in ways]
        self._clock = np.zeros(4, np.int64)
        pool = None if hosted else machine.pool(threads)
        arguments = [
            PROGRAM_STATUS,
            machine.sequencer_address,
            0 if pool is None else pool.address,
            predicate,
            0,
        ]
        for part in self.parts:
            arguments += [part.program.address, len(part.program)]
        for table in self._tables:
            arguments += [int(table.ctypes.data), len(table) // 3]
        arguments += [_times(), int(self._clock.ctypes.data)]
        assert len(arguments) == words.WORDS
        self.step = Step(kernel, arguments, 0, 1)
        self.words: Any = None
        """Its words in the program around it."""

    def _of_loop(self, node: NestedNode, around: Addresses) -> list[list[tuple[int, int, int]]]:
        starts = [
            (_at(self.frame[name]), around.address(value), len(self.frame[name]))
            for name, value in node.starts
        ]
        following, ends = [], []
        body = self.parts[1]
        for name, result in zip(self.frame, node.parts[1].results, strict=True):
            if result.root != name:
                following.append((_at(self.frame[name]), body.address(result), len(self.frame[name])))
        for memory, target in zip(self.frame.values(), node.targets, strict=False):
            if target is not None:
                ends.append((around.address(target), _at(memory), len(memory)))
        return [starts, following, ends]

    def _of_branch(self, node: NestedNode, around: Addresses) -> list[list[tuple[int, int, int]]]:
        found: list[list[tuple[int, int, int]]] = [[]]
        for program, part, fetched in zip(self.parts, node.parts, node.fetched, strict=True):
            found.append([])
            for k, result in zip(fetched, part.results, strict=True):
                target = node.targets[k]
                if target is not None:
                    size = row_bytes(result.shape, result.dtype)
                    found[-1].append((around.address(target), program.address(result), size))
        return found

    def all_words(self) -> Iterator[Any]:
        """The words in which addresses stand, but for its own in the program around it."""
        yield from self._tables
        for part in self.parts:
            yield from part.steps.all_words()

    def current(self) -> PartProgram | None:
        """The part in which it has stopped; None if it has stopped between its turns."""
        phase = int(self.words[words.PHASE])
        return self.parts[phase - words.IN_FIRST] if phase in (words.IN_FIRST, words.IN_SECOND) else None


def _at(array: Any) -> int:
    return int(array.ctypes.data)


@cache
def _times() -> int:
    """The address of times()."""
    return int(ctypes.cast(ctypes.CDLL(None).times, ctypes.c_void_p).value or 0)
