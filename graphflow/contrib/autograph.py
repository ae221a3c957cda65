"""Python's control flow on tensors as a graph's, by tf.contrib.autograph's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphflow._core.common.namespaces import missing as _missing
from graphflow.autograph.converting import do_not_convert, set_verbosity, to_code, to_graph, trace

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.contrib.autograph", globals())

__all__ = ["convert", "do_not_convert", "set_verbosity", "to_code", "to_graph", "trace"]


def convert(
    recursive: bool = False, optional_features: object = None, force_conversion: bool = True, **kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that converts a function (tf.contrib.autograph.convert); see gf.autograph.to_graph.

    Args:
        recursive: Whether the program's functions that it calls are converted, too.
        optional_features: Accepted, and not needed.
        force_conversion: Accepted, and not needed.
        **kwargs: Accepted, and not needed.
    """
    return lambda function: to_graph(function, recursive)
