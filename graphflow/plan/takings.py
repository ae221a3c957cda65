"""What a plan does beside taking elements from queues: whether those can go back where nobody gets its results."""

from __future__ import annotations

from typing import Final

from graphflow.plan.ir import Plan, walk

_CHANGE: Final = frozenset({
    "CollectiveBcastRecv", "CollectiveBcastSend", "CollectiveBegin", "CollectiveEnd", "CollectiveGather",
    "CollectiveGatherGrad", "CollectiveReduce", "IteratorGetNext", "MakeIterator", "MergeV2Checkpoints", "PyFunc",
    "QueueCloseV2", "QueueEnqueueManyV2", "QueueEnqueueV2", "ReaderReadUpToV2", "ReaderReadV2", "ReaderResetV2",
    "SaveV2", "StalenessAdmit", "StalenessBegin", "StalenessDone", "SyncRoundArrive", "SyncRoundBegin",
    "SyncRoundClaim", "SyncRoundDone", "SyncRoundMean", "SyncRoundMeanSlices", "SyncRoundPush", "SyncRoundPushSlices",
    "WriteFile", "WriteResourceState",
})  # fmt: skip
"""Ops that change something other than a variable, which a run that is repeated would change once more."""


def changes_more(plan: Plan) -> bool:
    """Whether a plan changes anything beside the queues that it takes elements from."""
    return any(i.type in _CHANGE or bool(i.written()) for i in walk(plan))
