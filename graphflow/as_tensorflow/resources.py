"""What initialises resources (tensorflow.python.ops.resources), which variables are, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.state.variable import Variable


def shared_resources() -> list[Any]:
    """The resources of the graph that sessions share: those of its collection GraphKeys.RESOURCES."""
    return list(get_default_graph().get_collection(GraphKeys.RESOURCES))


def local_resources() -> list[Any]:
    """The resources of each session: those of the collection GraphKeys.LOCAL_RESOURCES."""
    return list(get_default_graph().get_collection(GraphKeys.LOCAL_RESOURCES))


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Operation:
    """The operation that initialises resources; without any it does nothing.

    Args:
        resource_list: What shared_resources gives, or variables.
        name: A name for the operation.

    Returns:
        The operation.
    """
    return group(*[_create(one) for one in resource_list if _create(one) is not None], name=name)


def _create(resource: Any) -> Any:
    return resource.initializer if isinstance(resource, Variable) else getattr(resource, "create", None)
