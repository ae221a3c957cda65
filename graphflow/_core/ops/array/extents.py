"""How many elements and axes a tensor has, also a sparse one, whose size is a product of its shape."""

from __future__ import annotations

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import DTypeLike, SparseTensorLike, TensorLike
from graphflow._core.ops.array.shaping import RANK, value_dims
from graphflow._core.ops.core import apply, constant, convert_to_tensor, op_scope
from graphflow._core.ops.math import casting, reductions

SIZE = op_def(
    "Size", ("input: T",), infer=lambda op: [(op.attrs["out_type"], ())], gradient=NOT_DIFFERENTIABLE,
    partial_value=lambda op: shapes.size_of(value_dims(op.inputs[0])),
)  # fmt: skip


def size(
    input: TensorLike | SparseTensorLike, name: str | None = None, out_type: DTypeLike = dtypes.int32
) -> Tensor:
    """The number of elements; a constant if it is known (tf.size).

    Args:
        input: A tensor.
        name: A name for the operation.
        out_type: gf.int32 or gf.int64.

    Returns:
        A scalar.
    """
    out_type = as_dtype(out_type)
    with op_scope(name, "Size", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            count: Tensor = casting.cast(reductions.reduce_prod(input.dense_shape), out_type, name=scope)
            return count
        tensor = convert_to_tensor(input, name="input")
        known = shapes.size_of(tensor.dims)
        if known is not None:
            return constant(known, out_type, name=scope)
        return apply(SIZE, (tensor,), {"out_type": out_type}, scope).outputs[0]


def rank(input: TensorLike | SparseTensorLike, name: str | None = None) -> Tensor:
    """The number of dimensions; a constant if it is known (tf.rank).

    Args:
        input: A tensor.
        name: A name for the operation.

    Returns:
        An int32 scalar.
    """
    with op_scope(name, "Rank", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            return size(input.dense_shape, name=scope)
        tensor = convert_to_tensor(input, name="input")
        if tensor.dims is not None:
            return constant(len(tensor.dims), dtypes.int32, name=scope)
        return apply(RANK, (tensor,), name=scope).outputs[0]
