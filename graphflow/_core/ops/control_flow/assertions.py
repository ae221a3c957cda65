"""Assertions about tensors: at the line that builds them if the answer is known there, else when they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.creation import zeros_like
from graphflow._core.ops.array.extents import rank as rank_of
from graphflow._core.ops.array.shaping import reshape, shape
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math.math import abs_, add, equal, less, less_equal, logical_or, not_equal, subtract
from graphflow._core.ops.math.reductions import reduce_all

_Compare = Callable[[Any, Any], Any]


def _checked(
    condition: Tensor,
    static: Any,
    sentence: str,
    parts: Sequence[tuple[str, Tensor]],
    message: str | None,
    options: Any,
) -> Operation:
    """The operation that checks a condition; InvalidArgumentError now if it is known to be false."""
    data, summarize = options
    told: list[Any] = [] if message is None else [message]
    told.append(sentence)
    for label, tensor in parts:
        told += [f"{label} ({tensor.name}) = ", tensor]
    if static is not None and not static:
        values = "; ".join(f"{label} = {constant_value(tensor)}" for label, tensor in parts)
        raise errors.InvalidArgumentError(None, None, f"{message or ''} {sentence} {values}".strip())
    return assert_(condition, told if data is None else list(data), summarize=summarize)


def _static(compare: Callable[..., Any], *tensors: Tensor) -> bool | None:
    values = [constant_value(t) for t in tensors]
    if any(v is None for v in values):
        return None
    return bool(np.all(compare(*values)))


def _binary(
    name: str | None, default: str, sign: str, compare: _Compare, known: _Compare, x: Any, y: Any, rest: Any
) -> Operation:
    data, summarize, message = rest
    with op_scope(name, default, [x, y]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype)
        condition = reduce_all(compare(x, y))
        sentence = f"Condition x {sign} y did not hold element-wise:"
        parts = (("x", x), ("y", y))
        return _checked(condition, _static(known, x, y), sentence, parts, message, (data, summarize))


def assert_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x == y everywhere (tf.assert_equal).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    with op_scope(name, "assert_equal", [x, y]) as scope:
        pass
    return _binary(scope[:-1], "", "==", equal, np.equal, x, y, (data, summarize, message))


def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x != y everywhere (tf.assert_none_equal).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    rest = (data, summarize, message)
    return _binary(name, "assert_none_equal", "!=", not_equal, np.not_equal, x, y, rest)


def assert_less(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x < y everywhere (tf.assert_less).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    return _binary(name, "assert_less", "<", less, np.less, x, y, (data, summarize, message))


def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x <= y everywhere (tf.assert_less_equal).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    rest = (data, summarize, message)
    return _binary(name, "assert_less_equal", "<=", less_equal, np.less_equal, x, y, rest)


def assert_greater(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x > y everywhere (tf.assert_greater).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    rest = (data, summarize, message)
    return _binary(name, "assert_greater", ">", lambda a, b: less(b, a), np.greater, x, y, rest)


def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x >= y everywhere (tf.assert_greater_equal).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    rest = (data, summarize, message)
    compare = lambda a, b: less_equal(b, a)  # noqa: E731
    return _binary(name, "assert_greater_equal", ">=", compare, np.greater_equal, x, y, rest)


def _sign(name: str | None, default: str, sign: str, x: Any, rest: Any) -> Operation:
    data, summarize, message = rest
    compare: dict[str, tuple[_Compare, _Compare]] = {
        ">": (lambda v, zero: less(zero, v), np.greater),
        ">=": (lambda v, zero: less_equal(zero, v), np.greater_equal),
        "<": (less, np.less),
        "<=": (less_equal, np.less_equal),
    }
    with op_scope(name, default, [x]):
        x = convert_to_tensor(x, name="x")
        condition = reduce_all(compare[sign][0](x, zeros_like(x)))
        static = _static(lambda v: compare[sign][1](v, 0), x)
        sentence = f"Condition x {sign} 0 did not hold element-wise:"
        return _checked(condition, static, sentence, (("x", x),), message, (data, summarize))


def assert_positive(
    x: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x > 0 everywhere (tf.assert_positive).

    Args:
        x: A tensor of numbers.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    return _sign(name, "assert_positive", ">", x, (data, summarize, message))


def assert_negative(
    x: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x < 0 everywhere (tf.assert_negative).

    Args:
        x: A tensor of numbers.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    return _sign(name, "assert_negative", "<", x, (data, summarize, message))


def assert_non_negative(
    x: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x >= 0 everywhere (tf.assert_non_negative).

    Args:
        x: A tensor of numbers.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    return _sign(name, "assert_non_negative", ">=", x, (data, summarize, message))


def assert_non_positive(
    x: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x <= 0 everywhere (tf.assert_non_positive).

    Args:
        x: A tensor of numbers.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    return _sign(name, "assert_non_positive", "<=", x, (data, summarize, message))


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless |x - y| <= atol + rtol * |y| (tf.debugging.assert_near).

    Both tolerances are ten times the machine's precision for the dtype by default.

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        rtol: The relative tolerance.
        atol: The absolute tolerance.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    with op_scope(name, "assert_near", [x, y]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype)
        precision = 10.0 * float(x.dtype.finfo.eps)
        relative = convert_to_tensor(precision if rtol is None else rtol, name="rtol", dtype=x.dtype)
        absolute = convert_to_tensor(precision if atol is None else atol, name="atol", dtype=x.dtype)
        condition = reduce_all(less_equal(abs_(subtract(x, y)), add(absolute, relative * abs_(y))))
        sentence = "x and y not equal to tolerance:"
        return _checked(condition, None, sentence, (("x", x), ("y", y)), message, (data, summarize))


# ---- ranks and types ----------------------------------------------------------------------------------------------


def _rank(
    name: str | None,
    default: str,
    x: Any,
    wanted: Sequence[Any],
    at_least: bool,
    message: str | None,
    options: Any,
) -> Operation:
    data, summarize = options
    with op_scope(name, default, [x, *wanted]):
        x = convert_to_tensor(x, name="x")
        ranks = [convert_to_tensor(w, name="rank") for w in wanted]
        for r in ranks:
            if not r.dtype.is_integer:
                raise TypeError(f"The rank of {x.name} must be an integer, got {r.dtype.name}.")
        static = [constant_value(r) for r in ranks]
        if any(r is not None and np.ndim(r) for r in static):
            raise ValueError("Rank must be a scalar.")
        words = "at least rank" if at_least else "rank" if len(ranks) == 1 else "rank in"
        if x.dims is not None and all(r is not None for r in static):
            numbers = [int(r) for r in static]
            if len(x.dims) >= numbers[0] if at_least else len(x.dims) in numbers:
                return no_op(name="static_checks_determined_all_ok")
            listed = numbers[0] if len(numbers) == 1 else tuple(numbers)
            raise ValueError(
                f"{message or ''}.  Tensor {x.name} must have {words} {listed}.  Received rank {len(x.dims)}, "
                f"shape {shapes.text(x.dims)}"
            )
        number = rank_of(x)
        if at_least:
            condition = less_equal(ranks[0], number)
        else:
            condition = equal(number, ranks[0])
            for other in ranks[1:]:
                condition = logical_or(condition, equal(number, other))
        told: list[Any] = [] if message is None else [message]
        told += [f"Tensor {x.name} must have {words}", *ranks, "Received shape: ", shape(x)]
        return assert_(condition, told if data is None else list(data), summarize=summarize)


def assert_rank(
    x: TensorLike,
    rank: IntTensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x has a rank (tf.assert_rank).

    ValueError now if it is known to have another.

    Args:
        x: A tensor of numbers.
        rank: A scalar integer.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    return _rank(name, "assert_rank", x, [rank], False, message, (data, summarize))


def assert_rank_at_least(
    x: TensorLike,
    rank: IntTensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x has at least a rank (tf.assert_rank_at_least).

    Args:
        x: A tensor of numbers.
        rank: A scalar integer.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    return _rank(name, "assert_rank_at_least", x, [rank], True, message, (data, summarize))


def assert_rank_in(
    x: TensorLike,
    ranks: Sequence[Any],
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless x has one of some ranks (tf.assert_rank_in).

    Args:
        x: A tensor of numbers.
        ranks: Integers.
        data: Tensors whose values the error shows; by default the arguments.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    return _rank(name, "assert_rank_in", x, list(ranks), False, message, (data, summarize))


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Raises TypeError now unless the tensor has a dtype; an operation that does nothing (tf.assert_type).

    Args:
        tensor: A tensor.
        tf_type: A dtype.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    with op_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = dtypes.as_dtype(tf_type)
        if tensor.dtype is not wanted:
            raise TypeError(
                f"{message or ''}  {tensor.name} must be of type {wanted.name}, not {tensor.dtype.name}."
            )
        return no_op(name="statically_determined_correct_type")


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Raises TypeError now unless the tensor is of an integer type (tf.assert_integer).

    Args:
        x: A tensor of numbers.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.
    """
    with op_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f"{message or ''}  Expected x to be integer type.  Found: {x.name} of dtype {x.dtype.name}."
            )
        return no_op(name="statically_determined_was_integer")


def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """The tensor; ValueError now if it is known to be no scalar (tf.assert_scalar).

    Args:
        tensor: A tensor.
        name: A name for the operation.
        message: A text that the error begins with.

    Returns:
        The tensor itself.
    """
    with op_scope(name, "assert_scalar", [tensor]):
        checked = convert_to_tensor(tensor, name="tensor")
        if checked.dims not in (None, ()):
            raise ValueError(
                f"{message or ''}Expected scalar shape for {checked.name}, saw shape: {shapes.text(checked.dims)}."
            )
        return checked


def is_tensor(x: object) -> bool:
    """Whether `x` is a tensor, a variable or a sparse value (tf.is_tensor).

    Args:
        x: Anything.
    """
    return isinstance(x, Tensor) or hasattr(x, "_as_graph_element") or hasattr(x, "dense_shape")


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Whether `tensor` is a tensor of numbers (tf.is_numeric_tensor).

    Args:
        tensor: Anything.
    """
    return isinstance(tensor, Tensor) and (
        tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex
    )


def _ordered(x: Any, compare: _Compare, name: str | None, default: str) -> Tensor:
    with op_scope(name, default, [x]):
        flat = reshape(convert_to_tensor(x), [-1])
        found: Tensor = reduce_all(compare(flat[:-1], flat[1:]))
        return found


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element is greater than the one before, in row-major order (tf.is_strictly_increasing).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A scalar of bools.
    """
    return _ordered(x, less, name, "is_strictly_increasing")


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no element is less than the one before, in row-major order (tf.is_non_decreasing).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A scalar of bools.
    """
    return _ordered(x, less_equal, name, "is_non_decreasing")
