"""CompileJob: a plan taken apart and fused, with the kernels that it waits for; LoopJob: a loop with such a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from graphflow._core.codegen.cpu.compiler import Compilation, Compiler
from graphflow._core.codegen.cpu.programs.scalar_machine_source import interpreter_source
from graphflow._core.codegen.cpu.regions.region_source import region_source
from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError
from graphflow._core.compiler.combine import combine
from graphflow._core.compiler.emit import FusedRegion, fused_region, scalar_program
from graphflow._core.compiler.fuse import Group, fuse
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import KernelNode, PythonNode, Statements
from graphflow._core.plan.ir import Instruction, Plan

Structure: TypeAlias = "tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]"
"""For each group the texts of its kernels and the names of its instructions, without sizes; then those of loops."""


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
        as_regions = [node for group in self.groups for node in _beyond_the_machine(group)]
        if as_regions:
            self.groups = fuse(nodes, as_regions)
        self.stored = stored_roots(self.groups, plan, lowering)
        self.regions: dict[int, FusedRegion] = {}
        sources: dict[str, None] = {}
        self._sources: dict[int, list[str]] = {}
        for number, group in enumerate(self.groups):
            own_sources = self._sources_of(number, group)
            self._sources[number] = own_sources
            sources.update(dict.fromkeys(own_sources))
        self._handles: dict[str, Compilation] = dict(
            zip(sources, compiler.compile_many(list(sources)), strict=True)
        )

    def _sources_of(self, number: int, group: Group) -> list[str]:
        first = group.nodes[0]
        if isinstance(first, KernelNode):
            return list(first.sources)
        if isinstance(first, PythonNode):
            return []
        if group.scalar:
            return [interpreter_source()]
        self.regions[number] = region = fused_region(group, self.stored)
        return [region_source(region.region)]

    @cached_property
    def sources(self) -> frozenset[str]:
        """The texts of all its kernels, those of loops included."""
        return frozenset(self._handles).union(*[loop.job.sources for loop in self.loops])

    @cached_property
    def structure(self) -> Structure:
        """What is the same for jobs of one plan that differ in sizes alone."""
        own = [
            (tuple(self._sources[number]), tuple(i.name for i in group.instructions))
            for number, group in enumerate(self.groups)
        ]
        return sum([loop.job.structure for loop in self.loops], tuple(own))

    def ready(self) -> bool:
        """Whether every kernel is compiled, or known not to be."""
        return all(handle.done() for handle in self._handles.values()) and all(
            loop.job.ready() for loop in self.loops
        )

    def missing(self) -> int:
        """The kernels that are still being compiled."""
        own = sum(not handle.done() for handle in self._handles.values())
        return own + sum(loop.job.missing() for loop in self.loops)

    def wait(self, timeout: float) -> None:
        """Waits for the kernels; TimeoutError or KernelCompileError if they do not come."""
        for handle in self._handles.values():
            handle.result(timeout)
        for loop in self.loops:
            loop.job.wait(timeout)

    def kernels(self, number: int) -> list[int]:
        """The addresses of a group's kernels; KernelCompileError if one could not be compiled."""
        return [self._handles[source].result(0) for source in self._sources[number]]


@dataclass(frozen=True)
class LoopJob:
    """A While whose body is worth compiling: the plans of its parts, and the compile job of the body.

    A condition is a comparison of scalars as a rule, which NumPy does sooner than a program starts.
    """

    instruction: Instruction
    condition: Plan
    body: Plan
    job: CompileJob
