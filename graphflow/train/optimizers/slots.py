"""Slots: variables that belong to another variable, such as an optimizer's moments or a moving average."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_scope import ScopeSettings, pure_scope, unique_scope_name
from graphflow.distribute.context import get_distribution_strategy


def make_slot(
    primary: Variable,
    value: TensorLike | Callable[[], TensorLike],
    name: str,
    colocate: bool = True,
    dtype: DTypeLike | None = None,
) -> Variable:
    """A variable named PRIMARY/NAME, inside the current variable scope, not trained (TensorFlow's create_slot).

    A slot of a part of a partitioned variable is the same part of a partitioned slot.

    Args:
        primary: The variable, or tensor, that it is for.
        value: The initial value, or a function that makes it.
        name: What is kept, such as "momentum".
        colocate: Whether it is placed with `primary`.
        dtype: Of the slot; by default that of `primary`.

    Returns:
        The variable.
    """
    graph = get_default_graph()
    with pure_scope(unique_scope_name(f"{primary.op.name}/{name}"), ScopeSettings(), None) as scope:
        place = get_distribution_strategy().colocate_vars_with(primary) if colocate else nullcontext()
        with graph.name_scope(None), place:
            slot = Variable(
                value,
                trainable=False,
                dtype=primary.dtype if dtype is None else dtype,
                name=scope.name,
                validate_shape=primary.shape.is_fully_defined(),
            )
    info = primary.get_save_slice_info() if isinstance(primary, Variable) else None
    if info is not None:
        full_name = f"{info.full_name}/{slot.op.name[len(primary.op.name) + 1 :]}"
        part = Variable.SaveSliceInfo(full_name, info.full_shape, info.var_offset, info.var_shape)
        slot.set_save_slice_info(part)
    return slot
