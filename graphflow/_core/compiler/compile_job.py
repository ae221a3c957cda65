"""CompileJob: a plan taken apart and fused, with the kernels that it waits for; LoopJob: a loop with such a body.

A fused region whose own kernel is not there yet is run by the array machine, which needs nothing that is made for it
and gives the same bits, a convolution or pool by kernels of any sizes; so a plan is ready long before all its kernels
are, and is whole when they have come.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, TypeAlias

from graphflow._core.codegen.cpu.compiler import Compilation, Compiler
from graphflow._core.codegen.cpu.programs.array_check import same_bits
from graphflow._core.codegen.cpu.programs.array_machine import ArrayCode, array_code
from graphflow._core.codegen.cpu.programs.control_source import LOOP_SOURCE
from graphflow._core.codegen.cpu.programs.machine import Machine
from graphflow._core.codegen.cpu.programs.scalar_machine_source import interpreter_source
from graphflow._core.codegen.cpu.regions.region_source import region_source
from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError
from graphflow._core.common.compile_timeouts import KERNEL_LOOK_SECONDS
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.combine import combine
from graphflow._core.compiler.cpu.stand_in_check import same_bits as same_bits_as_stand_in
from graphflow._core.compiler.emit import FusedRegion, fused_region, scalar_program
from graphflow._core.compiler.fuse import Group, fuse
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import (
    Address,
    KernelNode,
    NestedNode,
    Part,
    PythonNode,
    StandIn,
    Statements,
)
from graphflow._core.plan.ir import Instruction, Plan

Structure: TypeAlias = "tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]"
"""For each group the texts of its kernels and the names of its instructions, without sizes; then those of loops."""

_COST_OF_A_FAMILY: Final = 3
"""A family of the array machine's blocks takes the compiler as long as so many kernels of regions."""
_COST_OF_ANY_SIZES: Final = 2
"""A kernel of any sizes takes it as long as so many made for a shape."""


def stored_roots(groups: Sequence[Group], plan: Plan, lowering: Lowering) -> set[str]:
    """The roots that lie in memory: something outside their group takes them, or they are stored in any case.

    What nobody takes was asked to run for its errors, or is waited for; it is stored, since it would not run otherwise.
    """
    group_of = {root: k for k, g in enumerate(groups) for n in g.nodes for root in n.makes}
    taken = {value.root for g in groups for n in g.nodes for value in n.reads}
    stored = set(group_of) - taken
    for number, group in enumerate(groups):
        for node in group.nodes:
            for value in node.reads:
                if group_of.get(value.root) != number:
                    stored.add(value.root)
            if not isinstance(node, Statements) or node.forced or node.reduce is not None:
                stored.update(node.makes)
    for fetch in plan.fetches:
        if fetch in lowering.values:
            stored.add(lowering.values[fetch].root)
    return stored


def _beyond_the_machine(group: Group) -> list[Statements]:
    """The statements of a group of scalars that the scalar machine lacks; all of them if they are too many for it.

    Loops and branches were tried when they were lowered.
    """
    if not group.scalar or _machine_takes(group):
        return []
    plain = [node for node in group.nodes if isinstance(node, Statements) and node.build is None]
    return [node for node in plain if not _machine_takes(Group([node]))] or plain


def _machine_takes(group: Group) -> bool:
    try:
        scalar_program(group, set(), lambda value: 8)
    except ScalarTextError:
        return False
    return True


def _is_common(group: Group) -> bool:
    """Whether the small interpreter runs a group of scalars; one for all groups of a plan is less to compile."""
    return scalar_program(group, set(), lambda value: 8).common


class CompileJob:
    """A plan taken apart and fused, with the kernels that it waits for."""

    def __init__(
        self, plan: Plan, lowering: Lowering, compiler: Compiler, loops: Sequence[LoopJob] = ()
    ) -> None:
        self.plan = plan
        self.lowering = lowering
        self.loops = loops
        fetched = {lowering.values[f].root for f in plan.fetches if f in lowering.values}
        nodes = combine(lowering, fetched)
        self.groups = fuse(nodes)
        self._inner = [job for loop in loops for job in loop.jobs]
        for node in nodes:
            if isinstance(node, NestedNode):
                self._inner += [part.job for part in node.parts]
        as_regions = [node for group in self.groups for node in _beyond_the_machine(group)]
        if as_regions:
            self.groups = fuse(nodes, as_regions)
        self.awaited = compiler.awaited
        """Inside of it the compiler knows that a run stands still."""
        self.stored = stored_roots(self.groups, plan, lowering)
        self.regions: dict[int, FusedRegion] = {}
        self._interpreter = interpreter_source(
            all(_is_common(group) for group in self.groups if group.scalar)
        )
        self._sources: dict[int, list[str]] = {
            number: self._sources_of(number, group) for number, group in enumerate(self.groups)
        }
        self.codes = self._stand_ins(compiler)
        """What runs groups whose own kernels are still to be compiled."""
        self._own = [LOOP_SOURCE] if any(loop.native for loop in loops) else []
        sources = [*self._in_order(compiler), *self._own]
        self._handles: dict[str, Compilation] = dict(
            zip(sources, compiler.compile_many(sources), strict=True)
        )
        self._unsettled = list(self._sources)
        self._late = list(self.codes)
        self._trusted: dict[int, bool] = {}

    def _sources_of(self, number: int, group: Group) -> list[str]:
        first = group.nodes[0]
        if isinstance(first, KernelNode):
            return list(first.sources)
        if isinstance(first, PythonNode):
            return []
        if group.scalar:
            return [self._interpreter]
        self.regions[number] = region = fused_region(group, self.stored)
        return [region_source(region.region)]

    @property
    def on_numpy(self) -> int:
        """How many of its groups NumPy computes; a loop that runs without Python is none of them."""
        names = [g.nodes[0].instruction.name for g in self.groups if isinstance(g.nodes[0], PythonNode)]
        return sum(not self.array_loops.get(name, False) for name in names)

    @cached_property
    def array_loops(self) -> dict[str, bool]:
        """The names of its loops over arrays, and whether each runs without Python; those inside others not counted."""
        nested = [n.instruction.name for n in self.lowering.nodes if isinstance(n, NestedNode) and n.is_loop]
        return {loop.instruction.name: loop.native is not None for loop in self.loops} | dict.fromkeys(
            nested, True
        )

    @cached_property
    def sources(self) -> frozenset[str]:
        """The texts of all its kernels, those of loops included; not what stands in for them."""
        own = frozenset(source for sources in self._sources.values() for source in sources)
        return own.union(*[job.sources for job in self._inner])

    @cached_property
    def structure(self) -> Structure:
        """What is the same for jobs of one plan that differ in sizes alone."""
        own = [
            (tuple(self._sources[number]), tuple(i.name for i in group.instructions))
            for number, group in enumerate(self.groups)
        ]
        return sum([job.structure for job in self._inner], tuple(own))

    def _stand_ins(self, compiler: Compiler) -> dict[int, ArrayCode | StandIn]:
        found: dict[int, ArrayCode | StandIn] = {}
        for number, sources in self._sources.items():
            node = self.groups[number].nodes[0]
            region = self.regions.get(number)
            makes = node.stand_in if isinstance(node, KernelNode) else None
            if makes is None and (region is None or 0 in region.sizes):
                continue
            if all(compiler.holds(source) for source in sources):
                continue
            if makes is not None:
                found[number] = makes()
            elif region is not None:
                with suppress(ScalarTextError):
                    found[number] = array_code(region.region)
        return found

    def _in_order(self, compiler: Compiler) -> list[str]:
        """All sources: first what cannot be done without, then what makes the plan ready soonest."""
        soonest = [s for number in self._sources if number not in self.codes for s in self._sources[number]]
        later: list[str] = []
        for kind, cost in ((StandIn, _COST_OF_ANY_SIZES), (ArrayCode, _COST_OF_A_FAMILY)):
            codes = {number: code for number, code in self.codes.items() if isinstance(code, kind)}
            own = dict.fromkeys(source for number in codes for source in self._sources[number])
            blocks = dict.fromkeys(source for code in codes.values() for source in code.sources)
            lacking = sum(not compiler.holds(source) for source in blocks)
            ways = (own, blocks) if len(own) < cost * lacking else (blocks, own)
            soonest += ways[0]
            later += ways[1]
        return list(dict.fromkeys([*soonest, *later]))

    def are_there(self, sources: Iterable[str]) -> bool:
        return all(self._handles[s].done() and not self._handles[s].failed() for s in sources)

    def are_done(self, sources: Iterable[str]) -> bool:
        return all(self._handles[s].done() for s in sources)

    def _settled(self, number: int) -> bool:
        """Whether a group can run, or it is known that it will not."""
        own, code = self._sources[number], self.codes.get(number)
        if self.are_there(own):
            return True
        return (
            self.are_done(own)
            if code is None
            else self.are_there(code.sources) or self.are_done([*own, *code.sources])
        )

    @property
    def loop_kernel(self) -> int:
        """The address of the kernel that runs native loops, if it has one."""
        return self._handles[LOOP_SOURCE].result(0)

    def ready(self) -> bool:
        """Whether every group can run as native code, or it is known not to."""
        return self._is_ready()

    def _is_ready(self) -> bool:
        while self._unsettled and self._settled(self._unsettled[-1]):
            self._unsettled.pop()
        return (
            not self._unsettled and self.are_done(self._own) and all(job._is_ready() for job in self._inner)
        )

    def whole(self) -> bool:
        """Whether every kernel is compiled, or known not to be: nothing better is to come."""
        while self._late and self.are_done(self._sources[self._late[-1]]):
            self._late.pop()
        return not self._late and self._is_ready() and all(job.whole() for job in self._inner)

    def missing(self) -> int:
        """The kernels that are still being compiled."""
        own = sum(not handle.done() for handle in self._handles.values())
        return own + sum(job.missing() for job in self._inner)

    def wait(self, timeout: float, whole: bool = False) -> None:
        """Waits until it is ready, or whole; TimeoutError or KernelCompileError if that does not come."""
        deadline = time.monotonic() + timeout
        while not (self.whole() if whole else self._is_ready()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.missing()} kernels are not compiled after {timeout} s")
            time.sleep(KERNEL_LOOK_SECONDS)
        for number in self._sources:
            if not self.interprets(number):
                self.kernels(number)
        for job in self._inner:
            job.wait(timeout, whole)

    def kernels(self, number: int) -> list[int]:
        """The addresses of a group's kernels; KernelCompileError if one could not be compiled."""
        return [self._handles[source].result(0) for source in self._sources[number]]

    def interprets(self, number: int) -> bool:
        """Whether a group is run by what stands in for its own kernels as things stand."""
        code = self.codes.get(number)
        if code is None or not self.are_there(code.sources):
            return False
        return not self._trusted.get(number, True) or not self.are_there(self._sources[number])

    def compare(self, machine: Machine) -> list[str]:
        """Compares kernels that are to take the place of what stands in for them with it; those that differ never do.

        Returns the names of the instructions that such kernels are for.
        """
        differing: list[str] = []
        for number, code in self.codes.items():
            if number in self._trusted or not self.are_there([*self._sources[number], *code.sources]):
                continue
            kernels = [self._handles[source].result(0) for source in code.sources]
            own, node = self.kernels(number), self.groups[number].nodes[0]
            if isinstance(code, ArrayCode):
                right = same_bits(machine, code, self.regions[number].sizes, own[0], kernels)
            else:
                assert isinstance(node, KernelNode)
                right = same_bits_as_stand_in(machine, node, code, own, kernels)
            self._trusted[number] = right
            if not self._trusted[number]:
                differing += [i.name for i in self.groups[number].instructions]
        return sum([job.compare(machine) for job in self._inner], differing)

    def region_steps(
        self, number: int, interpreted: set[int], address: Address, scratch: int, status: int
    ) -> list[Any]:
        """The program steps of a region, by its own kernel or as the array machine runs it: then it is noted in
        `interpreted`.
        """
        region = self.regions[number]
        if not self.interprets(number):
            return region.steps(self.kernels(number)[0], address, scratch, status)
        interpreted.add(number)
        code = self.codes[number]
        assert isinstance(code, ArrayCode)
        kernels = [self._handles[source].result(0) for source in code.sources]
        return region.array_steps(code, kernels, address, scratch, status)

    def kernel_steps(self, number: int, interpreted: set[int], address: Address) -> Sequence[Any]:
        """The program steps of a kernel that is no region, or of what stands in for it: then it is noted in
        `interpreted`.
        """
        node = self.groups[number].nodes[0]
        assert isinstance(node, KernelNode) and node.emit is not None
        code = self.codes.get(number)
        if not isinstance(code, StandIn) or not self.interprets(number):
            return node.emit(self.kernels(number), address)
        interpreted.add(number)
        return code.emit([self._handles[source].result(0) for source in code.sources], address)


@dataclass(frozen=True)
class LoopJob:
    """A While whose body is worth compiling: the plans of its parts, and the compile job of the body.

    native: its condition and body if all of both is native, so that it runs turn after turn without Python. Otherwise
    NumPy computes the condition, a comparison of scalars as a rule, sooner than a program starts.
    """

    instruction: Instruction
    condition: Plan
    body: Plan
    job: CompileJob
    native: Sequence[Part] | None = None

    @property
    def jobs(self) -> list[CompileJob]:
        """The jobs that it needs."""
        return [self.job] if self.native is None else [part.job for part in self.native]
