"""ONNX forms of elementwise ops, reductions and products."""

from __future__ import annotations

from typing import Final

import numpy as np

from graphflow._core.graph.elements import Operation
from graphflow._core.interop.onnx.forms import FORMS, Form, Writer, form, rank, refuse

_SAME: Final = {
    "Abs": "Abs", "Acos": "Acos", "Acosh": "Acosh", "Add": "Add", "AddV2": "Add", "AddN": "Sum", "Asin": "Asin",
    "Asinh": "Asinh", "Atan": "Atan", "Atanh": "Atanh", "BatchMatMul": "MatMul", "Ceil": "Ceil", "Cos": "Cos",
    "Cosh": "Cosh", "Elu": "Elu", "Equal": "Equal", "Erf": "Erf", "Exp": "Exp", "Floor": "Floor", "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual", "Identity": "Identity", "Inv": "Reciprocal", "IsInf": "IsInf", "IsNan": "IsNaN",
    "Less": "Less", "LessEqual": "LessOrEqual", "Log": "Log", "LogicalAnd": "And", "LogicalNot": "Not",
    "LogicalOr": "Or", "Maximum": "Max", "Minimum": "Min", "Mul": "Mul", "Neg": "Neg", "Pow": "Pow",
    "Div": "Div", "PreventGradient": "Identity",
    "RealDiv": "Div", "Reciprocal": "Reciprocal", "Relu": "Relu", "Rint": "Round",
    "Selu": "Selu", "SelectV2": "Where", "Sigmoid": "Sigmoid", "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh",
    "Snapshot": "Identity", "Softplus": "Softplus", "Softsign": "Softsign", "Sqrt": "Sqrt", "StopGradient": "Identity",
    "Sub": "Sub", "Tan": "Tan", "Tanh": "Tanh", "CheckNumerics": "Identity",
}  # fmt: skip
_REDUCTIONS: Final = {
    "Sum": "ReduceSum",
    "Mean": "ReduceMean",
    "Max": "ReduceMax",
    "Min": "ReduceMin",
    "Prod": "ReduceProd",
}


def _same(kind: str) -> Form:
    def write(w: Writer, op: Operation) -> str:
        return w.node(kind, w.inputs(op))

    return write


FORMS.update({ours: _same(kind) for ours, kind in _SAME.items() if ours != "BatchMatMul"})


@form("Square")
def _square(w: Writer, op: Operation) -> str:
    x = w(op.inputs[0])
    return w.node("Mul", [x, x])


@form("Rsqrt")
def _rsqrt(w: Writer, op: Operation) -> str:
    return w.node("Reciprocal", [w.node("Sqrt", w.inputs(op))])


@form("Log1p")
def _log1p(w: Writer, op: Operation) -> str:
    return w.node("Log", [w.node("Add", [w(op.inputs[0]), w.scalar(1, op.inputs[0])])])


@form("Expm1")
def _expm1(w: Writer, op: Operation) -> str:
    return w.node("Sub", [w.node("Exp", w.inputs(op)), w.scalar(1, op.inputs[0])])


@form("Relu6")
def _relu6(w: Writer, op: Operation) -> str:
    return w.node("Clip", [w(op.inputs[0]), w.scalar(0, op.inputs[0]), w.scalar(6, op.inputs[0])])


@form("LeakyRelu")
def _leaky_relu(w: Writer, op: Operation) -> str:
    return w.node("LeakyRelu", w.inputs(op), alpha=float(op.attrs["alpha"]))


@form("SquaredDifference")
def _squared_difference(w: Writer, op: Operation) -> str:
    difference = w.node("Sub", w.inputs(op))
    return w.node("Mul", [difference, difference])


@form("NotEqual")
def _not_equal(w: Writer, op: Operation) -> str:
    return w.node("Not", [w.node("Equal", w.inputs(op))])


@form("FloorMod")
def _floor_mod(w: Writer, op: Operation) -> str:
    x, y = w.inputs(op)
    if op.inputs[0].dtype.is_integer:
        return w.node("Mod", [x, y])
    return w.node("Sub", [x, w.node("Mul", [w.node("Floor", [w.node("Div", [x, y])]), y])])


@form("FloorDiv")
def _floor_div(w: Writer, op: Operation) -> str:
    x, y = w.inputs(op)
    if op.inputs[0].dtype.is_integer:
        # ONNX divides towards zero; x - x mod y is a multiple of y, so that it does not matter.
        return w.node("Div", [w.node("Sub", [x, w.node("Mod", [x, y])]), y])
    return w.node("Floor", [w.node("Div", [x, y])])


@form("Select")
def _select(w: Writer, op: Operation) -> str:
    condition, ours, others = w.inputs(op)
    for _ in range(rank(op, 1) - rank(op, 0) if rank(op, 0) == 1 else 0):
        condition = w.node("Unsqueeze", [condition, w.integers([-1])])
    return w.node("Where", [condition, ours, others])


@form("BiasAdd")
def _bias_add(w: Writer, op: Operation) -> str:
    value, bias = w.inputs(op)
    if op.attrs.get("data_format") in (b"NCHW", "NCHW"):
        bias = w.node("Unsqueeze", [bias, w.integers(range(1, rank(op) - 1))])
    return w.node("Add", [value, bias])


@form("Cast")
def _cast(w: Writer, op: Operation) -> str:
    return w.cast(w(op.inputs[0]), op.outputs[0].dtype, op)


@form("Softmax", "LogSoftmax")
def _softmax(w: Writer, op: Operation) -> str:
    return w.node(op.type, w.inputs(op), axis=-1)


def _reduced(w: Writer, op: Operation, kind: str, x: str) -> str:
    axes = np.asarray(w.known(op, 1, "axes"), np.int64).reshape(-1)
    keep = int(bool(op.attrs.get("keep_dims", False)))
    if not axes.size:
        return w.node("Identity", [x])
    return w.node(kind, [x, w.constant(axes)], keepdims=keep)


@form(*_REDUCTIONS)
def _reduce(w: Writer, op: Operation) -> str:
    return _reduced(w, op, _REDUCTIONS[op.type], w(op.inputs[0]))


@form("All")
def _all(w: Writer, op: Operation) -> str:
    return w.cast(_reduced(w, op, "ReduceMin", w.cast(w(op.inputs[0]), np.int32, op)), np.bool_, op)


@form("Any")
def _any(w: Writer, op: Operation) -> str:
    return w.cast(_reduced(w, op, "ReduceMax", w.cast(w(op.inputs[0]), np.int32, op)), np.bool_, op)


@form("L2Loss")
def _l2_loss(w: Writer, op: Operation) -> str:
    x = w(op.inputs[0])
    total = w.node("ReduceSum", [w.node("Mul", [x, x])], keepdims=0)
    return w.node("Mul", [total, w.scalar(0.5, op.inputs[0])])


@form("ArgMax", "ArgMin")
def _arg(w: Writer, op: Operation) -> str:
    axis = int(w.known(op, 1, "axis"))
    found = w.node(op.type, [w(op.inputs[0])], axis=axis, keepdims=0)
    return w.cast(found, op.outputs[0].dtype, op)


@form("Cumsum")
def _cumsum(w: Writer, op: Operation) -> str:
    axis = w.integers(int(w.known(op, 1, "axis")))
    return w.node(
        "CumSum", [w(op.inputs[0]), axis],
        exclusive=int(op.attrs["exclusive"]), reverse=int(op.attrs["reverse"]),
    )  # fmt: skip


@form("TopKV2")
def _top_k(w: Writer, op: Operation) -> list[str]:
    count = w.node("Reshape", [w.sizes(op.inputs[1]), w.integers([1])])
    values, indices = w.nodes_of("TopK", [w(op.inputs[0]), count], 2, axis=-1)
    return [values, w.cast(indices, op.outputs[1].dtype, op)]


@form("MatMul", "BatchMatMul", "BatchMatMulV2")
def _mat_mul(w: Writer, op: Operation) -> str:
    names = []
    for number, flags in enumerate((("transpose_a", "adj_x"), ("transpose_b", "adj_y"))):
        name = w(op.inputs[number])
        if any(op.attrs.get(flag) for flag in flags):
            axes = list(range(rank(op, number)))
            name = w.node("Transpose", [name], perm=[*axes[:-2], axes[-1], axes[-2]])
        names.append(name)
    return w.node("MatMul", names)


@form("Einsum")
def _einsum(w: Writer, op: Operation) -> str:
    equation = op.attrs["equation"]
    return w.node(
        "Einsum", w.inputs(op), equation=equation if isinstance(equation, str) else equation.decode()
    )


@form("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")
def _cross_entropy(w: Writer, op: Operation) -> list[str]:
    raise refuse(op, "a loss is for training; its gradient, which the op gives too, has no place in a model")
