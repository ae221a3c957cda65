"""Rules of random ops on a GPU: the host counts, the device makes the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.gpu.kernels import philox
from graphflow._core.codegen.gpu.kernels.philox import WORDS, normal_tables
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.common.philox.bits import RESERVED_PER_OUTPUT, state_words
from graphflow._core.compiler.gpu.nodes import Buffers, device_node
from graphflow._core.compiler.gpu.scan_rules import add_scan
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.shared.strided import reduced
from graphflow._core.compiler.values import Value, whole
from graphflow._core.kernels.random import state_of
from graphflow._core.plan.ir import Instruction


def _constant(lowering: Lowering, label: str, array: Any) -> Value:
    value = whole(lowering.fresh(label), array.dtype.name, array.shape)
    lowering.constants[value.root] = array
    return value


def _stretch(i: Instruction, outputs: int) -> Any:
    """What the host sends for a run: where the random state is, which then moves on by so many outputs."""

    def before(run: Any) -> Any:
        return state_words(state_of(run, i).reserve(outputs * RESERVED_PER_OUTPUT))

    return before


def _random(lowering: Lowering, i: Instruction) -> bool:
    dtype = lowering.known[i.outputs[0]][1]
    integers = i.type == "RandomUniformInt"
    name = _SOURCES.get((i.type, dtype))
    if lowering.constant(i.inputs[0]) is None or name is None:
        return False
    bounds = [lowering.constant(n) for n in i.inputs[1:]]
    if any(b is None for b in bounds) or integers and not 0 < int(bounds[1]) - int(bounds[0]) < 2**63:
        return False
    tables: list[Value] = []
    if i.type in ("RandomStandardNormal", "TruncatedNormal"):
        tables = [_constant(lowering, i.name, np.array(t)) for t in normal_tables()]
    target = lowering.result(i)
    count = target.size

    def build(buffers: Buffers) -> Sequence[Any]:
        blocks = -(-count // (2 if dtype.endswith("64") else 4))
        extra: list[Any] = [buffers.array(t) for t in tables]
        source = getattr(philox, name)()
        if integers:
            low = int(bounds[0])
            extra = [low, int(bounds[1]) - low]
        arguments = [blocks, buffers.words, buffers.array(target), count, *extra]
        return [elementwise_launch(source, blocks, arguments)]

    before = _stretch(i, count)
    lowering.add(device_node(i, tables, [target], build, before=before, words=WORDS))
    return True


def _multinomial(lowering: Lowering, i: Instruction) -> bool:
    """Weights by statements, their running sums by a scan, then a search for each uniform number."""
    logits = lowering.value(i.inputs[0])
    if logits is None or lowering.constant(i.inputs[1]) is None or len(logits.shape) != 2:
        return False
    rows, classes = logits.shape
    wide = lowering.temporary(i.name, "float64", logits.shape)
    lowering.elementwise(i, "cast({0}, float64)", [logits], wide)
    top = lowering.temporary(i.name, "float64", (rows,))
    finite = "{0} if {0} - {0} == 0 else -1.7976931348623157e308"
    reduced(lowering, i, "max", finite, [wide], (1,), top)
    beside = Value(top.root, top.dtype, logits.shape, (1, 0))
    weights, cumulative = (lowering.temporary(i.name, "float64", logits.shape) for _ in range(2))
    lowering.elementwise(i, "exp({0} - {1}) if {0} - {0} == 0 else 0", [wide, beside], weights)
    add_scan(lowering, i, "sum", weights, cumulative, 1)
    target = lowering.result(i)
    samples, blocks = target.shape[1], -(-target.size // 2)

    def build(buffers: Buffers) -> Sequence[Any]:
        source = philox.classes_source(target.dtype)
        arguments = [blocks, buffers.words, buffers.array(target), target.size, buffers.array(cumulative)]
        arguments += [classes, samples]
        return [elementwise_launch(source, blocks, arguments, bound=2 * blocks)]

    before = _stretch(i, rows * 2 * (-(-samples // 4) * 4))
    lowering.add(device_node(i, [cumulative], [target], build, before=before, words=WORDS))
    return True


_SOURCES: Final = {
    ("RandomUniform", "float32"): "uniform_source",
    ("RandomUniform", "float64"): "uniform64_source",
    ("RandomUniformInt", "int32"): "uniform_int_source",
    ("RandomUniformInt", "int64"): "uniform_int64_source",
    ("RandomStandardNormal", "float32"): "normal_source",
    ("TruncatedNormal", "float32"): "truncated_normal_source",
}
"""The kernel's text by op and dtype."""
RANDOM_RULES: Final[dict[str, Rule]] = {
    **{op_type: _random for op_type, _ in _SOURCES},
    "Multinomial": _multinomial,
}
