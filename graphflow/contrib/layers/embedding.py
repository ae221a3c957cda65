"""Rows of tables by their numbers, each number looked up once (tf.contrib.layers)."""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import concat, gather, reshape, shape
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.sorting import unique
from graphflow._core.ops.nn.embedding import embedding_lookup


def embedding_lookup_unique(
    params: TensorLike, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None
) -> Tensor:
    """gf.nn.embedding_lookup that looks up each number once, however often it is there.

    TensorFlow: tf.contrib.layers.embedding_lookup_unique.

    Args:
        params: The table, or a list of its parts.
        ids: Numbers of rows, of any shape.
        partition_strategy: "mod" or "div": how rows are spread over the parts.
        name: A name for the operations.

    Returns:
        A tensor of the shape of the ids, and that of a row.

    Examples:
        >>> table = gf.constant([[1.0], [2.0], [3.0]])
        >>> rows = gf.contrib.layers.embedding_lookup_unique(table, [[2, 0], [2, 2]])
        >>> print(gf.Session().run(gf.squeeze(rows)))
        [[3. 1.]
         [3. 3.]]
    """
    with op_scope(name, "EmbeddingLookupUnique", [params, ids]):
        numbers = convert_to_tensor(ids)
        different, places = unique(reshape(numbers, [-1]))
        rows = embedding_lookup(params, different, partition_strategy)
        found = reshape(gather(rows, places), concat([shape(numbers), shape(rows)[1:]], 0))
        if numbers.dims is not None and rows.dims is not None:
            found.set_shape((*numbers.dims, *rows.dims[1:]))
        return found
