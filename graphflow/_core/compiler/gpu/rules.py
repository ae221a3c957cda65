"""How ops become work for a GPU: which have kernels there, and the rules of those that are no fused region.

What is told by statements (elementwise ops, reductions, assembly, batch normalisation) is lowered by the same rules as
on a CPU. A rule that returns False leaves its instruction to NumPy, between copies from and to the device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, Final

from graphflow._core.codegen.gpu.kernels import indexing, rows
from graphflow._core.codegen.gpu.kernels import rows as kernels
from graphflow._core.codegen.gpu.kernels.rows import rows_launch, softmax_source, top_k_source
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.compiler.added_rules import added_rules
from graphflow._core.compiler.cpu.rules import RULES
from graphflow._core.compiler.gpu.check_rules import CHECK_RULES
from graphflow._core.compiler.gpu.index_rules import INDEX_RULES
from graphflow._core.compiler.gpu.nodes import Buffers, device_node
from graphflow._core.compiler.gpu.products import product_rule
from graphflow._core.compiler.gpu.random_rules import RANDOM_RULES
from graphflow._core.compiler.gpu.scan_rules import SCAN_RULES
from graphflow._core.compiler.gpu.segment_rules import SEGMENT_RULES
from graphflow._core.compiler.gpu.sliding_rules import SLIDING_RULES
from graphflow._core.compiler.gpu.sparse_rules import SPARSE_RULES
from graphflow._core.compiler.gpu.window_rules import WINDOW_RULES
from graphflow._core.compiler.lower import DisagreementError, Lowering, Rule
from graphflow._core.compiler.shapes.fixed import OF_SHAPES
from graphflow._core.compiler.shared.movement_rules import MOVEMENT_RULES
from graphflow._core.compiler.shared.statement_rules import STATEMENT_RULES
from graphflow._core.graph.op_def import lookup
from graphflow._core.kernels import registry
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction

_FLOATS: Final = ("float32", "float64")
_LONG_ROW: Final = 32
"""From so many elements on a block looks for the largest of a row, rather than a thread."""


# ---- rows ----------------------------------------------------------------------------------------------------------


def _softmax(lowering: Lowering, i: Instruction, log: bool = False) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None or value.dtype not in _FLOATS or not value.shape:
        return False
    x, target = lowering.compact(i, value), lowering.result(i)
    columns = x.shape[-1]
    rows = x.size // columns

    def build(buffers: Buffers) -> Sequence[Any]:
        source = softmax_source(x.dtype, log)
        return [rows_launch(source, rows, columns, [rows, columns, buffers.array(x), buffers.array(target)])]

    lowering.add(device_node(i, [x], [target], build))
    return True


def _cross_entropy(lowering: Lowering, i: Instruction) -> bool:
    logits, labels = (lowering.value(n) for n in i.inputs)
    sparse = i.type.startswith("Sparse")
    if logits is None or labels is None or logits.dtype not in _FLOATS or len(logits.shape) != 2:
        return False
    if not sparse and labels.shape != logits.shape:
        return False
    x, y = lowering.compact(i, logits), lowering.compact(i, labels)
    loss, gradient = lowering.result(i, 0), lowering.result(i, 1)
    rows, columns = x.shape

    def build(buffers: Buffers) -> Sequence[Any]:
        arrays = [buffers.array(v) for v in (x, y, loss, gradient)]
        if sparse:
            source = kernels.sparse_cross_entropy_source(x.dtype)
            arguments = [buffers.status, buffers.number, rows, columns, *arrays]
        else:
            source, arguments = kernels.cross_entropy_source(x.dtype), [rows, columns, *arrays]
        return [kernels.rows_launch(source, rows, columns, arguments)]

    lowering.add(device_node(i, [x, y], [loss, gradient], build, fallible=sparse))
    return True


def _top_k(lowering: Lowering, i: Instruction) -> bool:
    value, wanted = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or wanted is None or value.dtype == "bool" or not value.shape:
        return False
    x, values, places_of = lowering.compact(i, value), lowering.result(i, 0), lowering.result(i, 1)
    columns, count = x.shape[-1], int(wanted)
    if count > columns:
        raise DisagreementError(i.describe())
    rows = x.size // columns

    def build(buffers: Buffers) -> Sequence[Any]:
        arrays = [buffers.array(v) for v in (x, values, places_of)]
        return [rows_launch(top_k_source(x.dtype), rows, columns, [rows, columns, count, *arrays])]

    lowering.add(device_node(i, [x], [values, places_of], build))
    return True


def _argument(lowering: Lowering, i: Instruction, largest: bool) -> bool:
    value, axis = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or axis is None or not value.shape or value.dtype == "bool":
        return False
    x, target = lowering.compact(i, value), lowering.result(i)
    along = int(axis) % len(x.shape)
    length, inner = x.shape[along], math.prod(x.shape[along + 1 :])

    def build(buffers: Buffers) -> Sequence[Any]:
        kind, arrays = (x.dtype, target.dtype, largest), [buffers.array(x), buffers.array(target)]
        if inner == 1 and length >= _LONG_ROW:
            given = [target.size, length, *arrays]
            return [rows.rows_launch(rows.argument_source(*kind), target.size, length, given)]
        source = indexing.argument_source(*kind)
        return [elementwise_launch(source, target.size, [target.size, *arrays, length, inner])]

    lowering.add(device_node(i, [x], [target], build))
    return True


_FROM_THE_CPU: Final = (
    "AssertBroadcastable",
    *("Sum", "Mean", "Prod", "Max", "Min", "Any", "All", "SumToShape", "L2Loss"),
    *("AddN", "AccumulateNV2", "Select", "SelectV2", "ZerosLike", "OnesLike", "Fill", "OneHot", "ConcatV2"),
    *("Pack", "Pad", "PadV2", "StridedSliceGrad", "FusedBatchNormV3", "FusedBatchNormGradV3"),
)
"""Types whose rules make statements alone, so that they are the same on every device."""

DEVICE_RULES: Final[dict[str, Rule]] = {
    **{name: RULES[name] for name in _FROM_THE_CPU},
    "MatMul": product_rule,
    "BatchMatMulV2": product_rule,
    "Softmax": _softmax,
    "LogSoftmax": partial(_softmax, log=True),
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": _cross_entropy,
    "TopKV2": _top_k,
    "ArgMax": partial(_argument, largest=True),
    "ArgMin": partial(_argument, largest=False),
    **CHECK_RULES,
    **INDEX_RULES,
    **MOVEMENT_RULES,
    **SCAN_RULES,
    **SEGMENT_RULES,
    **SLIDING_RULES,
    **SPARSE_RULES,
    **STATEMENT_RULES,
    **WINDOW_RULES,
    **RANDOM_RULES,
}

FOLDED: Final = OF_SHAPES | {
    *(
        "BroadcastArgs",
        "BroadcastGradientArgs",
        "ConcatOffset",
        "InvertPermutation",
        "LinSpace",
        "ListDiff",
        "Range",
    )
}
"""Types that become constants once the shapes of the feeds are known."""


def has_kernel(op_type: str) -> bool:
    """Whether a GPU runs an op type."""
    return op_type in added_rules("gpu") or _has_kernel(op_type)


@cache
def _has_kernel(op_type: str) -> bool:
    if op_type in DEVICE_RULES or op_type in PASS_THROUGH or op_type in FOLDED:
        return True
    if op_type in (kinds.CONST, kinds.NO_OP):
        return True
    try:
        definition = lookup(op_type)
    except KeyError:
        return False
    if definition.scalar is not None or definition.is_variable:
        return True
    return registry.may_view(op_type) and not registry.is_stateful(op_type) and not definition.stateful
