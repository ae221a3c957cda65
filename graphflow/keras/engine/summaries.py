"""A model's layers as a table of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import graphflow.logging as logging
import graphflow.nest as nest
from graphflow.keras.backend.values import count_params
from graphflow.keras.engine.tracking import once


def print_summary(
    model: Any, line_length: int | None, positions: Sequence[float] | None, print_fn: Callable[[str], Any]
) -> None:
    """Prints the layers of a model, shapes, numbers of weights, and what each takes where they are no chain."""
    chain = hasattr(model, "_stack") or model._topology is None or _is_chain(model)
    length = line_length or (65 if chain else 98)
    columns = list(positions or ((0.45, 0.85, 1.0) if chain else (0.33, 0.55, 0.67, 1.0)))
    if columns[-1] <= 1:
        columns = [int(length * p) for p in columns]
    names = ["Layer (type)", "Output Shape", "Param #"] + ([] if chain else ["Connected to"])

    def row(fields: Sequence[str]) -> None:
        line = ""
        for field, end in zip(fields, columns, strict=False):
            line = (line[:-1] + " " if line else "") + field
            line = line[: int(end)].ljust(int(end))
        print_fn(line)

    print_fn(f'Model: "{model.name}"')
    print_fn("_" * length)
    row(names)
    print_fn("=" * length)
    layers = model.layers
    for index, layer in enumerate(layers):
        weights = layer.count_params() if layer.built else 0
        fields = [
            f"{layer.name} ({type(layer).__name__})",
            _shape(layer),
            str(weights) if layer.built else "0 (unused)",
        ]
        before = [] if chain else _inputs(layer, model) or [""]
        row([*fields, *before[:1]])
        for name in before[1:]:
            row(["", "", "", name])
        print_fn(("=" if index == len(layers) - 1 else "_") * length)
    # What compile found is trained, whatever was frozen since; so what was frozen since stands in both numbers.
    compiled = getattr(model, "_compiled", None)
    trained = _elements(model.trainable_weights if compiled is None else compiled.trained_weights)
    others = _elements(model.non_trainable_weights)
    if compiled is not None and len(compiled.trained_weights) != len(model.trainable_weights):
        logging.warning(
            "Layers of the model %r were frozen, or freed, since compile(): call it again.", model.name
        )
    print_fn(f"Total params: {trained + others:,}")
    print_fn(f"Trainable params: {trained:,}")
    print_fn(f"Non-trainable params: {others:,}")
    print_fn("_" * length)


def _elements(weights: Sequence[Any]) -> int:
    return sum(count_params(v) for v in once(weights))


def _is_chain(model: Any) -> bool:
    """Whether each layer takes the one before it, as in a Sequential, and none is called twice."""
    nodes = model._topology.nodes
    one_each = len({id(node.outbound_layer) for node in nodes}) == len(nodes)
    one_after_the_other = all(len(at_depth) == 1 for at_depth in model._topology.by_depth.values())
    return one_each and one_after_the_other and all(len(node.flat_inputs) <= 1 for node in nodes)


def _shape(layer: Any) -> str:
    try:
        return str(layer.output_shape)
    except (AttributeError, RuntimeError):
        return "multiple"


def _inputs(layer: Any, model: Any) -> list[str]:
    found = []
    for node in getattr(layer, "inbound_nodes", ()):
        if node in model._topology.nodes:
            for tensor in nest.flatten(node.flat_inputs):
                history = tensor._keras_history
                found.append(f"{history.layer.name}[{history.node_index}][{history.tensor_index}]")
    return found
