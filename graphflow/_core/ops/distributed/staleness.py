"""Ops that measure and limit how stale asynchronous updates are.

graphflow._core.resources.staleness says what that means. The ops are graphflow's own: TensorFlow neither measures nor
limits it.
"""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.ops.rules import no_outputs


def _ticket(op: Operation) -> Signature:
    return [(dtypes.int64, (3,))]


def _admitted(op: Operation) -> Signature:
    return [(dtypes.int64, ()), (dtypes.bool_, ())]


BEGIN = op_def(
    "StalenessBegin", (), infer=_ticket, gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("ticket",), blocks=True,
)  # fmt: skip
"""A step's ticket. Every variable that the run reads is read after it."""
ADMIT = op_def(
    "StalenessAdmit", ("ticket: int64",), infer=_admitted, gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("staleness", "admitted"), blocks=True,
)  # fmt: skip
DONE = op_def(
    "StalenessDone", ("ticket: int64",), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True
)
