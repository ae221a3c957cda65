"""Files read while the graph runs."""

from __future__ import annotations

from typing import Any

from graphflow.graph import dtypes
from graphflow.graph.elements import Tensor
from graphflow.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow.ops.core import apply, convert_to_tensor

READ_FILE = op_def(
    "ReadFile",
    ("filename: string",),
    infer=lambda op: [(dtypes.string, ())],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The bytes of a file, read anew at each run (tf.read_file).

    `filename` is a string of no axes. gf.errors.NotFoundError, PermissionDeniedError and the like where it cannot be
    read.
    """
    return apply(READ_FILE, (convert_to_tensor(filename, dtypes.string),), name=name).outputs[0]


EXPORTS: dict[str, Any] = {"read_file": read_file}
