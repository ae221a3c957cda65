"""Ops of synchronous training: a replica's part in a round.

graphflow._core.resources.rounds.sync_rounds says what a round is. The ops are graphflow's own: TensorFlow makes its
rounds of accumulators, a queue of tokens and a thread of the chief.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import no_outputs, scalar_of
from graphflow._core.ops.state.checkpoints import READ_RESOURCE_STATE, SAVE_V2


def _ticket(op: Operation) -> Signature:
    return [(dtypes.int64, (4,))]


def _choice(op: Operation) -> Signature:
    return [(dtypes.int64, (None,)), (dtypes.bool_, ()), (dtypes.bool_, ())]


def _mean(op: Operation) -> Signature:
    return [(op.attrs["dtype"], shapes.as_dims(op.attrs["shape"]))]


def _mean_slices(op: Operation) -> Signature:
    dims = shapes.as_dims(op.attrs["shape"])
    values = None if dims is None else (None, *dims[1:])
    return [(op.attrs["dtype"], values), (op.attrs["Tindices"], (None,))]


BEGIN = op_def(
    "SyncRoundBegin", ("global_step@: int32|int64",), infer=_ticket, gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("ticket",),
)  # fmt: skip
"""A run's ticket: the round, and the run's number. Every variable that the run reads is read after it."""
HOLD = op_def(
    "SyncRoundHold", ("global_step@: int32|int64",), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True,
    blocks=True,
)  # fmt: skip
"""Waits for the end of a round. None is chosen until FREE: a checkpoint reads every variable between the two."""
FREE = op_def("SyncRoundFree", (), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True)
PUSH = op_def(
    "SyncRoundPush",
    ("ticket: int64", "gradient: T"),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)
PUSH_SLICES = op_def(
    "SyncRoundPushSlices", ("ticket: int64", "values: T", "indices: index"), infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip
ARRIVE = op_def(
    "SyncRoundArrive", ("ticket: int64",), infer=_choice, gradient=NOT_DIFFERENTIABLE, stateful=True,
    dynamic_shape=True, outputs=("choice", "applies", "counted"), blocks=True,
)  # fmt: skip
CLAIM = op_def(
    "SyncRoundClaim", ("choice: int64",), infer=scalar_of(dtypes.bool_), gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("claimed",),
)  # fmt: skip
DONE = op_def(
    "SyncRoundDone", ("choice: int64",), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True
)
MEAN = op_def(
    "SyncRoundMean", ("choice: int64",), infer=_mean, gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("mean",),
)  # fmt: skip
MEAN_SLICES = op_def(
    "SyncRoundMeanSlices", ("choice: int64",), infer=_mean_slices, gradient=NOT_DIFFERENTIABLE, stateful=True,
    dynamic_shape=True, outputs=("values", "indices"),
)  # fmt: skip
ADVANCE = op_def(
    "SyncRoundAdvance", ("global_step&: int32|int64", "choice: int64"), infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip


def beginnings_of_rounds(graph: Graph) -> list[Operation]:
    """What begins the rounds of synchronous training in a graph, one operation of each."""
    found = [op for op in graph.get_operations() if op.op_def is BEGIN]
    return list({op.attrs["shared_name"]: op for op in found}.values())


def hold_round(begin: Operation) -> Operation:
    """An operation that keeps rounds from being chosen, between two of them. begin: one that begins such a round."""
    with get_default_graph().colocate_with(begin, ignore_existing=True):
        return apply(HOLD, [begin.inputs[0]], _of_rounds(begin), "hold_round")


def free_round(begin: Operation) -> Operation:
    """An operation that ends what `hold_round` has begun in the same run."""
    with get_default_graph().colocate_with(begin, ignore_existing=True):
        return apply(FREE, [], _of_rounds(begin), "free_round")


def hold_saves(begin: Operation) -> None:
    """Has checkpoints read between two of the rounds that it begins, whose operations were built before it.

    A Saver that is built later does so itself.
    """
    graph = begin.graph
    others = [op for op in beginnings_of_rounds(graph) if op is not begin]
    if begin.attrs["shared_name"] in [op.attrs["shared_name"] for op in others]:
        return
    for saved in [op for op in graph.get_operations() if op.op_def is SAVE_V2]:
        after = [op for op in graph.get_operations() if saved in op.control_inputs]
        with graph.control_dependencies(None):
            held = hold_round(begin)
            with graph.control_dependencies([saved]):
                freed = free_round(begin)
        for first in (saved, *(t.op for t in saved.inputs if t.op.op_def is READ_RESOURCE_STATE)):
            first.add_control_inputs([held])
        for op in after:
            op.add_control_inputs([freed])


def is_between_rounds(op: Operation | None) -> bool:
    """Whether an operation is of `hold_round` or `free_round`, which fail if the checkpoint is to be written again."""
    return op is not None and op.op_def in (HOLD, FREE)


def _of_rounds(begin: Operation) -> dict[str, Any]:
    return {name: begin.attrs[name] for name in ("shared_name", "needed", "total")}
