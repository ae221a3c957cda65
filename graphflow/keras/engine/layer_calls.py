"""The calls of a layer on symbolic inputs: what it was given and what it gave, at each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph.elements import Tensor
from graphflow.keras.engine.node import Node, masks_of


def shape_of(tensor: Tensor) -> tuple[int | None, ...]:
    """The static shape of a tensor as a tuple."""
    return tuple(tensor.shape.as_list())


class LayerCalls:
    """What a layer knows of its calls."""

    name: Any

    def __init__(self) -> None:
        self.inbound_nodes: list[Node] = []
        self.outbound_nodes: list[Node] = []

    # ---- its calls ------------------------------------------------------------------------------------------------

    def _node(self, index: int, what: str) -> Node:
        if not 0 <= index < len(self.inbound_nodes):
            raise ValueError(
                f"The layer {self.name!r} has {len(self.inbound_nodes)} calls on symbolic inputs; there is no {what} "
                f"at {index}."
            )
        return self.inbound_nodes[index]

    def _only(self, what: str) -> Node:
        if not self.inbound_nodes:
            raise AttributeError(
                f"The layer {self.name!r} has never been called, and thus has no defined {what}."
            )
        if len(self.inbound_nodes) > 1:
            raise AttributeError(
                f"The layer {self.name!r} was called {len(self.inbound_nodes)} times: its {what} is ill-defined; use "
                f"get_{what}_at(node_index)."
            )
        return self.inbound_nodes[0]

    @property
    def input(self) -> Any:
        """The input of its one call; AttributeError if there is none, or several."""
        node = self._only("input")
        return node.output_tensors if node.input_tensors is None else node.input_tensors

    @property
    def output(self) -> Any:
        """The output of its one call; AttributeError if there is none, or several."""
        return self._only("output").output_tensors

    def _same_at_all(self, what: str, shape_at: Callable[[int], Any]) -> Any:
        """The shape that is the same at all calls; AttributeError if it is not, or there are none."""
        found = [shape_at(index) for index in range(len(self.inbound_nodes))]
        if not found or any(one != found[0] for one in found):
            self._only(what)  # Says what is wrong.
        return found[0]

    @property
    def input_shape(self) -> Any:
        """The shape of its input, as a tuple; AttributeError if there is none, or its calls differ in it."""
        return self._same_at_all("input_shape", self.get_input_shape_at)

    @property
    def output_shape(self) -> Any:
        """The shape of its output, as a tuple; AttributeError if there is none, or its calls differ in it."""
        return self._same_at_all("output_shape", self.get_output_shape_at)

    @property
    def input_mask(self) -> Any:
        """The mask of its input."""
        return masks_of(self.input)

    @property
    def output_mask(self) -> Any:
        """The mask of its output."""
        return masks_of(self.output)

    @property
    def _inbound_nodes(self) -> list[Node]:
        return self.inbound_nodes

    @property
    def _outbound_nodes(self) -> list[Node]:
        return self.outbound_nodes

    def get_input_at(self, node_index: int) -> Any:
        """The input of one of its calls."""
        node = self._node(node_index, "input")
        return node.output_tensors if node.input_tensors is None else node.input_tensors

    def get_output_at(self, node_index: int) -> Any:
        """The output of one of its calls."""
        return self._node(node_index, "output").output_tensors

    def get_input_shape_at(self, node_index: int) -> Any:
        """The shape of the input of one of its calls."""
        return nest.map_structure(shape_of, self.get_input_at(node_index))

    def get_output_shape_at(self, node_index: int) -> Any:
        """The shape of the output of one of its calls."""
        return nest.map_structure(shape_of, self.get_output_at(node_index))
