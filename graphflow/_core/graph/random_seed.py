"""How a graph's seed and an op's seed make the pair that a random op is built with (TensorFlow's random_seed).

And whether a graph draws nothing without a seed, so that its program gives the same numbers in every run.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from graphflow._core.graph.defaults import get_default_graph, outermost
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.graph import Graph

DEFAULT_GRAPH_SEED: Final = 87654321
_MAX_INT32: Final = 2**31 - 1


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The pair (graph seed, op seed) for the next random op of the default graph; (None, None) if neither is set.

    With a graph seed alone, the op's seed is its position in the graph, so that the same program draws the same
    numbers.

    Args:
        op_seed: The op's own seed, or None.

    Returns:
        Two ints, or two Nones.
    """
    graph = get_default_graph()
    if graph.seed is not None:
        seeds = (graph.seed, graph.version + graph.unmade if op_seed is None else op_seed)
    elif op_seed is not None:
        seeds = (DEFAULT_GRAPH_SEED, op_seed)
    else:
        return None, None
    pair = (seeds[0] % _MAX_INT32, seeds[1] % _MAX_INT32)
    return (0, _MAX_INT32) if pair == (0, 0) else pair


@contextmanager
def counted_as(operations: int) -> Iterator[None]:
    """What the block builds counts as this many operations in the seeds of those that follow.

    That is how many TensorFlow builds for the same, where fewer do here: the programs that set a graph's seed alone
    draw TensorFlow's numbers all the same, and nothing is built that no run needs. What is counted inside of the
    block by `count_more` counts besides.

    Args:
        operations: How many TensorFlow builds.
    """
    graph = get_default_graph()
    before = graph.version
    yield
    graph.unmade += operations - (graph.version - before)


def count_more(operations: int) -> None:
    """Counts operations that TensorFlow builds at this place, and that are not needed here, in seeds.

    Args:
        operations: How many there are.
    """
    get_default_graph().unmade += operations


def set_random_seed(seed: int | None) -> None:
    """Sets the seed of the default graph (tf.set_random_seed).

    An op that draws has its numbers from this seed and its own. With this one alone, each op gets a seed by its
    place in the graph, so that the same program draws the same numbers.

    Args:
        seed: An int; None removes it.

    Examples:
        >>> gf.set_random_seed(1)
        >>> x = gf.random_uniform([])
        >>> first, second = (gf.Session().run(x) for _ in range(2))
        >>> bool(first == second)
        True
    """
    get_default_graph().seed = seed


_SEEN: Final[WeakKeyDictionary[Graph, int]] = WeakKeyDictionary()
"""How many operations of a graph are known to draw nothing without a seed; -1 if one does."""
_LOCK: Final = threading.Lock()


def gives_the_same(graph: Graph) -> bool:
    """Whether the program of a graph gives the same numbers whenever it is run.

    It does if the graph has a seed, or each operation that draws random numbers has one, or none draws any. Of a
    function's graph that of the graph around it counts. What is fed, and what Python functions do, is not looked at.
    """
    graph = outermost(graph)
    return graph.seed is not None or not _draws_unseeded(graph)


def _draws_unseeded(graph: Graph) -> bool:
    with _LOCK:
        seen = _SEEN.get(graph, 0)
    if 0 <= seen < graph.version:
        added = graph.get_operations()[seen:]
        seen = -1 if any(map(_is_unseeded, added)) else seen + len(added)
        with _LOCK:
            _SEEN[graph] = seen
    return seen < 0


def _is_unseeded(op: Operation) -> bool:
    if op.type in _SEEDED_BY_INPUT:
        first, second = op.inputs[-2:]
        return all(t.op.op_def.is_constant and int(t.op.attrs["value"]) == 0 for t in (first, second))
    if "seed2" in op.attrs:
        return not op.attrs["seed2"] and not op.attrs.get("seed")
    return any(_draws_unseeded(inner) for inner in _graphs_within(op))


_SEEDED_BY_INPUT: Final = frozenset({"ShuffleDataset"})


def _graphs_within(op: Operation) -> Iterator[Graph]:
    """The graphs of the functions that an operation calls."""
    for value in op.attrs.values():
        for item in value if isinstance(value, list | tuple) else (value,):
            inner: Any = getattr(item, "graph", None)
            if isinstance(inner, Graph) and inner is not op.graph:
                yield inner
