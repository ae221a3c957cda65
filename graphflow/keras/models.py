"""Models, and how they come from configurations and files (tf.keras.models)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from graphflow.keras.engine.input_layer import Input, InputLayer
from graphflow.keras.engine.network_config import deserialize_layer, serialize_layer
from graphflow.keras.engine.sequential import Sequential
from graphflow.keras.engine.training import Model
from graphflow.keras.saving.model_files import load_model, save_model
from graphflow.keras.typing import Config, Objects, Tensors

__all__ = [
    "Input", "Model", "Sequential", "clone_model", "load_model", "model_from_config", "model_from_json",
    "model_from_yaml", "save_model",
]  # fmt: skip


def model_from_config(config: Config, custom_objects: Objects = None) -> Any:
    """The model of a class and configuration, with new weights (tf.keras.models.model_from_config).

    Args:
        config: {"class_name": ..., "config": ...}.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The model.

    Raises:
        TypeError: The configuration is a list.
        ValueError: A class is not known.
    """
    if isinstance(config, list):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Use Sequential.from_config(config)."
        )
    return deserialize_layer(config, custom_objects)


def model_from_json(json_string: str, custom_objects: Objects = None) -> Any:
    """The model that to_json wrote, with new weights (tf.keras.models.model_from_json).

    Args:
        json_string: The text.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The model.

    Raises:
        ValueError: A class is not known, or it is no JSON.
    """
    return model_from_config(json.loads(json_string), custom_objects)


def model_from_yaml(yaml_string: str, custom_objects: Objects = None) -> Any:
    """Not there: YAML could run code. Save JSON (tf.keras.models.model_from_yaml).

    Args:
        yaml_string: A text.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        Nothing.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("model_from_yaml is not there: save the model by to_json().")


def clone_model(
    model: Model, input_tensors: Tensors = None, clone_function: Callable[[Any], Any] | None = None
) -> Any:
    """A model of layers like those of another, with new weights (tf.keras.models.clone_model).

    Args:
        model: The model.
        input_tensors: Tensors in place of new placeholders.
        clone_function: A function that makes a layer of a layer; by default by its configuration.

    Returns:
        The new model.

    Raises:
        ValueError: It is no model.
    """
    if not isinstance(model, Model):
        raise ValueError(f"Expected `model` argument to be a `Model` instance, got {model!r}.")

    def copied(layer: Any) -> Any:
        if clone_function is not None and not isinstance(layer, InputLayer):
            return clone_function(layer)
        return deserialize_layer(serialize_layer(layer))

    if isinstance(model, Sequential):
        first = [layer for layer in model._sublayers() if isinstance(layer, InputLayer)]
        start = [Input(tensor=input_tensors)] if input_tensors is not None else []
        made = Sequential(
            [
                *(t._keras_history.layer for t in start),
                *map(copied, [*([] if start else first), *model.layers]),
            ],
            model.name,
        )
        return made
    if clone_function is None and input_tensors is None:
        return type(model).from_config(model.get_config())
    return _cloned(model, input_tensors, copied)


def _cloned(model: Any, input_tensors: Any, copied: Callable[[Any], Any]) -> Any:
    """A model of inputs and outputs, layer by layer."""
    made: dict[int, Any] = {}
    given = (
        model.inputs
        if input_tensors is None
        else (input_tensors if isinstance(input_tensors, list | tuple) else [input_tensors])
    )
    starts = [
        Input(tensor=t, name=n)
        if input_tensors is not None
        else Input(batch_shape=tuple(t.shape.as_list()), dtype=t.dtype, name=n)
        for t, n in zip(given, model.input_names, strict=True)
    ]
    made.update({id(t): s for t, s in zip(model.inputs, starts, strict=True)})
    layers: dict[Any, Any] = {}
    for node in model._topology.nodes:
        if node.input_tensors is None:
            continue
        layer = layers.setdefault(node.outbound_layer, None) or copied(node.outbound_layer)
        layers[node.outbound_layer] = layer
        inputs = [made[id(t)] for t in node.flat_inputs]
        outputs = layer(inputs[0] if len(inputs) == 1 else inputs, **node.arguments)
        flat = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        made.update({id(t): o for t, o in zip(node.flat_outputs, flat, strict=True)})
    return Model(starts, [made[id(t)] for t in model.outputs], name=model.name)
