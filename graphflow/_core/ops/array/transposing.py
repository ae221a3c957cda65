"""Axes in another order, and permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow._core.ops.rules as rules
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.creation import range_
from graphflow._core.ops.array.extents import rank
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.shaping import full_value, index_vector
from graphflow._core.ops.core import apply, constant, convert_to_tensor, op_scope, partial_vector


def _transpose_infer(op: Operation) -> Signature:
    x, perm = op.inputs
    if perm.dims is not None:
        rules.require_rank(perm.dims, 1, "perm")
    order = partial_vector(perm)
    length = None if perm.dims is None or len(perm.dims) != 1 else perm.dims[0]
    if x.dims is None:
        return [(x.dtype, None if length is None else (None,) * length)]
    if length is not None and length != len(x.dims):
        raise ValueError(
            f"Dimension must be {len(x.dims)} but is {length}: perm must name every axis of {shapes.text(x.dims)}."
        )
    if order is None or None in order:
        return [(x.dtype, (None,) * len(x.dims))]
    axes = [shapes.normalize_axis(p, len(x.dims), "perm") for p in order if p is not None]
    if len(set(axes)) != len(axes):
        raise ValueError(f"perm {axes} is no permutation: an axis is named twice.")
    return [(x.dtype, tuple(x.dims[a] for a in axes))]


def _transpose_gradient(op: Operation, g: Any) -> tuple[Any, None]:
    back = invert_permutation(op.inputs[1])
    return transpose(g, back, conjugate=op.op_def is CONJUGATE_TRANSPOSE), None


TRANSPOSE = op_def(
    "Transpose", ("x: T", "perm: Tperm=index"), infer=_transpose_infer, gradient=_transpose_gradient
)


CONJUGATE_TRANSPOSE = op_def(
    "ConjugateTranspose", ("x: T", "perm: Tperm=index"), infer=_transpose_infer, gradient=_transpose_gradient
)


def transpose(
    a: TensorLike, perm: IntTensorLike | None = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """The tensor with its axes in another order (tf.transpose).

    Args:
        a: The tensor.
        perm: Axis i of the result is axis perm[i] of the tensor: a permutation of [0, ..., rank - 1], as ints or as
            a vector of int32 or int64. By default the axes are reversed.
        name: A name for the operation.
        conjugate: Whether complex numbers are conjugated, too.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: `perm` is no permutation of the axes.

    Examples:
        >>> gf.Session().run(gf.transpose([[1, 2, 3], [4, 5, 6]]))
        array([[1, 4],
               [2, 5],
               [3, 6]], dtype=int32)
    """
    with op_scope(name, "transpose", [a]) as scope:
        tensor = convert_to_tensor(a, name="a")
        definition = CONJUGATE_TRANSPOSE if conjugate and tensor.dtype.is_complex else TRANSPOSE
        if perm is None:
            if tensor.dims is not None:
                perm = constant(np.arange(len(tensor.dims), dtype=np.int32)[::-1], name="perm")
            else:
                last = rank(tensor) - 1
                perm = last - range_(0, rank(tensor), 1)
        return apply(definition, (tensor, index_vector(perm)), name=scope).outputs[0]


def matrix_transpose(a: TensorLike, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The tensor with its last two axes exchanged (tf.matrix_transpose).

    Args:
        a: A tensor of at least two axes.
        name: A name for the operation.
        conjugate: Whether complex numbers are conjugated, too.

    Returns:
        A tensor.

    Raises:
        ValueError: If it has fewer.
    """
    with op_scope(name, "matrix_transpose", [a]):
        tensor = convert_to_tensor(a, name="a")
        if tensor.dims is not None:
            count = len(tensor.dims)
            if count < 2:
                raise ValueError(
                    f"The argument of matrix_transpose should be a (batch) matrix, with rank >= 2, found a of shape "
                    f"{tensor.shape}."
                )
            return transpose(tensor, [*range(count - 2), count - 1, count - 2], conjugate=conjugate)
        count_tensor = rank(tensor)
        perm = concat(
            (range_(0, count_tensor - 2, 1), [count_tensor - 1, count_tensor - 2]),
            0,
        )
        return transpose(tensor, perm, conjugate=conjugate)


def _invert_permutation_partial(op: Operation) -> list[int] | None:
    known = full_value(op.inputs[0])
    if not isinstance(known, list) or sorted(known) != list(range(len(known))):
        return None
    return [int(v) for v in np.argsort(known)]


INVERT_PERMUTATION = op_def(
    "InvertPermutation",
    ("x: T=index(int32)",),
    infer=lambda op: [(op.inputs[0].dtype, rules.require_rank(op.inputs[0].dims, 1, "x"))],
    gradient=NOT_DIFFERENTIABLE,
    partial_value=_invert_permutation_partial,
)


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of a permutation of 0 .. n-1 (tf.invert_permutation).

    Args:
        x: A vector of integers.
        name: A name for the operation.

    Returns:
        A vector like it.

    Raises:
        InvalidArgumentError: If it is none.
    """
    return apply(INVERT_PERMUTATION, (x,), name=name).outputs[0]
