"""A compile job in sizes that may be others: what `prepare_job` makes, done once for all sizes of which that holds."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen import shared
from graphflow._core.codegen.traced_sizes import Size, Trace
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.added_rules import added_rules
from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.compiler.cpu.rules import RULES
from graphflow._core.compiler.cpu.transposed import lower_in_order, side_by_side
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import NestedNode, PythonNode
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.shared.repeated_rows import with_repeated_rows
from graphflow._core.compiler.specialise import apart_from_feeds, complete, shape_changes, specialise
from graphflow._core.compiler.traced.layouts import TracedConstants
from graphflow._core.compiler.traced.shapes import NotTraced, TracedShapes
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.passes.fold import LARGE
from graphflow._core.resources.store import ResourceStore

_MOST_GUARDS: Final = 2000


@dataclass(frozen=True)
class TracedJob:
    """A compile job, and what of it depends on sizes.

    made: the constants that are made of sizes, and `part` the instructions that make those of which no integers are
    known.
    """

    trace: Trace
    job: CompileJob
    shapes: TracedShapes
    made: Sequence[str]
    part: Sequence[Instruction]


class _Constants(TracedConstants):
    """Constants of which it is noted when somebody looks at one that is made of sizes."""

    def __init__(self, shapes: TracedShapes, sizes: Sequence[Size]) -> None:
        super().__init__(shapes.contents)
        self._shapes = shapes
        self._sizes = sizes

    def _note(self, name: str) -> None:
        if name in self._shapes.of_sizes:
            contents = self._shapes.contents.get(name)
            for size in self._sizes if contents is None else contents.reshape(-1):
                operator.index(size)

    def __getitem__(self, name: str) -> Any:
        self._note(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]


def traced_job(
    plan: Plan,
    known: Known,
    axes: Sequence[tuple[str, int]],
    store: ResourceStore,
    kernels: KernelTable,
    ctx: PassContext,
) -> TracedJob:
    """The compile job of a plan for the shapes of a run, in which the sizes of some axes of feeds may be others.

    axes: name and axis of these feeds, in the order of the trace's first sizes; or of a constant that stands for a fed
    vector, and the index of an element that may be another.

    Raises NotTraced, or what else keeps a trace from being made.
    """
    plan, known = apart_from_feeds(plan, known)
    complete(plan, known, store)
    if shape_changes(plan):
        raise NotTraced("A variable may change its shape.")
    trace, fed = Trace(), {name: known[name] for name in plan.feeds}
    constants = {i.outputs[0]: i.attrs["value"] for i in plan.instructions if i.is_constant}
    sizes, contents = [], dict[str, Any]()
    for name, axis in axes:
        if name in fed:
            shape, dtype = fed[name]
            size: Any = trace.size(shape[axis])
            fed[name] = ((*shape[:axis], size, *shape[axis + 1 :]), dtype)
        else:
            elements = contents.setdefault(name, constants[name].astype(object))
            size = elements.reshape(-1)[axis] = trace.size(int(elements.reshape(-1)[axis]))
        sizes.append(size)
    shapes = TracedShapes(plan, fed, known, ctx.evaluate, contents)
    special = specialise(plan, known, ctx)
    made = _folded(special, plan, shapes)
    for i in special.instructions:
        if i.is_constant and i.outputs[0] not in shapes.of_sizes:
            shapes.known[i.outputs[0]] = (i.attrs["value"].shape, i.attrs["value"].dtype.name)
    if with_repeated_rows(special, known)[0] is not special:
        raise NotTraced("Rows may repeat.")
    lowering = Lowering(special, shapes.known, kernels, {**RULES, **added_rules("cpu")}, side_by_side)
    lowering.constants = _Constants(shapes, sizes)
    lower_in_order(lowering)
    if any(isinstance(node, NestedNode) for node in lowering.nodes):
        raise NotTraced("There are loops or branches.")
    left = [node.instruction.describe() for node in lowering.nodes if isinstance(node, PythonNode)]
    if left:
        raise NotTraced(f"Not native: {', '.join(left)}.")
    job = CompileJob(special, lowering, shared.compiler())
    if job.codes or not job.ready():
        raise NotTraced("Kernels are missing.")
    if trace.guards > _MOST_GUARDS:
        raise NotTraced("Too much depends on the sizes.")
    return TracedJob(trace, job, shapes, made, _makers(plan, made, shapes))


def _folded(special: Plan, plan: Plan, shapes: TracedShapes) -> list[str]:
    """The constants that are made of sizes. That they are folded, and others are not, is noted."""
    constants = {i.outputs[0] for i in special.instructions if i.is_constant}
    made = []
    for i in plan.instructions:
        for output in i.outputs:
            if output not in shapes.of_sizes or output not in shapes.known:
                continue
            shape, dtype = shapes.known[output]
            small = bool(math.prod(shape) * np.dtype(dtype).itemsize <= LARGE)
            if output in constants:
                made.append(output)
                if not small:
                    raise NotTraced(f"{output} is a large constant.")
            elif small and any(output in j.outputs for j in special.instructions):
                raise NotTraced(f"{output} is not folded.")
    return made


def _makers(plan: Plan, made: Sequence[str], shapes: TracedShapes) -> list[Instruction]:
    """The instructions that make constants of which no integers are known, from those of which they are."""
    needed = {name for name in made if name not in shapes.contents}
    kept = []
    for i in reversed(plan.instructions):
        if not needed.isdisjoint(i.outputs) and i.outputs[0] not in shapes.contents:
            kept.append(i)
            needed.update(i.inputs)
    return kept[::-1]
