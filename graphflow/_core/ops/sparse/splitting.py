"""A SparseTensor taken apart along an axis."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NO_GRADIENT, Signature, op_def
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import IntTensorLike, SparseTensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import deprecated
from graphflow._core.ops.sparse.sparse import as_sparse, rank_of


def _infer(op: Operation) -> Signature:
    count, rank = op.attrs["num_split"], rank_of(op.inputs[1])
    kinds = ((dtypes.int64, (None, rank)), (op.inputs[2].dtype, (None,)), (dtypes.int64, (rank,)))
    return [kind for kind in kinds for _ in range(count)]


SPLIT = op_def(
    "SparseSplit", ("split_dim: int64", "indices: int64", "values: T", "shape: int64"), infer=_infer,
    gradient=NO_GRADIENT, dynamic_shape=True,
)  # fmt: skip


def sparse_split(
    *args: Any, sp_input: SparseTensorLike | None = None, num_split: int | None = None,
    axis: IntTensorLike | None = None, name: str | None = None, split_dim: IntTensorLike | None = None,
) -> list[SparseTensor]:  # fmt: skip
    """A SparseTensor in parts along an axis, of which the first ones are longer by 1 if need be (tf.sparse.split).

    Args:
        *args: None: all arguments are named.
        sp_input: The SparseTensor.
        num_split: How many parts.
        axis: The axis, from 0 on.
        name: A name for the operation.
        split_dim: The old name of `axis`.

    Returns:
        The parts, SparseTensors.

    Raises:
        ValueError: For an argument without its name, or one that is missing.
        InvalidArgumentError: If there is no such axis, or it is shorter than num_split.
    """
    if args:
        raise ValueError("Keyword arguments are required for sparse_split: sp_input=, num_split=, axis=.")
    if sp_input is None:
        raise ValueError("sp_input is required")
    if num_split is None:
        raise ValueError("num_split is required")
    if axis is None and split_dim is None:
        raise ValueError("axis is required")
    if num_split < 1:
        raise ValueError(f"num_split of sparse_split must be at least 1, got {num_split}.")
    along = deprecated(axis, split_dim, "axis", "split_dim")
    whole = as_sparse(sp_input)
    inputs = (along, whole.indices, whole.values, whole.dense_shape)
    found = apply(SPLIT, inputs, {"num_split": int(num_split)}, name).outputs
    return [SparseTensor(*found[part::num_split]) for part in range(num_split)]
