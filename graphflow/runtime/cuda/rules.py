"""How ops become work for a GPU: which have kernels there, and the rules of those that are no fused region.

What is told by statements (elementwise ops, reductions, assembly, batch normalisation) is lowered by the same rules as
on a CPU. A rule that returns False leaves its instruction to NumPy, between copies from and to the device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from graphflow.graph.op_def import lookup
from graphflow.kernels import registry
from graphflow.ops.training import RULES as UPDATES
from graphflow.ops.training import UpdateRule
from graphflow.plan.ir import VARIABLE_TYPES, Instruction
from graphflow.runtime.assemble import PASS_THROUGH
from graphflow.runtime.compiled.lower import NATIVE_DTYPES, Lowering, Rule
from graphflow.runtime.compiled.rules import RULES
from graphflow.runtime.compiled.specialise import OF_SHAPES
from graphflow.runtime.compiled.values import Value
from graphflow.runtime.cuda.movement_rules import MOVEMENT_RULES
from graphflow.runtime.cuda.nodes import Places, device_node
from graphflow.runtime.cuda.products import copied, product_rule
from graphflow.runtime.cuda.random_rules import RANDOM_RULES
from graphflow.runtime.cuda.window_rules import WINDOW_RULES

_FLOATS: Final = ("float32", "float64")
_ATOMIC: Final = ("float32", "float64", "int32", "int64")


# ---- rows ----------------------------------------------------------------------------------------------------------


def _softmax(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None or value.dtype not in _FLOATS or not value.shape:
        return False
    x, target = lowering.compact(i, value), lowering.result(i)
    columns = x.shape[-1]
    rows = x.size // columns

    def build(places: Places) -> Sequence[Any]:
        from graphflow.kernels.cuda.rows import rows_launch, softmax_source

        source = softmax_source(x.dtype, i.type == "LogSoftmax")
        return [rows_launch(source, rows, columns, [rows, columns, places.array(x), places.array(target)])]

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

    def build(places: Places) -> Sequence[Any]:
        from graphflow.kernels.cuda import rows as kernels

        arrays = [places.array(v) for v in (x, y, loss, gradient)]
        if sparse:
            source = kernels.sparse_cross_entropy_source(x.dtype)
            arguments = [places.status, places.number, rows, columns, *arrays]
        else:
            source, arguments = kernels.cross_entropy_source(x.dtype), [rows, columns, *arrays]
        return [kernels.rows_launch(source, rows, columns, arguments)]

    lowering.add(device_node(i, [x, y], [loss, gradient], build))
    return True


def _top_k(lowering: Lowering, i: Instruction) -> bool:
    value, wanted = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or wanted is None or value.dtype == "bool" or not value.shape:
        return False
    x, values, places_of = lowering.compact(i, value), lowering.result(i, 0), lowering.result(i, 1)
    columns, count = x.shape[-1], int(wanted)
    rows = x.size // columns

    def build(places: Places) -> Sequence[Any]:
        from graphflow.kernels.cuda.rows import rows_launch, top_k_source

        arrays = [places.array(v) for v in (x, values, places_of)]
        return [rows_launch(top_k_source(x.dtype), rows, columns, [rows, columns, count, *arrays])]

    lowering.add(device_node(i, [x], [values, places_of], build))
    return True


def _argument(lowering: Lowering, i: Instruction) -> bool:
    value, axis = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or axis is None or not value.shape or value.dtype == "bool":
        return False
    x, target = lowering.compact(i, value), lowering.result(i)
    along = int(axis) % len(x.shape)
    length, inner = x.shape[along], math.prod(x.shape[along + 1 :])

    def build(places: Places) -> Sequence[Any]:
        from graphflow.kernels.cuda.indexing import argument_source
        from graphflow.kernels.cuda.toolkit import elementwise_launch

        source = argument_source(x.dtype, target.dtype, i.type == "ArgMax")
        arguments = [target.size, places.array(x), places.array(target), length, inner]
        return [elementwise_launch(source, target.size, arguments)]

    lowering.add(device_node(i, [x], [target], build))
    return True


# ---- biases ------------------------------------------------------------------------------------------------------


def _bias_add(lowering: Lowering, i: Instruction) -> bool:
    value, bias = (lowering.value(n) for n in i.inputs)
    if value is None or bias is None or i.attrs.get("data_format", "NHWC") not in ("NCHW", b"NCHW"):
        return RULES["BiasAdd"](lowering, i)
    spread = (1,) * (len(value.shape) - 2)
    bias = Value(bias.root, bias.dtype, (*bias.shape, *spread), (*bias.strides, *spread), bias.offset)
    lowering.elementwise(i, "{0} + {1}", [value, bias], lowering.result(i))
    return True


def _bias_gradient(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None or i.attrs.get("data_format", "NHWC") not in ("NCHW", b"NCHW"):
        return RULES["BiasAddGrad"](lowering, i)
    lowering.reduction(i, "sum", tuple(k for k in range(len(value.shape)) if k != 1), value)
    return True


# ---- indices -------------------------------------------------------------------------------------------------------


def _gather(lowering: Lowering, i: Instruction) -> bool:
    params, indices = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
    axis = lowering.constant(i.inputs[2]) if len(i.inputs) > 2 else np.int32(0)
    if params is None or indices is None or axis is None or i.attrs.get("batch_dims", 0) or not params.shape:
        return False
    along = int(axis) % len(params.shape)
    x = lowering.compact(i, params)
    ids, target = lowering.compact(i, indices), lowering.result(i)
    size, columns = x.shape[along], math.prod(x.shape[along + 1 :])

    def build(places: Places) -> Sequence[Any]:
        from graphflow.kernels.cuda.indexing import gather_source
        from graphflow.kernels.cuda.toolkit import elementwise_launch

        arrays = [places.array(v) for v in (x, ids, target)]
        arguments = [places.status, places.number, target.size, *arrays, size, ids.size, columns]
        return [elementwise_launch(gather_source(columns > 1), target.size, arguments)]

    lowering.add(device_node(i, [x, ids], [target], build))
    return True


def _scatter(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        variable, indices, updates = (lowering.value(n) for n in i.inputs)
        if variable is None or indices is None or updates is None:
            return False
        if variable.dtype not in _ATOMIC or updates.shape != indices.shape + variable.shape[1:]:
            return False
        if operation == "div" and variable.dtype not in _FLOATS:
            return False
        ids, y = lowering.compact(i, indices), lowering.compact(i, updates)
        rows, columns = variable.shape[0], variable.size // variable.shape[0]

        def build(places: Places) -> Sequence[Any]:
            from graphflow.kernels.cuda import indexing
            from graphflow.kernels.cuda.toolkit import elementwise_launch

            arrays = [places.array(v) for v in (variable, ids, y)]
            head = [places.status, places.number]
            if operation in ("add", "sub"):
                source = indexing.scatter_add_source(y.dtype, "-" if operation == "sub" else "")
                return [elementwise_launch(source, y.size, [*head, y.size, *arrays, rows, columns])]
            source = indexing.scatter_source(y.dtype, operation)
            return [elementwise_launch(source, columns, [*head, columns, *arrays, rows, ids.size])]

        lowering.add(device_node(i, [variable, ids, y], [], build, [variable.root]))
        if not i.used or i.used[0]:
            lowering.elementwise(i, "{0}", [variable], lowering.result(i))
        return True

    return rule


def _sparse_update(update: UpdateRule) -> Rule:
    count = len(update.slots)

    def rule(lowering: Lowering, i: Instruction) -> bool:
        values = [v for v in map(lowering.value, i.inputs) if v is not None]
        if len(values) != len(i.inputs) or values[0].dtype not in _FLOATS:
            return False
        cells, numbers, gradient, indices = values[:count], values[count:-2], values[-2], values[-1]
        alike = all(v.shape == cells[0].shape for v in cells) and all(v.shape == () for v in numbers)
        distinct = len({v.root for v in cells}) == count and not {v.root for v in cells} & {
            v.root for v in values[count:]
        }
        if not alike or not distinct or gradient.shape != indices.shape + cells[0].shape[1:]:
            return False
        ids, g = lowering.compact(i, indices), lowering.compact(i, gradient)
        rows, columns = cells[0].shape[0], cells[0].size // cells[0].shape[0]

        def build(places: Places) -> Sequence[Any]:
            from graphflow.kernels.cuda.indexing import row_update_source
            from graphflow.kernels.cuda.toolkit import elementwise_launch

            source = row_update_source(update.slots, update.numbers, update.text, g.dtype)
            arrays = [places.array(v) for v in (ids, *cells, *numbers, g)]
            head = [places.status, places.number, columns, rows, ids.size]
            return [elementwise_launch(source, columns, [*head, *arrays])]

        roots = [v.root for v in cells]
        lowering.add(device_node(i, [*cells, *numbers, ids, g], [], build, roots))
        if not i.used or i.used[0]:
            lowering.elementwise(i, "{0}", [cells[0]], lowering.result(i))
        return True

    return rule


def _elements(lowering: Lowering, i: Instruction) -> bool:
    """Lowers views; single elements too, whose place is found by taking them from an array of places."""
    if lowering.view(i):
        return True
    value, others = lowering.value(i.inputs[0]), [lowering.constant(n) for n in i.inputs[1:]]
    if value is None or any(o is None for o in others) or any(lowering.shape(o) for o in i.outputs):
        return False
    source = copied(lowering, i, value) if value.root in lowering.ever_written else lowering.compact(i, value)
    places = np.arange(source.size).reshape(source.shape)
    found = lowering.kernel_of(i.type, i)(places, *others)
    for name, place in zip(i.outputs, found if isinstance(found, tuple | list) else [found], strict=True):
        lowering.define(name, Value(source.root, source.dtype, (), (), source.offset + int(place)))
    return True


def _identities(lowering: Lowering, i: Instruction) -> bool:
    values = [lowering.value(n) for n in i.inputs]
    for position, value in enumerate(values):
        if value is None:
            return False
        lowering.elementwise(i, "{0}", [value], lowering.result(i, position))
    return True


def _segment_sum(lowering: Lowering, i: Instruction) -> bool:
    data, segments = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
    if data is None or segments is None or data.dtype not in _ATOMIC:
        return False
    rank = len(segments.shape)
    if lowering.constant(i.inputs[2]) is None or data.shape[:rank] != segments.shape:
        return False
    x, ids = lowering.compact(i, data), lowering.compact(i, segments)
    target = lowering.result(i)
    zero = Value(lowering.fresh(i.name), target.dtype, (), ())
    lowering.constants[zero.root] = np.zeros((), target.dtype)
    lowering.elementwise(i, "{0}", [zero], target, forced=True)
    rows, columns = target.shape[0], math.prod(x.shape[rank:])

    def build(places: Places) -> Sequence[Any]:
        from graphflow.kernels.cuda.indexing import segment_sum_source
        from graphflow.kernels.cuda.toolkit import elementwise_launch

        arrays = [places.array(v) for v in (target, ids, x)]
        arguments = [places.status, places.number, x.size, *arrays, rows, columns]
        return [elementwise_launch(segment_sum_source(x.dtype), x.size, arguments)]

    lowering.add(device_node(i, [x, ids, target], [target], build))
    return True


_FROM_THE_CPU: Final = (
    *("Sum", "Mean", "Prod", "Max", "Min", "Any", "All", "SumToShape", "L2Loss"),
    *("AddN", "AccumulateNV2", "Select", "SelectV2", "ZerosLike", "OnesLike", "Fill", "OneHot", "ConcatV2"),
    *("Pack", "Pad", "PadV2", "StridedSliceGrad", "FusedBatchNormV3", "FusedBatchNormGradV3"),
)
"""Types whose rules make statements alone, so that they are the same on every device."""

DEVICE_RULES: Final[dict[str, Rule]] = {
    **{name: RULES[name] for name in _FROM_THE_CPU},
    "BiasAdd": _bias_add,
    "BiasAddGrad": _bias_gradient,
    "MatMul": product_rule,
    "BatchMatMulV2": product_rule,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": _cross_entropy,
    "TopKV2": _top_k,
    "ArgMax": _argument,
    "ArgMin": _argument,
    "GatherV2": _gather,
    **{
        f"Scatter{name}": _scatter(name.lower())
        for name in ("Add", "Sub", "Update", "Mul", "Div", "Min", "Max")
    },
    **{f"SparseApply{update.name}": _sparse_update(update) for update in UPDATES},
    "IdentityN": _identities,
    "StridedSlice": _elements,
    "Unpack": _elements,
    "UnsortedSegmentSum": _segment_sum,
    **MOVEMENT_RULES,
    **WINDOW_RULES,
    **RANDOM_RULES,
}

_FOLDED: Final = OF_SHAPES | {"Range"}
"""Types that become constants once the shapes of the feeds are known."""


@cache
def has_kernel(op_type: str) -> bool:
    """Whether a GPU runs an op type."""
    if op_type in DEVICE_RULES or op_type in PASS_THROUGH or op_type in VARIABLE_TYPES or op_type in _FOLDED:
        return True
    if op_type in ("Const", "NoOp"):
        return True
    try:
        definition = lookup(op_type)
    except KeyError:
        return False
    if definition.scalar is not None:
        return True
    return registry.may_view(op_type) and not registry.is_stateful(op_type) and not definition.stateful


def runs_dtypes(i: Instruction) -> bool:
    """Whether a GPU holds results of the dtypes of an instruction."""
    return all(dtype.name.removesuffix("_ref") in NATIVE_DTYPES for dtype in i.dtypes)
