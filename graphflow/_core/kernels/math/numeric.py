"""NumPy kernels of signs, complex numbers, bits and sums of many tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.math.arithmetic import zero_where
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow.errors import InvalidArgumentError

Array = Any


def _sign(x: Array) -> Array:
    # Unlike NumPy's, the sign of a complex number is a number of modulus one.
    return zero_where(x == 0, np.divide(x, np.abs(x))) if x.dtype.kind == "c" else np.sign(x)


_NUMERIC: dict[str, Callable[..., Any]] = {
    "Neg": np.negative,
    "Abs": np.abs,
    "ComplexAbs": np.abs,
    "Sign": _sign,
    "Conj": np.conjugate,
    "Angle": np.angle,
    "PopulationCount": lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")),
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Invert": np.invert,
}
for _name, _function in _NUMERIC.items():
    simple(_name, _function)
simple("Real", np.real, view=True)
simple("Imag", np.imag, view=True)


@kernel("Complex")
def _complex(node: Node) -> Kernel:
    dtype = node.dtypes[0].as_numpy_dtype

    def compute(real: Array, imag: Array) -> Array:
        result = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype)
        result.real, result.imag = real, imag
        return result

    return compute


def _shift(function: Callable[..., Any]) -> Kernel:
    # NumPy leaves x no bits if all are shifted out; here the count stays within the width, as in TensorFlow.
    return lambda x, y: function(x, np.clip(y, 0, x.dtype.itemsize * 8 - 1))


simple("LeftShift", _shift(np.left_shift))
simple("RightShift", _shift(np.right_shift))


def _add_all(*inputs: Array) -> Array:
    first = inputs[0]
    if any(x.shape != first.shape for x in inputs):
        shapes = ", ".join(str(x.shape) for x in inputs)
        raise InvalidArgumentError(
            None, None, f"Inputs to a sum of tensors must have one shape, got {shapes}."
        )
    if len(inputs) == 1:
        return np.array(first)
    total = np.add(first, inputs[1])
    for x in inputs[2:]:
        total = np.add(total, x)
    return total


simple("AddN", _add_all)
simple("AccumulateNV2", _add_all)
