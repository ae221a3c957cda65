"""SparseTensor: making one, to dense and back, products and reductions, rearranging.

Each op takes the three tensors of a SparseTensor apart; the functions put the results together again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import graphflow._core.ops.rules as rules
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike, SparseTensorLike, TensorLike
from graphflow._core.ops.array.creation import range_
from graphflow._core.ops.array.extents import rank
from graphflow._core.ops.array.indexing import gather, gather_nd, where
from graphflow._core.ops.array.shaping import full_value, identity, placeholder, reshape, reshaped, shape
from graphflow._core.ops.array.transposing import invert_permutation, transpose
from graphflow._core.ops.core import (
    apply,
    constant,
    constant_value,
    convert_to_tensor,
    op_scope,
    partial_shape,
    partial_vector,
)
from graphflow._core.ops.math import casting, comparison, numeric, reductions


def _parts(indices: Any, values: Any, dense_shape: Any) -> tuple[Tensor, Tensor, Tensor]:
    with op_scope(None, "SparseTensor", [indices, values, dense_shape]):
        return (
            convert_to_tensor(indices, name="indices", dtype=dtypes.int64),
            convert_to_tensor(values, name="values"),
            convert_to_tensor(dense_shape, name="dense_shape", dtype=dtypes.int64),
        )


SparseTensor.install_conversion(_parts, partial_shape)


def as_sparse(value: Any) -> SparseTensor:
    """The SparseTensor of a SparseTensor or SparseTensorValue; TypeError for anything else."""
    if not isinstance(value, SparseTensor | SparseTensorValue):
        raise TypeError(f"Input must be a SparseTensor, got {value!r} of type {type(value).__name__}.")
    return SparseTensor.from_value(value)


def sparse_placeholder(
    dtype: DTypeLike, shape: ShapeLike | TensorLike = None, name: str | None = None
) -> SparseTensor:
    """A SparseTensor whose parts are fed (tf.sparse_placeholder): feed a SparseTensorValue for it.

    Args:
        dtype: Of the values.
        shape: Its dense shape; None, or with sizes that are None, it is fed too. A 1-D integer tensor is the
            dense shape that it has when it runs.
        name: A name for the operation.

    Returns:
        A SparseTensor.
    """
    inner = None if name is None else f"{name}/"
    labels = [None if inner is None else inner + part for part in ("shape", "values", "indices")]
    if isinstance(shape, Tensor):
        dense = convert_to_tensor(shape, dtype=dtypes.int64)
        axes = None if dense.dims is None else dense.dims[0]
    else:
        dims = shapes.as_dims(shape)
        axes = None if dims is None else len(dims)
        if dims is not None and None not in dims:
            dense = constant(TensorShape(dims).as_list(), dtypes.int64, name=labels[0] or "Const")
        else:
            dense = placeholder(dtypes.int64, [axes], labels[0])
    values = placeholder(dtype, [None], labels[1])
    indices = placeholder(dtypes.int64, [None, axes], labels[2])
    return SparseTensor(indices, values, dense)


# ---- to dense -----------------------------------------------------------------------------------------------------


def _to_dense_infer(op: Operation) -> Signature:
    if op.inputs[1].dims is not None:
        rules.require_rank(op.inputs[1].dims, 1, "output_shape")
    return [(op.inputs[2].dtype, partial_shape(op.inputs[1]))]


def _to_dense_gradient(op: Operation, g: Any) -> tuple[Any, ...]:
    indices = op.inputs[0]
    picked = gather_nd(g, indices)
    return None, None, picked, reductions.reduce_sum(g) - reductions.reduce_sum(picked)


SPARSE_TO_DENSE = op_def(
    "SparseToDense",
    ("sparse_indices: Tindices=index", "output_shape: Tindices", "sparse_values: T", "default_value: T"),
    infer=_to_dense_infer, gradient=_to_dense_gradient,
)  # fmt: skip


def sparse_to_dense(
    sparse_indices: IntTensorLike, output_shape: IntTensorLike, sparse_values: TensorLike,
    default_value: TensorLike = 0, validate_indices: bool = True, name: str | None = None,
) -> Tensor:  # fmt: skip
    """A tensor with values at some places and a default elsewhere (tf.sparse_to_dense).

    Args:
        sparse_indices: Places, [n, rank], a vector or a scalar.
        output_shape: The shape, a vector of integers.
        sparse_values: The values, [n] or a scalar.
        default_value: What is put elsewhere.
        validate_indices: Whether the places are checked for order and repeats.
        name: A name for the operation.

    Returns:
        A tensor of that shape.

    Raises:
        InvalidArgumentError: If an index is out of range, or, with `validate_indices`, repeated or out of
            order.
    """
    inputs = (sparse_indices, output_shape, sparse_values, default_value)
    return apply(SPARSE_TO_DENSE, inputs, {"validate_indices": bool(validate_indices)}, name).outputs[0]


def sparse_tensor_to_dense(
    sp_input: SparseTensorLike, default_value: TensorLike | None = None, validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The whole tensor, with a default (0) where the SparseTensor has no value (tf.sparse_tensor_to_dense).

    Args:
        sp_input: A SparseTensor.
        default_value: What is put elsewhere, a scalar.
        validate_indices: Whether indices are checked for order and repeats.
        name: A name for the operation.

    Returns:
        A tensor.
    """
    sparse = as_sparse(sp_input)
    if default_value is None:
        default_value = b"" if sparse.dtype is dtypes.string else False if sparse.dtype.is_bool else 0
    return sparse_to_dense(
        sparse.indices, sparse.dense_shape, sparse.values, default_value, validate_indices, name
    )


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """The SparseTensor of a tensor's elements that are not 0 (tf.sparse.from_dense).

    Args:
        tensor: A tensor.
        name: A name for the operation.

    Returns:
        A SparseTensor.
    """
    with op_scope(name, "dense_to_sparse", [tensor]):
        dense = convert_to_tensor(tensor)
        places = where(comparison.not_equal(dense, constant(0, dense.dtype)))
        return SparseTensor(places, gather_nd(dense, places), shape(dense, out_type=dtypes.int64))


# ---- products and reductions --------------------------------------------------------------------------------------


def _matmul_infer(op: Operation) -> Signature:
    dense_shape, b = op.inputs[2], rules.require_rank(op.inputs[3].dims, 2, "b")
    a = rules.require_rank(partial_shape(dense_shape), 2, "a")
    assert a is not None and b is not None
    rows, inner = (a[1], a[0]) if op.attrs["adjoint_a"] else (a[0], a[1])
    other, columns = (b[1], b[0]) if op.attrs["adjoint_b"] else (b[0], b[1])
    if None not in (inner, other) and inner != other:
        raise ValueError(f"Inner dimensions differ: {shapes.text(a)} x {shapes.text(b)}.")
    return [(op.inputs[1].dtype, (rows, columns))]


def _matmul_gradient(op: Operation, g: Any) -> tuple[None, Any, None, Any]:
    indices, values, dense_shape, b = op.inputs
    adjoint_a, adjoint_b = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
    b_gradient = sparse_tensor_dense_matmul(
        SparseTensor(indices, values, dense_shape), g, adjoint_a=not adjoint_a
    )
    if adjoint_b:
        b_gradient = transpose(b_gradient, conjugate=True)
    rows, columns = indices[:, 0], indices[:, 1]
    if adjoint_a:
        rows, columns = columns, rows
    right = transpose(b) if adjoint_b else numeric.conj(b)
    a_gradient = reductions.reduce_sum(gather(g, rows) * gather(right, columns), 1)
    return None, numeric.conj(a_gradient) if adjoint_a else a_gradient, None, b_gradient


MATMUL = op_def(
    "SparseTensorDenseMatMul", ("a_indices: Tindices=index", "a_values: T=number", "a_shape: int64", "b: T"),
    infer=_matmul_infer, gradient=_matmul_gradient,
)  # fmt: skip


def sparse_tensor_dense_matmul(
    sp_a: SparseTensorLike, b: TensorLike, adjoint_a: bool = False, adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The product of a sparse and a dense matrix (tf.sparse_tensor_dense_matmul).

    Args:
        sp_a: A SparseTensor of two axes.
        b: A matrix of the same dtype.
        adjoint_a: Whether `sp_a` is transposed and conjugated first.
        adjoint_b: Whether `b` is.
        name: A name for the operation.

    Returns:
        A matrix.
    """
    a = as_sparse(sp_a)
    with op_scope(name, "SparseTensorDenseMatMul", [a.values, b]):
        attrs = {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
        return apply(MATMUL, (a.indices, a.values, a.dense_shape, b), attrs).outputs[0]


def _reduce_infer(op: Operation) -> Signature:
    _, values, dense_shape, axes = op.inputs
    dims, chosen = partial_shape(dense_shape), full_value(axes)
    if dims is None or not isinstance(chosen, list):
        return [(values.dtype, None)]
    reduced = {shapes.normalize_axis(a, len(dims)) for a in chosen}
    keep = op.attrs["keep_dims"]
    return [
        (
            values.dtype,
            tuple(1 if i in reduced else d for i, d in enumerate(dims) if keep or i not in reduced),
        )
    ]


def _reduce_sum_gradient(op: Operation, g: Any) -> tuple[None, Any, None, None]:
    indices, _, dense_shape, axes = op.inputs
    count = rank_of(indices)
    chosen = full_value(axes)
    if count is None or not isinstance(chosen, list):
        raise ValueError(
            "The gradient of a sparse sum needs the rank and the axes to be known while the graph is built."
        )
    reduced = {shapes.normalize_axis(a, count) for a in chosen}
    kept = constant([0 if i in reduced else 1 for i in range(count)], dtypes.int64)
    whole = casting.cast(dense_shape, dtypes.int64) * kept + (1 - kept)
    return None, gather_nd(reshape(g, whole), indices * kept), None, None


def rank_of(indices: Tensor) -> int | None:
    """The number of axes that coordinates have."""
    return None if indices.dims is None else indices.dims[1]


_REDUCE_INPUTS = (
    "input_indices: int64",
    "input_values: T=real",
    "input_shape: int64",
    "reduction_axes: int32",
)
REDUCE_SUM = op_def("SparseReduceSum", _REDUCE_INPUTS, infer=_reduce_infer, gradient=_reduce_sum_gradient)
REDUCE_MAX = op_def("SparseReduceMax", _REDUCE_INPUTS, infer=_reduce_infer, gradient=NO_GRADIENT)


def _reduced(
    definition: Any, sp_input: Any, axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any
) -> Tensor:
    sparse = as_sparse(sp_input)
    keep = rules.deprecated(keepdims, keep_dims, "keepdims", "keep_dims") or False
    axes = rules.deprecated(axis, reduction_axes, "axis", "reduction_axes")
    if axes is None:
        count = rank_of(sparse.indices)
        axes = range_(0, rank(sparse)) if count is None else list(range(count))
    if isinstance(axes, int):
        axes = [axes]
    inputs = (sparse.indices, sparse.values, sparse.dense_shape, axes)
    return apply(definition, inputs, {"keep_dims": bool(keep)}).outputs[0]


def sparse_reduce_sum(
    sp_input: SparseTensorLike, axis: IntTensorLike | None = None, keepdims: bool | None = None,
    reduction_axes: IntTensorLike | None = None, keep_dims: bool | None = None,
) -> Tensor:  # fmt: skip
    """The sum over some axes, dense (tf.sparse_reduce_sum).

    Args:
        sp_input: A SparseTensor.
        axis: The axes; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        reduction_axes: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor.
    """
    return _reduced(REDUCE_SUM, sp_input, axis, keepdims, reduction_axes, keep_dims)


def sparse_reduce_max(
    sp_input: SparseTensorLike, axis: IntTensorLike | None = None, keepdims: bool | None = None,
    reduction_axes: IntTensorLike | None = None, keep_dims: bool | None = None,
) -> Tensor:  # fmt: skip
    """The largest value over some axes, dense; 0 if there is none (tf.sparse_reduce_max).

    Args:
        sp_input: A SparseTensor.
        axis: The axes; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        reduction_axes: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor.
    """
    return _reduced(REDUCE_MAX, sp_input, axis, keepdims, reduction_axes, keep_dims)


# ---- rearranging --------------------------------------------------------------------------------------------------


def sparse_retain(sp_input: SparseTensorLike, to_retain: TensorLike) -> SparseTensor:
    """The SparseTensor with only the values for which `to_retain` holds (tf.sparse_retain).

    Args:
        sp_input: A SparseTensor.
        to_retain: A vector of bools, one for each value.

    Returns:
        A SparseTensor.
    """
    sparse = as_sparse(sp_input)
    chosen = convert_to_tensor(to_retain)
    if not shapes.compatible(chosen.dims, sparse.values.dims):
        raise ValueError(
            f"to_retain must be a vector with an element for each value, but has shape {shapes.text(chosen.dims)} and "
            f"the values {shapes.text(sparse.values.dims)}."
        )
    kept = reshape(where(chosen), [-1])
    return SparseTensor(
        gather(sparse.indices, kept), gather(sparse.values, kept), identity(sparse.dense_shape)
    )


def _reorder_gradient(op: Operation, _: Any, g: Any) -> tuple[None, Any, None]:
    indices, values, dense_shape = op.inputs
    count = shape(values)[0]
    order = apply(REORDER, (indices, range_(count), dense_shape)).outputs[1]
    return None, gather(g, invert_permutation(order)), None


REORDER = op_def(
    "SparseReorder", ("input_indices: int64", "input_values: T", "input_shape: int64"),
    infer=lambda op: [(t.dtype, t.dims) for t in op.inputs[:2]], gradient=_reorder_gradient,
    outputs=("output_indices", "output_values"),
)  # fmt: skip


def sparse_reorder(sp_input: SparseTensorLike, name: str | None = None) -> SparseTensor:
    """The SparseTensor with its indices in row-major order (tf.sparse_reorder).

    Args:
        sp_input: A SparseTensor.
        name: A name for the operation.
    """
    sparse = as_sparse(sp_input)
    found = apply(REORDER, (sparse.indices, sparse.values, sparse.dense_shape), name=name).outputs
    return SparseTensor(found[0], found[1], sparse.dense_shape)


def _reshape_infer(op: Operation) -> Signature:
    indices, old, new = op.inputs
    reshaped(partial_shape(old), partial_shape(new))
    rows = None if indices.dims is None else indices.dims[0]
    count = None if new.dims is None else new.dims[0]
    return [(dtypes.int64, (rows, count)), (dtypes.int64, (count,))]


RESHAPE = op_def(
    "SparseReshape", ("input_indices: int64", "input_shape: int64", "new_shape: int64"), infer=_reshape_infer,
    gradient=NOT_DIFFERENTIABLE, outputs=("output_indices", "output_shape"),
)  # fmt: skip


def _whole_shape(wanted: Sequence[int | None], before: TensorShape) -> list[int] | None:
    """A new shape with its one unknown extent, if the old shape is known; ValueError if it cannot be."""
    size = before.num_elements()
    if size is None:
        return None
    if list(wanted).count(-1) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {list(wanted)}")
    sizes = [n for n in wanted if n is not None and n >= 0]
    if len(wanted) - len(sizes) > 1:
        return None
    rest = math.prod(sizes)
    if size != rest if len(sizes) == len(wanted) else size % max(rest, 1) or (size and not rest):
        raise ValueError(f"Cannot reshape a tensor with {size} elements to shape {list(wanted)}")
    implied = size // max(rest, 1)
    return [implied if n is None or n < 0 else n for n in wanted]


def sparse_reshape(sp_input: SparseTensorLike, shape: IntTensorLike, name: str | None = None) -> SparseTensor:
    """The SparseTensor under another shape, of which one extent may be -1 (tf.sparse_reshape).

    Args:
        sp_input: A SparseTensor.
        shape: The shape, a vector of integers.
        name: A name for the operation.

    Returns:
        A SparseTensor.
    """
    sparse = as_sparse(sp_input)
    with op_scope(name, "SparseReshape", [sparse.values, shape]) as scope:
        wanted = casting.cast(shape, dtypes.int64)
        known = partial_vector(wanted)
        whole = None if known is None else _whole_shape(known, sparse.shape)
        found = apply(RESHAPE, (sparse.indices, sparse.dense_shape, wanted), name=scope).outputs
        dense = found[1]
        if whole is not None:
            dense = constant(whole, dtypes.int64)
        elif known is not None and -1 not in known and None not in known:
            dense = wanted
        return SparseTensor(found[0], identity(sparse.values), dense)


def sparse_transpose(
    sp_input: SparseTensorLike, perm: IntTensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor with its axes in the order `perm`, by default reversed (tf.sparse_transpose).

    Args:
        sp_input: A SparseTensor.
        perm: The order of the axes; by default reversed.
        name: A name for the operation.

    Returns:
        A SparseTensor.
    """
    sparse = as_sparse(sp_input)
    with op_scope(name, "SparseTranspose", [sparse.values]):
        if perm is None:
            last = rank(sparse) - 1
            perm = last - range_(0, rank(sparse), 1)
        order = convert_to_tensor(perm, dtype=None if hasattr(perm, "dtype") else dtypes.int32)
        indices = gather(sparse.indices, order, axis=1)
        indices.set_shape(sparse.indices.dims)
        dense = gather(sparse.dense_shape, order)
        known = constant_value(sparse.dense_shape), constant_value(order)
        if known[0] is not None and known[1] is not None:
            dense = constant(known[0][known[1]], dtypes.int64)
        return sparse_reorder(SparseTensor(indices, sparse.values, dense))


def _slice_infer(op: Operation) -> Signature:
    count = rank_of(op.inputs[0])
    return [(dtypes.int64, (None, count)), (op.inputs[1].dtype, (None,)), (dtypes.int64, (count,))]


def _slice_gradient(op: Operation, _: Any, g: Any, __: Any) -> tuple[Any, ...]:
    indices, values, _, start, _ = op.inputs
    result = apply(SLICE_GRAD, (g, indices, start, op.outputs[0])).outputs[0]
    result.set_shape(values.dims)
    return None, result, None, None, None


SLICE = op_def(
    "SparseSlice", ("indices: int64", "values: T", "shape: int64", "start: int64", "size: int64"), infer=_slice_infer,
    gradient=_slice_gradient, dynamic_shape=True, outputs=("output_indices", "output_values", "output_shape"),
)  # fmt: skip
SLICE_GRAD = op_def(
    "SparseSliceGrad", ("backprop_val_grad: T", "input_indices: int64", "input_start: int64", "output_indices: int64"),
    infer=lambda op: [(op.inputs[0].dtype, None if op.inputs[1].dims is None else op.inputs[1].dims[:1])],
    gradient=NO_GRADIENT,
)  # fmt: skip


def sparse_slice(
    sp_input: SparseTensorLike, start: IntTensorLike, size: IntTensorLike, name: str | None = None
) -> SparseTensor:
    """The block of shape `size` that starts at `start` (tf.sparse_slice).

    Args:
        sp_input: A SparseTensor.
        start: Where it begins along each axis.
        size: How long it is along each axis.
        name: A name for the operation.

    Returns:
        A SparseTensor.
    """
    sparse = as_sparse(sp_input)
    with op_scope(name, "SparseSlice", [sparse.values]) as scope:
        inputs = (sparse.indices, sparse.values, sparse.dense_shape, start, size)
        return SparseTensor(*apply(SLICE, inputs, name=scope).outputs)


def _add_infer(op: Operation) -> Signature:
    count = rank_of(op.inputs[0])
    return [(dtypes.int64, (None, count)), (op.inputs[1].dtype, (None,)), (dtypes.int64, op.inputs[2].dims)]


def _add_gradient(op: Operation, _: Any, g: Any, __: Any) -> tuple[Any, ...]:
    found = apply(ADD_GRAD, (g, op.inputs[0], op.inputs[3], op.outputs[0])).outputs
    return None, found[0], None, None, found[1], None, None


ADD = op_def(
    "SparseAdd",
    ("a_indices: int64", "a_values: T=number", "a_shape: int64", "b_indices: int64", "b_values: T", "b_shape: int64",
     "thresh: Treal=real"),
    infer=_add_infer, gradient=_add_gradient, dynamic_shape=True, outputs=("sum_indices", "sum_values", "sum_shape"),
)  # fmt: skip
ADD_GRAD = op_def(
    "SparseAddGrad", ("backprop_val_grad: T", "a_indices: int64", "b_indices: int64", "sum_indices: int64"),
    infer=lambda op: [(op.inputs[0].dtype, t.dims and t.dims[:1]) for t in op.inputs[1:3]],
    gradient=NOT_DIFFERENTIABLE, outputs=("a_val_grad", "b_val_grad"),
)  # fmt: skip
DENSE_ADD = op_def(
    "SparseTensorDenseAdd", ("a_indices: Tindices=index", "a_values: T", "a_shape: Tindices", "b: T"),
    infer=lambda op: [(op.inputs[3].dtype, op.inputs[3].dims)],
    gradient=lambda op, g: (None, gather_nd(g, op.inputs[0]), None, g),
)  # fmt: skip


@overload
def sparse_add(
    a: SparseTensorLike, b: SparseTensorLike, threshold: TensorLike | None = None,
    thresh: TensorLike | None = None,
) -> SparseTensor: ...  # fmt: skip
@overload
def sparse_add(
    a: Tensor, b: SparseTensorLike, threshold: TensorLike | None = None, thresh: TensorLike | None = None,
) -> Tensor: ...  # fmt: skip
@overload
def sparse_add(
    a: SparseTensorLike, b: Tensor, threshold: TensorLike | None = None, thresh: TensorLike | None = None,
) -> Tensor: ...  # fmt: skip
def sparse_add(
    a: TensorLike | SparseTensorLike, b: TensorLike | SparseTensorLike, threshold: TensorLike | None = None,
    thresh: TensorLike | None = None,
) -> Tensor | SparseTensor:  # fmt: skip
    """The sum of two SparseTensors, or of one and a tensor, which is dense (tf.sparse_add).

    Of two sparse ones, sums whose magnitude is below `threshold` (0) are left out.

    Args:
        a: A tensor or SparseTensor.
        b: A tensor or SparseTensor.
        threshold: Sums of two sparse ones whose magnitude is below it are left out.
        thresh: The old name of `threshold`.

    Returns:
        A SparseTensor if both are, else a tensor.
    """
    limit = rules.deprecated(threshold, thresh, "threshold", "thresh")
    limit = 0 if limit is None else limit
    kinds = SparseTensor | SparseTensorValue
    if not isinstance(a, kinds) and not isinstance(b, kinds):
        raise TypeError("At least one input should be SparseTensor; do you mean to use gf.add()?")
    if isinstance(a, kinds) and isinstance(b, kinds):
        first, second = as_sparse(a), as_sparse(b)
        smallest = convert_to_tensor(limit, dtype=first.dtype.real_dtype, name="threshold")
        inputs = [part for s in (first, second) for part in (s.indices, s.values, s.dense_shape)]
        return SparseTensor(*apply(ADD, (*inputs, smallest)).outputs)
    sparse, dense = (as_sparse(a), b) if isinstance(a, kinds) else (as_sparse(b), a)
    return apply(DENSE_ADD, (sparse.indices, sparse.values, sparse.dense_shape, dense)).outputs[0]


def _fill_infer(op: Operation) -> Signature:
    indices, values, dense_shape, _ = op.inputs
    dims = partial_shape(dense_shape)
    rows = None if dims is None else dims[0]
    return [
        (dtypes.int64, (None, rank_of(indices))), (values.dtype, (None,)), (dtypes.bool_, (rows,)),
        (dtypes.int64, None if values.dims is None else values.dims),
    ]  # fmt: skip


def _fill_gradient(op: Operation, _: Any, g: Any, *__: Any) -> tuple[Any, ...]:
    kept = gather(g, op.outputs[3])
    return None, kept, None, reductions.reduce_sum(g) - reductions.reduce_sum(kept)


FILL_EMPTY_ROWS = op_def(
    "SparseFillEmptyRows", ("indices: int64", "values: T", "dense_shape: int64", "default_value: T"), infer=_fill_infer,
    gradient=_fill_gradient, dynamic_shape=True,
    outputs=("output_indices", "output_values", "empty_row_indicator", "reverse_index_map"),
)  # fmt: skip


def sparse_fill_empty_rows(
    sp_input: SparseTensorLike, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """The SparseTensor with a default in rows without a value, and which they are (tf.sparse_fill_empty_rows).

    Args:
        sp_input: A SparseTensor.
        default_value: A scalar.
        name: A name for the operation.

    Returns:
        A SparseTensor, and which rows were empty.
    """
    sparse = as_sparse(sp_input)
    with op_scope(name, "SparseFillEmptyRows", [sparse.values]):
        default = convert_to_tensor(default_value, dtype=sparse.dtype)
        inputs = (sparse.indices, sparse.values, sparse.dense_shape, default)
        indices, values, empty, _ = apply(FILL_EMPTY_ROWS, inputs).outputs
        return SparseTensor(indices, values, sparse.dense_shape), empty
