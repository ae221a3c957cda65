"""Nodes: the calls of layers on symbolic inputs, from which models are made."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import graphflow.nest as nest
from graphflow._core.graph.elements import Tensor

INDEPENDENT: Final = "keras.independent_operations"
"""What a graph keeps: the operations of which it is known that they depend on no layer."""


class History(NamedTuple):
    """Where a tensor comes from: the layer, which of its calls, and which of that call's outputs."""

    layer: Any
    node_index: int
    tensor_index: int


class Node:
    """One call of a layer: what it was given and what it gave."""

    def __init__(self, layer: Any, inputs: Any, outputs: Any, arguments: dict[str, Any]) -> None:
        self.outbound_layer = layer
        self.input_tensors = inputs
        self.output_tensors = outputs
        self.arguments = arguments
        index = len(layer.inbound_nodes)
        layer.inbound_nodes.append(self)
        for number, tensor in enumerate(nest.flatten(outputs)):
            tensor._keras_history = History(layer, index, number)
            if tensor.consumers():
                tensor.graph.attachments.pop(INDEPENDENT, None)
        for tensor in self.dependencies:
            history = history_of(tensor)
            if history is not None:
                history.layer.outbound_nodes.append(self)

    @property
    def flat_inputs(self) -> list[Tensor]:
        """The tensors that it was given; none for an input layer."""
        return [] if self.input_tensors is None else nest.flatten(self.input_tensors)

    @property
    def dependencies(self) -> list[Tensor]:
        """The tensors that it was given, and those among its arguments that come from layers."""
        more = [v for v in nest.flatten(list(self.arguments.values())) if history_of(v) is not None]
        return [*self.flat_inputs, *more]

    @property
    def flat_outputs(self) -> list[Tensor]:
        """The tensors that it gave."""
        return nest.flatten(self.output_tensors)

    @property
    def parents(self) -> list[Node]:
        """The calls that made its inputs."""
        return [
            h.layer.inbound_nodes[h.node_index] for h in map(history_of, self.dependencies) if h is not None
        ]

    @property
    def inbound_layers(self) -> list[Any]:
        """The layers that made its inputs."""
        return [h.layer for h in map(history_of, self.dependencies) if h is not None]


def history_of(tensor: Any) -> History | None:
    """Where a tensor comes from, None if no layer made it as its output."""
    return getattr(tensor, "_keras_history", None)


def mask_of(tensor: Any) -> Any:
    """The mask of a tensor, None if nothing of it is masked."""
    return getattr(tensor, "_keras_mask", None)


def masks_of(tensors: Any) -> Any:
    """The masks of a structure of tensors; None if nothing is masked."""
    found = nest.map_structure(mask_of, tensors)
    return None if all(m is None for m in nest.flatten(found)) else found
