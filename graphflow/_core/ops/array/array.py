"""The array ops under one name, for modules that need several; each is defined in the module of its subject."""

from __future__ import annotations

from graphflow._core.ops.array.compositions import boolean_mask, eye, meshgrid, sequence_mask
from graphflow._core.ops.array.creation import fill, one_hot, ones, ones_like, range_, zeros, zeros_like
from graphflow._core.ops.array.extents import rank, size
from graphflow._core.ops.array.indexing import gather, gather_nd, scatter_nd, where, where_v2
from graphflow._core.ops.array.joining import concat, split, stack, unstack
from graphflow._core.ops.array.layout import broadcast_to, pad, reverse, tile
from graphflow._core.ops.array.shaping import (
    expand_dims,
    identity,
    identity_n,
    placeholder,
    placeholder_with_default,
    reshape,
    shape,
    shape_n,
    squeeze,
    stop_gradient,
)
from graphflow._core.ops.array.slicing import slice_, strided_slice
from graphflow._core.ops.array.transposing import invert_permutation, matrix_transpose, transpose
from graphflow._core.ops.control_flow.flow_basics import group, no_op, tuple_
from graphflow._core.ops.core import pack

__all__ = [
    "boolean_mask", "broadcast_to", "concat", "expand_dims", "eye", "fill", "gather",
    "gather_nd", "group", "identity", "identity_n", "invert_permutation", "matrix_transpose", "meshgrid",
    "no_op", "one_hot", "ones", "ones_like", "pack", "pad", "placeholder", "placeholder_with_default",
    "range_", "rank", "reshape", "reverse", "scatter_nd", "sequence_mask", "shape", "shape_n", "size",
    "slice_", "split", "squeeze", "stack", "stop_gradient", "strided_slice", "tile", "transpose",
    "tuple_", "unstack", "where", "where_v2", "zeros", "zeros_like",
]  # fmt: skip
