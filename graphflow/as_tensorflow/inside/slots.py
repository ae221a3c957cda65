"""Slots of variables, and of tensors (tensorflow.python.training.slot_creator)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.array import shape, zeros
from graphflow._core.ops.state.variable import Variable
from graphflow.train.optimizers.slots import make_slot


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Variable:
    """A variable named PRIMARY/NAME that begins with a value.

    Args:
        primary: The variable or tensor that it is for.
        val: The value.
        name: What is kept.
        colocate_with_primary: Whether it is placed with `primary`.
    """
    dtype = getattr(val, "dtype", None)
    return make_slot(primary, val, name, colocate_with_primary, dtype)


def create_zeros_slot(
    primary: Any, name: str, dtype: DTypeLike | None = None, colocate_with_primary: bool = True
) -> Variable:
    """A variable named PRIMARY/NAME of zeros, as large as what it is for.

    Args:
        primary: The variable or tensor that it is for.
        name: What is kept.
        dtype: Of the zeros; by default that of `primary`.
        colocate_with_primary: Whether it is placed with `primary`.
    """
    dtype = primary.dtype if dtype is None else dtype

    def value() -> Any:
        first = primary.initialized_value() if isinstance(primary, Variable) else primary
        return zeros(primary.shape if primary.shape.is_fully_defined() else shape(first), dtype=dtype)

    return make_slot(primary, value, name, colocate_with_primary, dtype)
