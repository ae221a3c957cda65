"""The ops of staging areas, which have no handle: those with one shared name work on one area.

An op is placed where the area's first operation is, by colocation, and the area lives in that task's store.
"""

from __future__ import annotations

from typing import Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.ops.rules import no_outputs, scalar_of


def _values(op: Operation) -> Signature:
    return [(dtype, None) for dtype in op.attrs["dtypes"]]


def _key_and_values(op: Operation) -> Signature:
    return [(dtypes.int64, ()), *_values(op)]


def _put(name: str, *inputs: str) -> OpDef:
    return op_def(
        name,
        (*inputs, "values*: any"),
        infer=no_outputs,
        gradient=NOT_DIFFERENTIABLE,
        stateful=True,
        blocks=True,
    )


def _take(name: str, *inputs: str, key: bool = False) -> OpDef:
    return op_def(
        name, inputs, infer=_key_and_values if key else _values, gradient=NOT_DIFFERENTIABLE, stateful=True,
        dynamic_shape=True, outputs=("key", "values") if key else ("values",), blocks=True,
    )  # fmt: skip


def _count(name: str) -> OpDef:
    return op_def(
        name, (), infer=scalar_of(dtypes.int32), gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("size",)
    )


def _clear(name: str) -> OpDef:
    return op_def(name, (), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True)


STAGE: Final = _put("Stage")
UNSTAGE: Final = _take("Unstage")
PEEK: Final = _take("StagePeek", "index: int32")
SIZE: Final = _count("StageSize")
CLEAR: Final = _clear("StageClear")


class MapOps:
    """The ops of maps, those with sorted keys or the others."""

    def __init__(self, prefix: str) -> None:
        self.stage = _put(f"{prefix}MapStage", "key: int64", "indices: int32")
        self.peek = _take(f"{prefix}MapPeek", "key: int64", "indices: int32")
        self.unstage = _take(f"{prefix}MapUnstage", "key: int64", "indices: int32")
        self.unstage_first = _take(f"{prefix}MapUnstageNoKey", "indices: int32", key=True)
        self.size = _count(f"{prefix}MapSize")
        self.incomplete_size = _count(f"{prefix}MapIncompleteSize")
        self.clear = _clear(f"{prefix}MapClear")


MAP: Final = MapOps("")
ORDERED_MAP: Final = MapOps("Ordered")
