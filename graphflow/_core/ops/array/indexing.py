"""Rows and elements picked by index, and put back by index: gather, scatter and choices.

The gradient of a gather along the first axis is an IndexedSlices, so that training an embedding touches only its rows.
"""

from __future__ import annotations

from typing import Any

import graphflow._core.ops.rules as rules
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.creation import ones_like, range_, zeros_like
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.layout import broadcast_to
from graphflow._core.ops.array.shaping import full_value, reshape, scalar_value, shape, squeeze
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.math import casting
from graphflow._core.ops.math.elementwise import partial_arithmetic
from graphflow._core.ops.rules import ARRAY_GRADIENTS

# ---- gather -------------------------------------------------------------------------------------------------------


def _gather_infer(op: Operation) -> Signature:
    params, indices, where = op.inputs
    rules.require_rank_at_least(params.dims, 1, "params")
    axis, batch = scalar_value(where), op.attrs["batch_dims"]
    if params.dims is None or indices.dims is None:
        return [(params.dtype, None)]
    if batch < 0:
        batch += len(indices.dims)
    if not 0 <= batch <= min(len(indices.dims), len(params.dims)):
        raise ValueError(f"batch_dims {batch} must be at most the rank of indices, {len(indices.dims)}.")
    if axis is None:
        return [(params.dtype, (None,) * (len(params.dims) - 1 + len(indices.dims) - batch))]
    axis = shapes.normalize_axis(axis, len(params.dims))
    if axis < batch:
        raise ValueError(f"batch_dims {batch} must be at most axis {axis}.")
    lead = shapes.merge(params.dims[:batch], indices.dims[:batch])
    assert lead is not None
    return [
        (params.dtype, (*lead, *params.dims[batch:axis], *indices.dims[batch:], *params.dims[axis + 1 :]))
    ]


def _gather_partial(op: Operation) -> int | list[int | None] | None:
    known, places = full_value(op.inputs[0]), full_value(op.inputs[1])
    if not isinstance(known, list) or places is None or op.attrs["batch_dims"]:
        return None
    wanted = places if isinstance(places, list) else [places]
    if any(not 0 <= i < len(known) for i in wanted):
        return None
    return [known[i] for i in wanted] if isinstance(places, list) else known[places]


GATHER = op_def(
    "GatherV2", ("params: Tparams", "indices: Tindices=index", "axis: Taxis=index"), infer=_gather_infer,
    gradient=ARRAY_GRADIENTS, partial_value=_gather_partial,
)  # fmt: skip


def table_of(params: Any, name: str = "params") -> Tensor:
    """The tensor that rows are taken of: a variable itself, so that no other rows are read."""
    variable = getattr(params, "_variable", None)
    return variable if isinstance(variable, Tensor) else convert_to_tensor(params, name=name)


def gather(
    params: TensorLike,
    indices: IntTensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: IntTensorLike | None = None,
    batch_dims: int | None = 0,
) -> Tensor:
    """The slices of a tensor along an axis that indices name (tf.gather).

    Args:
        params: The tensor.
        indices: Their numbers, int32 or int64, of any shape. One outside of the axis raises InvalidArgumentError
            when it runs.
        validate_indices: Changes nothing.
        name: A name for the operation.
        axis: The axis, a scalar; by default the first after batch_dims.
        batch_dims: How many axes `params` and `indices` have in common: each is gathered with its own indices. None
            for all axes of `indices` but the last.

    Returns:
        A tensor of the shape params[:axis] + indices[batch_dims:] + params[axis + 1:].

    Examples:
        >>> gf.Session().run(gf.gather([10, 20, 30], [2, 0]))
        array([30, 10], dtype=int32)
    """
    if batch_dims is None:
        indices = convert_to_tensor(indices, name="indices")
        if not indices.dims:
            raise ValueError(
                f"gather with batch_dims=None needs indices of known rank above 0, got {indices.shape}."
            )
        batch_dims = len(indices.dims) - 1
    where = batch_dims if axis is None else axis
    if where == 0 and batch_dims == 0:
        params = table_of(params)
    return apply(GATHER, (params, indices, where), {"batch_dims": int(batch_dims)}, name).outputs[0]


def batch_gather(params: TensorLike, indices: IntTensorLike, name: str | None = None) -> Tensor:
    """For each row of `indices`, the elements of the same row of `params` (tf.batch_gather).

    Args:
        params: A tensor.
        indices: An integer tensor.
        name: A name for the operation.

    Returns:
        A tensor of the shape of `indices` and what is left of that of `params`.
    """
    with op_scope(name, "BatchGather", [params, indices]):
        places = convert_to_tensor(indices, name="indices")
        values = convert_to_tensor(params, name="params")
        if places.dims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return gather(values, places, axis=len(places.dims) - 1, batch_dims=len(places.dims) - 1)


# ---- elements by coordinates --------------------------------------------------------------------------------------


def _gather_nd_infer(op: Operation) -> Signature:
    params, indices = op.inputs
    rules.require_rank_at_least(indices.dims, 1, "indices")
    if params.dims is None or indices.dims is None or indices.dims[-1] is None:
        return [(params.dtype, None)]
    depth = indices.dims[-1]
    if depth > len(params.dims):
        raise ValueError(
            f"The last dimension of indices, {depth}, must be at most the rank of params, {len(params.dims)}."
        )
    return [(params.dtype, (*indices.dims[:-1], *params.dims[depth:]))]


def _gather_nd_gradient(op: Operation, g: Any) -> tuple[Any, None]:
    params, indices = op.inputs
    dense = shape(params, out_type=indices.dtype)
    if indices.dims is not None and len(indices.dims) == 2 and indices.dims[-1] == 1:
        return IndexedSlices(convert_to_tensor(g), squeeze(indices, axis=-1), dense), None
    return scatter_nd(indices, g, dense), None


GATHER_ND = op_def(
    "GatherNd",
    ("params: Tparams", "indices: Tindices=index"),
    infer=_gather_nd_infer,
    gradient=_gather_nd_gradient,
)


def gather_nd(
    params: TensorLike, indices: IntTensorLike, name: str | None = None, batch_dims: int = 0
) -> Tensor:
    """The elements, or slices, of `params` at the coordinates in the last axis of `indices` (tf.gather_nd).

    Args:
        params: A tensor.
        indices: An integer tensor whose last axis holds coordinates.
        name: A name for the operation.
        batch_dims: How many first axes both have in common.

    Returns:
        A tensor of shape [*indices.shape[:-1], *params.shape[indices.shape[-1]:]].
    """
    if isinstance(batch_dims, Tensor):
        known = constant_value(batch_dims)
        if known is None or known.size != 1:
            raise TypeError(f"batch_dims must be one integer that is known, got {batch_dims}.")
        batch_dims = int(known.reshape(-1)[0])
    if batch_dims == 0:
        return apply(GATHER_ND, (params, indices), name=name).outputs[0]
    with op_scope(name, "BatchGatherND", [params, indices]):
        places = convert_to_tensor(indices, name="indices")
        values = convert_to_tensor(params, name="params")
        if batch_dims < 0:
            raise ValueError("tf.gather_nd does not allow negative batch_dims.")
        if any(t.dims is not None and batch_dims >= len(t.dims) for t in (places, values)):
            raise ValueError(f"batch_dims = {batch_dims} must be less than the ranks of params and indices.")
        extents = shape(places)
        column = concat([extents[:-1], [1]], 0)
        coordinates = []
        for axis in range(batch_dims):
            numbers = casting.cast(range_(extents[axis]), places.dtype)
            if places.dims is None:
                behind = ones_like(extents[axis + 1 :])
                along = reshape(numbers, concat([[1] * axis, [-1], behind], 0))
            else:
                along = reshape(numbers, [-1 if k == axis else 1 for k in range(len(places.dims))])
            coordinates.append(broadcast_to(along, column))
        return gather_nd(values, concat([*coordinates, places], -1))


def _scatter_nd_infer(op: Operation) -> Signature:
    indices, updates, vector = op.inputs
    rules.require_rank_at_least(indices.dims, 1, "indices")
    dims = partial_shape(vector)
    check_scatter(indices.dims, updates.dims, dims, "output")
    return [(updates.dtype, dims)]


def check_scatter(indices: Dims, updates: Dims, dims: Dims, into: str) -> None:
    """Raises ValueError if updates at coordinates in the last axis of indices do not fit into a tensor.

    Args:
        indices: The shape of the coordinates.
        updates: The shape of what is put there.
        dims: The shape of what it is put into.
        into: What that is called in errors, "input" or "output".
    """
    if dims is not None and 0 in dims and _some(indices) and _some(updates):
        raise ValueError(f"Indices and updates specified for empty output shape {shapes.text(dims)}.")
    if indices is None or updates is None:
        return
    outer = len(indices) - 1
    if not shapes.compatible(indices[:-1], updates[:outer]):
        raise ValueError(
            f"The outer {outer} dimensions of indices.shape={shapes.text(indices)} must match the outer {outer} "
            f"dimensions of updates.shape={shapes.text(updates)}."
        )
    if dims is None or indices[-1] is None:
        return
    depth = indices[-1]
    if depth > len(dims):
        raise ValueError(
            f"The last dimension of indices.shape={shapes.text(indices)} is the number of coordinates, which may be "
            f"at most the rank of {into}.shape={shapes.text(dims)}."
        )
    if not shapes.compatible(dims[depth:], updates[outer:]):
        raise ValueError(
            f"The inner {len(dims) - depth} dimensions of {into}.shape={shapes.text(dims)} must match the inner "
            f"{len(updates) - outer} dimensions of updates.shape={shapes.text(updates)}: expected updates of shape "
            f"{shapes.text((*indices[:-1], *dims[depth:]))}."
        )


def _some(dims: Dims) -> bool:
    """Whether a tensor of this shape is known to have elements."""
    return dims is not None and None not in dims and 0 not in dims


SCATTER_ND = op_def(
    "ScatterNd", ("indices: Tindices=index", "updates: T", "shape: Tindices"), infer=_scatter_nd_infer,
    gradient=lambda op, g: (None, gather_nd(g, op.inputs[0]), None),
)  # fmt: skip


def scatter_nd(
    indices: IntTensorLike, updates: TensorLike, shape: IntTensorLike, name: str | None = None
) -> Tensor:
    """`updates` added into zeros of a shape, at the coordinates in the last axis of `indices` (tf.scatter_nd).

    Args:
        indices: The numbers of rows, an integer tensor.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        shape: The shape, a vector of integers.
        name: A name for the operation.

    Returns:
        A tensor of that shape.
    """
    return apply(SCATTER_ND, (indices, updates, shape), name=name).outputs[0]


def _tensor_scatter_infer(op: Operation) -> Signature:
    tensor, indices, updates = op.inputs
    rules.require_rank_at_least(indices.dims, 1, "indices")
    check_scatter(indices.dims, updates.dims, tensor.dims, "input")
    return [(tensor.dtype, tensor.dims)]


def _tensor_scatter_gradient(op: Operation, g: Any) -> tuple[Any, None, Any]:
    _, indices, updates = op.inputs
    into = gather_nd(g, indices)
    if op.op_def is TENSOR_SCATTER_UPDATE:
        return tensor_scatter_update(g, indices, zeros_like(updates)), None, into
    return g, None, into if op.op_def is TENSOR_SCATTER_ADD else -into


_TENSOR_SCATTER_INPUTS = ("tensor: T", "indices: Tindices=index", "updates: T")
TENSOR_SCATTER_UPDATE = op_def(
    "TensorScatterUpdate",
    _TENSOR_SCATTER_INPUTS,
    infer=_tensor_scatter_infer,
    gradient=_tensor_scatter_gradient,
)
TENSOR_SCATTER_ADD = op_def(
    "TensorScatterAdd", _TENSOR_SCATTER_INPUTS, infer=_tensor_scatter_infer, gradient=_tensor_scatter_gradient
)
TENSOR_SCATTER_SUB = op_def(
    "TensorScatterSub", _TENSOR_SCATTER_INPUTS, infer=_tensor_scatter_infer, gradient=_tensor_scatter_gradient
)


def tensor_scatter_update(
    tensor: TensorLike, indices: IntTensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """The tensor with the elements at some coordinates replaced (tf.tensor_scatter_nd_update).

    Args:
        tensor: A tensor.
        indices: Places, an integer tensor whose last axis holds coordinates.
        updates: The values for these places.
        name: A name for the operation.

    Returns:
        A tensor like `tensor`.
    """
    return apply(TENSOR_SCATTER_UPDATE, (tensor, indices, updates), name=name).outputs[0]


def tensor_scatter_add(
    tensor: TensorLike, indices: IntTensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """The tensor with updates added at some coordinates (tf.tensor_scatter_nd_add).

    Args:
        tensor: A tensor.
        indices: Places, an integer tensor whose last axis holds coordinates.
        updates: The values for these places.
        name: A name for the operation.

    Returns:
        A tensor like `tensor`.
    """
    return apply(TENSOR_SCATTER_ADD, (tensor, indices, updates), name=name).outputs[0]


def tensor_scatter_sub(
    tensor: TensorLike, indices: IntTensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """The tensor with updates subtracted at some coordinates (tf.tensor_scatter_nd_sub).

    Args:
        tensor: A tensor.
        indices: Places, an integer tensor whose last axis holds coordinates.
        updates: The values for these places.
        name: A name for the operation.

    Returns:
        A tensor like `tensor`.
    """
    return apply(TENSOR_SCATTER_SUB, (tensor, indices, updates), name=name).outputs[0]


# ---- choices ------------------------------------------------------------------------------------------------------


def _where_infer(op: Operation) -> Signature:
    dims = op.inputs[0].dims
    return [(dtypes.int64, (None, None if dims is None else len(dims)))]


def _select_infer(op: Operation) -> Signature:
    condition, x, y = op.inputs
    try:
        dims = shapes.merge(x.dims, y.dims)
        given = condition.dims
        if dims is not None and given:
            if len(given) == 1:
                shapes.merge(dims[:1], given)
            else:
                dims = shapes.merge(dims, given)
        elif dims is None and given and len(given) > 1:
            dims = given
    except ValueError:
        raise ValueError(
            f"x and y must have the same shape, and the condition that shape, that of their first axis, or none; got "
            f"{shapes.text(condition.dims)}, {shapes.text(x.dims)} and {shapes.text(y.dims)}."
        ) from None
    return [(x.dtype, dims)]


def _select_v2_infer(op: Operation) -> Signature:
    condition, x, y = op.inputs
    return [(x.dtype, shapes.broadcast(condition.dims, shapes.broadcast(x.dims, y.dims)))]


def _select_gradient(op: Operation, g: Any) -> tuple[None, Any, Any]:
    condition, x, _ = op.inputs
    nothing = zeros_like(x)
    return None, where(condition, g, nothing), where(condition, nothing, g)


WHERE = op_def(
    "Where", ("condition: T",), infer=_where_infer, gradient=NOT_DIFFERENTIABLE, dynamic_shape=True
)
_CHOSEN = partial_arithmetic(lambda condition, x, y: x if condition else y)
SELECT = op_def(
    "Select",
    ("condition: bool", "x: T", "y: T"),
    infer=_select_infer,
    gradient=_select_gradient,
    partial_value=_CHOSEN,
)
SELECT_V2 = op_def(
    "SelectV2", ("condition: bool", "x: T", "y: T"), infer=_select_v2_infer, gradient=ARRAY_GRADIENTS,
    partial_value=_CHOSEN,
)  # fmt: skip


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """x where the condition holds, else y; alone, the coordinates at which it holds (tf.where).

    x and y have one shape; the condition has that shape, or is a vector that chooses whole rows, or a scalar.

    Args:
        condition: A tensor of bools.
        x: The values if it holds; None for the coordinates.
        y: The values if not, of the shape and dtype of `x`.
        name: A name for the operation.

    Returns:
        A tensor like `x`, or without x and y an int64 tensor [n, rank].

    Raises:
        ValueError: If only one of x and y is given.

    Examples:
        >>> gf.Session().run(gf.where([True, False], [1, 2], [10, 20]))
        array([ 1, 20], dtype=int32)
        >>> gf.Session().run(gf.where([False, True, True]))
        array([[1],
               [2]])
    """
    return _choice(SELECT, condition, x, y, name)


def where_v2(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """As gf.where, with the three broadcast together (tf.compat.v2.where).

    Args:
        condition: A tensor of bools.
        x: The values if it holds.
        y: The values if not.
        name: A name for the operation.

    Returns:
        A tensor, all three broadcast; without x and y an int64 tensor [n, rank].
    """
    return _choice(SELECT_V2, condition, x, y, name)


def _choice(definition: Any, condition: Any, x: Any, y: Any, name: str | None) -> Tensor:
    if x is None and y is None:
        with op_scope(name, "Where", [condition]) as scope:
            tensor = convert_to_tensor(condition, preferred_dtype=dtypes.bool_, name="condition")
            return apply(WHERE, (tensor,), name=scope).outputs[0]
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply(definition, (condition, x, y), name=name).outputs[0]
