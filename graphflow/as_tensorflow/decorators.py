"""Functions that stand around others (tensorflow.python.util.tf_decorator), as Python's own functools makes them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def make_decorator(
    target: Callable[..., Any], decorator_func: Callable[..., Any], *described: Any, **details: Any
) -> Callable[..., Any]:
    """The second function with the first one's name, text and signature, and the first as its __wrapped__."""
    return functools.update_wrapper(decorator_func, target)


def unwrap(maybe_tf_decorator: Any) -> tuple[list[Any], Any]:
    """What stands around a function, the outermost first, and the function."""
    around: list[Any] = []
    target = maybe_tf_decorator
    while hasattr(target, "__wrapped__"):
        around.append(target)
        target = target.__wrapped__
    return around, target
