"""The default graph and the default session, a stack of each per thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from graphflow._core.graph.graph import Graph


class SessionLike(Protocol):
    """Runs a graph: a Session, an InteractiveSession, or the session that training helpers give to hooks."""

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""
        ...

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """The values of the fetches.

        Args:
            fetches: Tensors, operations, names, or a structure of them.
            feed_dict: {tensor: value}: values that take the place of tensors.
        """
        ...


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.sessions: list[Any] = []


_stacks = _Stacks()
_global: dict[str, Any] = {"graph": None}
_lock = threading.Lock()


def get_default_graph() -> Graph:
    """The innermost graph made default in this thread, or else the process's global one.

    Examples:
        >>> with gf.Graph().as_default() as graph:
        ...     print(gf.get_default_graph() is graph)
        True
    """
    if _stacks.graphs:
        graph: Graph = _stacks.graphs[-1]
        return graph
    if _global["graph"] is None:
        with _lock:
            if _global["graph"] is None:
                from graphflow._core.graph.graph import Graph

                _global["graph"] = Graph()
    graph = _global["graph"]
    return graph


def reset_default_graph() -> None:
    """Replaces the global default graph by an empty one; AssertionError inside a `with graph.as_default()`.

    Examples:
        >>> before = gf.get_default_graph()
        >>> gf.reset_default_graph()
        >>> gf.get_default_graph() is before
        False
    """
    if _stacks.graphs:
        raise AssertionError(
            "reset_default_graph() inside `with graph.as_default():`: leave the block first."
        )
    _global["graph"] = None


def forget_default_graphs() -> None:
    """An empty default graph, whatever graphs this thread has left open: what a test begins with."""
    _stacks.graphs.clear()
    _global["graph"] = None


@contextmanager
def default_graph(graph: Graph) -> Iterator[Graph]:
    """Makes a graph the default in this thread."""
    push_graph(graph)
    try:
        yield graph
    finally:
        pop_graph(graph)


def get_default_session() -> SessionLike | Any:
    """The innermost session made default in this thread, or None; typed for programs that know that there is one."""
    return _stacks.sessions[-1] if _stacks.sessions else None


def push_session(session: Any) -> None:
    """Makes a session the default in this thread until it is popped."""
    _stacks.sessions.append(session)


def pop_session(session: Any) -> None:
    """Takes a session off this thread's stack."""
    _pop_last(_stacks.sessions, session)


def push_graph(graph: Graph) -> None:
    """Makes a graph the default in this thread until it is popped."""
    _stacks.graphs.append(graph)


def pop_graph(graph: Graph) -> None:
    """Takes a graph off this thread's stack."""
    _pop_last(_stacks.graphs, graph)


def _pop_last(stack: list[Any], item: Any) -> None:
    """Takes the innermost mention of an item off a stack; the same item may be on it more than once."""
    for position in range(len(stack) - 1, -1, -1):
        if stack[position] is item:
            del stack[position]
            return


def outermost(graph: Graph) -> Graph:
    """The graph that variables belong to which are made in a graph: of a function's body that around all functions."""
    while graph.outer is not None:
        graph = graph.outer
    return graph
