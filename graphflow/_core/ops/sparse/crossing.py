"""Crosses of sparse features: for each row every combination of one value of each, as a string or a bucket's number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import SparseTensorLike, TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.math.casting import cast

DEFAULT_KEY: Final = 0xDECAFCAFFE
"""What the fingerprints of a cross begin with, if nothing is said."""


def _infer(op: Operation) -> Signature:
    return [(dtypes.int64, (None, 2)), (op.attrs["out_type"], (None,)), (dtypes.int64, (2,))]


SPARSE_CROSS = op_def(
    "SparseCross", ("indices*: int64", "values*: int64|string", "shapes*: int64", "dense_inputs*: int64|string"),
    infer=_infer, gradient=NOT_DIFFERENTIABLE, dynamic_shape=True,
    outputs=("output_indices", "output_values", "output_shape"),
)  # fmt: skip


def _strings_or_numbers(tensor: Any) -> Tensor:
    found = convert_to_tensor(tensor)
    return found if found.dtype in (dtypes.string, dtypes.int64) else cast(found, dtypes.int64)


def _cross(
    inputs: Sequence[TensorLike | SparseTensorLike], hashed: bool, buckets: int, key: int, name: str | None
) -> SparseTensor:
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    kinds = SparseTensor | SparseTensorValue
    other = [one for one in inputs if not isinstance(one, kinds | Tensor)]
    if other:
        raise TypeError(f"All inputs must be SparseTensors or tensors, got {other[0]!r}.")
    sparse = [SparseTensor.from_value(one) for one in inputs if isinstance(one, kinds)]
    values = [_strings_or_numbers(s.values) for s in sparse]
    dense = [_strings_or_numbers(one) for one in inputs if not isinstance(one, kinds)]
    attrs = {
        "N": len(sparse), "hashed_output": hashed, "num_buckets": buckets, "hash_key": key,
        "sparse_types": [v.dtype for v in values], "dense_types": [d.dtype for d in dense],
        "out_type": dtypes.int64 if hashed else dtypes.string,
        "internal_type": dtypes.int64 if any(v.dtype is dtypes.int64 for v in (*values, *dense)) else dtypes.string,
    }  # fmt: skip
    parts = ([s.indices for s in sparse], values, [s.dense_shape for s in sparse], dense)
    return SparseTensor(*apply(SPARSE_CROSS, parts, attrs, name).outputs)


def sparse_cross(
    inputs: Sequence[TensorLike | SparseTensorLike], name: str | None = None, separator: str | None = None
) -> SparseTensor:
    """For each row the strings of all combinations, joined by "_X_" (tf.sparse.cross).

    Args:
        inputs: Matrices of strings or integers, sparse or not, with as many rows each.
        name: A name for the operation.
        separator: As in TensorFlow 1.15 there is none but "_X_".

    Returns:
        A SparseTensor of strings [rows, most combinations]. Sparse inputs come before the others.

    Raises:
        TypeError: If inputs is no list, or one is no tensor.
        ValueError: If another separator is asked for.
    """
    if separator not in (None, "_X_"):
        raise ValueError(f"sparse_cross joins by '_X_', got the separator {separator!r}.")
    return _cross(inputs, False, 0, DEFAULT_KEY, name)


def sparse_cross_hashed(
    inputs: Sequence[TensorLike | SparseTensorLike], num_buckets: int = 0, hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """For each row the buckets of all combinations, by their fingerprint (tf.sparse.cross_hashed).

    Args:
        inputs: Matrices of strings or integers, sparse or not, with as many rows each.
        num_buckets: How many buckets there are; 0 for as many as fit into an int64.
        hash_key: What fingerprints begin with; None or 0 for DEFAULT_KEY.
        name: A name for the operation.

    Returns:
        A SparseTensor of int64 [rows, most combinations]. Sparse inputs come before the others.

    Raises:
        TypeError: If inputs is no list, or one is no tensor.
    """
    return _cross(inputs, True, num_buckets, hash_key or DEFAULT_KEY, name)
