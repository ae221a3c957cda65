"""SessionGraph: what a session looks up in its graph because plans say nothing of it.

A plan holds no operation of a graph, only its name, type and line (`plan.ir.Origin`). So an error that a run raises
names an `Origin`; before it reaches the user, it gets the operation itself, as TensorFlow's errors have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import graphflow.errors as errors
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.function import GraphFunction
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.planner import Planner


class SessionGraph:
    """The graph of a session, for the resources in the session's store. Thread-safe."""

    def __init__(self, graph: Graph, planner: Planner) -> None:
        self._graph = graph
        self._planner = planner

    def lacks_queue_runner(self, queue: str, store: ResourceStore) -> bool:
        """Whether the op of that name is a queue with a runner that was not started for the session of a store."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return any(runner.name == queue and not runner.started(store) for runner in runners)

    def evaluate(self, tensor: str, store: ResourceStore) -> Any:
        """The value of the tensor of that name, which depends on nothing fed; KeyError if the graph has none."""
        return self._planner.evaluate(self._graph.get_tensor_by_name(tensor), store)


@contextmanager
def operations_named(graph: Graph) -> Iterator[None]:
    """Inside, errors get the operations of the graph that they name by their origin."""
    try:
        yield
    except errors.OpError as error:
        name_operations(error, graph)
        raise


def name_operations(error: BaseException, graph: Graph) -> None:
    """Gives an error, and those that caused it, the operations of the graph that they name by their origin."""
    cause: BaseException | None = error
    passed: set[int] = set()
    while (
        cause is not None and id(cause) not in passed
    ):  # A function of the user's may raise an error from itself.
        passed.add(id(cause))
        if isinstance(cause, errors.OpError) and isinstance(cause.op, Origin):
            cause._op = operation_of(cause.op, graph)
        cause = cause.__cause__


def operation_of(origin: Origin, graph: Graph) -> Operation | None:
    """The operation of a graph, or of a function that the graph uses, that an origin describes; None if none is."""
    for around in _graphs(graph, set()):
        try:
            op = around.get_operation_by_name(origin.name)
        except KeyError:
            continue
        if (op.type, op.line) == (origin.type, origin.line):
            return op
    return None


def _graphs(graph: Graph, seen: set[Graph]) -> Iterator[Graph]:
    """A graph, then those of the functions in its attributes, and of the functions in theirs."""
    if graph in seen:
        return
    seen.add(graph)
    yield graph
    for op in graph.get_operations():
        for value in op.attrs.values():
            for item in value if isinstance(value, list | tuple) else (value,):
                if isinstance(item, GraphFunction):
                    yield from _graphs(item.graph, seen)
