"""The outputs of layers gathered in collections under the names of their scopes: a model's end points.

A tensor's aliases are its attribute `aliases`, which programs read.
"""

from __future__ import annotations

from typing import Any, TypeVar

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import CollectionNames

_Outputs = TypeVar("_Outputs")


def collect_named_outputs(collections: CollectionNames | None, alias: str, outputs: _Outputs) -> _Outputs:
    """Adds a tensor to a collection or several, under an alias; returns it.

    Without collections nothing is done. TensorFlow: tf.contrib.layers.utils.collect_named_outputs.

    Args:
        collections: A collection, several, or None.
        alias: The name by which it is found.
        outputs: The tensor.
    """
    if collections:
        tensor: Any = outputs
        append_tensor_alias(tensor, alias)
        get_default_graph().add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Tensor, alias: str) -> Tensor:
    """Gives a tensor one more alias, without a "/" at its end (tf.contrib.layers.utils.append_tensor_alias).

    Args:
        tensor: The tensor.
        alias: The name.
    """
    named: Any = tensor
    named.aliases = [*getattr(tensor, "aliases", ()), alias.removesuffix("/")]
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The aliases of a tensor, or else its name (tf.contrib.layers.utils.get_tensor_aliases).

    Args:
        tensor: The tensor.
    """
    known: list[str] = getattr(tensor, "aliases", [])
    return list(known) or [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Any) -> list[str]:
    """The aliases of several tensors in one list (tf.contrib.layers.utils.gather_tensors_aliases).

    Args:
        tensors: The tensors.
    """
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> dict[str, Any]:
    """{alias: tensor} of a collection, in its order; clear_collection empties it.

    TensorFlow: tf.contrib.layers.utils.convert_collection_to_dict.

    Args:
        collection: Its name.
        clear_collection: Whether it is emptied.

    Returns:
        {alias: tensor}.
    """
    graph = get_default_graph()
    found = {
        alias: tensor for tensor in graph.get_collection(collection) for alias in get_tensor_aliases(tensor)
    }
    if clear_collection:
        graph.clear_collection(collection)
    return found


def last_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """The size of the last axis of a gf.TensorShape (tf.contrib.layers.utils.last_dimension).

    Args:
        shape: A gf.TensorShape.
        min_rank: The least rank.

    Returns:
        An int.

    Raises:
        ValueError: If it, or the rank, is not known, or the rank is below min_rank.
    """
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    size: int | None = shape.as_list()[-1]
    if size is None:
        raise ValueError(f"dimension -1 of shape must be known but is None: {shape}")
    return size
