"""Sets: the values along the last axis of a tensor, dense or sparse, each of them once and in no order."""

from __future__ import annotations

from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import SparseTensorLike, TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.sparse.sparse import as_sparse, rank_of

_VALUES: Final = "T=int8|int16|int32|int64|uint8|uint16|string"
SIZE = op_def(
    "SetSize", ("set_indices: int64", f"set_values: {_VALUES}", "set_shape: int64"),
    infer=lambda op: [(dtypes.int32, None)], gradient=NOT_DIFFERENTIABLE, dynamic_shape=True, outputs=("size",),
)  # fmt: skip


def _infer(op: Operation) -> Signature:
    first, values = op.inputs[0], op.inputs[1]
    if op.op_def is SPARSE_TO_SPARSE:
        rank = rank_of(first)
    else:
        values, rank = first, None if first.dims is None else len(first.dims)
    return [(dtypes.int64, (None, rank)), (values.dtype, (None,)), (dtypes.int64, (rank,))]


def _define(name: str, *inputs: str) -> OpDef:
    return op_def(
        name, inputs, infer=_infer, gradient=NOT_DIFFERENTIABLE, dynamic_shape=True,
        outputs=("result_indices", "result_values", "result_shape"),
    )  # fmt: skip


_FIRST: Final = ("set1_indices: int64", f"set1_values: {_VALUES}", "set1_shape: int64")
_SECOND: Final = ("set2_indices: int64", "set2_values: T", "set2_shape: int64")
DENSE_TO_DENSE = _define("DenseToDenseSetOperation", f"set1: {_VALUES}", "set2: T")
DENSE_TO_SPARSE = _define("DenseToSparseSetOperation", f"set1: {_VALUES}", *_SECOND)
SPARSE_TO_SPARSE = _define("SparseToSparseSetOperation", *_FIRST, *_SECOND)


def set_size(a: SparseTensorLike, validate_indices: bool = True) -> Tensor:
    """How many different values each set of a SparseTensor has (tf.sets.size).

    Args:
        a: A SparseTensor of integers or strings, whose last axis holds the sets.
        validate_indices: Whether its indices must be in order and within its shape.

    Returns:
        int32 of the shape of `a` without the last axis.

    Raises:
        TypeError: `a` is not sparse.
        InvalidArgumentError: When it runs, if the indices are not in order.
    """
    sparse = as_sparse(a)
    values = (sparse.indices, sparse.values, sparse.dense_shape)
    return apply(SIZE, values, {"validate_indices": validate_indices}).outputs[0]


def _operand(value: Any) -> Any:
    is_sparse = isinstance(value, SparseTensor) or hasattr(value, "dense_shape")
    return as_sparse(value) if is_sparse else convert_to_tensor(value)


def _parts(value: Any) -> tuple[Any, ...]:
    return (value.indices, value.values, value.dense_shape) if isinstance(value, SparseTensor) else (value,)


def _combine(
    a: TensorLike | SparseTensorLike, b: TensorLike | SparseTensorLike, kind: str, turned: str, validate: bool
) -> SparseTensor:
    """What `kind` makes of both; `turned` is the same with the operands exchanged."""
    first, second = _operand(a), _operand(b)
    if first.dtype is not second.dtype:
        raise TypeError(f"Types don't match, {first.dtype.name} vs {second.dtype.name}.")
    if isinstance(first, SparseTensor) and not isinstance(second, SparseTensor):
        first, second, kind = second, first, turned
    if isinstance(first, SparseTensor):
        definition = SPARSE_TO_SPARSE
    else:
        definition = DENSE_TO_SPARSE if isinstance(second, SparseTensor) else DENSE_TO_DENSE
    attrs = {"set_operation": kind, "validate_indices": validate}
    return SparseTensor(*apply(definition, (*_parts(first), *_parts(second)), attrs).outputs)


def set_intersection(
    a: TensorLike | SparseTensorLike, b: TensorLike | SparseTensorLike, validate_indices: bool = True
) -> SparseTensor:
    """The values that the sets in the last axis of both have (tf.sets.intersection).

    Args:
        a: A tensor or SparseTensor of integers or strings.
        b: One of the same dtype and shape, but for the last axis.
        validate_indices: Whether indices of SparseTensors must be in order and within their shapes.

    Returns:
        A SparseTensor whose last axis holds the sets in ascending order.

    Raises:
        TypeError: The dtypes differ.
        InvalidArgumentError: When it runs, if the shapes do not fit or the indices are not in order.

    Examples:
        >>> both = gf.sets.intersection([[1, 2, 3], [4, 4, 5]], [[3, 1], [6, 7]])
        >>> gf.Session().run(gf.sparse.to_dense(both))
        array([[1, 3],
               [0, 0]], dtype=int32)
    """
    return _combine(a, b, "intersection", "intersection", validate_indices)


def set_difference(
    a: TensorLike | SparseTensorLike, b: TensorLike | SparseTensorLike, aminusb: bool = True,
    validate_indices: bool = True,
) -> SparseTensor:  # fmt: skip
    """The values that the sets of one have and those of the other have not (tf.sets.difference).

    Args:
        a: A tensor or SparseTensor of integers or strings.
        b: One of the same dtype and shape, but for the last axis.
        aminusb: Whether those of `b` are taken away, or otherwise those of `a`.
        validate_indices: Whether indices of SparseTensors must be in order and within their shapes.

    Returns:
        A SparseTensor whose last axis holds the sets in ascending order.

    Raises:
        TypeError: The dtypes differ.
        InvalidArgumentError: When it runs, if the shapes do not fit or the indices are not in order.
    """
    kinds = ("a-b", "b-a") if aminusb else ("b-a", "a-b")
    return _combine(a, b, *kinds, validate_indices)


def set_union(
    a: TensorLike | SparseTensorLike, b: TensorLike | SparseTensorLike, validate_indices: bool = True
) -> SparseTensor:
    """The values that the sets of either have (tf.sets.union).

    Args:
        a: A tensor or SparseTensor of integers or strings.
        b: One of the same dtype and shape, but for the last axis.
        validate_indices: Whether indices of SparseTensors must be in order and within their shapes.

    Returns:
        A SparseTensor whose last axis holds the sets in ascending order.

    Raises:
        TypeError: The dtypes differ.
        InvalidArgumentError: When it runs, if the shapes do not fit or the indices are not in order.
    """
    return _combine(a, b, "union", "union", validate_indices)
