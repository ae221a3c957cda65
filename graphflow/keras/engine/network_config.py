"""The layers of a model and how they are connected, as a configuration, in Keras's form; and back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow.keras.engine.base_layer import TensorFlowOpLayer
from graphflow.keras.engine.node import Node, history_of
from graphflow.keras.engine.op_layers import give_history
from graphflow.keras.engine.topology import Topology
from graphflow.keras.utils import registry

_LAYERS = "graphflow.keras.layers"


def give_histories(tensors: Sequence[Any]) -> None:
    """Makes layers of the operations that stand between layers and tensors."""
    give_history(tensors, TensorFlowOpLayer)


def plain(value: Any) -> Any:
    """What JSON can hold of a value of a configuration."""
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dtypes.DType):
        return value.name
    if isinstance(value, shapes.TensorShape):
        return value.as_list()
    if callable(value):
        return getattr(value, "__name__", str(value))
    raise TypeError(f"The configuration of a model cannot hold {value!r}.")


def serialize_layer(layer: Any) -> dict[str, Any]:
    """A layer's class and configuration.

    Args:
        layer: A layer or model.

    Returns:
        {"class_name": ..., "config": ...}.
    """
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


def deserialize_layer(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The layer, or model, of a class and configuration.

    Args:
        config: {"class_name": ..., "config": ...}.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The layer, with new weights.

    Raises:
        ValueError: The class is not known.
    """
    known = {"TensorFlowOpLayer": TensorFlowOpLayer, **(custom_objects or {})}
    return registry.deserialize(dict(config), _LAYERS, "layer", known)


def config_of(name: str, topology: Topology, inputs: Any, outputs: Any) -> dict[str, Any]:
    """The configuration of what lies between inputs and outputs."""
    indices: dict[int, int] = {}
    counts: dict[str, int] = {}
    inside = {id(node) for node in topology.nodes}
    for tensor in nest.flatten(inputs):  # Also an input that nothing takes.
        history = history_of(tensor)
        assert history is not None
        inside.add(id(history.layer.inbound_nodes[history.node_index]))
    for layer in topology.layers:
        for node in layer.inbound_nodes:
            if id(node) in inside:
                indices[id(node)] = counts.get(layer.name, 0)
                counts[layer.name] = indices[id(node)] + 1

    def reference(tensor: Tensor) -> list[Any]:
        history = history_of(tensor)
        assert history is not None
        node = history.layer.inbound_nodes[history.node_index]
        return [history.layer.name, indices[id(node)], history.tensor_index]

    layers = []
    for layer in topology.layers:
        calls = []
        for node in layer.inbound_nodes:
            if id(node) in inside and node.input_tensors is not None:
                arguments = {
                    k: nest.map_structure(lambda v: plain_argument(v, reference), v)
                    for k, v in node.arguments.items()
                }
                calls.append(_structure_of(node.input_tensors, lambda t: [*reference(t), arguments]))  # noqa: B023
        layers.append({**serialize_layer(layer), "name": layer.name, "inbound_nodes": calls})
    return copy.deepcopy(
        {
            "name": name,
            "layers": layers,
            "input_layers": [reference(t) for t in nest.flatten(inputs)],
            "output_layers": [reference(t) for t in nest.flatten(outputs)],
        }
    )


def plain_argument(value: Any, reference: Callable[[Tensor], list[Any]]) -> Any:
    """An argument of a call as JSON has it; TypeError for a tensor that no layer made."""
    if history_of(value) is not None:
        return reference(value)
    if isinstance(value, Tensor):
        raise TypeError(
            f"The tensor {value!r}, an argument of a layer's call, cannot be saved with the model."
        )
    return value if value is None or isinstance(value, bool | int | float | str) else plain(value)


def connected(
    config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None
) -> tuple[Any, Any, str | None]:
    """Inputs, outputs and name of the model of a configuration; its layers are made and called.

    Raises:
        ValueError: A call needs what no call before it gives.
    """
    made: dict[str, Any] = {}
    calls: list[tuple[Any, Any]] = []
    first: dict[str, int] = {}
    for entry in config["layers"]:
        layer = deserialize_layer(entry, custom_objects)
        made[entry["name"]] = layer
        first[entry["name"]] = (
            max(len(layer.inbound_nodes) - 1, 0) if not entry["inbound_nodes"] else len(layer.inbound_nodes)
        )
        calls += [(entry["name"], call) for call in entry["inbound_nodes"]]
    done: dict[str, int] = {}

    def tensor_of(reference: Sequence[Any]) -> Any:
        name, node, index = reference[:3]
        nodes = made[name].inbound_nodes
        place = first[name] + node
        return nodes[place].flat_outputs[index] if place < len(nodes) else None

    while calls:
        left: list[tuple[Any, Any]] = []
        for name, call in calls:
            leaves = _references(call, made)
            given = [tensor_of(reference) for reference in leaves]
            said = dict(leaves[0][3]) if leaves and len(leaves[0]) > 3 else {}
            referred = [tensor_of(reference) for reference in _references(list(said.values()), made)]
            waits = any(n == name for n, _ in left)
            if waits or any(t is None for t in (*given, *referred)):
                left.append((name, call))
                continue
            arguments = _replaced(said, made, tensor_of)
            inputs = _replaced(call, made, tensor_of)
            made[name](inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs, **arguments)
            done[name] = done.get(name, 0) + 1
        if len(left) == len(calls):
            raise ValueError(
                f"The layers {sorted({n for n, _ in left})} of the configuration cannot be connected."
            )
        calls = left
    inputs = [tensor_of(reference) for reference in config["input_layers"]]
    outputs = [tensor_of(reference) for reference in config["output_layers"]]
    name = config.get("name")
    return (inputs[0] if len(inputs) == 1 else inputs), (outputs[0] if len(outputs) == 1 else outputs), name


def _structure_of(inputs: Any, of_tensor: Callable[[Tensor], Any]) -> Any:
    """What a call was given, as TensorFlow writes it: always a list or dictionary at the top."""

    def converted(given: Any) -> Any:
        if isinstance(given, Mapping):
            return {key: converted(one) for key, one in given.items()}
        if isinstance(given, list | tuple):
            return [converted(one) for one in given]
        return of_tensor(given)

    return converted(inputs) if isinstance(inputs, Mapping | list | tuple) else [of_tensor(inputs)]


def _is_reference(value: Any, made: Mapping[str, Any]) -> bool:
    """Whether something says which layer's output it was, as [layer, call, output], for an input with arguments."""
    return (
        isinstance(value, list | tuple)
        and len(value) in (3, 4)
        and isinstance(value[0], str)
        and value[0] in made
        and all(type(number) is int for number in value[1:3])
        and all(isinstance(arguments, dict) for arguments in value[3:])
    )


def _references(value: Any, made: Mapping[str, Any]) -> list[Any]:
    if _is_reference(value, made):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [found for part in parts for found in _references(part, made)]


def _replaced(value: Any, made: Mapping[str, Any], tensor_of: Callable[[Sequence[Any]], Any]) -> Any:
    """Arguments with the tensors that they refer to."""
    if _is_reference(value, made):
        return tensor_of(value)
    if isinstance(value, dict):
        return {key: _replaced(part, made, tensor_of) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(part, made, tensor_of) for part in value]
    return value


__all__ = ["Node", "config_of", "connected", "deserialize_layer", "plain", "serialize_layer"]
