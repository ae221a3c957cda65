"""The calls of layers between inputs and outputs, in the order in which a model has its layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphflow.keras.engine.node import Node, history_of


class Topology(NamedTuple):
    """The layers of a model, the inputs' first, and the calls of them, each behind those that it takes from."""

    layers: list[Any]
    nodes: list[Node]
    by_depth: dict[int, list[Node]]


def _post_order(outputs: Sequence[Any], inputs: Sequence[Any]) -> tuple[list[Node], dict[Any, int]]:
    """Calls behind those that they take from, and a number for each layer in the order of meeting them."""
    starts = {id(t) for t in inputs}
    done: set[int] = set()
    inside: set[int] = set()
    order: list[Node] = []
    numbers: dict[Any, int] = {}
    for output in outputs:
        history = history_of(output)
        assert history is not None
        work: list[tuple[Node, bool]] = [(history.layer.inbound_nodes[history.node_index], False)]
        while work:
            node, leaving = work.pop()
            if leaving:
                inside.discard(id(node))
                if id(node) not in done:
                    done.add(id(node))
                    order.append(node)
                continue
            if id(node) in done:
                continue
            if id(node) in inside:
                raise ValueError(
                    f"The layer {node.outbound_layer.name!r} takes its own output: a cycle of layers."
                )
            numbers.setdefault(node.outbound_layer, len(numbers))
            inside.add(id(node))
            work.append((node, True))
            for tensor in reversed(node.dependencies):
                if id(tensor) in starts and history_of(tensor) is None:
                    continue
                parent = history_of(tensor)
                if parent is None:
                    raise ValueError(
                        f"The input {tensor!r} of the layer {node.outbound_layer.name!r} comes from no layer: begin "
                        "with Input(shape=...)."
                    )
                following = parent.layer.inbound_nodes[parent.node_index]
                if id(following) not in done:
                    if id(following) in inside:
                        raise ValueError(
                            f"The layer {parent.layer.name!r} takes its own output: a cycle of layers."
                        )
                    work.append((following, False))
    return order, numbers


def topology(inputs: Sequence[Any], outputs: Sequence[Any]) -> Topology:
    """The layers and calls from inputs to outputs, in Keras's order: by distance from the outputs, then as met.

    Raises:
        ValueError: An output comes from no layer, needs an input that is not given, or two layers have one name.
    """
    order, numbers = _post_order(outputs, inputs)
    depths: dict[int, int] = {}
    layer_depths: dict[Any, int] = {}
    for node in reversed(order):
        depth = max(depths.get(id(node), 0), layer_depths.get(node.outbound_layer, 0))
        layer_depths[node.outbound_layer] = depths[id(node)] = depth
        for parent in node.parents:
            depths[id(parent)] = max(depth + 1, depths.get(id(parent), 0))
    for tensor in inputs:
        layer = history_of(tensor).layer  # type: ignore[union-attr]
        if layer not in layer_depths:
            layer_depths[layer], numbers[layer] = 0, -1
    layers = sorted(layer_depths, key=lambda layer: (-layer_depths[layer], numbers[layer]))
    by_depth: dict[int, list[Node]] = {}
    for node in order:
        by_depth.setdefault(depths[id(node)], []).append(node)
    nodes = [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]]
    _check(inputs, nodes)
    names = [layer.name for layer in layers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"The name {twice!r} is that of {names.count(twice)} layers in the model: names are unique."
        )
    return Topology(layers, nodes, by_depth)


def _check(inputs: Sequence[Any], nodes: Sequence[Node]) -> None:
    """ValueError if something is taken that neither inputs nor calls before give."""
    there = {id(t) for t in inputs}
    for node in nodes:
        for tensor in node.dependencies:
            if id(tensor) not in there:
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for tensor {tensor} at layer "
                    f"{node.outbound_layer.name!r}. It is not among the inputs of the model."
                )
        if node.input_tensors is None and any(id(t) not in there for t in node.flat_outputs):
            tensor = node.flat_outputs[0]
            raise ValueError(
                f"Graph disconnected: the model needs the input {tensor}, of the layer "
                f"{node.outbound_layer.name!r}, which is not among its inputs."
            )
        there.update(id(t) for t in node.flat_outputs)
