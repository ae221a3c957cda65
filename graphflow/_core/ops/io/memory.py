"""The memory of the process in which an operation runs."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, op_def
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import scalar_of


def _define(name: str) -> OpDef:
    return op_def(
        name, (), infer=scalar_of(dtypes.int64), gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("out",)
    )


BYTES_IN_USE = _define("BytesInUse")
MAX_BYTES_IN_USE = _define("MaxBytesInUse")
BYTES_LIMIT = _define("BytesLimit")


def BytesInUse() -> Tensor:
    """The bytes that the process has in memory when it runs (tf.contrib.memory_stats.BytesInUse).

    Returns:
        A scalar of int64.
    """
    return apply(BYTES_IN_USE, ()).outputs[0]


def MaxBytesInUse() -> Tensor:
    """The most bytes that the process has had in memory (tf.contrib.memory_stats.MaxBytesInUse).

    Returns:
        A scalar of int64.
    """
    return apply(MAX_BYTES_IN_USE, ()).outputs[0]


def BytesLimit() -> Tensor:
    """The bytes of memory that the machine has (tf.contrib.memory_stats.BytesLimit).

    Returns:
        A scalar of int64.
    """
    return apply(BYTES_LIMIT, ()).outputs[0]
