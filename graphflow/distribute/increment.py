"""increment_var: counts a variable up, from a tower or from outside."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.state.state import assign_add
from graphflow.distribute.context import get_cross_tower_context, get_tower_context


def increment_var(v: Any, amount: TensorLike = 1) -> Any:
    """An operation that adds to every copy of a variable, once for all towers (tf.contrib.distribute.increment_var).

    Args:
        v: A variable.
        amount: What is added.
    """

    def merged(strategy: Any, variable: Any) -> Any:
        return strategy.group(strategy.update(variable, assign_add, amount))

    strategy = get_cross_tower_context()
    if strategy is not None:
        return merged(strategy, v)
    context = get_tower_context()
    assert context is not None
    return context.merge_call(merged, v)
