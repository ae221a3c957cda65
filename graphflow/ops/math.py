"""Elementwise arithmetic: one definition an op, from which both tiers' code comes."""

from __future__ import annotations

from typing import Any

from graphflow.graph.elements import Operation, Tensor
from graphflow.graph.op_def import op_def
from graphflow.ops.core import apply
from graphflow.ops.rules import broadcast_binary, same_as_input


def unary(definition: Any, x: Any, name: str | None) -> Tensor:
    """Adds an operation of one input and one output."""
    return apply(definition, (x,), name=name).outputs[0]


def binary(definition: Any, x: Any, y: Any, name: str | None) -> Tensor:
    """Adds an operation of two inputs and one output."""
    return apply(definition, (x, y), name=name).outputs[0]


def unbroadcast(gradient: Tensor, target: Tensor) -> Tensor:
    """Sums a gradient over the axes along which `target` was broadcast."""
    if gradient.dims == target.dims and target.dims is not None and None not in target.dims:
        return gradient
    from graphflow.ops import reductions

    return reductions.sum_to_shape_of(gradient, target)


def _add_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return unbroadcast(g, op.inputs[0]), unbroadcast(g, op.inputs[1])


ADD = op_def(
    "Add", ("x: T", "y: T"), infer=broadcast_binary, gradient=_add_gradient, scalar="{x} + {y}"
)
NEG = op_def(
    "Neg", ("x: T=number",), infer=same_as_input, gradient=lambda op, g: (negative(g),), scalar="-{x}"
)


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x + y elementwise, with broadcasting (tf.add)."""
    return binary(ADD, x, y, name)


def negative(x: Any, name: str | None = None) -> Tensor:
    """-x elementwise (tf.negative)."""
    return unary(NEG, x, name)
