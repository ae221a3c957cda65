"""The array ops under one name, for modules that need several; each is defined in the module of its subject."""

from __future__ import annotations

from typing import Any

from graphflow._core.ops.array import creation, indexing, joining, layout, shaping, slicing
from graphflow._core.ops.array.creation import (
    eye,
    fill,
    meshgrid,
    one_hot,
    ones,
    ones_like,
    range_,
    sequence_mask,
    zeros,
    zeros_like,
)
from graphflow._core.ops.array.indexing import boolean_mask, gather, gather_nd, scatter_nd, where, where_v2
from graphflow._core.ops.array.joining import concat, pack, split, stack, unstack
from graphflow._core.ops.array.layout import broadcast_to, pad, reverse, tile
from graphflow._core.ops.array.shaping import (
    expand_dims,
    identity,
    identity_n,
    invert_permutation,
    matrix_transpose,
    placeholder,
    placeholder_with_default,
    rank,
    reshape,
    shape,
    shape_n,
    size,
    squeeze,
    stop_gradient,
    transpose,
)
from graphflow._core.ops.array.slicing import slice_, strided_slice
from graphflow._core.ops.control_flow import flow_basics
from graphflow._core.ops.control_flow.flow_basics import group, no_op, tuple_

EXPORTS: dict[str, Any] = {
    **shaping.EXPORTS, **joining.EXPORTS, **creation.EXPORTS, **slicing.EXPORTS, **flow_basics.EXPORTS,
    **layout.EXPORTS, **indexing.EXPORTS,
}  # fmt: skip
__all__ = [
    "EXPORTS", "boolean_mask", "broadcast_to", "concat", "expand_dims", "eye", "fill", "gather",
    "gather_nd", "group", "identity", "identity_n", "invert_permutation", "matrix_transpose", "meshgrid",
    "no_op", "one_hot", "ones", "ones_like", "pack", "pad", "placeholder", "placeholder_with_default",
    "range_", "rank", "reshape", "reverse", "scatter_nd", "sequence_mask", "shape", "shape_n", "size",
    "slice_", "split", "squeeze", "stack", "stop_gradient", "strided_slice", "tile", "transpose",
    "tuple_", "unstack", "where", "where_v2", "zeros", "zeros_like",
]  # fmt: skip
