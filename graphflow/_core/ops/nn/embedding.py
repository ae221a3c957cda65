"""Looking up rows of a table, whole or in parts, and sums of them.

The gradient of a look-up is IndexedSlices, so that a step touches only the rows that were used.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array, indexing
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import clip, comparison, math, reductions, segments, sorting
from graphflow._core.ops.sparse import sparse


def _parts(params: Any) -> list[Any]:
    """The parts of a table, as tensors and variables; ValueError if there is none."""
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, list | tuple):
        if not params:
            raise ValueError("Need at least one param")
        return list(params)
    return list(params) if hasattr(params, "as_tensor") and hasattr(params, "__iter__") else [params]


def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows of a table (tf.nn.embedding_lookup).

    Args:
        params: The table [rows, ...], a tensor or variable; or a list of parts over which its rows are dealt out.
        ids: The numbers of the rows, int32 or int64, of any shape.
        partition_strategy: How rows are dealt out to parts: "mod" in turn, "div" in runs.
        name: A name for the operation.
        validate_indices: Changes nothing: ids are always checked.
        max_norm: The norm that longer rows are scaled down to.

    Returns:
        A tensor of the shape of the ids followed by that of a row. InvalidArgumentError when it runs if an id is
        outside the table.

    Raises:
        ValueError: There is no part, or no such strategy.

    Examples:
        >>> table = gf.constant([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]])
        >>> gf.Session().run(gf.nn.embedding_lookup(table, [2, 0]))
        array([[2. , 2.1],
               [0. , 0.1]], dtype=float32)
    """
    parts = _parts(params)
    with op_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        tables = [indexing.table_of(part, f"params_{i}") for i, part in enumerate(parts)]
        wanted = convert_to_tensor(ids, name="ids")
        if len(tables) == 1:
            with wanted.graph.colocate_with(tables[0], ignore_existing=True):
                rows = _limited(indexing.gather(tables[0], wanted, name=scope), wanted, max_norm)
            return array.identity(rows)
        rows = _from_parts(tables, wanted, partition_strategy, scope)
        return _limited(rows, wanted, max_norm)


def _from_parts(tables: list[Tensor], ids: Tensor, strategy: str, scope: str) -> Tensor:
    flat = array.reshape(ids, [-1])
    places = array.range_(array.size(flat))
    count = len(tables)
    if strategy == "mod":
        chosen, local = flat % count, flat // count
    elif strategy == "div":
        chosen, local = _divided(tables, flat)
    else:
        raise ValueError(f"Unrecognized partition strategy: {strategy!r}. It must be 'mod' or 'div'.")
    chosen = math.cast(chosen, dtypes.int32)
    locals_of = segments.dynamic_partition(local, chosen, count)
    places_of = segments.dynamic_partition(places, chosen, count)
    found = []
    for table, part_ids in zip(tables, locals_of, strict=True):
        with table.graph.colocate_with(table, ignore_existing=True):
            found.append(indexing.gather(table, part_ids))
    rows = segments.dynamic_stitch(places_of, found, name=scope)
    row_dims: shapes.Dims = None
    for table in tables:
        row_dims = shapes.merge(row_dims, None if table.dims is None else table.dims[1:])
    if row_dims is not None and None not in row_dims:
        row_shape: Any = list(row_dims)
    else:
        row_shape = array.shape(tables[0])[1:]
    result = array.reshape(rows, array.concat([array.shape(ids), math.cast(row_shape, dtypes.int32)], 0))
    result.set_shape(shapes.concatenated([ids.dims, row_dims]))
    return result


def _divided(tables: list[Tensor], flat: Any) -> tuple[Any, Any]:
    """The part and the row within it, for rows in runs; the first parts have one row more if it is uneven."""
    sizes = [None if table.dims is None else table.dims[0] for table in tables]
    if None not in sizes:
        total: Any = convert_to_tensor(sum(s or 0 for s in sizes), dtype=flat.dtype)
    else:
        lengths = [array.shape(table, out_type=flat.dtype)[0] for table in tables]
        total = math.add_n(lengths)
    count = len(tables)
    each, extra = total // count, total % count
    chosen = math.maximum(flat // (each + 1), (flat - extra) // math.maximum(each, 1))
    in_long = chosen < extra
    local = indexing.where(in_long, flat % (each + 1), (flat - extra) % math.maximum(each, 1))
    return chosen, local


def _limited(rows: Tensor, ids: Tensor, max_norm: float | None) -> Tensor:
    if max_norm is None:
        return rows
    if ids.dims is not None and rows.dims is not None:
        axes: Any = list(range(len(ids.dims), len(rows.dims)))
    else:
        axes = array.range_(array.rank(ids), array.rank(rows))
    limited: Tensor = clip.clip_by_norm(rows, max_norm, axes=axes)
    return limited


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """For each row of a SparseTensor of ids, the combined rows of a table (tf.nn.embedding_lookup_sparse).

    `combiner` is "sum", "mean" (the default) or "sqrtn" (the sum over the root of the sum of squared weights);
    `sp_weights` is None or a SparseTensor with the ids' indices. A row without ids, other than at the end, gives zeros.

    Args:
        params: The table, or a list of its parts.
        sp_ids: A SparseTensor of ids, a row for each result.
        sp_weights: Their weights, a SparseTensor like it, or None.
        partition_strategy: "mod" or "div": how ids are spread over the parts.
        name: A name for the operation.
        combiner: "sum", "mean" or "sqrtn".
        max_norm: The largest norm of a row of the table, or None.

    Returns:
        A tensor with a row for each row of ids.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}")
    parts = _parts(params)
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {sp_ids!r}")
    if sp_weights is not None and not isinstance(sp_weights, SparseTensor):
        raise TypeError(f"sp_weights must be either None or SparseTensor, got {sp_weights!r}")
    if sp_weights is not None:
        sp_ids.values.shape.assert_is_compatible_with(sp_weights.values.shape)
        sp_ids.indices.shape.assert_is_compatible_with(sp_weights.indices.shape)
    with op_scope(name, "embedding_lookup_sparse", [*parts, sp_ids.values]) as scope:
        rows_of = math.cast(sp_ids.indices[:, 0], dtypes.int32)
        unique_ids, positions = sorting.unique(sp_ids.values)
        found = embedding_lookup(parts, unique_ids, partition_strategy, max_norm=max_norm)
        if found.dtype in (dtypes.float16, dtypes.bfloat16):
            found = math.cast(found, dtypes.float32)
        if sp_weights is None:
            function = {
                "sum": segments.sparse_segment_sum,
                "mean": segments.sparse_segment_mean,
                "sqrtn": segments.sparse_segment_sqrt_n,
            }[combiner]
            return function(found, positions, rows_of, name=scope)
        return _weighted(found, positions, rows_of, sp_weights.values, combiner, scope)


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """As embedding_lookup_sparse, for rows without ids and ids below 0 too (tf.nn.safe_embedding_lookup_sparse).

    Args:
        embedding_weights: The table, or a list of its parts.
        sparse_ids: Ids [d0, ..., dn]; those below 0 do not count.
        sparse_weights: Weights of the ids, of the same shape; those not above 0 do not count, unless they are summed.
        combiner: "mean", "sqrtn" or "sum".
        default_id: The row for what has no ids; None for zeros.
        name: A name for the operations.
        partition_strategy: How rows are dealt out to parts.
        max_norm: The norm that longer rows are scaled down to.

    Returns:
        A tensor [d0, ..., dn-1, row].

    Raises:
        ValueError: There is no part, no such strategy or combiner.
    """
    if embedding_weights is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    parts = _parts(embedding_weights)
    kind = None if sparse_weights is None else sparse_weights.dtype
    tables = [convert_to_tensor(part, dtype=kind) for part in parts] if kind else parts
    with op_scope(name, "embedding_lookup", [*tables, sparse_ids.values]) as scope:
        shape = sparse_ids.dense_shape
        known = shape.dims[0] if shape.dims else None
        rank = array.size(shape) if known is None else known
        leading = array.slice_(shape, [0], [rank - 1])
        flat = [reductions.reduce_prod(leading), indexing.gather(shape, rank - 1)]
        ids = sparse.sparse_reshape(sparse_ids, array.stack(flat))
        weights = None
        if sparse_weights is not None:
            weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
        ids, weights = _retained(ids, weights, comparison.greater_equal(ids.values, 0))
        if weights is not None and combiner != "sum":
            ids, weights = _retained(ids, weights, comparison.greater(weights.values, 0))
        ids, is_empty = sparse.sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse.sparse_fill_empty_rows(weights, 1.0)
        last = None if default_id is None else scope
        found = embedding_lookup_sparse(tables, ids, weights, partition_strategy, last, combiner, max_norm)
        if default_id is None:
            empty = array.tile(array.reshape(is_empty, [-1, 1]), array.stack([1, array.shape(found)[1]]))
            found = indexing.where(empty, array.zeros_like(found), found, name=scope)
        rows = array.slice_(math.cast(shape, dtypes.int32), [0], [rank - 1])
        result = array.reshape(found, array.concat([rows, array.slice_(array.shape(found), [1], [-1])], 0))
        if known is not None and found.dims is not None:
            result.set_shape((*[None] * (known - 1), *found.dims[1:]))
        return result


def _retained(ids: SparseTensor, weights: SparseTensor | None, kept: Tensor) -> tuple[Any, Any]:
    return sparse.sparse_retain(ids, kept), None if weights is None else sparse.sparse_retain(weights, kept)


def _weighted(
    found: Any, positions: Tensor, rows_of: Tensor, weights: Any, combiner: str, scope: str
) -> Tensor:
    weights = math.cast(weights, found.dtype)
    picked = indexing.gather(found, positions)
    if picked.dims is not None:
        factors = array.reshape(weights, [-1] + [1] * (len(picked.dims) - 1))
    else:
        ones = array.fill(array.expand_dims(array.rank(picked) - 1, 0), 1)
        factors = array.reshape(weights, array.concat([array.shape(weights), ones], 0))
    picked = picked * factors
    if combiner == "sum":
        return segments.segment_sum(picked, rows_of, name=scope)
    total = segments.segment_sum(picked, rows_of)
    if combiner == "mean":
        return math.truediv(total, segments.segment_sum(factors, rows_of), name=scope)
    squares = segments.segment_sum(math.square(factors), rows_of)
    return math.truediv(total, math.sqrt(squares), name=scope)
