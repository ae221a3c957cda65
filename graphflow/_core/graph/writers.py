"""What writes graphs and operations as protobuf messages, for the methods of Graph and Operation that offer it.

interop.graph_def knows functions and TensorFlow's ops, so it stands above them; it puts its functions here when it is
loaded, which importing graphflow does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final


class Writers:
    """The functions of graph_def: of a graph (graph, from_version, add_shapes), and of one operation."""

    graph: Callable[[Any, int | None, bool], Any]
    node: Callable[[Any], Any]


WRITERS: Final = Writers()
