"""Rules of running sums, products and log-sum-exps along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.gpu.kernels import scans
from graphflow._core.codegen.gpu.kernels.rows import rows_launch
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.compiler.gpu.nodes import Buffers, device_node
from graphflow._core.compiler.lower import DisagreementError, Lowering, Rule
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")


def add_scan(
    lowering: Lowering,
    i: Instruction,
    operation: str,
    x: Value,
    target: Value,
    axis: int,
    exclusive: bool = False,
    reverse: bool = False,
) -> None:
    """Fills a block with the scan ("sum", "prod" or "logsumexp") of another along an axis; both lie side by side."""
    length, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    lines = x.size // length

    def build(buffers: Buffers) -> Sequence[Any]:
        arrays = [buffers.array(x), buffers.array(target)]
        if inner == 1:
            source = scans.rows_source(x.dtype, operation, exclusive, reverse)
            return [rows_launch(source, lines, length, [lines, length, *arrays])]
        source = scans.lines_source(x.dtype, operation, exclusive, reverse)
        return [elementwise_launch(source, lines, [lines, *arrays, length, inner])]

    lowering.add(device_node(i, [x], [target], build))


def _scan(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        value, axis = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
        if value is None or axis is None or not value.shape or value.dtype == "bool":
            return False
        if operation == "logsumexp" and value.dtype not in _FLOATS:
            return False
        if not -len(value.shape) <= int(axis) < len(value.shape):
            raise DisagreementError(i.describe())
        x, along = lowering.compact(i, value), int(axis) % len(value.shape)
        options = bool(i.attrs["exclusive"]), bool(i.attrs["reverse"])
        add_scan(lowering, i, operation, x, lowering.result(i), along, *options)
        return True

    return rule


SCAN_RULES: Final[dict[str, Rule]] = {
    "Cumsum": _scan("sum"),
    "Cumprod": _scan("prod"),
    "CumulativeLogsumexp": _scan("logsumexp"),
}
