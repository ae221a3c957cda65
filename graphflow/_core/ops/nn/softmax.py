"""Softmax and the cross entropies that contain it.

A softmax cross entropy is one op that gives the loss and its derivative together: computing softmax and log apart loses
the digits that matter, and the derivative costs nothing more. Its second derivative goes through softmax itself.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, Signature, op_def
from graphflow._core.graph.shapes import TensorShape, text
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.values import holds_numpy
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.math.broadcasting import check_shape
from graphflow._core.ops.rules import deprecated, require_rank, require_rank_at_least
from graphflow.errors import InvalidArgumentError


def _softmax_infer(op: Operation) -> Signature:
    return [(op.inputs[0].dtype, require_rank_at_least(op.inputs[0].dims, 1, "the logits"))]


def _softmax_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    y = op.outputs[0]
    return ((g - reductions.reduce_sum(g * y, -1, keepdims=True)) * y,)


def _log_softmax_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (g - reductions.reduce_sum(g, -1, keepdims=True) * math.exp(op.outputs[0]),)


SOFTMAX = op_def(
    "Softmax", ("logits: T=float",), infer=_softmax_infer, gradient=_softmax_gradient, outputs=("softmax",)
)
LOG_SOFTMAX = op_def(
    "LogSoftmax",
    ("logits: T=float",),
    infer=_softmax_infer,
    gradient=_log_softmax_gradient,
    outputs=("logsoftmax",),
)


def _cross_entropy_infer(op: Operation) -> Signature:
    logits, labels = op.inputs
    dims = shapes.broadcast(logits.dims, labels.dims)
    if not shapes.compatible(dims, logits.dims):
        raise ValueError(
            f"Labels of shape {text(labels.dims)} do not fit logits of shape {text(logits.dims)}."
        )
    batch, classes = require_rank(shapes.merge(dims, logits.dims), 2, "logits and labels") or ()
    return [(logits.dtype, (batch,)), (logits.dtype, (batch, classes))]


def _weighted(loss_gradient: Tensor, rows: Tensor) -> Tensor:
    """One weight a row times the rows."""
    return math.multiply(array.expand_dims(loss_gradient, -1), rows)


def _second_order(logits: Tensor, g_backprop: Tensor) -> Tensor:
    """The gradient that reaches the logits through the derivative of the loss, itself a softmax."""
    probabilities = softmax(logits)
    mean = reductions.reduce_sum(g_backprop * probabilities, 1, keepdims=True)
    return (g_backprop - mean) * probabilities


def _is_zero(tensor: Tensor | None) -> bool:
    return tensor is None or tensor.op.type in ("Zeros", "ZerosLike") or _is_constant_zero(tensor)


def _is_constant_zero(tensor: Tensor) -> bool:
    value = constant_value(tensor)
    return value is not None and not value.any()


def _cross_entropy_gradient(
    op: Operation, g_loss: Tensor, g_backprop: Tensor | None
) -> tuple[Tensor, Tensor]:
    logits = op.inputs[0]
    toward_logits = _weighted(g_loss, op.outputs[1])
    if g_backprop is not None and not _is_zero(g_backprop):
        toward_logits = toward_logits + _second_order(logits, g_backprop)
    return toward_logits, math.unbroadcast(_weighted(g_loss, -log_softmax(logits)), op.inputs[1])


CROSS_ENTROPY = op_def(
    "SoftmaxCrossEntropyWithLogits",
    ("features: T=float", "labels: T"),
    infer=_cross_entropy_infer,
    gradient=_cross_entropy_gradient,
    outputs=("loss", "backprop"),
)


def _sparse_infer(op: Operation) -> Signature:
    logits, labels = op.inputs
    batch, classes = require_rank(logits.dims, 2, "the logits") or ()
    rows = require_rank(labels.dims, 1, "the labels")
    batch = (shapes.merge((batch,), rows) or (None,))[0]
    return [(logits.dtype, (batch,)), (logits.dtype, (batch, classes))]


def _sparse_gradient(op: Operation, g_loss: Tensor, g_backprop: Tensor | None) -> tuple[Tensor, None]:
    toward_logits = _weighted(g_loss, op.outputs[1])
    if g_backprop is not None and not _is_zero(g_backprop):
        toward_logits = toward_logits + _second_order(op.inputs[0], g_backprop)
    return toward_logits, None


SPARSE_CROSS_ENTROPY = op_def(
    "SparseSoftmaxCrossEntropyWithLogits",
    ("features: T=float", "labels: Tlabels=index"),
    infer=_sparse_infer,
    gradient=_sparse_gradient,
    outputs=("loss", "backprop"),
)


def softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """exp(logits) / sum(exp(logits)) along an axis (tf.nn.softmax).

    Args:
        logits: A tensor of floats.
        axis: The axis, in [-rank, rank); by default the last.
        name: A name for the operation.
        dim: The old name of `axis`.

    Returns:
        A tensor of the same dtype and shape, which adds up to 1 along the axis.

    Raises:
        InvalidArgumentError: The axis is outside the rank.
        ValueError: The axis is not the last, and the rank is not known.

    Examples:
        >>> gf.Session().run(gf.nn.softmax([1.0, 1.0, 1.0, 1.0]))
        array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return _along_axis(SOFTMAX, logits, deprecated(axis, dim, "axis", "dim"), name)


def log_softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """logits - log(sum(exp(logits))) along `axis`, by default the last (tf.nn.log_softmax).

    Args:
        logits: A tensor of floats.
        axis: The axis; by default the last.
        name: A name for the operation.
        dim: The old name of `axis`.

    Returns:
        A tensor of the same shape and dtype.
    """
    return _along_axis(LOG_SOFTMAX, logits, deprecated(axis, dim, "axis", "dim"), name)


def _along_axis(definition: OpDef, logits: Any, axis: Any, name: str | None) -> Tensor:
    axis = -1 if axis is None else axis
    if isinstance(axis, Tensor):
        axis = constant_value(axis)
        if axis is None:
            raise ValueError(f"{definition.name} needs an axis that is known while the graph is built.")
    axis = int(axis)
    if not isinstance(logits, Tensor):
        with op_scope(name, definition.name, (logits,)) as scope:
            own = holds_numpy(logits)
            x = convert_to_tensor(logits, name="logits", preferred_dtype=None if own else dtypes.float32)
            if axis == -1 or x.dims is not None and axis == len(x.dims) - 1:
                return apply(definition, (x,), name=scope).outputs[0]
    else:
        x = logits
        if axis == -1 or x.dims is not None and axis == len(x.dims) - 1:
            return apply(definition, (x,), name=name).outputs[0]
    order = _axis_to_end(x, axis)
    swapped = apply(definition, (array.transpose(x, order),)).outputs[0]
    return array.transpose(swapped, order, name=name or "transpose")


def _axis_to_end(x: Tensor, axis: int) -> list[int]:
    """The permutation that exchanges an axis with the last; it is its own inverse."""
    if x.dims is None:
        raise ValueError(
            f"An axis other than the last needs a tensor of known rank, got {x.name!r}. Use set_shape."
        )
    rank = len(x.dims)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            None,
            None,
            f"Dimension ({axis}) must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions in "
            "the input.",
        )
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return order


def require_named(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    """Raises ValueError unless labels and logits were given, by name: their order differs between libraries."""
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """-sum(labels * log_softmax(logits)) along `axis`, by default the last.

    TensorFlow: tf.nn.softmax_cross_entropy_with_logits_v2. The gradient reaches logits and labels. The result has
    the shape of the logits without the axis.

    Args:
        labels: Rows of probabilities, of the logits' shape and dtype.
        logits: Unnormalised log-probabilities, a tensor of floats.
        axis: The axis of the classes; by default the last.
        name: A name for the operation.
        dim: The old name of `axis`.

    Returns:
        The loss of each row.
    """
    axis = deprecated(axis, dim, "axis", "dim")
    axis = -1 if axis is None else axis
    with op_scope(name, "softmax_cross_entropy_with_logits", (logits, labels)) as scope:
        x = convert_to_tensor(logits, name="logits")
        y = convert_to_tensor(labels, name="labels", preferred_dtype=x.dtype)
        narrow = x.dtype if x.dtype.size == 2 else None
        x = math.cast(x, dtypes.float32) if narrow else x
        if y.dtype is not x.dtype:
            y = math.cast(y, x.dtype)
        if x.dims is not None and len(x.dims) == 0:
            raise ValueError(
                f"softmax_cross_entropy_with_logits needs logits of rank at least 1, got a scalar: {x.name!r}."
            )
        if axis != -1 and (x.dims is None or axis != len(x.dims) - 1):
            order = _axis_last(x, axis)
            x, y = array.transpose(x, order), array.transpose(y, order)
        loss = apply(
            CROSS_ENTROPY, (_as_matrix(x, "Reshape"), _as_matrix(y, "Reshape_1")), name=scope
        ).outputs[0]
        result = array.reshape(loss, _outer_shape(x), name="Reshape_2")
        if x.dims is not None:
            result.set_shape(x.dims[:-1])
        return math.cast(result, narrow) if narrow else result


def _axis_last(x: Tensor, axis: int) -> list[int]:
    """The permutation that moves an axis behind all others."""
    order = _axis_to_end(x, axis)
    chosen = axis % len(order)
    return [*range(chosen), *range(chosen + 1, len(order)), chosen]


def _as_matrix(x: Tensor, name: str) -> Tensor:
    """The tensor with all axes but the last made one."""
    if x.dims is not None and len(x.dims) == 2:
        return x
    classes = None if x.dims is None else x.dims[-1]
    if classes is None:
        return array.reshape(x, array.stack([-1, array.shape(x)[-1]]), name=name)
    return array.reshape(x, [-1, classes], name=name)


def _outer_shape(x: Tensor) -> Any:
    """The shape without the last axis, for a reshape."""
    if x.dims is not None and (len(x.dims) == 2 or None not in x.dims[:-1]):
        return [-1] if len(x.dims) == 2 else list(x.dims[:-1])
    return array.shape(x)[:-1]


def softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """-sum(labels * log_softmax(logits)), no gradient reaching the labels (tf.nn.softmax_cross_entropy_with_logits).

    Labels and logits are given by name.

    Args:
        _sentinel: Not to be given: it keeps the others from being given by place.
        labels: Rows of probabilities, of the logits' shape and dtype.
        logits: Unnormalised log-probabilities, a tensor of floats.
        dim: The old name of `axis`.
        name: A name for the operation.
        axis: The axis of the classes; by default the last.

    Returns:
        The loss of each row: the logits' shape without that axis.

    Examples:
        >>> losses = gf.nn.softmax_cross_entropy_with_logits(labels=[[0.5, 0.5]], logits=[[0.0, 0.0]])
        >>> gf.Session().run(losses)
        array([0.6931472], dtype=float32)
    """
    require_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    given: tuple[Any, Any] = (logits, labels)
    with op_scope(name, "softmax_cross_entropy_with_logits_sg", given) as scope:
        fixed = array.stop_gradient(given[1], name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(
            fixed, given[0], dim if axis is None else axis, name=scope
        )


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """-log_softmax(logits)[label] (tf.nn.sparse_softmax_cross_entropy_with_logits).

    Args:
        _sentinel: Nothing: labels and logits are given by name.
        labels: The numbers of the classes, int32 or int64, of the shape of the logits without the last axis.
        logits: A tensor [..., classes] of floats, before any softmax.
        name: A name for the operation.

    Returns:
        The loss of each label, of the shape of the labels and the dtype of the logits. InvalidArgumentError when it
        runs if a label is no class.

    Raises:
        ValueError: The shapes do not fit, or something is not given by name.

    Examples:
        >>> losses = gf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0.0, 0.0]])
        >>> gf.Session().run(losses)
        array([0.6931472], dtype=float32)
    """
    require_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    given: tuple[Any, Any] = (labels, logits)
    with op_scope(name, "SparseSoftmaxCrossEntropyWithLogits", given):
        y = convert_to_tensor(given[0])
        x = convert_to_tensor(given[1])
        narrow = x.dtype if x.dtype.size == 2 else None
        x = math.cast(x, dtypes.float32) if narrow else x
        _check_sparse_shapes(x, y)
        if x.dims is not None and len(x.dims) == 2:
            loss = apply(SPARSE_CROSS_ENTROPY, (x, y), name=name).outputs[0]
        else:
            known = x.dims is not None and y.dims is not None and None not in (*x.dims[:-1], *y.dims)
            checks = [] if known else [check_shape(y, array.shape(x)[:-1])]
            with x.graph.control_dependencies(checks):
                rows, flat = _as_matrix(x, "Reshape"), array.reshape(y, [-1], name="Reshape_1")
                loss = apply(SPARSE_CROSS_ENTROPY, (rows, flat), name=name).outputs[0]
                static = y.shape.is_fully_defined()
                loss = array.reshape(loss, y.shape.as_list() if static else array.shape(y), name="Reshape_2")
        return math.cast(loss, narrow) if narrow else loss


def _check_sparse_shapes(logits: Tensor, labels: Tensor) -> None:
    if logits.dims is None:
        return
    if not logits.dims:
        raise ValueError(f"Logits cannot be scalars - received shape {TensorShape(logits.dims)}.")
    if labels.dims is None:
        return
    if len(labels.dims) != len(logits.dims) - 1:
        raise ValueError(
            f"Rank mismatch: Rank of labels (received {len(labels.dims)}) should equal rank of logits minus 1 "
            f"(received {len(logits.dims)}). Class numbers go without the last axis; one-hot labels go to "
            "softmax_cross_entropy_with_logits_v2."
        )
    if not shapes.compatible(labels.dims, logits.dims[:-1]):
        raise ValueError(
            f"Shape mismatch: The shape of labels (received {text(labels.dims)}) should equal the shape of logits "
            f"except for the last dimension (received {text(logits.dims)})."
        )
