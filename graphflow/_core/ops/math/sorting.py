"""Order and sets: the largest, sorting, searching, distinct values, counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import graphflow._core.ops.rules as rules
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.creation import ones, range_
from graphflow._core.ops.array.indexing import scatter_nd
from graphflow._core.ops.array.joining import stack
from graphflow._core.ops.array.shaping import expand_dims, reshape, scalar_value, shape, squeeze
from graphflow._core.ops.array.transposing import transpose
from graphflow._core.ops.control_flow.assertions import assert_less, assert_non_negative
from graphflow._core.ops.control_flow.flow_basics import with_dependencies
from graphflow._core.ops.core import apply, constant, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, clip, reductions, transcendental


class TopKV2(NamedTuple):
    """The largest elements and their places."""

    values: Tensor
    indices: Tensor


class Unique(NamedTuple):
    """The distinct elements, and which of them each element is."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple("UniqueWithCounts", [("y", Tensor), ("idx", Tensor), ("count", Tensor)])):
    """The distinct elements, which of them each element is, and how often each occurs."""


class ListDiff(NamedTuple):
    """The elements that are left, and their places."""

    out: Tensor
    idx: Tensor


def _top_k_infer(op: Operation) -> Signature:
    x, k = op.inputs
    if k.dims not in (None, ()):
        raise ValueError(f"k must be a scalar, but has shape {shapes.text(k.dims)}.")
    count = scalar_value(k)
    if count is not None and count < 0:
        raise ValueError(f"Need k >= 0, got {count}")
    rules.require_rank_at_least(x.dims, 1, "input")
    if x.dims is None:
        return [(x.dtype, None), (dtypes.int32, None)]
    last = x.dims[-1]
    if count is not None and last is not None and last < count:
        raise ValueError(f"input must have last dimension >= k = {count} but is {last}")
    dims = (*x.dims[:-1], count)
    return [(x.dtype, dims), (dtypes.int32, dims)]


def _top_k_gradient(op: Operation, g: Any, _: Any) -> tuple[Any, None]:
    x = op.inputs[0]
    extents = shape(x)
    length = extents[-1]
    total = reductions.reduce_prod(extents)
    places = op.outputs[1]
    count = reductions.reduce_prod(extents[:-1])
    rows = reshape(places, [count, shape(places)[-1]])
    starts = expand_dims(range_(count) * length, -1)
    flat = reshape(rows + starts, [-1, 1])
    result = reshape(scatter_nd(flat, reshape(g, [-1]), reshape(total, [1])), extents)
    result.set_shape(x.dims)
    return result, None


TOP_K = op_def(
    "TopKV2",
    ("input: T=real", "k: int32"),
    infer=_top_k_infer,
    gradient=_top_k_gradient,
    outputs=("values", "indices"),
)
IN_TOP_K = op_def(
    "InTopKV2", ("predictions: float32", "targets: T=index", "k: T"), gradient=NOT_DIFFERENTIABLE,
    infer=lambda op: _in_top_k_infer(op),
)  # fmt: skip


def _in_top_k_infer(op: Operation) -> Signature:
    predictions = rules.require_rank(op.inputs[0].dims, 2, "predictions")
    targets = rules.require_rank(op.inputs[1].dims, 1, "targets")
    assert predictions is not None
    return [(dtypes.bool_, shapes.merge(predictions[:1], targets))]


def top_k(input: TensorLike, k: IntTensorLike = 1, sorted: bool = True, name: str | None = None) -> TopKV2:
    """The k largest elements of the last axis, the largest first, and their places (tf.nn.top_k).

    Of equal elements the one with the lower index comes first. ValueError or InvalidArgumentError if the axis has
    fewer than k.

    Args:
        input: A tensor of numbers, of at least one axis.
        k: How many, an int32 scalar.
        sorted: Accepted: they are always in order.
        name: A name for the operation.

    Returns:
        The values, and their int32 places along the last axis.
    """
    return TopKV2(*apply(TOP_K, (input, k), {"sorted": sorted}, name).outputs)


def in_top_k(
    predictions: TensorLike, targets: TensorLike, k: IntTensorLike, name: str | None = None
) -> Tensor:
    """Whether the prediction for each row's target is among the row's k largest (tf.nn.in_top_k).

    Ties count as within; a row with a value that is not finite is False.

    Args:
        predictions: [batch, classes] float32.
        targets: [batch].
        k: How many of the largest count.
        name: A name for the operation.

    Returns:
        A vector [batch] of bools.
    """
    with op_scope(name, "in_top_k", [predictions, targets]):
        return apply(IN_TOP_K, (predictions, targets, k)).outputs[0]


# ---- sorting ------------------------------------------------------------------------------------------------------


def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements in order along an axis (tf.sort); direction is ASCENDING or DESCENDING.

    Args:
        values: A tensor of numbers.
        axis: The axis.
        direction: "ASCENDING" or "DESCENDING".
        name: A name for the operation.

    Returns:
        A tensor like `values`.
    """
    with op_scope(name, "sort", [values]):
        return _ordered(values, axis, direction, want_indices=False)


def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The places of the elements in order along an axis, int32 (tf.argsort); it is always stable.

    Args:
        values: A tensor of numbers.
        axis: The axis.
        direction: "ASCENDING" or "DESCENDING".
        stable: Accepted: it always is.
        name: A name for the operation.

    Returns:
        A tensor of int32.
    """
    with op_scope(name, "argsort", [values]):
        return _ordered(values, axis, direction, want_indices=True)


def _ordered(values: Any, axis: Any, direction: str, want_indices: bool) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Direction should be ASCENDING or DESCENDING, but is {direction!r}.")
    tensor = convert_to_tensor(values, name="values")
    known = scalar_value(axis) if isinstance(axis, Tensor) else int(axis)
    if known is None:
        raise ValueError("axis must be a constant scalar")
    moved, order = tensor, None
    if known != -1:
        if tensor.dims is None:
            raise ValueError("Sorting along an axis other than the last needs a tensor of known rank.")
        count = len(tensor.dims)
        known = shapes.normalize_axis(known, count)
        if known != count - 1:
            order = list(range(count))
            order[known], order[-1] = order[-1], order[known]
            moved = transpose(tensor, order)
    length = shape(moved)[-1]
    ascending = direction == "ASCENDING"
    found = top_k(_backwards(moved) if ascending else moved, length)
    result = found.indices if want_indices else _backwards(found.values) if ascending else found.values
    return result if order is None else transpose(result, order)


def _backwards(tensor: Tensor) -> Tensor:
    """A tensor with the opposite order: of integers the complement, which unlike the negative never overflows."""
    if tensor.dtype.is_integer:
        largest = tensor.dtype.max if tensor.dtype.is_unsigned else -1
        return constant(largest, tensor.dtype) - tensor
    return -tensor


def _bound_infer(op: Operation) -> Signature:
    return [(op.attrs["out_type"], op.inputs[1].dims)]


LOWER_BOUND = op_def(
    "LowerBound", ("sorted_inputs: T", "values: T"), infer=_bound_infer, gradient=NO_GRADIENT
)
UPPER_BOUND = op_def(
    "UpperBound", ("sorted_inputs: T", "values: T"), infer=_bound_infer, gradient=NO_GRADIENT
)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The position at which each value would be put into its row of a sorted tensor, before equals or after them
    (tf.searchsorted).

    Args:
        sorted_sequence: [..., n], ascending in the last axis.
        values: [..., m].
        side: "left" or "right".
        out_type: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        A tensor like `values`.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'. Saw: {side}.")
    sequence, wanted = convert_to_tensor(sorted_sequence), convert_to_tensor(values)
    rows = reshape(sequence, [-1, shape(sequence)[-1]])
    columns = reshape(wanted, [-1, shape(wanted)[-1]])
    definition = LOWER_BOUND if side == "left" else UPPER_BOUND
    found = apply(definition, (rows, columns), {"out_type": as_dtype(out_type)}, name).outputs[0]
    return reshape(found, shape(wanted))


BUCKETIZE = op_def(
    "Bucketize", ("input: T=int32|int64|float32|float64",), infer=rules.same_shape(dtypes.int32),
    gradient=NOT_DIFFERENTIABLE,
)  # fmt: skip


def bucketize(input: TensorLike, boundaries: Sequence[float], name: str | None = None) -> Tensor:
    """How many of the sorted boundaries, as float32, are not above each element (math_ops._bucketize).

    Args:
        input: Integers or floats, of any shape.
        boundaries: Numbers in ascending order.
        name: A name for the operation.

    Returns:
        An int32 tensor of the same shape, from 0 to the number of boundaries.

    Raises:
        ValueError: If the boundaries are not sorted.
    """
    edges = [float(edge) for edge in boundaries]
    if edges != sorted(edges):
        raise ValueError(f"Expected sorted boundaries, got {edges}.")
    return apply(BUCKETIZE, (input,), {"boundaries": edges}, name).outputs[0]


# ---- distinct values and counts -----------------------------------------------------------------------------------


def _unique_infer(op: Operation) -> Signature:
    dims = rules.require_rank(op.inputs[0].dims, 1, "x")
    kind = op.attrs["out_idx"]
    result: list[Any] = [(op.inputs[0].dtype, (None,)), (kind, dims)]
    return [*result, (kind, (None,))] if op.op_def is UNIQUE_WITH_COUNTS else result


UNIQUE = op_def(
    "Unique", ("x: T",), infer=_unique_infer, gradient=NO_GRADIENT, dynamic_shape=True, outputs=("y", "idx")
)
UNIQUE_WITH_COUNTS = op_def(
    "UniqueWithCounts", ("x: T",), infer=_unique_infer, gradient=NO_GRADIENT, dynamic_shape=True,
    outputs=("y", "idx", "count"),
)  # fmt: skip
LIST_DIFF = op_def(
    "ListDiff", ("x: T", "y: T"), infer=lambda op: [(op.inputs[0].dtype, (None,)), (op.attrs["out_idx"], (None,))],
    gradient=NO_GRADIENT, dynamic_shape=True, outputs=("out", "idx"),
)  # fmt: skip


def unique(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> Unique:
    """The distinct elements of a vector in the order of their first appearance (tf.unique).

    Args:
        x: A vector.
        out_idx: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        The elements, and for each of `x` its place among them.
    """
    return Unique(*apply(UNIQUE, (x,), {"out_idx": as_dtype(out_idx)}, name).outputs)


def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None
) -> UniqueWithCounts:
    """As gf.unique, and how often each occurs (tf.unique_with_counts).

    Args:
        x: A vector.
        out_idx: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        The elements, for each of `x` its place among them, and how often each is there.
    """
    return UniqueWithCounts(*apply(UNIQUE_WITH_COUNTS, (x,), {"out_idx": as_dtype(out_idx)}, name).outputs)


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: DTypeLike = dtypes.int32, name: str | None = None
) -> ListDiff:
    """The elements of x that are not in y, in order, and their places (tf.setdiff1d).

    Args:
        x: A vector.
        y: A vector of the same dtype.
        index_dtype: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        The elements, and their places in `x`.
    """
    return ListDiff(*apply(LIST_DIFF, (x, y), {"out_idx": as_dtype(index_dtype)}, name).outputs)


def _histogram(op: Operation) -> Signature:
    dims = rules.require_rank(op.inputs[1].dims, 1, "input 'value_range'")
    extent = dims[0] if dims else None
    if extent not in (None, 2):
        raise ValueError(
            f"Dimension must be 2 but is {extent} for input 'value_range', which is [lower, upper]."
        )
    rules.require_rank(op.inputs[2].dims, 0, "input 'nbins'")
    bins = scalar_value(op.inputs[2])
    if bins is not None and bins <= 0:
        raise ValueError(f"Requires nbins > 0, got {bins}: it must be positive.")
    return [(op.attrs["dtype"], (bins,))]


def _bincount(op: Operation) -> Signature:
    rules.require_rank(op.inputs[1].dims, 0, "input 'size'")
    size = scalar_value(op.inputs[1])
    if size is not None and size < 0:
        raise ValueError(f"size must be non-negative, got {size}.")
    return [(op.inputs[2].dtype, (size,))]


BINCOUNT = op_def(
    "Bincount", ("arr: int32", "size: int32", "weights: T=int32|int64|float32|float64"),
    infer=_bincount, gradient=NO_GRADIENT,
)  # fmt: skip
HISTOGRAM = op_def(
    "HistogramFixedWidth", ("values: T=int32|int64|float32|float64", "value_range: T", "nbins: int32"),
    infer=_histogram, gradient=NO_GRADIENT,
)  # fmt: skip


def bincount(
    arr: TensorLike, weights: TensorLike | None = None, minlength: IntTensorLike | None = None,
    maxlength: IntTensorLike | None = None, dtype: DTypeLike = dtypes.int32, name: str | None = None,
) -> Tensor:  # fmt: skip
    """How often each non-negative integer occurs, or the sum of its weights (tf.bincount).

    The result has max(arr) + 1 elements, at least `minlength`, at most `maxlength`.

    Args:
        arr: A tensor of int32.
        weights: What each counts, or None.
        minlength: The least length of the result.
        maxlength: The most.
        dtype: The dtype of the counts.
        name: A name for the operation.

    Returns:
        A vector.
    """
    with op_scope(name, "bincount", [arr, weights]):
        numbers = convert_to_tensor(arr, dtype=None if isinstance(arr, Tensor) else dtypes.int32, name="arr")
        if numbers.dtype is not dtypes.int32:
            raise TypeError(
                f"bincount counts int32 numbers, not {numbers.dtype.name}. Cast them with gf.cast."
            )
        size = _count_of(numbers)
        if minlength is not None:
            size = arithmetic.maximum(convert_to_tensor(minlength, dtypes.int32), size)
        if maxlength is not None:
            size = arithmetic.minimum(convert_to_tensor(maxlength, dtypes.int32), size)
        kind = as_dtype(dtype)
        heavy = constant(np.zeros(0, kind.as_numpy_dtype)) if weights is None else weights
        return apply(BINCOUNT, (numbers, size, heavy)).outputs[0]


def _count_of(numbers: Tensor) -> Tensor:
    """The largest number and 1; 0 if there is none."""
    known = constant_value(numbers)
    if known is not None:
        return constant(int(known.max()) + 1 if known.size else 0, dtypes.int32)

    largest = casting.cast(reductions.reduce_max(numbers), dtypes.int32)
    return arithmetic.maximum(largest, -1) + 1


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: IntTensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """How many values fall into each of `nbins` bins of equal width (tf.histogram_fixed_width).

    What lies outside counts at the ends.

    Args:
        values: A tensor of numbers.
        value_range: [lower, upper].
        nbins: How many bins.
        dtype: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        A vector of counts.
    """
    with op_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        attrs = {"dtype": as_dtype(dtype)}
        return apply(HISTOGRAM, (values, value_range, nbins), attrs, scope).outputs[0]


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: IntTensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The bin, of `nbins` of equal width, that each value falls into (tf.histogram_fixed_width_bins).

    What lies outside is in the first or the last one.

    Args:
        values: A tensor of numbers.
        value_range: [lower, upper], of the same dtype.
        nbins: How many bins, an int32.
        dtype: Accepted; the bins are int32, as in TensorFlow.
        name: A name for the scope of the operations.

    Returns:
        A tensor of int32, of the shape of `values`.

    Examples:
        >>> gf.Session().run(gf.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 15.0], [0.0, 5.0], 5))
        array([0, 0, 1, 4], dtype=int32)
    """
    with op_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        given = convert_to_tensor(values, name="values")
        bounds = convert_to_tensor(value_range, name="value_range")
        count = convert_to_tensor(nbins, dtype=dtypes.int32, name="nbins")
        flat = reshape(given, [-1])
        share = arithmetic.truediv(flat - bounds[0], bounds[1] - bounds[0], name="scaled_values")
        places = transcendental.floor(casting.cast(count, given.dtype) * share, name="indices")
        bins = clip.clip_by_value(casting.cast(places, dtypes.int32), 0, count - 1)
        return reshape(bins, shape(given))


def confusion_matrix(
    labels: TensorLike, predictions: TensorLike, num_classes: IntTensorLike | None = None,
    dtype: DTypeLike = dtypes.int32, name: str | None = None, weights: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """How often, or with what weight, each label (row) was predicted as each class (column) (tf.confusion_matrix).

    Args:
        labels: A vector of class numbers.
        predictions: A vector of class numbers.
        num_classes: How many classes; by default the largest number and one.
        dtype: The dtype of the counts.
        name: A name for the operation.
        weights: A factor for each, or None.

    Returns:
        [classes, classes]: a row for each label.

    Raises:
        InvalidArgumentError: If a label or prediction is negative or at least `num_classes`.
        ValueError: If labels and predictions are known not to fit.
    """
    with op_scope(name, "confusion_matrix", [labels, predictions, num_classes, weights]):
        rows, columns = _without_extra_axis(convert_to_tensor(labels), convert_to_tensor(predictions))
        rows = _class_numbers(rows, num_classes, "labels")
        columns = _class_numbers(columns, num_classes, "predictions")
        if num_classes is None:
            first, second = (casting.cast(_int_count(t), dtypes.int64) for t in (rows, columns))
            count = arithmetic.maximum(first, second)
        else:
            count = casting.cast(convert_to_tensor(num_classes), dtypes.int64)
        places = stack([rows, columns], axis=1)
        kind = as_dtype(dtype)
        amounts = ones(shape(rows), kind) if weights is None else casting.cast(weights, kind)
        return scatter_nd(places, amounts, stack([count, count]))


def _class_numbers(numbers: Tensor, limit: IntTensorLike | None, what: str) -> Tensor:
    """Integers of 64 bits that are checked: not negative, and below the number of classes if that is given."""
    numbers = casting.cast(numbers, dtypes.int64)
    checks = [assert_non_negative(numbers, message=f"`{what}` contains negative values")]
    if limit is not None:
        most = casting.cast(convert_to_tensor(limit), dtypes.int64)
        checks.append(assert_less(numbers, most, message=f"`{what}` out of bound"))
    checked: Tensor = with_dependencies(checks, numbers)
    return checked


def _int_count(numbers: Tensor) -> Tensor:
    known = constant_value(numbers)
    if known is None and numbers.op.type == "Cast":
        known = constant_value(numbers.op.inputs[0])
    if known is not None:
        return constant(int(known.real.max()) + 1 if known.size else 0, dtypes.int64)

    return reductions.reduce_max(numbers) + 1


def _without_extra_axis(labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
    """Labels and predictions of one rank: the one that has an axis of length 1 more loses it."""
    if labels.dims is None or predictions.dims is None:
        return labels, predictions
    surplus = len(predictions.dims) - len(labels.dims)
    if surplus == 1:
        return labels, squeeze(predictions, [-1])
    if surplus == -1:
        return squeeze(labels, [-1]), predictions
    return labels, predictions
