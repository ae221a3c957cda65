"""Looking at models and changing them (tf.keras.utils)."""

from __future__ import annotations

from typing import Any

import graphflow.logging as logging
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.elements import Tensor
from graphflow.keras.engine.node import history_of
from graphflow.keras.typing import Elements


def get_source_inputs(tensor: Tensor, layer: Elements = None, node_index: int | None = None) -> list[Any]:
    """The inputs that a tensor is computed from (tf.keras.utils.get_source_inputs).

    Args:
        tensor: The output of a layer.
        layer: Changes nothing.
        node_index: Changes nothing.

    Returns:
        Tensors.
    """
    history = history_of(tensor)
    if history is None:
        return [tensor]
    node = history.layer.inbound_nodes[history.node_index]
    if node.input_tensors is None:
        return list(node.flat_outputs)
    found: list[Any] = []
    for one in node.flat_inputs:
        found += [t for t in get_source_inputs(one) if not any(t is other for other in found)]
    return found


def model_to_dot(
    model: Elements,
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    **kwargs: Any,
) -> str:
    """A model as text in Graphviz's language (tf.keras.utils.model_to_dot).

    Args:
        model: The model.
        show_shapes: Whether the shapes of inputs and outputs are shown.
        show_layer_names: Whether the names of layers are shown.
        rankdir: "TB" for from the top down, "LR" for from left to right.
        **kwargs: Change nothing.

    Returns:
        The text.
    """
    lines = [f'digraph "{model.name}" {{', f"  rankdir={rankdir};", "  node [shape=record];"]
    for layer in model.layers:
        label = f"{layer.name}: {type(layer).__name__}" if show_layer_names else type(layer).__name__
        if show_shapes:
            label += f"|{{input: {_shape(layer, 'input_shape')}|output: {_shape(layer, 'output_shape')}}}"
        lines.append(f'  "{layer.name}" [label="{label}"];')
    for layer in model.layers:
        for node in getattr(layer, "inbound_nodes", ()):
            lines += [f'  "{before.name}" -> "{layer.name}";' for before in node.inbound_layers]
    return "\n".join([*lines, "}"])


def _shape(layer: Any, name: str) -> str:
    try:
        return str(getattr(layer, name))
    except (AttributeError, RuntimeError):
        return "multiple"


def plot_model(model: Elements, to_file: str = "model.png", show_shapes: bool = False, **kwargs: Any) -> None:
    """Writes a model in Graphviz's language (tf.keras.utils.plot_model).

    A name that does not end in .dot gets that ending, and the log says how the file becomes a picture.

    Args:
        model: The model.
        to_file: The file.
        show_shapes: Whether the shapes of inputs and outputs are shown.
        **kwargs: More arguments of model_to_dot.
    """
    path = to_file if to_file.endswith(".dot") else f"{to_file}.dot"
    with storage.opened(user_path(path), "wb") as file:
        file.write(model_to_dot(model, show_shapes, **kwargs).encode("utf-8"))
    if path != to_file:
        logging.warning(
            "plot_model() writes text, %s: make a picture of it by dot -Tpng -o %s %s.", path, to_file, path
        )


def convert_all_kernels_in_model(model: Elements) -> None:
    """Turns the kernels of convolutions round, as Theano has them (tf.keras.utils.convert_all_kernels_in_model).

    Args:
        model: The model.
    """
    for layer in model.layers:
        if type(layer).__name__.startswith("Conv") and layer.weights:
            values = layer.get_weights()
            axes = tuple(range(values[0].ndim - 2))
            layer.set_weights([values[0][tuple(slice(None, None, -1) for _ in axes)], *values[1:]])
