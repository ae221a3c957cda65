"""Rules of sorted segments, whose number is known: it is an input, or follows from what is fed (sizing.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.gpu.kernels.segments import UNSORTED, segment_source
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.compiler.gpu.fed_sizes import SEGMENTS
from graphflow._core.compiler.gpu.nodes import Buffers, device_node
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.plan.ir import Instruction

_COUNTED: Final = "WithNumSegments"
_UNSORTED: Final = "segment ids are not increasing, or negative."


def _segments(kind: str, gathered: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        values = [lowering.value(n) for n in i.inputs[: 2 + gathered]]
        number: Any = i.attrs.get(SEGMENTS)
        if i.type.endswith(_COUNTED):
            number = lowering.constant(i.inputs[3])
        if number is None or any(v is None for v in values):
            return False
        x, *indices, ids = [lowering.compact(i, v) for v in values if v is not None]
        shape = lowering.shape(i.outputs[0])
        if x.dtype == "bool" or not x.shape or shape != (int(number), *x.shape[1:]):
            return False
        if any(v.shape != ids.shape or len(v.shape) != 1 for v in (*indices, ids)):
            return False
        if not gathered and ids.size != x.shape[0]:
            return False
        target = lowering.result(i)

        def build(buffers: Buffers) -> Sequence[Any]:
            rows, columns, count = shape[0], math.prod(shape[1:]), target.size
            chosen = [buffers.array(v) for v in (*(indices or [ids]), ids)]
            arguments = [buffers.status, buffers.number, count, buffers.array(x), x.shape[0], *chosen]
            arguments += [ids.size, rows, columns, buffers.array(target)]
            return [elementwise_launch(segment_source(x.dtype, kind, gathered), count, arguments)]

        reads = [x, *indices, ids]
        lowering.add(device_node(i, reads, [target], build, messages={UNSORTED: _UNSORTED}, fallible=True))
        return True

    return rule


SEGMENT_RULES: Final[dict[str, Rule]] = {
    **{f"Segment{kind}": _segments(kind, gathered=False) for kind in ("Sum", "Mean", "Prod", "Max", "Min")},
    **{
        f"SparseSegment{kind}{counted}": _segments(kind, gathered=True)
        for kind in ("Sum", "Mean", "SqrtN")
        for counted in ("", _COUNTED)
    },
}
