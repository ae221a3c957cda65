"""Flat numbers of elements as coordinates."""

from __future__ import annotations

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import IntTensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import require_rank


def _unravel_infer(op: Operation) -> Signature:
    indices, dims = op.inputs
    (rank,) = require_rank(dims.dims, 1, "dims") or (None,)
    if indices.dims is not None and len(indices.dims) > 1:
        raise ValueError(
            f"The indices must be a scalar or a vector, but have shape {shapes.text(indices.dims)}."
        )
    return [(indices.dtype, None if indices.dims is None else (rank, *indices.dims))]


UNRAVEL_INDEX = op_def(
    "UnravelIndex", ("indices: Tidx=index(int32)", "dims: Tidx"), infer=_unravel_infer, gradient=NOT_DIFFERENTIABLE
)  # fmt: skip


def unravel_index(indices: IntTensorLike, dims: IntTensorLike, name: str | None = None) -> Tensor:
    """The coordinates of elements of a tensor by their numbers, row after row (tf.unravel_index).

    Args:
        indices: The numbers, an integer or a vector of integers.
        dims: The shape of the tensor, a vector of integers of the same dtype.
        name: A name for the operation.

    Returns:
        A row for each axis of the tensor: [len(dims), *indices.shape].

    Raises:
        InvalidArgumentError: When it runs, if a number is not below the number of elements.

    Examples:
        >>> gf.Session().run(gf.unravel_index([2, 5, 7], [3, 3]))
        array([[0, 1, 2],
               [2, 2, 1]], dtype=int32)
    """
    return apply(UNRAVEL_INDEX, (indices, dims), name=name).outputs[0]
