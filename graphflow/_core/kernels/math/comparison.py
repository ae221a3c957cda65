"""NumPy kernels of comparisons, of logic and of the tests for NaN and infinity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel, simple

Array = Any


def _bools(function: Callable[..., Any]) -> Kernel:
    def compute(x: Array, y: Array) -> Array:
        return function(x, y) if x.dtype != object else np.asarray(function(x, y), dtype=np.bool_)

    return compute


_COMPARISON: dict[str, Callable[..., Any]] = {
    "Equal": _bools(np.equal),
    "NotEqual": _bools(np.not_equal),
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
    "LogicalNot": np.logical_not,
    "IsNan": np.isnan,
    "IsInf": np.isinf,
    "IsFinite": np.isfinite,
}
for _name, _function in _COMPARISON.items():
    simple(_name, _function)


@kernel("ApproximateEqual")
def _approximate_equal(node: Node) -> Kernel:
    tolerance = node.attrs["tolerance"]
    return lambda x, y: np.abs(np.subtract(x, y)) < tolerance
