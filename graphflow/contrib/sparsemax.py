"""Sparsemax: the nearest probabilities to numbers, of which many are zero (tf.contrib.sparsemax; Martins 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import fill, gather_nd, range_, shape, stack, where
from graphflow._core.ops.array.creation import zeros_like
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.math import (
    cast,
    equal,
    greater,
    is_inf,
    is_nan,
    logical_and,
    logical_or,
    maximum,
)
from graphflow._core.ops.math.reductions import reduce_mean, reduce_sum
from graphflow._core.ops.math.scans import cumsum
from graphflow._core.ops.math.sorting import top_k


def sparsemax(logits: TensorLike, name: str | None = None) -> Tensor:
    """The probabilities that are nearest to numbers, row by row (tf.contrib.sparsemax.sparsemax).

    Args:
        logits: Floats [batch, classes].
        name: A name for the operations.

    Returns:
        Probabilities of the same shape; NaN in a row that has none.

    Examples:
        >>> found = gf.contrib.sparsemax.sparsemax([[0.5, 0.5, 0.0], [3.0, 1.0, 0.0]])
        >>> print(gf.Session().run(found))
        [[0.5 0.5 0. ]
         [1.  0.  0. ]]
    """
    with op_scope(name, "sparsemax", [logits]):
        given = convert_to_tensor(logits, name="logits")
        rows, count = shape(given)[0], shape(given)[1]
        # Infinite numbers have no mean that could be taken off.
        centred = given - reduce_mean(given, axis=1)[:, None]
        ordered, _ = top_k(centred, count)
        sums = cumsum(ordered, axis=1)
        places = range_(1, cast(count, given.dtype) + 1, dtype=given.dtype)
        kept = reduce_sum(cast(1 + places * ordered > sums, dtypes.int32), axis=1)
        # With NaNs nothing is kept, and the index has to be one all the same.
        at = stack([range_(0, rows), maximum(kept, 1) - 1], axis=1)
        threshold = (gather_nd(sums, at) - 1) / cast(kept, given.dtype)
        found = maximum(cast(0, given.dtype), centred - threshold[:, None])
        unknown = logical_or(equal(kept, 0), is_nan(sums[:, -1]))
        return where(unknown, fill([rows, count], cast(float("nan"), given.dtype)), found)


def sparsemax_loss(
    logits: TensorLike, sparsemax: TensorLike, labels: TensorLike, name: str | None = None
) -> Tensor:
    """The loss that belongs to sparsemax, as the cross entropy to softmax (tf.contrib.sparsemax.sparsemax_loss).

    Args:
        logits: Floats [batch, classes].
        sparsemax: What sparsemax gives for them.
        labels: Probabilities of the same shape.
        name: A name for the operations.

    Returns:
        The losses [batch].
    """
    with op_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        given = convert_to_tensor(logits, name="logits")
        found = convert_to_tensor(sparsemax, name="sparsemax")
        wanted = convert_to_tensor(labels, name="labels")
        centred = given - reduce_mean(given, axis=1)[:, None]
        own = where(
            logical_or(greater(found, 0), is_nan(found)), found * (centred - 0.5 * found), zeros_like(found)
        )
        theirs = wanted * (0.5 * wanted - centred)
        # An infinite number whose label is zero counts for nothing, where the product would be NaN.
        ignored = logical_and(equal(wanted, 0), is_inf(centred))
        return reduce_sum(own + where(ignored, zeros_like(theirs), theirs), axis=1)


if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.contrib.sparsemax", globals())

__all__ = ["sparsemax", "sparsemax_loss"]
