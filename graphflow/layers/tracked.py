"""The variables that layers make, kept with their graph: a session of Keras gives them their initial values."""

from __future__ import annotations

from typing import Any, Final

from graphflow._core.graph.graph import Graph

_KEY: Final = "variables_of_layers"


def track(graph: Graph, variable: Any) -> None:
    """Adds a variable."""
    tracked(graph).append(variable)


def tracked(graph: Graph) -> list[Any]:
    """The variables of a graph, in the order in which they were made; one that layers share may stand there twice."""
    found: list[Any] = graph.attachments.setdefault(_KEY, [])
    return found
