"""Three ops: an elementwise one, one with a lowering rule, and one with an effect."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import graphflow as gf
from graphflow import extend

# ---- x * sigmoid(factor * x), elementwise -------------------------------------------------------------------------


def _quick_gelu_gradient(op: gf.Operation, gradient: gf.Tensor) -> Any:
    (x,) = op.inputs
    factor = op.get_attr("factor")
    gate = gf.sigmoid(factor * x)
    return gradient * (gate + factor * x * gate * (1.0 - gate))


QUICK_GELU = extend.define_op(
    "AcmeQuickGelu",
    ("features: T=float",),
    infer=extend.same_as_input,
    gradient=_quick_gelu_gradient,
    scalar="{features} * sigmoid({@factor} * {features})",
)


@extend.kernel("AcmeQuickGelu")
def _quick_gelu(node: extend.KernelNode) -> Callable[..., Any]:
    factor = node.attrs["factor"]

    def run(features: Any) -> Any:
        return features / (1 + np.exp(features.dtype.type(-factor) * features))

    return run


def quick_gelu(features: Any, factor: float = 1.702, name: str | None = None) -> gf.Tensor:
    """x * sigmoid(factor * x)."""
    __tracebackhide__ = True  # Errors name the line of who calls this.
    return extend.add_operation(QUICK_GELU, [features], {"factor": float(factor)}, name).outputs[0]


# ---- rows divided by their root mean square, and that -------------------------------------------------------------


def _row_norm_shapes(op: gf.Operation) -> list[tuple[Any, Any]]:
    shape = op.inputs[0].shape
    if shape.ndims is not None and shape.ndims != 2:
        raise ValueError(f"The rows of a matrix are normalised, and this is of shape {shape}.")
    return [(op.inputs[0].dtype, shape), (op.inputs[0].dtype, shape.with_rank(2)[:1])]


def _row_norm_gradient(op: gf.Operation, gradient: gf.Tensor, of_size: gf.Tensor) -> Any:
    normal, size = op.outputs
    count = gf.cast(gf.shape(normal)[1], normal.dtype)
    along = gf.reduce_mean(gradient * normal, axis=1, keepdims=True)
    return (gradient - normal * along) / size[:, None] + of_size[:, None] * normal / count


ROW_NORM = extend.define_op(
    "AcmeRowNorm",
    ("rows: T=float",),
    infer=_row_norm_shapes,
    gradient=_row_norm_gradient,
    outputs=("normal", "size"),
)


@extend.kernel("AcmeRowNorm")
def _row_norm(node: extend.KernelNode) -> Callable[..., Any]:
    little = node.attrs["epsilon"]

    def run(rows: Any) -> Any:
        size = np.sqrt(np.mean(np.square(rows), axis=1, dtype=rows.dtype) + rows.dtype.type(little))
        return rows / size[:, np.newaxis], size

    return run


@extend.lowers("AcmeRowNorm")
def _lower_row_norm(lowering: extend.Lowering, i: extend.Instruction) -> bool:
    rows = lowering.value(i.inputs[0])
    if rows is None or rows.dtype == "float16":
        return False
    count, columns = rows.shape
    squares = lowering.temporary(i.name, rows.dtype, (count,))
    lowering.reduction(i, "sum", (1,), rows, "{0} * {0}", squares)
    size = lowering.result(i, 1)
    lowering.elementwise(i, f"sqrt({{0}} / {columns} + {i.attrs['epsilon']!r})", [squares], size)
    lowering.elementwise(i, "{0} / {1}", [rows, size.reshaped((count, 1))], lowering.result(i))
    return True


def row_norm(rows: Any, epsilon: float = 1e-6, name: str | None = None) -> list[gf.Tensor]:
    """Rows divided by their root mean square, and the root mean squares."""
    __tracebackhide__ = True
    return list(extend.add_operation(ROW_NORM, [rows], {"epsilon": float(epsilon)}, name).outputs)


# ---- how often it ran ---------------------------------------------------------------------------------------------

TICKS = extend.define_op(
    "AcmeTicks",
    (),
    infer=lambda op: [(gf.int64, [])],
    gradient=extend.NOT_DIFFERENTIABLE,
    stateful=True,
)


@extend.kernel("AcmeTicks")
def _ticks(node: extend.KernelNode) -> Callable[..., Any]:
    counter = itertools.count(1)
    return lambda: np.int64(next(counter))


def ticks(name: str | None = None) -> gf.Tensor:
    """The number of the run since the plan was made."""
    return extend.add_operation(TICKS, [], name=name).outputs[0]


# ---- an update of a variable and its slot -------------------------------------------------------------------------

LION = extend.define_op(
    "AcmeApplyLion",
    ("var&: T=float", "m&: T", "rate: T", "beta: T", "grad: T"),
    infer=extend.same_as_input,
    gradient=extend.NOT_DIFFERENTIABLE,
    outputs=("var",),
    scalar=(
        "way = sign({beta} * {m} + (1 - {beta}) * {grad})",
        "m = {beta} * {m} + (1 - {beta}) * {grad}",
        "var = {var} - {rate} * way",
    ),
)


@extend.kernel("AcmeApplyLion")
def _lion(node: extend.KernelNode) -> Callable[..., Any]:
    def run(var: Any, m: Any, rate: Any, beta: Any, grad: Any) -> Any:
        mean = beta * m + (1 - beta) * grad
        return var - rate * np.sign(mean), mean

    return run


def lion(var: Any, m: Any, rate: Any, beta: Any, grad: Any, name: str | None = None) -> gf.Tensor:
    """A step of a sign descent with momentum; gives the variable."""
    __tracebackhide__ = True
    return extend.add_operation(LION, [var, m, rate, beta, grad], name=name).outputs[0]
