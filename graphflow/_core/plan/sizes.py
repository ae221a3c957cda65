"""Sizes of results that are values: the dense shapes of sparse tensors, and how many segments some ids name.

Another device than the CPU can take such an op only if the host has these values before the device begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, producers, walk

DENSE_SHAPES: Final = {"SparseTensorDenseMatMul": 2, "SparseToDense": 1}
"""Types that take a dense shape, and which input it is."""
SEGMENT_IDS: Final = {
    **{f"Segment{kind}": 1 for kind in ("Sum", "Mean", "Prod", "Max", "Min")},
    **{f"SparseSegment{kind}": 2 for kind in ("Sum", "Mean", "SqrtN")},
}
"""Types that take ids of segments, of which the last says how many there are."""
FOLLOWED: Final = frozenset(
    {"Cast", "Const", "Identity", "Reshape", "Slice", "Squeeze", "StopGradient", "StridedSlice"}
)
"""Types of what may lie between a feed and a size."""
_KNOWN: Final = frozenset({kinds.CONST, "Placeholder", "PlaceholderWithDefault", "Shape", "ShapeN", "Size"})


def unknown_to_host(plan: Plan, on_device: Callable[[str], bool]) -> frozenset[str]:
    """The names of the instructions whose sizes the host does not know before a device computes anything.

    What is inside a branch or a loop has its sizes from there. on_device: whether operations of a type are the
    device's.
    """
    if not any(i.type in DENSE_SHAPES or i.type in SEGMENT_IDS for i in walk(plan)):
        return frozenset()
    makers, outermost = producers(plan), frozenset(i.name for i in plan.instructions)
    found = []
    for i in walk(plan):
        position = DENSE_SHAPES.get(i.type, SEGMENT_IDS.get(i.type))
        if position is None:
            continue
        if i.name not in outermost or not _is_known(i.inputs[position], makers, on_device):
            found.append(i.name)
    return frozenset(found)


def _is_known(value: str, makers: Mapping[str, Instruction], on_device: Callable[[str], bool]) -> bool:
    todo = [value]
    while todo:
        name = todo.pop()
        maker = makers.get(name)
        if maker is None:  # It is fed.
            continue
        if any(name in inner.outputs for body in maker.bodies for inner in walk(body)):
            return False
        if maker.type in FOLLOWED:
            todo += maker.inputs
        elif maker.type not in _KNOWN and on_device(maker.type):
            return False
    return True
