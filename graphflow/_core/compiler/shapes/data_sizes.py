"""Where to cut a plan since sizes of what follows are not known before it runs: after `where`, `unique` and the like.

Compiled code for a plan is laid out for the shapes that follow from those that are fed. What `where` or `unique` finds,
what a Python function returns, and what has the size that a value says has no such shape. What is computed from it
stays on NumPy, to the end of the plan and with all gradients. If the plan is cut there, what follows is a plan by
itself, which is fed that value, and becomes compiled for its sizes as for those of any feed.

A cut costs time as well: what is computed before it and taken after it passes from one plan to the other. So this is
decided when a plan has been lowered for the shapes of a run: then it is known what would stay on NumPy.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from graphflow._core.compiler.lower import NATIVE_DTYPES, Lowering
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.compiler.shapes.fixed import OF_SHAPES, has_fixed_shape
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.segments import numbers_with_cuts

_MICROSECONDS_ON_NUMPY: Final = 3.0
"""What is gained by an instruction that becomes compiled, about."""
_MICROSECONDS_OF_ROWS: Final = 15.0
"""By one that sorts rows or adds them up, for which NumPy makes several passes and arrays."""
_OF_ROWS: Final = ("Scatter", "Segment", "SparseApply", "SparseSegment", "UnsortedSegment")
_MICROSECONDS_OF_A_STAGE: Final = 20.0
_MICROSECONDS_OF_A_VALUE: Final = 3.0
"""Of one that a stage takes from those before it."""
_FEWEST: Final = 8
"""Instructions that follow a cut, at least."""


def sized_by_data(lowering: Lowering, cuttable: Collection[str]) -> frozenset[str]:
    """The instructions after which to cut, since the sizes of their results are known only when these are there.

    Args:
        lowering: A plan that was lowered whole.
        cuttable: The instructions after which the plan may be cut.

    Returns:
        Their names; none if the stages would cost more than is gained.
    """
    plan = lowering.plan
    on_numpy = {n.instruction.name: n.instruction for n in lowering.nodes if isinstance(n, PythonNode)}
    after, gains = set[str](), dict[str, float]()
    for name in _of_unknown_size(lowering):
        if name in on_numpy and name in cuttable and not lowering.objects.isdisjoint(on_numpy[name].outputs):
            following = [i for i in _following(plan, on_numpy[name]) if i.name in on_numpy]
            if len(following) >= _FEWEST:
                after.add(name)
                gains.update((i.name, _gain(i)) for i in following if lowering.may_be_native(i))
    gain = sum(gains.values())
    return frozenset(after) if after and gain > _cost(plan, after) else frozenset()


def _gain(i: Instruction) -> float:
    """About how many microseconds a run takes less if an instruction becomes compiled."""
    return _MICROSECONDS_OF_ROWS if i.type.startswith(_OF_ROWS) else _MICROSECONDS_ON_NUMPY


def _of_unknown_size(lowering: Lowering) -> list[str]:
    """The instructions with results whose shapes do not follow from the shapes of what they take."""
    plan, known = lowering.plan, lowering.known
    there = {*plan.feeds, *[o for i in plan.instructions for o in i.outputs if o in known]}
    settled = set(lowering.constants)
    """What follows from shapes alone."""
    found = []
    for i in plan.instructions:
        plain = i.definition is not None and not i.bodies and not i.is_variable
        if i.is_constant or (
            plain and not i.stateful and (i.type in OF_SHAPES or settled.issuperset(i.inputs))
        ):
            settled.update(i.outputs)
        elif plain and not i.blocks:
            numeric = [p for p, o in enumerate(i.outputs) if o in known and known[o][1] in NATIVE_DTYPES]
            fixed = [i.outputs[p] in lowering.around.fixed for p in numeric]
            if not all(
                f or has_fixed_shape(i, p, known, there, settled) for f, p in zip(fixed, numeric, strict=True)
            ):
                found.append(i.name)
    return found


def _following(plan: Plan, first: Instruction) -> list[Instruction]:
    """The instructions that compute with what an instruction gives."""
    reached = set(first.outputs)
    found = []
    for i in plan.instructions:
        if i is not first and not reached.isdisjoint(i.free_variables()):
            reached.update(i.outputs)
            found.append(i)
    return found


def _cost(plan: Plan, after: Collection[str]) -> float:
    """About how many microseconds a run of the stages takes beyond what they compute."""
    numbers = numbers_with_cuts(plan, after)
    makers = producers(plan)
    taken = {
        (name, numbers[i.name])
        for i in plan.instructions
        if not i.is_prologue
        for name in i.free_variables()
        if name in makers and not makers[name].is_prologue and numbers[makers[name].name] < numbers[i.name]
    }
    stages = len(set(numbers.values()))
    return _MICROSECONDS_OF_A_STAGE * stages + _MICROSECONDS_OF_A_VALUE * len(taken)
