"""Notices growth: a graph to which a program adds operations between runs, which slow down and fill the memory."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Final

from graphflow._core.graph.elements import user_line
from graphflow._core.graph.graph import Graph

_TIMES: Final = 10


class GrowthWatch:
    """Warns once for each line of the user's program that builds operations again and again between runs."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._seen = 0
        self._times: Counter[tuple[str, int]] = Counter()

    def look(self) -> None:
        """To be called before a run of a graph that may have grown."""
        size = self._graph.version
        if size == self._seen:
            return
        self._seen = size
        newest = self._graph.get_operations()[-1]
        self._times[newest.line] += 1
        if self._times[newest.line] == _TIMES:
            where = "{}:{}".format(*newest.line)
            warnings.warn(
                f"The graph grew before each of {_TIMES} runs and has {size} operations now: {where} builds operations "
                f"inside a loop, the newest being {newest.name!r}, which slows every run down. Build them once, before "
                "the loop; gf.get_default_graph().finalize() finds every such place.",
                RuntimeWarning,
                stacklevel=_stack_level(),
            )


def _stack_level() -> int:
    """The number of frames between the caller and the user's code."""
    line = user_line()
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and (frame.f_code.co_filename, frame.f_lineno) != line:
        level, frame = level + 1, frame.f_back
    return level
