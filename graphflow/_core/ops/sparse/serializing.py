"""SparseTensors as strings, so that they can be elements of data sets and queues (tf.serialize_sparse and its kin).

A SparseTensor becomes a vector of three strings, the messages of its indices, values and shape, as in TensorFlow.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, Signature, op_def
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike, SparseTensorLike, TensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import require_rank
from graphflow._core.ops.sparse.sparse import as_sparse

_PARTS = ("sparse_indices: int64", "sparse_values: T=any", "sparse_shape: int64")


def _many_infer(op: Operation) -> Signature:
    return [(dtypes.string, (None, 3))]


def _read_infer(op: Operation) -> Signature:
    dims, extra = op.inputs[0].dims, 0
    if dims is not None:
        if not dims or dims[-1] not in (None, 3):
            raise ValueError(
                f"A serialized SparseTensor has three strings in its last axis, got the shape {dims}."
            )
        extra = len(dims) - 1
    rank = None
    if op.attrs.get("_rank") is not None and dims is not None:
        rank = op.attrs["_rank"] + extra
    return [(dtypes.int64, (None, rank)), (op.attrs["dtype"], (None,)), (dtypes.int64, (rank,))]


def _read_many_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 2, "serialized_sparse")
    return [(dtypes.int64, (None, None)), (op.attrs["dtype"], (None,)), (dtypes.int64, (None,))]


SERIALIZE = op_def(
    "SerializeSparse", _PARTS, infer=lambda op: [(dtypes.string, (3,))], gradient=NO_GRADIENT,
    outputs=("serialized_sparse",),
)  # fmt: skip
SERIALIZE_MANY = op_def(
    "SerializeManySparse", _PARTS, infer=_many_infer, gradient=NO_GRADIENT, dynamic_shape=True,
    outputs=("serialized_sparse",),
)  # fmt: skip
DESERIALIZE = op_def(
    "DeserializeSparse", ("serialized_sparse: string",), infer=_read_infer, gradient=NO_GRADIENT, dynamic_shape=True,
    outputs=("sparse_indices", "sparse_values", "sparse_shape"),
)  # fmt: skip
DESERIALIZE_MANY = op_def(
    "DeserializeManySparse", ("serialized_sparse: string",), infer=_read_many_infer, gradient=NO_GRADIENT,
    dynamic_shape=True, outputs=("sparse_indices", "sparse_values", "sparse_shape"),
)  # fmt: skip


def _check_type(out_type: DTypeLike) -> dict[str, Any]:
    if as_dtype(out_type) is not dtypes.string:
        raise ValueError(
            f"graphflow serializes SparseTensors as strings, got out_type={as_dtype(out_type).name}."
        )
    return {"out_type": dtypes.string}


def serialize_sparse(
    sp_input: SparseTensorLike, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """A SparseTensor as a vector of three strings (tf.io.serialize_sparse).

    Args:
        sp_input: A SparseTensor.
        name: A name for the operation.
        out_type: gf.string.

    Raises:
        TypeError: For what is no SparseTensor.
    """
    found = as_sparse(sp_input)
    inputs = (found.indices, found.values, found.dense_shape)
    return apply(SERIALIZE, inputs, _check_type(out_type), name).outputs[0]


def serialize_many_sparse(
    sp_input: SparseTensorLike, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """The rows of a SparseTensor, each as three strings, [rows, 3] (tf.io.serialize_many_sparse).

    Args:
        sp_input: A SparseTensor of rank 2 or more, whose indices are in order.
        name: A name for the operation.
        out_type: gf.string.

    Raises:
        TypeError: For what is no SparseTensor.
    """
    found = as_sparse(sp_input)
    inputs = (found.indices, found.values, found.dense_shape)
    return apply(SERIALIZE_MANY, inputs, _check_type(out_type), name).outputs[0]


def deserialize_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor of strings that serialize_sparse gave (tf.io.deserialize_sparse).

    Args:
        serialized_sparse: Strings [..., 3]: there is an axis in front for each of theirs, and others are as long as
            the longest.
        dtype: Of the values.
        rank: The rank of each SparseTensor, if it is known.
        name: A name for the operation.
    """
    attrs = {"dtype": as_dtype(dtype)} | ({} if rank is None else {"_rank": int(rank)})
    return SparseTensor(*apply(DESERIALIZE, (serialized_sparse,), attrs, name).outputs)


def deserialize_many_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """A SparseTensor with a row for each that serialize_sparse made strings of (tf.io.deserialize_many_sparse).

    Args:
        serialized_sparse: Strings [rows, 3].
        dtype: Of the values.
        rank: The rank of the result, if it is known.
        name: A name for the operation.
    """
    indices, values, shape = apply(
        DESERIALIZE_MANY, (serialized_sparse,), {"dtype": as_dtype(dtype)}, name
    ).outputs
    if rank is not None:
        indices.set_shape([None, rank])
        shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
