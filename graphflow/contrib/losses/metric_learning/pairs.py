"""Losses by the distances, or products, of all pairs of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import expand_dims, eye, reshape, shape, stack, tile, transpose, where
from graphflow._core.ops.control_flow.checking import print_ as Print
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.math import (
    add,
    cast,
    equal,
    exp,
    greater,
    less_equal,
    log,
    logical_and,
    logical_not,
    maximum,
    minimum,
    multiply,
    sqrt,
    square,
    squared_difference,
    truediv,
)
from graphflow._core.ops.math.reductions import reduce_any, reduce_max, reduce_mean, reduce_min, reduce_sum
from graphflow._core.ops.nn.softmax import softmax_cross_entropy_with_logits
from graphflow._core.ops.sparse.sparse import sparse_tensor_to_dense


def pairwise_distance(feature: TensorLike, squared: bool = False) -> Tensor:
    """The distance between each two rows of a matrix; those that would be below 0 by rounding are 0.

    Args:
        feature: The rows, [n, size].
        squared: Whether the distances are left squared.

    Returns:
        The distances, [n, n].
    """
    rows = convert_to_tensor(feature)
    lengths = reduce_sum(square(rows), axis=[1], keepdims=True)
    distances = maximum(lengths + transpose(lengths) - 2.0 * matmul(rows, rows, transpose_b=True), 0.0)
    none = less_equal(distances, 0.0)
    if not squared:
        # The root has no gradient at 0: a little more has one, which the next factor takes away again.
        distances = sqrt(distances + cast(none, distances.dtype) * 1e-16)
    apart = logical_and(logical_not(none), equal(eye(shape(rows)[0], dtype=distances.dtype), 0.0))
    return distances * cast(apart, distances.dtype)


def same_labels(labels: TensorLike) -> Tensor:
    """Whether each two of the examples have one label, [n, n].

    Args:
        labels: The label of each example, [n].

    Returns:
        A boolean matrix.

    Raises:
        ValueError: If `labels` is no vector.
    """
    given = convert_to_tensor(labels)
    if given.dims is not None and len(given.dims) != 1:
        raise ValueError(f"labels must be a vector, one for each example, but their shape is {given.shape}.")
    column = reshape(given, [-1, 1])
    return equal(column, transpose(column))


def _extreme(values: Tensor, mask: Tensor, largest: bool) -> Tensor:
    """The largest, or smallest, of a row's values that the mask has; the other extreme of all if it has none."""
    first: Callable[..., Tensor] = reduce_min if largest else reduce_max
    second: Callable[..., Tensor] = reduce_max if largest else reduce_min
    base = first(values, -1, keepdims=True)
    return second((values - base) * mask, -1, keepdims=True) + base


def contrastive_loss(
    labels: TensorLike, embeddings_anchor: TensorLike, embeddings_positive: TensorLike, margin: float = 1.0
) -> Tensor:
    """Squared distances of pairs of one kind, and squared lacks up to a margin of pairs of two kinds.

    Hadsell, Chopra and LeCun, 2006 (tf.contrib.losses.metric_learning.contrastive_loss).

    Args:
        labels: 1 for each pair of one kind, 0 for each of two, [batch].
        embeddings_anchor: The first of each pair, [batch, size], of length 1.
        embeddings_positive: The second of each pair, of the same shape.
        margin: How far pairs of two kinds are to be apart.

    Returns:
        The mean, a scalar of floats.

    Examples:
        >>> one, two = gf.constant([[0.0, 1.0], [1.0, 0.0]]), gf.constant([[0.0, 1.0], [1.0, 0.5]])
        >>> loss = gf.contrib.losses.metric_learning.contrastive_loss([1, 0], one, two)
        >>> with gf.Session() as session:
        ...     print(session.run(loss))
        0.125
    """
    distances = sqrt(reduce_sum(squared_difference(embeddings_anchor, embeddings_positive), 1))
    alike = cast(labels, distances.dtype)
    lacks = maximum(margin - distances, 0.0)
    return reduce_mean(alike * square(distances) + (1.0 - alike) * square(lacks), name="contrastive_loss")


def triplet_semihard_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """How much farther, by a margin, the nearest other label should be than each example of the same label is.

    Of other labels the nearest that is farther than the same label's counts; if there is none, the farthest (Schroff,
    Kalenichenko and Philbin, 2015; tf.contrib.losses.metric_learning.triplet_semihard_loss).

    Args:
        labels: The label of each example, [batch].
        embeddings: The examples, [batch, size], of length 1.
        margin: How much farther other labels should be, in squared distances.

    Returns:
        The mean of all pairs of one label, a scalar of floats.

    Raises:
        ValueError: If `labels` is no vector.

    Examples:
        >>> points = gf.constant([[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]])
        >>> loss = gf.contrib.losses.metric_learning.triplet_semihard_loss([1, 1, 2], points)
        >>> with gf.Session() as session:
        ...     print(session.run(loss))
        0.0
    """
    same = same_labels(labels)
    distances = pairwise_distance(embeddings, squared=True)
    other = logical_not(same)
    # [i, j, k]: k has another label than i, and is farther from it than j.
    farther = logical_and(
        expand_dims(other, 1), greater(expand_dims(distances, 1), expand_dims(distances, 2))
    )
    mask = cast(farther, distances.dtype)
    outside = _extreme(expand_dims(distances, 1), mask, largest=False)[:, :, 0]
    inside = _extreme(distances, cast(other, distances.dtype), largest=True)
    inside = tile(inside, [1, shape(distances)[0]])
    negatives = where(reduce_any(farther, 2), outside, inside)
    losses = add(margin, distances - negatives)
    positives = cast(same, distances.dtype) - eye(shape(distances)[0], dtype=distances.dtype)
    total = reduce_sum(maximum(multiply(losses, positives), 0.0))
    return truediv(total, reduce_sum(positives), name="triplet_semihard_loss")


def lifted_struct_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """How much nearer each pair of one label should be than all other labels are to either, smoothly.

    Song, Xiang, Jegelka and Savarese, 2015 (tf.contrib.losses.metric_learning.lifted_struct_loss).

    Args:
        labels: The label of each example, [batch].
        embeddings: The examples, [batch, size].
        margin: How much farther other labels should be.

    Returns:
        The mean of squares, a scalar of floats.

    Raises:
        ValueError: If `labels` is no vector.

    Examples:
        >>> points = gf.constant([[0.0, 3.0], [0.5, 3.0], [3.0, 0.0]])
        >>> loss = gf.contrib.losses.metric_learning.lifted_struct_loss([1, 1, 2], points)
        >>> with gf.Session() as session:
        ...     print(session.run(loss))
        0.0
    """
    same = same_labels(labels)
    distances = pairwise_distance(embeddings)
    mask = cast(logical_not(same), distances.dtype)
    lacks = margin - distances
    largest = _extreme(lacks, mask, largest=True)
    either = maximum(largest, transpose(largest))
    terms = exp(expand_dims(lacks, 1) - expand_dims(either, 2)) * expand_dims(mask, 1)
    summed = reduce_sum(terms, 2)
    losses = either + log(summed + transpose(summed)) + distances
    positives = cast(same, distances.dtype) - eye(shape(distances)[0], dtype=distances.dtype)
    total = 0.25 * reduce_sum(square(maximum(losses * positives, 0.0)))
    return truediv(total, reduce_sum(positives) / 2.0, name="liftedstruct_loss")


def _npairs(
    shares: Tensor, anchor: TensorLike, positive: TensorLike, reg_lambda: float, print_losses: bool
) -> Tensor:
    """The cross entropy of the products of pairs with what labels they share, a row each, and a penalty of lengths."""
    lengths = [reduce_mean(reduce_sum(square(vectors), 1)) for vectors in (anchor, positive)]
    penalty = multiply(0.25 * reg_lambda, lengths[0] + lengths[1], name="l2loss")
    similarity = matmul(anchor, positive, transpose_b=True)
    wanted = cast(shares, similarity.dtype)
    wanted = wanted / reduce_sum(wanted, 1, keepdims=True)
    entropy = softmax_cross_entropy_with_logits(logits=similarity, labels=wanted)
    entropy = reduce_mean(entropy, name="xentropy")
    if print_losses:
        entropy = Print(entropy, ["cross entropy:", entropy, "l2loss:", penalty])
    return penalty + entropy


def npairs_loss(
    labels: TensorLike,
    embeddings_anchor: TensorLike,
    embeddings_positive: TensorLike,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """The cross entropy of the products of all pairs, of which those of one label are to be the largest.

    Sohn, 2016 (tf.contrib.losses.metric_learning.npairs_loss).

    Args:
        labels: The label of each pair, [batch].
        embeddings_anchor: The first of each pair, [batch, size].
        embeddings_positive: The second of each pair, of the same shape.
        reg_lambda: The factor of the penalty of squared lengths.
        print_losses: Whether both parts are printed.

    Returns:
        The loss, a scalar of floats.

    Raises:
        ValueError: If `labels` is no vector.

    Examples:
        >>> points = gf.constant([[0.0, 9.0], [9.0, 0.0]])
        >>> loss = gf.contrib.losses.metric_learning.npairs_loss([0, 1], points, points)
        >>> with gf.Session() as session:
        ...     print(session.run(loss).round(3))
        0.081
    """
    return _npairs(same_labels(labels), embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def npairs_loss_multilabel(
    sparse_labels: Sequence[Any],
    embeddings_anchor: TensorLike,
    embeddings_positive: TensorLike,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """npairs_loss for pairs with several labels: each pair is wanted by how many labels it shares.

    TensorFlow: tf.contrib.losses.metric_learning.npairs_loss_multilabel.

    Args:
        sparse_labels: A list with a SparseTensor for each pair, a vector with 1 for each label that the pair has.
        embeddings_anchor: The first of each pair, [batch, size].
        embeddings_positive: The second of each pair, of the same shape.
        reg_lambda: The factor of the penalty of squared lengths.
        print_losses: Whether both parts are printed.

    Returns:
        The loss, a scalar of floats.

    Raises:
        TypeError: If a label is no SparseTensor.
    """
    if not all(isinstance(labels, SparseTensor) for labels in sparse_labels):
        raise TypeError(f"sparse_labels must be a list of SparseTensors, but got {sparse_labels}")
    with op_scope(None, "NpairsLossMultiLabel", ()):
        given = stack(
            [
                sparse_tensor_to_dense(
                    SparseTensor(labels.indices, cast(labels.values, dtypes.float32), labels.dense_shape)
                )
                for labels in sparse_labels
            ]
        )
        shares = reduce_sum(minimum(expand_dims(given, 0), expand_dims(given, 1)), 2)
        return _npairs(shares, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)
