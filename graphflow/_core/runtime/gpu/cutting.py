"""Cuts the groups of a plan on a GPU into segments: launches, and what NumPy computes between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import assemble
from graphflow._core.runtime.gpu.plan_memory import PlanVariables
from graphflow._core.runtime.gpu.segments import DeviceSegment, HostSegment, Segment


class Cutter:
    """Makes the segments of one plan.

    batches: the numbers of the groups by launch. makers: the instruction that makes each value.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        batches: Sequence[Sequence[int]],
        lowering: Lowering,
        makers: Mapping[str, Instruction],
        variables: PlanVariables,
        store: ResourceStore,
        kernels: KernelTable,
    ) -> None:
        self._groups = groups
        self._batches = batches
        self._lowering = lowering
        self._makers = makers
        self._variables = variables
        self._store = store
        self._kernels = kernels

    def whole(self) -> list[Segment]:
        """As few segments as can be: of neighbours that run on the same side."""
        segments: list[Segment] = []
        waiting: list[PythonNode] = []
        for number, group in enumerate(self._groups):
            first = group.nodes[0]
            if isinstance(first, PythonNode):
                if waiting and self._takes_made(waiting, first):
                    segments.append(self._on_host(waiting))
                    waiting = []
                waiting.append(first)
                continue
            if waiting:
                segments.append(self._on_host(waiting))
                waiting = []
            if not segments or not isinstance(segments[-1], DeviceSegment):
                segments.append(DeviceSegment([]))
            last = segments[-1]
            assert isinstance(last, DeviceSegment)
            last.groups.append((number, group))
            last.written = list(dict.fromkeys([*last.written, *self._variables.written(group)]))
        if waiting:
            segments.append(self._on_host(waiting))
        return segments

    def launch_by_launch(self) -> list[Segment]:
        """A segment for each launch, or those of one kernel's work, and for each instruction of NumPy's."""
        return [self._alone(batch) for batch in self._batches]

    def last_of(self, roots: Set[str]) -> int:
        """The number of the last group that computes a value or writes a variable of these; -1 if there is none."""
        numbers = [
            number
            for number, group in enumerate(self._groups)
            for node in group.nodes
            if not roots.isdisjoint((*node.makes, *node.variables))
        ]
        return max(numbers, default=-1)

    def _alone(self, batch: Sequence[int]) -> Segment:
        node = self._groups[batch[0]].nodes[0]
        if isinstance(node, PythonNode):
            return self._on_host([node])
        groups = [(number, self._groups[number]) for number in batch]
        written = dict.fromkeys(cell for _, group in groups for cell in self._variables.written(group))
        return DeviceSegment(groups, written=list(written), captures=False)

    def _takes_made(self, before: Sequence[PythonNode], node: PythonNode) -> bool:
        """Whether a node takes a view of a value that earlier nodes compute, which is there only after them."""
        made = {root for n in before for root in n.makes}
        values = [self._lowering.values.get(name) for name in _taken(before, [node])]
        return any(v is not None and v.root in made for v in values)

    def _on_host(self, nodes: Sequence[PythonNode]) -> HostSegment:
        around: dict[str, Instruction] = {}
        inputs: dict[str, None] = {}
        for name in _taken(nodes, nodes):
            maker = self._makers.get(name)
            if maker is not None and (maker.is_variable or maker.is_constant):
                around[maker.name] = maker
            else:
                inputs[name] = None
        outputs = [o for node in nodes for o in node.instruction.outputs]
        instructions = (*around.values(), *(n.instruction for n in nodes))
        plan = Plan(instructions, feeds=tuple(inputs), fetches=tuple(outputs))
        told = [n.instruction.describe() for n in nodes]
        return HostSegment(assemble(plan, self._store, self._kernels), list(inputs), outputs, told)


def _taken(before: Iterable[PythonNode], nodes: Iterable[PythonNode]) -> list[str]:
    """The names of the values that some nodes take and none before them makes."""
    inside = {o for node in before for o in node.instruction.outputs}
    return [name for node in nodes for name in node.instruction.free_variables() if name not in inside]
