"""Following a beam search back from its end: the search keeps, of each step, the words and which beams they extend."""

from __future__ import annotations

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import IntTensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import require_rank


def _infer(op: Operation) -> Signature:
    steps, parents, lengths, end = (tensor.dims for tensor in op.inputs)
    require_rank(end, 0, "end_token")
    dims = shapes.merge(require_rank(steps, 3, "step_ids"), require_rank(parents, 3, "parent_ids"))
    time, batch, width = dims or (None, None, None)
    rows = shapes.merge((batch,), require_rank(lengths, 1, "max_sequence_lengths"))
    return [(op.inputs[0].dtype, (time, *(rows or (None,)), width))]


GATHER_TREE = op_def(
    "GatherTree",
    ("step_ids: T=int32", "parent_ids: T", "max_sequence_lengths: int32", "end_token: T"),
    infer=_infer,
    gradient=NOT_DIFFERENTIABLE,
    outputs=("beams",),
)


def gather_tree(
    step_ids: IntTensorLike,
    parent_ids: IntTensorLike,
    max_sequence_lengths: IntTensorLike,
    end_token: IntTensorLike,
    name: str | None = None,
) -> Tensor:
    """The sequences of a beam search (tf.contrib.seq2seq.gather_tree).

    The sequence of a beam is followed from its last step back to the first: each step names the beam that it extends.
    What comes after the first end, and after the length, is the end.

    Args:
        step_ids: The ids that each step added to its beams, int32 [time, batch, beams].
        parent_ids: The beams that they were added to, int32 of the same shape.
        max_sequence_lengths: The length of the longest beam of each example, int32 [batch].
        end_token: The id that ends a sequence, an int32 scalar.
        name: A name for the operation.

    Returns:
        The ids of each beam's sequence, int32 [time, batch, beams].

    Raises:
        InvalidArgumentError: If the shapes do not fit, or a parent is no beam.

    Examples:
        >>> steps, parents = [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]]
        >>> beams = gf.contrib.seq2seq.gather_tree(steps, parents, [2], 9)
        >>> gf.Session().run(beams)[:, 0].T.tolist()
        [[2, 3], [1, 4]]
    """
    return apply(GATHER_TREE, (step_ids, parent_ids, max_sequence_lengths, end_token), name=name).outputs[0]
