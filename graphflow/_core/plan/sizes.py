"""Sizes of results that are values: the dense shapes of sparse tensors, and how many segments some ids name.

Another device than the CPU can only take such an op where the host has these values before the device begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from graphflow._core.graph.elements import Operation, Tensor

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
_KNOWN: Final = frozenset({"Const", "Placeholder", "PlaceholderWithDefault", "Shape", "ShapeN", "Size"})


def host_has_sizes(op: Operation | None, on_device: Callable[[str], bool]) -> bool:
    """Whether the host knows the sizes of an operation's results before a device computes anything.

    on_device: whether operations of a type are the device's.
    """
    position = None if op is None else DENSE_SHAPES.get(op.type, SEGMENT_IDS.get(op.type))
    if op is None or position is None:
        return True
    todo: list[Tensor] = [op.inputs[position]]
    while todo:
        maker = todo.pop().op
        if maker.control_flow_context is not None:
            return False
        if maker.type in FOLLOWED:
            todo += maker.inputs
        elif maker.type not in _KNOWN and on_device(maker.type):
            return False
    return True
