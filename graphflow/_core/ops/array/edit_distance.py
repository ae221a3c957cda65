"""How far two sparse tensors of sequences are apart: what speech and text recognisers are measured by."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, Signature, op_def
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import SparseTensorLike
from graphflow._core.ops.array.shaping import full_value
from graphflow._core.ops.core import apply


def _infer(op: Operation) -> Signature:
    shapes = [op.inputs[2], op.inputs[5]]
    ranks = [None if vector.dims is None else vector.dims[0] for vector in shapes]
    if None not in ranks and ranks[0] != ranks[1]:
        raise ValueError(
            f"The hypothesis has rank {ranks[0]} and the truth rank {ranks[1]}; they must be the same."
        )
    known = [full_value(vector) for vector in shapes]
    if not isinstance(known[0], list) or not isinstance(known[1], list):
        return [(dtypes.float32, None)]
    return [(dtypes.float32, tuple(max(pair) for pair in zip(known[0][:-1], known[1][:-1], strict=True)))]


EDIT_DISTANCE = op_def(
    "EditDistance",
    (
        *("hypothesis_indices: int64", "hypothesis_values: T", "hypothesis_shape: int64"),
        *("truth_indices: int64", "truth_values: T", "truth_shape: int64"),
    ),
    infer=_infer,
    gradient=NO_GRADIENT,
)  # fmt: skip


def _sparse(value: Any, what: str) -> SparseTensor:
    if not isinstance(value, SparseTensor | SparseTensorValue):
        raise TypeError(f"{what} must be a SparseTensor, got {value!r}.")
    return SparseTensor.from_value(value)


def edit_distance(
    hypothesis: SparseTensorLike,
    truth: SparseTensorLike,
    normalize: bool = True,
    name: str | None = "edit_distance",
) -> Tensor:
    """The Levenshtein distances between the sequences along the last axes of two SparseTensors (tf.edit_distance).

    A float32 tensor of the larger leading extents of both. With `normalize` each is divided by the length of the
    truth: infinite if only that is empty, 0 if both are.

    Args:
        hypothesis: A SparseTensor.
        truth: A SparseTensor of the same dtype.
        normalize: Whether to divide by the length of the truth.
        name: A name for the operation.

    Returns:
        A tensor of float32.

    Raises:
        TypeError: If one is no SparseTensor.
        InvalidArgumentError: If the ranks differ or are below 2, or an index is out of range.
    """
    first, second = _sparse(hypothesis, "Hypothesis"), _sparse(truth, "Truth")
    parts = (
        *(first.indices, first.values, first.dense_shape),
        *(second.indices, second.values, second.dense_shape),
    )
    return apply(EDIT_DISTANCE, parts, {"normalize": bool(normalize)}, name).outputs[0]
