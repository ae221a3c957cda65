"""Sequences of symbols as vectors (tf.contrib.layers); embed_sequence is in graphflow.layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor, SparseTensorLike, SparseTensorValue
from graphflow._core.graph.types import Initializer, Regularizer, TensorLike
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.reductions import reduce_mean
from graphflow._core.ops.nn.embedding import embedding_lookup, safe_embedding_lookup_sparse
from graphflow._core.ops.state.get_variable import get_variable
from graphflow.contrib.layers.rearranging import dense_to_sparse
from graphflow.layers.contrib_scope import layer_scope

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope


def bow_encoder(
    ids: TensorLike | SparseTensorLike,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: bool | ReuseMode | None = None,
) -> Tensor:
    """The mean of the rows of a variable `embeddings` for the symbols of each example (tf.contrib.layers.bow_encoder).

    Args:
        ids: [batch, length] of int32 or int64, or a SparseTensor of them.
        vocab_size: How many symbols there are.
        embed_dim: The length of a vector.
        sparse_lookup: Whether symbols 0 are left out as padding; examples without a symbol get the row of 0.
        initializer: What the variable begins with.
        regularizer: From the variable to a scalar that is added to the losses.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.
        reuse: Whether to take the variables that are there in the scope.

    Returns:
        [batch, embed_dim].

    Raises:
        ValueError: If `vocab_size` or `embed_dim` is not given.
        TypeError: If a SparseTensor is given without `sparse_lookup`.

    Examples:
        >>> ones = gf.ones_initializer()
        >>> code = gf.contrib.layers.bow_encoder([[1, 2], [3, 0]], 4, 2, initializer=ones)
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     print(session.run(code))
        [[1. 1.]
         [1. 1.]]
    """
    if not vocab_size or not embed_dim:
        raise ValueError(
            f"Must specify vocab size and embedding dimension. Got vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with layer_scope(scope, "bow_encoder", ids, reuse, {}):
        embeddings = get_variable(
            "embeddings", [vocab_size, embed_dim], None, initializer, regularizer, trainable
        )
        if isinstance(ids, SparseTensor | SparseTensorValue):
            if not sparse_lookup:
                raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
            return _mean_rows(embeddings, SparseTensor.from_value(ids))
        if sparse_lookup:
            return _mean_rows(embeddings, dense_to_sparse(convert_to_tensor(ids)))
        return reduce_mean(embedding_lookup(embeddings, ids), axis=1)


def _mean_rows(embeddings: Any, ids: SparseTensor) -> Tensor:
    return safe_embedding_lookup_sparse([embeddings], ids, combiner="mean", default_id=0)
