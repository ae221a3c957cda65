"""Weights in checkpoints of TensorFlow's, by the objects that have them: layer_with_weights-0/kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, takewhile
from typing import Any, Final

import numpy as np

import graphflow.protos as protos
from graphflow._core.checkpoint.bundle_writer import write_tensors
from graphflow._core.checkpoint.writer import Entry
from graphflow._core.common.files import storage
from graphflow._core.ops.state.variable import Variable
from graphflow.keras.backend.values import batch_set_value
from graphflow.train.saving.checkpoint_management import update_checkpoint_state
from graphflow.train.saving.checkpoint_utils import CheckpointReader

_SUFFIX: Final = "/.ATTRIBUTES/VARIABLE_VALUE"
_GRAPH: Final = "_CHECKPOINTABLE_OBJECT_GRAPH"


def exists(prefix: str) -> bool:
    """Whether there is a checkpoint."""
    return any(storage.exists(prefix + suffix) for suffix in (".index", ".safetensors"))


def variables_by_path(model: Any) -> dict[str, Any]:
    """The variables of a model by the attributes that lead to them, as TensorFlow names them in checkpoints."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for path, variable in _walk(model, "", seen):
        found.setdefault(path, variable)
    return found


def _walk(owner: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if id(owner) in seen:
        return
    seen.add(id(owner))
    for name, part in owner.checkpoint_parts():
        if isinstance(part, Variable):
            yield prefix + name, part
        else:
            yield from _walk(part, f"{prefix}{name}/", seen)


def key_of(path: str) -> str:
    """The name in a checkpoint of the variable at a path of attributes."""
    return f"{path}{_SUFFIX}"


def _optimizer_key(number: int) -> str:
    return key_of(f"optimizer/weights/{number}")


def optimizer_state(prefix: str) -> list[Any]:
    """The optimizer's state that `save` was given."""
    reader = CheckpointReader(prefix)
    names = takewhile(reader.get_variable_to_shape_map().__contains__, map(_optimizer_key, count()))
    return [reader.get_tensor(name) for name in names]


def save(model: Any, prefix: str, session: Any, state_of_optimizer: Sequence[Any] = ()) -> None:
    """Writes the weights of a model as TensorFlow does, with the graph of objects by which it finds them."""
    variables = variables_by_path(model)
    values = session.run(list(variables.values()))
    entries = [Entry(key_of(path), value) for path, value in zip(variables, values, strict=True)]
    entries += [Entry(_optimizer_key(number), value) for number, value in enumerate(state_of_optimizer)]
    names = {path: variable.op.name for path, variable in variables.items()}
    entries.append(Entry(_GRAPH, np.array(_object_graph(names), dtype=object)))
    write_tensors(prefix, entries)
    folder = storage.folder_of(storage.absolute(prefix))
    update_checkpoint_state(folder, os.path.basename(prefix), [os.path.basename(prefix)])


def _object_graph(names: Mapping[str, str]) -> bytes:
    """A TrackableObjectGraph: the objects from the model to its variables."""
    graph = protos.trackable_object_graph_pb2.TrackableObjectGraph()
    places: dict[str, int] = {"": 0}
    graph.nodes.add()
    for path, full_name in names.items():
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            here = "/".join(parts[:depth])
            if here not in places:
                places[here] = len(graph.nodes)
                graph.nodes.add()
                parent = graph.nodes[places["/".join(parts[: depth - 1])]]
                parent.children.add(node_id=places[here], local_name=parts[depth - 1])
        graph.nodes[places[path]].attributes.add(
            name="VARIABLE_VALUE", full_name=full_name, checkpoint_key=key_of(path)
        )
    message: bytes = graph.SerializeToString()
    return message


def restore(model: Any, prefix: str, session: Any) -> None:
    """Sets the weights of a model to those of a checkpoint, by the objects that have them, or by their names.

    Raises:
        ValueError: A weight is not there; names it, and what the checkpoint has.
    """
    reader = CheckpointReader(prefix)
    shapes = reader.get_variable_to_shape_map()
    pairs = []
    for path, variable in variables_by_path(model).items():
        key = next((k for k in (key_of(path), path, variable.op.name) if k in shapes), None)
        if key is None:
            some = ", ".join(sorted(shapes)[:8])
            raise ValueError(
                f"The checkpoint {prefix} has no value for the weight {variable.name!r} ({path}). It has {some}..."
            )
        pairs.append((variable, reader.get_tensor(key)))
    batch_set_value(pairs)
