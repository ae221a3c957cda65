"""Files read and written while the graph runs."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.rules import no_outputs

READ_FILE = op_def(
    "ReadFile",
    ("filename: string",),
    infer=lambda op: [(dtypes.string, ())],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)
WRITE_FILE = op_def(
    "WriteFile",
    ("filename: string", "contents: string"),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)
MATCHING_FILES = op_def(
    "MatchingFiles",
    ("pattern: string",),
    infer=lambda op: [(dtypes.string, (None,))],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic_shape=True,
    outputs=("filenames",),
)


def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """The bytes of a file, read anew at each run (tf.read_file).

    `filename` is a string of no axes. gf.errors.NotFoundError, PermissionDeniedError and the like if it cannot be
    read.

    Args:
        filename: A scalar string.
        name: A name for the operation.

    Returns:
        A scalar string.
    """
    return apply(READ_FILE, (convert_to_tensor(filename, dtypes.string),), name=name).outputs[0]


def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Operation:
    """The operation that writes a string to a file, whole or not at all, making its folder (tf.write_file).

    Args:
        filename: A scalar string.
        contents: A scalar string.
        name: A name for the operation.

    Returns:
        The operation.
    """
    return apply(WRITE_FILE, (filename, contents), name=name)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """The names of the files that match a pattern, or a vector of patterns, sorted (tf.matching_files).

    They are looked up at each run. gf.errors.NotFoundError if there is no such folder.

    Args:
        pattern: A pattern, or several.
        name: A name for the operation.

    Returns:
        A vector of strings.
    """
    return apply(MATCHING_FILES, (pattern,), name=name).outputs[0]
