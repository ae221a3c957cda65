"""NumPy kernels of roots, exponentials, logarithms, trigonometry and rounding, and of their gradients.

NumPy's own functions wherever their results are TensorFlow's; the others say what differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.registry import simple
from graphflow.errors import InvalidArgumentError

Array = Any


def _sigmoid(x: Array) -> Array:
    if x.dtype.kind == "c":
        return np.reciprocal(1 + np.exp(-x))
    # exp of what is not positive only, so that nothing overflows.
    decayed = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, decayed).astype(x.dtype) / (1 + decayed)


def _reciprocal(x: Array) -> Array:
    if x.dtype.kind not in "iu":
        return np.reciprocal(x)
    if not np.all(x):
        raise InvalidArgumentError(
            None, None, "Integer division by zero: the reciprocal of 0. Cast to floats."
        )
    return np.where(np.abs(x) == 1, x, 0).astype(x.dtype)


def _round(x: Array) -> Array:
    return x if x.dtype.kind in "iu" else np.rint(x)


def _conjugate(y: Array) -> Array:
    return np.conjugate(y) if y.dtype.kind == "c" else y


_TRANSCENDENTAL: dict[str, Callable[..., Any]] = {
    "Square": np.square,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: np.reciprocal(np.sqrt(x)),
    "Reciprocal": _reciprocal,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Log": np.log,
    "Log1p": np.log1p,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Tanh": np.tanh,
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Atanh": np.arctanh,
    "Sigmoid": _sigmoid,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Rint": np.rint,
    "Round": _round,
    "Atan2": np.arctan2,
    "SqrtGrad": lambda y, dy: dy * 0.5 / _conjugate(y),
    "RsqrtGrad": lambda y, dy: dy * -0.5 * _conjugate(y * y * y),
    "ReciprocalGrad": lambda y, dy: -_conjugate(y) * _conjugate(y) * dy,
    "TanhGrad": lambda y, dy: dy * (1 - _conjugate(y * y)),
    "SigmoidGrad": lambda y, dy: dy * _conjugate(y) * (1 - _conjugate(y)),
}
for _name, _function in _TRANSCENDENTAL.items():
    simple(_name, _function)


simple("Softplus", lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
