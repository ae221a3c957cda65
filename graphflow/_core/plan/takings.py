"""What a plan does beside taking elements, as from queues.

If it does nothing else and nobody gets its results, the elements can go back.
"""

from __future__ import annotations

from typing import Final

from graphflow._core.plan.ir import Plan, walk

_CHANGE: Final = frozenset({
    "BarrierClose", "BarrierInsertMany", "CloseSummaryWriter", "CollectiveAllToAll", "CollectiveBcastRecv",
    "CollectiveBcastSend", "CollectiveBegin", "CollectiveEnd", "CollectiveGather", "CollectiveGatherGrad",
    "CollectiveReduce", "CreateSummaryFileWriter", "ImportEvent", "MakeIterator", "MapClear",
    "MergeV2Checkpoints", "OrderedMapClear", "PyFunc", "QueueCloseV2", "ReaderResetV2", "SaveV2",
    "StageClear", "StalenessAdmit", "StalenessBegin", "StalenessDone", "SyncRoundArrive", "SyncRoundBegin",
    "SyncRoundClaim", "SyncRoundDone", "SyncRoundFree", "SyncRoundHold", "SyncRoundMean", "SyncRoundMeanSlices",
    "SyncRoundPush", "SyncRoundPushSlices", "WriteFile", "WriteGraphSummary", "WriteRawProtoSummary",
    "WriteResourceState",
})  # fmt: skip
"""Ops that change something other than a variable, which a run that is repeated would change once more."""
_SAY: Final = frozenset({"MapStage", "OrderedMapStage", "QueueEnqueueManyV2", "QueueEnqueueV2", "Stage"})
"""Such ops that say when they begin to."""


def changes_more(plan: Plan) -> bool:
    """Whether a plan changes anything beside the queues, readers and iterators that it takes elements from."""
    return changes_from_the_start(plan) or any(i.type in _SAY for i in walk(plan))


def changes_from_the_start(plan: Plan) -> bool:
    """The same, but for ops that may wait before they change anything, and say when they do by `run.begin_change`."""
    return any(i.type in _CHANGE or bool(i.writes()) for i in walk(plan))
