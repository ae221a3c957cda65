"""NumPy kernels of the optimizers' updates, made from their rules."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.kernels.math.scalar_text import statements
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.ops.state.training import RULES, UpdateRule


def _register_dense(rule: UpdateRule) -> None:
    function = statements(rule.text, (*rule.slots, *rule.numbers, "grad"), rule.slots)
    count = len(rule.slots)

    @kernel(f"Apply{rule.name}")
    def factory(node: Node) -> Kernel:
        used = not node.used or node.used[0]

        def run(*arguments: Any) -> Any:
            cells, rest = arguments[:count], arguments[count:]
            shape = cells[0].get().shape
            if np.shape(rest[-1]) != shape:
                raise errors.InvalidArgumentError(
                    None, None, f"var and grad do not have the same shape: {shape} {np.shape(rest[-1])}"
                )

            def change(arrays: list[Any]) -> None:
                for array, value in zip(arrays, function(*arrays, *rest), strict=True):
                    array[...] = value

            cells[0].change_together(cells, change)
            return cells[0].get().copy() if used else None

        return run


def _register_sparse(rule: UpdateRule) -> None:
    function = statements(rule.text, (*rule.slots, *rule.numbers, "grad"), rule.slots)
    count = len(rule.slots)

    @kernel(f"SparseApply{rule.name}")
    def factory(node: Node) -> Kernel:
        used = not node.used or node.used[0]

        def run(*arguments: Any) -> Any:
            cells, rest, indices = arguments[:count], arguments[count:-1], np.asarray(arguments[-1])
            rows = cells[0].get().shape[0]
            bad = (indices < 0) | (indices >= rows)
            if bad.any():
                position = int(np.argmax(bad))
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Index {int(indices[position])} at offset {position} in indices is out of range [0, {rows})",
                )

            def change(arrays: list[Any]) -> None:
                for array, value in zip(arrays, function(*[a[indices] for a in arrays], *rest), strict=True):
                    array[indices] = value

            cells[0].change_together(cells, change)
            return cells[0].get().copy() if used else None

        return run


for _rule in RULES:
    _register_dense(_rule)
    _register_sparse(_rule)
