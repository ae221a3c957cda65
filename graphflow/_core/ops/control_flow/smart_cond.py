"""Branches decided while the graph is built if that is possible: the branch not taken is then never built.

Layers whose behaviour depends on a `training` flag use these, so that the flag may be a Python bool or a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.control_flow.control_flow import case, cond
from graphflow._core.ops.core import constant_value


def smart_constant_value(pred: TensorLike) -> bool | None:
    """The truth of a Python bool, of 1 or 0, or of a tensor known while the graph is built; else None.

    Args:
        pred: A bool, or a scalar bool tensor.

    Returns:
        A bool, or None.

    Raises:
        TypeError: If it is anything else (tf.contrib.framework.smart_constant_value).
    """
    if isinstance(pred, Tensor):
        known = constant_value(pred)
        return None if known is None else bool(known)
    if isinstance(pred, int | np.bool_ | np.integer) and pred in (0, 1):
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")


def smart_cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """The result of the chosen function, called at once if `pred` is known; gf.cond if it is not.

    Args:
        pred: A bool, or a scalar bool tensor.
        true_fn: A function without arguments.
        false_fn: A function without arguments.
        name: A name for the operation.

    Returns:
        What the function gives.

    Raises:
        TypeError: If a function cannot be called or pred is no truth value (tf.contrib.framework.smart_cond).
    """
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    known = smart_constant_value(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


def smart_case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """gf.case without the functions that are known not to be called (tf.contrib.framework.smart_case).

    Args:
        pred_fn_pairs: Pairs of a predicate and a function.
        default: A function without arguments, or None.
        exclusive: Whether more than one true predicate is an error.
        name: A name for the operation.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    open_pairs = []
    for pred, function in pairs:
        known = smart_constant_value(pred)
        if known is None:
            open_pairs.append((pred, function))
        elif known:
            # Nothing after it is reached; what comes before may be.
            default = function
            break
    if open_pairs:
        return case(open_pairs, default, exclusive, name=name)
    if default is None:
        raise ValueError("smart_case(): every predicate is false and there is no default.")
    with get_default_graph().name_scope(name):
        return default()
