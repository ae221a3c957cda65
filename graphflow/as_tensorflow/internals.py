"""Small functions of tensorflow.python that programs import, and that have no public name."""

from __future__ import annotations

from os import PathLike
from typing import Any

from graphflow._core.graph.shapes import TensorShape
from graphflow.gfile import GFile


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
