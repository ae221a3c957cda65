"""How many floating-point operations an operation does, as TensorFlow counts them: from its static shapes alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from graphflow._core.graph.elements import Operation, Tensor


class _Unknown(Exception):
    """A size is not known before the run."""


def _sizes(tensor: Tensor) -> list[int]:
    dims = tensor.dims
    if dims is None or None in dims:
        raise _Unknown
    return [size for size in dims if size is not None]


def _count(tensor: Tensor) -> int:
    return math.prod(_sizes(tensor))


def _of_input(factor: int) -> Callable[[Operation], int]:
    return lambda op: factor * _count(op.inputs[0])


def _of_output(factor: int) -> Callable[[Operation], int]:
    return lambda op: factor * _count(op.outputs[0])


def _reduction(of_result: int) -> Callable[[Operation], int]:
    return lambda op: _count(op.inputs[0]) + (of_result - 1) * _count(op.outputs[0])


def _product(transposed: str) -> Callable[[Operation], int]:
    def count(op: Operation) -> int:
        shape = _sizes(op.inputs[0])
        return int(2 * shape[-2 if op.get_attr(transposed) else -1] * _count(op.outputs[0]))

    return count


def _convolution(op: Operation) -> int:
    return 2 * _count(op.outputs[0]) * math.prod(_sizes(op.inputs[1])[:-1])


def _depthwise(op: Operation) -> int:
    return 2 * _count(op.outputs[0]) * math.prod(_sizes(op.inputs[1])[:2])


def _back(image: Callable[[Operation], Tensor], kernel: Callable[[Operation], Tensor]) -> Any:
    def count(op: Operation) -> int:
        pixels, steps = image(op), op.get_attr("strides")
        return int(2 * _count(pixels) * _count(kernel(op)) // (_sizes(pixels)[-1] * steps[1] * steps[2]))

    return count


def _window(op: Operation) -> int:
    return math.prod(int(size) for size in op.get_attr("ksize"))


_COUNTS: Final[Mapping[str, Callable[[Operation], int]]] = {
    **dict.fromkeys(("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd", "BiasAdd"), _of_input(1)),
    "Rsqrt": _of_input(2),
    "Softmax": _of_input(5),
    "L2Loss": lambda op: 3 * _count(op.inputs[0]) - 1,
    **dict.fromkeys(
        (
            "Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "GreaterEqual", "Greater",
            "LessEqual", "Less", "Equal", "NotEqual",
        ),
        _of_output(1),
    ),
    "RsqrtGrad": _of_output(4),
    "SquaredDifference": _of_output(2),
    "Mean": _reduction(1),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduction(0)),
    **dict.fromkeys(("AvgPool", "MaxPool"), lambda op: _window(op) * _count(op.outputs[0])),
    "AvgPoolGrad": lambda op: 2 * _window(op) * _count(op.inputs[1]),
    "MaxPoolGrad": lambda op: (_window(op) + 1) * _count(op.inputs[1]),
    "AddN": lambda op: _count(op.inputs[0]) * (len(op.inputs) - 1),
    "MatMul": _product("transpose_a"),
    "BatchMatMul": _product("adj_x"),
    "BatchMatMulV2": _product("adj_x"),
    "Conv2D": _convolution,
    "Conv3D": _convolution,
    "DepthwiseConv2dNative": _depthwise,
    "Dilation2D": _depthwise,
    "Conv2DBackpropInput": _back(lambda op: op.outputs[0], lambda op: op.inputs[1]),
    "Conv2DBackpropFilter": _back(lambda op: op.inputs[0], lambda op: op.outputs[0]),
}  # fmt: skip


def float_operations(op: Operation) -> int:
    """How many an operation does; 0 where that is not counted, or a size is not known before the run."""
    count = _COUNTS.get(op.type)
    try:
        return 0 if count is None else int(count(op))
    except _Unknown:
        return 0
