"""Small functions of tensorflow.python that programs import, and that have no public name."""

from __future__ import annotations

from os import PathLike
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.ops.state.state import assign_add
from graphflow.gfile import GFile
from graphflow.train.steps import get_global_step


def scalar() -> TensorShape:
    """The shape of no axes (tensorflow.python.framework.tensor_shape.scalar)."""
    return TensorShape([])


def vector(length: int | None) -> TensorShape:
    """The shape of one axis of this size, None if it is not known (tensor_shape.vector)."""
    return TensorShape([length])


def matrix(rows: int | None, cols: int | None) -> TensorShape:
    """The shape of two axes (tensor_shape.matrix)."""
    return TensorShape([rows, cols])


def read_file_to_string(filename: str | bytes | PathLike[str], binary_mode: bool = False) -> Any:
    """A file's whole content, text unless binary_mode (tensorflow.python.lib.io.file_io.read_file_to_string)."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: str | bytes | PathLike[str], file_content: str | bytes) -> None:
    """Writes a file with this content, over what it had (file_io.write_string_to_file)."""
    with GFile(filename, "w") as file:
        file.write(file_content)


def is_sparse(tensor: object) -> bool:
    """Whether something is a SparseTensor, or the value of one (sparse_tensor.is_sparse)."""
    return isinstance(tensor, SparseTensor | SparseTensorValue)


def increment_global_step(increment: Any, graph: Graph | None = None) -> Tensor | Operation:
    """An operation that adds to the global step (training_util._increment_global_step).

    Args:
        increment: How much.
        graph: Whose step; by default the default graph's.

    Returns:
        What assign_add gives.

    Raises:
        ValueError: There is no global step.
    """
    step = get_global_step(graph)
    if step is None:
        raise ValueError("There is no global step: call gf.train.create_global_step() first.")
    with (graph or get_default_graph()).as_default():
        return assign_add(step, increment)
