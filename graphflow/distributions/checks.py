"""What densities check of the values that they are asked for, if a distribution validates its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.assertions import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_non_negative,
    assert_positive,
)
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.transcendental import floor
from graphflow._core.ops.state.scopes import control_dependencies


def after(checks: Sequence[Operation | None], value: Tensor) -> Tensor:
    """The value, which has passed the checks; None is one that was made while the graph was built."""
    with control_dependencies([check for check in checks if check is not None]):
        return identity(value)


def whole_numbers(value: Tensor, what: str) -> list[Operation | None]:
    """That values are not negative and have no fraction."""
    checks: list[Operation | None] = [assert_non_negative(value, message=f"{what} must be non-negative.")]
    if value.dtype.is_floating:
        checks.append(
            assert_equal(value, floor(value), message=f"{what} cannot contain fractional components.")
        )
    return checks


def counts(value: Tensor, total: Tensor, what: str) -> Tensor:
    """Counts of classes on the last axis that are whole numbers of a given sum, `what` in messages."""
    summed = assert_equal(total, reduce_sum(value, -1), message=f"{what} must sum to `self.total_count`.")
    return after([*whole_numbers(value, "counts"), summed], value)


def truths(value: Tensor) -> Tensor:
    """Numbers that are 0 or 1."""
    most = assert_less_equal(value, ones_like(value), message="Elements cannot exceed 1.")
    return after([*whole_numbers(value, "Elements"), most], value)


def between_zero_and_one(value: Tensor) -> Tensor:
    """Numbers between 0 and 1, both left out."""
    one: TensorLike = ones_like(value)
    return after(
        [
            assert_positive(value, message="sample must be positive"),
            assert_less(value, one, message="sample must be less than `1`."),
        ],
        value,
    )


def positive(value: Tensor) -> Tensor:
    """Positive numbers."""
    return after([assert_positive(value, message="samples must be positive")], value)


def shares(value: Tensor) -> Tensor:
    """Positive numbers whose sum on the last axis is 1."""
    total = reduce_sum(value, -1)
    return after(
        [
            assert_positive(value, message="samples must be positive"),
            assert_near(total, ones_like(total), message="sample last-dimension must sum to `1`"),
        ],
        value,
    )
