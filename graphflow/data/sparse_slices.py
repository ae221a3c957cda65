"""The slices of a SparseTensor as the elements of a dataset."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import SparseTensorLike
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.io.more_datasets import SPARSE_TENSOR_SLICE


def sparse_slices(
    given: SparseTensorLike,
) -> tuple[Tensor, tuple[DType, ...], tuple[TensorShape, ...]]:
    """The dataset of a SparseTensor's slices as its variant, and the types and shapes of an element.

    TypeError if it is no SparseTensor.
    """
    if not isinstance(given, SparseTensor | SparseTensorValue):
        raise TypeError(f"`sparse_tensor` must be a SparseTensor, got {given!r}.")
    indices = convert_to_tensor(given.indices, dtypes.int64)
    values = convert_to_tensor(given.values)
    dense_shape = convert_to_tensor(given.dense_shape, dtypes.int64)
    sizes = [indices.dims and indices.dims[1:2], dense_shape.dims]
    rank = next((size[0] for size in sizes if size and size[0] is not None), None)
    count = None if rank is None else rank - 1
    variant = apply(SPARSE_TENSOR_SLICE, (indices, values, dense_shape), {"Tvalues": values.dtype}).outputs[0]
    shapes = TensorShape([None, count]), TensorShape([None]), TensorShape([count])
    return variant, (dtypes.int64, values.dtype, dtypes.int64), shapes
