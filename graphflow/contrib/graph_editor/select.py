"""Operations and tensors of a graph, by patterns of their names or as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow.contrib.graph_editor.walks import (
    filter_ops_from_regex,
    filter_ts_from_regex,
    get_backward_walk_ops,
    get_forward_walk_ops,
    get_walks_intersection_ops,
    listed,
)


def _pattern(given: Any, graph: Graph | None) -> re.Pattern[str] | None:
    """A pattern, or None of what is none."""
    if not isinstance(given, str | re.Pattern):
        return None
    if graph is None:
        raise ValueError("Use the keyword argument 'graph' to use regex.")
    if not isinstance(graph, Graph):
        raise TypeError(f"Expected a gf.Graph, got: {type(graph)}")
    return re.compile(given)


def _kept(found: list[Any], positive_filter: Callable[[Any], bool] | None, allowed: type) -> list[Any]:
    for one in found:
        if not isinstance(one, Operation | Tensor):
            raise TypeError(f"Expected an Operation, a Tensor or a pattern, got: {one!r}")
    return [
        one for one in found if isinstance(one, allowed) and (not positive_filter or positive_filter(one))
    ]


def select_ops(
    *args: Any,
    graph: Graph | None = None,
    positive_filter: Callable[[Operation], bool] | None = None,
    restrict_ops_regex: bool = False,
    restrict_ts_regex: bool = False,
) -> list[Operation]:
    """Operations that are given, or in whose names a pattern is found (tf.contrib.graph_editor.select_ops).

    Args:
        *args: Operations, lists of them, and patterns. Tensors do not count, nor patterns that begin with "(?#ts)".
        graph: Where patterns search.
        positive_filter: A function that says whether an operation is taken.
        restrict_ops_regex: Whether patterns have to begin with "(?#ops)".
        restrict_ts_regex: Has no effect here.

    Returns:
        A list of operations, each once.

    Raises:
        ValueError: For a pattern without a graph.
        TypeError: For anything else.
    """
    found: dict[Operation, None] = {}
    for given in args:
        pattern = _pattern(given, graph)
        if pattern is None:
            ops = listed(given)
        elif pattern.pattern.startswith("(?#ts)") or (
            restrict_ops_regex and not pattern.pattern.startswith("(?#ops)")
        ):
            continue
        else:
            ops = filter_ops_from_regex(graph or (), pattern)
        found |= dict.fromkeys(_kept(ops, positive_filter, Operation))
    return list(found)


def select_ts(
    *args: Any,
    graph: Graph | None = None,
    positive_filter: Callable[[Tensor], bool] | None = None,
    restrict_ts_regex: bool = False,
    restrict_ops_regex: bool = False,
) -> list[Tensor]:
    """Tensors that are given, or in whose names a pattern is found (tf.contrib.graph_editor.select_ts).

    Args:
        *args: Tensors, lists of them, and patterns. Operations do not count, nor patterns that begin with "(?#ops)".
        graph: Where patterns search.
        positive_filter: A function that says whether a tensor is taken.
        restrict_ts_regex: Whether patterns have to begin with "(?#ts)".
        restrict_ops_regex: Has no effect here.

    Returns:
        A list of tensors, each once.

    Raises:
        ValueError: For a pattern without a graph.
        TypeError: For anything else.
    """
    found: dict[Tensor, None] = {}
    for given in args:
        pattern = _pattern(given, graph)
        if pattern is None:
            tensors = listed(given)
        elif pattern.pattern.startswith("(?#ops)") or (
            restrict_ts_regex and not pattern.pattern.startswith("(?#ts)")
        ):
            continue
        else:
            tensors = filter_ts_from_regex(graph or (), pattern)
        found |= dict.fromkeys(_kept(tensors, positive_filter, Tensor))
    return list(found)


def select_ops_and_ts(
    *args: Any, graph: Graph | None = None, positive_filter: Callable[[Any], bool] | None = None
) -> tuple[list[Operation], list[Tensor]]:
    """Operations and tensors, given or found by patterns (tf.contrib.graph_editor.select_ops_and_ts).

    Args:
        *args: Operations, tensors, lists of them, and patterns; of tensors, if they begin with "(?#ts)".
        graph: Where patterns search.
        positive_filter: A function that says whether one is taken.

    Returns:
        A list of operations and a list of tensors.
    """
    return (
        select_ops(*args, graph=graph, positive_filter=positive_filter),
        select_ts(*args, graph=graph, positive_filter=positive_filter, restrict_ts_regex=True),
    )


__all__ = [
    "filter_ops_from_regex",
    "filter_ts_from_regex",
    "get_backward_walk_ops",
    "get_forward_walk_ops",
    "get_walks_intersection_ops",
    "select_ops",
    "select_ops_and_ts",
    "select_ts",
]
