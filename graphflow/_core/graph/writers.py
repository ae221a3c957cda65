"""The functions that write graphs and operations as protobuf messages, for the methods of Graph and Operation.

interop.graph_def knows functions and TensorFlow's ops, so it stands above them; it puts its functions here when it is
loaded, which is when one of them is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

_HOME: Final = "graphflow._core.interop.graph_def"


class Writers:
    """The functions of graph_def: of a graph (graph, from_version, add_shapes), and of one operation."""

    graph: Callable[[Any, int | None, bool], Any]
    node: Callable[[Any], Any]

    def __getattr__(self, name: str) -> Any:
        """What is not here yet."""
        import_module(_HOME)
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(f"{_HOME} writes no {name!r}.") from None


WRITERS: Final = Writers()
