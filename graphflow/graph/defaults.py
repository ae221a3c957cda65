"""The default graph and the default session, a stack of each per thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphflow.graph.graph import Graph


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.sessions: list[Any] = []


_stacks = _Stacks()
_global: dict[str, Any] = {"graph": None}
_lock = threading.Lock()


def get_default_graph() -> Graph:
    """The innermost graph made default in this thread, or else the process's global one."""
    if _stacks.graphs:
        graph: Graph = _stacks.graphs[-1]
        return graph
    if _global["graph"] is None:
        with _lock:
            if _global["graph"] is None:
                from graphflow.graph.graph import Graph

                _global["graph"] = Graph()
    graph = _global["graph"]
    return graph


def reset_default_graph() -> None:
    """Replaces the global default graph by an empty one; AssertionError inside a `with graph.as_default()`."""
    if _stacks.graphs:
        raise AssertionError(
            "reset_default_graph() inside `with graph.as_default():`: leave the block first."
        )
    _global["graph"] = None


@contextmanager
def default_graph(graph: Graph) -> Iterator[Graph]:
    """Makes a graph the default in this thread."""
    _stacks.graphs.append(graph)
    try:
        yield graph
    finally:
        _stacks.graphs.remove(graph)


def get_default_session() -> Any:
    """The innermost session made default in this thread, or None."""
    return _stacks.sessions[-1] if _stacks.sessions else None


def push_session(session: Any) -> None:
    """Makes a session the default in this thread until it is popped."""
    _stacks.sessions.append(session)


def pop_session(session: Any) -> None:
    """Takes a session off this thread's stack."""
    if session in _stacks.sessions:
        _stacks.sessions.reverse()
        _stacks.sessions.remove(session)
        _stacks.sessions.reverse()


def push_graph(graph: Graph) -> None:
    """Makes a graph the default in this thread until it is popped."""
    _stacks.graphs.append(graph)


def pop_graph(graph: Graph) -> None:
    """Takes a graph off this thread's stack."""
    if graph in _stacks.graphs:
        _stacks.graphs.reverse()
        _stacks.graphs.remove(graph)
        _stacks.graphs.reverse()
