"""Elements by their place in sorted rows."""

from __future__ import annotations

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.shaping import expand_dims, scalar_value
from graphflow._core.ops.core import apply
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import equal
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.rules import require_rank, require_rank_at_least


def _infer(op: Operation) -> Signature:
    dims = require_rank_at_least(op.inputs[0].dims, 1, "input")
    require_rank(op.inputs[1].dims, 0, "n")
    n = scalar_value(op.inputs[1])
    if n is not None and n < 0:
        raise ValueError(f"n of nth_element must be non-negative, got {n}.")
    if dims is None:
        return [(op.inputs[0].dtype, None)]
    if n is not None and dims[-1] is not None and dims[-1] <= n:
        raise ValueError(
            f"Input must have last dimension > n = {n} but is {dims[-1]}: its shape is {shapes.text(dims)}."
        )
    return [(op.inputs[0].dtype, dims[:-1])]


def _gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    """To the elements that are equal to it, in equal parts."""
    chosen = cast(equal(expand_dims(op.outputs[0], -1), op.inputs[0]), g.dtype)
    return chosen / reduce_sum(chosen, -1, True) * expand_dims(g, -1), None


NTH_ELEMENT = op_def("NthElement", ("input: T=real", "n: int32"), infer=_infer, gradient=_gradient)


def nth_element(
    input: TensorLike, n: IntTensorLike, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The element of each row that would stand at place n if the row were in order (tf.contrib.nn.nth_element).

    Args:
        input: Rows in the last axis.
        n: The place, from 0 to the length of a row minus 1.
        reverse: Whether rows are in order from the largest on.
        name: A name for the operation.

    Returns:
        A tensor without the last axis.

    Raises:
        ValueError: For a place that a row does not have, if it is known.
    """
    return apply(NTH_ELEMENT, (input, n), {"reverse": bool(reverse)}, name).outputs[0]
