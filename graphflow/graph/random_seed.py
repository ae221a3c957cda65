"""How a graph's seed and an op's seed make the pair that a random op is built with (TensorFlow's random_seed)."""

from __future__ import annotations

from typing import Final

from graphflow.graph.defaults import get_default_graph

DEFAULT_GRAPH_SEED: Final = 87654321
_MAX_INT32: Final = 2**31 - 1


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The pair (graph seed, op seed) for the next random op of the default graph; (None, None) where neither is set.

    With a graph seed alone, the op's seed is its position in the graph, so that the same program draws the same
    numbers.
    """
    graph = get_default_graph()
    if graph.seed is not None:
        seeds = (graph.seed, graph.version if op_seed is None else op_seed)
    elif op_seed is not None:
        seeds = (DEFAULT_GRAPH_SEED, op_seed)
    else:
        return None, None
    pair = (seeds[0] % _MAX_INT32, seeds[1] % _MAX_INT32)
    return (0, _MAX_INT32) if pair == (0, 0) else pair


def set_random_seed(seed: int | None) -> None:
    """Sets the default graph's seed; None removes it."""
    get_default_graph().seed = seed
