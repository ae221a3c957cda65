"""Elementwise operators of a SparseTensor and a tensor: `*` and `/`, whose result is sparse.

The tensor is broadcast to the sparse one's shape, never the other way round, so the coordinates stay as they are and
only the values are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, op_def
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.array.creation import ones
from graphflow._core.ops.array.extents import rank
from graphflow._core.ops.array.indexing import gather_nd, scatter_nd
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.shaping import reshape, shape
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, transcendental


def _gradient(values_gradient: Callable[..., Any], dense_gradient: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of an op, from those of its values and of the dense elements picked for them."""

    def gradient(op: Operation, g: Any) -> tuple[None, Any, None, Any]:
        indices, values, _, dense = op.inputs
        dims = shape(dense, out_type=dtypes.int64)
        added = ones(reshape(shape(indices)[1] - rank(dense), [1]), dtypes.int64)
        whole = concat([added, dims], 0)
        places = indices * casting.cast(
            whole > 1, dtypes.int64
        )  # an axis of size 1 is read at 0 by every value
        picked = gather_nd(reshape(dense, whole), places)
        back = scatter_nd(places, dense_gradient(g, values, picked), whole)
        return None, values_gradient(g, picked), None, reshape(back, dims)

    return gradient


def _define(op_type: str, dtype: str, gradient: Callable[..., Any]) -> OpDef:
    return op_def(
        op_type,
        ("sp_indices: int64", f"sp_values: T={dtype}", "sp_shape: int64", "dense: T"),
        infer=lambda op: [(op.inputs[1].dtype, op.inputs[1].dims)],
        gradient=gradient,
    )


MUL = _define("SparseDenseCwiseMul", "number", _gradient(lambda g, y: g * y, lambda g, x, _: g * x))
DIV = _define(
    "SparseDenseCwiseDiv",
    "number",
    _gradient(lambda g, y: g / y, lambda g, x, y: g * (-x / transcendental.square(y))),
)


def _with_values(sparse: SparseTensor, values: Tensor) -> SparseTensor:
    return SparseTensor(sparse.indices, values, sparse.dense_shape)


def _multiplied(sparse: SparseTensor, dense: Any) -> SparseTensor:
    """A SparseTensor times a tensor that is broadcast to its shape."""
    with op_scope(None, "mul", (sparse.values, dense)) as scope:
        other = convert_to_tensor(dense, dtype=sparse.dtype, name="y")
        inputs = (sparse.indices, sparse.values, sparse.dense_shape, other)
        return _with_values(sparse, apply(MUL, inputs, name=scope).outputs[0])


def _divided(sparse: SparseTensor, dense: Any) -> SparseTensor:
    """A SparseTensor over a tensor that is broadcast to its shape; integers become floats as in gf.truediv."""
    with op_scope(None, "truediv", (sparse.values, dense)) as scope:
        other = convert_to_tensor(dense, dtype=sparse.dtype, name="y")
        values, other = arithmetic.quotient_operands(sparse.values, other)
        inputs = (sparse.indices, values, sparse.dense_shape, other)
        return _with_values(sparse, apply(DIV, inputs, name=scope).outputs[0])


def install() -> None:
    """Installs the operators on SparseTensor, once, when the library is imported."""
    SparseTensor.install_operator("__mul__", _multiplied)
    SparseTensor.install_operator("__rmul__", _multiplied)
    SparseTensor.install_operator("__truediv__", _divided)
