"""How ops that are not told by a scalar text become nodes: reductions, products, rows by index, losses, assembly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.kernels import nnkernels
from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS
from graphflow._core.compiler.cpu.assembly_rules import ASSEMBLY_RULES
from graphflow._core.compiler.cpu.checked_rules import CHECKED_RULES
from graphflow._core.compiler.cpu.convolution_rules import CONVOLUTION_RULES
from graphflow._core.compiler.cpu.depthwise_rules import DEPTHWISE_RULES
from graphflow._core.compiler.cpu.image_rules import IMAGE_RULES
from graphflow._core.compiler.cpu.index_rules import INDEX_RULES
from graphflow._core.compiler.cpu.loop_rules import LOOP_RULES
from graphflow._core.compiler.cpu.matrix_rules import MATRIX_RULES
from graphflow._core.compiler.cpu.normalization_rules import NORMALIZATION_RULES
from graphflow._core.compiler.cpu.picked_rules import PICKED_RULES
from graphflow._core.compiler.cpu.random_rules import RANDOM_RULES
from graphflow._core.compiler.cpu.segment_rules import SEGMENT_RULES
from graphflow._core.compiler.cpu.volume_rules import VOLUME_RULES
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.products import product_rule
from graphflow._core.compiler.scalar_texts import expressible
from graphflow._core.compiler.shared.movement_rules import MOVEMENT_RULES
from graphflow._core.compiler.shared.statement_rules import STATEMENT_RULES
from graphflow._core.compiler.values import Value, whole
from graphflow._core.kernels.nn.softmax import check_labels
from graphflow._core.plan.ir import Instruction
from graphflow.errors import InvalidArgumentError

_FLOATS: Final = ("float32", "float64")


# ---- reductions ---------------------------------------------------------------------------------------------------


def _reduce(kind: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        axes = lowering.constant(i.inputs[1])
        value = lowering.value(i.inputs[0])
        if axes is None or value is None:
            return False
        if kind == "mean" and value.dtype not in _FLOATS:
            return False
        rank = len(value.shape)
        wanted = tuple(sorted({int(a) % rank for a in np.atleast_1d(axes)})) if rank else ()
        lowering.reduction(i, kind, wanted, value)
        return True

    return rule


def _sum_to_shape(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None:
        return False
    wanted = lowering.shape(i.outputs[0])
    if value.shape == wanted:
        lowering.define(i.outputs[0], value)
        return True
    missing = len(value.shape) - len(wanted)
    axes = [
        *range(missing),
        *[k + missing for k, n in enumerate(wanted) if n == 1 and value.shape[k + missing] != 1],
    ]
    lowering.reduction(i, "sum", tuple(axes), value)
    return True


def _l2_loss(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None:
        return False
    if not value.shape:
        lowering.elementwise(i, "{0} * {0} * 0.5", [value], lowering.result(i))
        return True
    total = lowering.temporary(i.name, value.dtype, ())
    lowering.reduction(i, "sum", tuple(range(len(value.shape))), value, "{0} * {0}", total)
    lowering.elementwise(i, "{0} * 0.5", [total], lowering.result(i))
    return True


# ---- elementwise without a text -----------------------------------------------------------------------------------


def _add_n(lowering: Lowering, i: Instruction) -> bool:
    reads = [r for r in map(lowering.value, i.inputs) if r is not None]
    if len(reads) != len(i.inputs):
        return False
    text = " + ".join(f"{{{k}}}" for k in range(len(reads)))
    lowering.elementwise(i, text, reads, lowering.result(i))
    return True


def _select(lowering: Lowering, i: Instruction) -> bool:
    """Where the condition has one element a row, it is the same for all of the row."""
    condition = lowering.value(i.inputs[0])
    shape = lowering.shape(i.outputs[0])
    if condition is not None and condition.shape != shape:
        if len(condition.shape) > 1:
            return False
        if condition.shape:
            strides = (condition.strides[0], *[0] * (len(shape) - 1))
            condition = Value(condition.root, condition.dtype, shape, strides, condition.offset)
    return _selected(lowering, i, condition)


def _select_v2(lowering: Lowering, i: Instruction) -> bool:
    return _selected(lowering, i, lowering.value(i.inputs[0]))


def _selected(lowering: Lowering, i: Instruction, condition: Value | None) -> bool:
    x, y = (lowering.value(n) for n in i.inputs[1:])
    if condition is None or x is None or y is None:
        return False
    lowering.elementwise(i, "{1} if {0} else {2}", [condition, x, y], lowering.result(i))
    return True


def _filled(number: int) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        shape, dtype = lowering.known[i.outputs[0]]
        lowering.constants[i.outputs[0]] = array = (
            np.full(shape, number, dtype) if len(shape) == 0 else np.full((), number, dtype)
        )
        root = lowering.fresh(i.outputs[0])
        lowering.constants[root] = array
        lowering.define(i.outputs[0], Value(root, dtype, shape, (0,) * len(shape)))
        if shape:
            del lowering.constants[i.outputs[0]]
        return True

    return rule


def _fill(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[1])
    if value is None or lowering.constant(i.inputs[0]) is None:
        return False
    shape = lowering.shape(i.outputs[0])
    lowering.define(i.outputs[0], Value(value.root, value.dtype, shape, (0,) * len(shape), value.offset))
    return True


def _one_hot(lowering: Lowering, i: Instruction) -> bool:
    indices, on, off = (lowering.value(i.inputs[k]) for k in (0, 2, 3))
    shape, dtype = lowering.known[i.outputs[0]]
    if indices is None or on is None or off is None or lowering.constant(i.inputs[1]) is None:
        return False
    axis = int(i.attrs.get("axis", -1)) % len(shape)
    places = whole(lowering.fresh(i.name), indices.dtype, (shape[axis],))
    lowering.constants[places.root] = np.arange(shape[axis], dtype=indices.dtype)
    spread = [*indices.strides[:axis], 0, *indices.strides[axis:]]
    index = Value(indices.root, indices.dtype, shape, tuple(spread), indices.offset)
    place = Value(places.root, places.dtype, shape, tuple(int(k == axis) for k in range(len(shape))))
    if not expressible("{2} if {0} == {1} else {3}", [index, place, on, off], dtype):
        return False
    lowering.elementwise(i, "{2} if {0} == {1} else {3}", [index, place, on, off], lowering.result(i))
    return True


def _checked_shapes(lowering: Lowering, i: Instruction) -> bool:
    """What holds of the shapes of a plan is checked once; if it does not hold, the run says so."""
    shapes = [lowering.constant(name) for name in i.inputs]
    if any(shape is None for shape in shapes):
        return False
    try:
        lowering.kernel_of(i.type, i)(None, *shapes)
    except InvalidArgumentError:
        return False
    return True


# ---- losses, rows -------------------------------------------------------------------------------------------------


def _rows_kernel(
    lowering: Lowering,
    i: Instruction,
    source: str,
    reads: list[Value],
    targets: list[Value],
    emit: Any,
    checked: Sequence[Value] = (),
    check: Callable[..., None] | None = None,
) -> bool:
    makes, fallible = [t.root for t in targets], check is not None
    lowering.add(
        KernelNode(
            i, reads, makes, sources=[source], emit=emit, checked=checked, check=check, fallible=fallible
        )
    )
    return True


def _softmax(lowering: Lowering, i: Instruction, log: bool = False) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None or value.dtype not in _FLOATS or not value.shape:
        return False
    x, target = lowering.compact(i, value), lowering.result(i)
    columns = x.shape[-1]
    source = nnkernels.softmax_source(x.dtype, log)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return nnkernels.softmax_steps(kernels[0], address(x), address(target), x.size // columns, columns)

    return _rows_kernel(lowering, i, source, [x], [target], emit)


def _cross_entropy(lowering: Lowering, i: Instruction) -> bool:
    logits, labels = (lowering.value(n) for n in i.inputs)
    if (
        logits is None
        or labels is None
        or logits.shape != labels.shape
        or logits.dtype not in _FLOATS
        or len(logits.shape) != 2
    ):
        return False
    x, y = lowering.compact(i, logits), lowering.compact(i, labels)
    loss, gradient = lowering.result(i, 0), lowering.result(i, 1)
    rows, columns = x.shape

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return nnkernels.cross_entropy_steps(
            kernels[0], address(x), address(y), address(loss), address(gradient), rows, columns
        )

    return _rows_kernel(lowering, i, nnkernels.cross_entropy_source(x.dtype), [x, y], [loss, gradient], emit)


def _sparse_cross_entropy(lowering: Lowering, i: Instruction) -> bool:
    logits, labels = (lowering.value(n) for n in i.inputs)
    if logits is None or labels is None or logits.dtype not in _FLOATS or len(logits.shape) != 2:
        return False
    x, y = lowering.compact(i, logits), lowering.compact(i, labels)
    loss, gradient = lowering.result(i, 0), lowering.result(i, 1)
    rows, columns = x.shape

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return nnkernels.sparse_cross_entropy_steps(
            kernels[0],
            PROGRAM_STATUS,
            address(x),
            address(y),
            address(loss),
            address(gradient),
            rows,
            columns,
        )

    source = nnkernels.sparse_cross_entropy_source(x.dtype, y.dtype)
    check = partial(check_labels, classes=columns)
    return _rows_kernel(lowering, i, source, [x, y], [loss, gradient], emit, [y], check)


def _argument(lowering: Lowering, i: Instruction, largest: bool) -> bool:
    value, axis = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or axis is None or not value.shape or value.dtype == "bool":
        return False
    x, target = lowering.compact(i, value), lowering.result(i)
    along = int(axis) % len(x.shape)
    count = x.shape[along]
    inner = int(np.prod(x.shape[along + 1 :]))
    source = nnkernels.argument_source(x.dtype, target.dtype, largest)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return nnkernels.argument_steps(
            kernels[0], address(x), address(target), x.size // count // inner, count, inner
        )

    return _rows_kernel(lowering, i, source, [x], [target], emit)


RULES: Final[dict[str, Rule]] = {
    "Sum": _reduce("sum"),
    "Mean": _reduce("mean"),
    "Prod": _reduce("prod"),
    "Max": _reduce("max"),
    "Min": _reduce("min"),
    "Any": _reduce("max"),
    "All": _reduce("min"),
    "SumToShape": _sum_to_shape,
    "L2Loss": _l2_loss,
    "AddN": _add_n,
    "AccumulateNV2": _add_n,
    "Select": _select,
    "SelectV2": _select_v2,
    "ZerosLike": _filled(0),
    "OnesLike": _filled(1),
    "Fill": _fill,
    "OneHot": _one_hot,
    "MatMul": product_rule,
    "BatchMatMulV2": product_rule,
    "Softmax": _softmax,
    "LogSoftmax": partial(_softmax, log=True),
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "ArgMax": partial(_argument, largest=True),
    "ArgMin": partial(_argument, largest=False),
    "AssertBroadcastable": _checked_shapes,
    **ASSEMBLY_RULES,
    **CHECKED_RULES,
    **CONVOLUTION_RULES,
    **DEPTHWISE_RULES,
    **IMAGE_RULES,
    **INDEX_RULES,
    **LOOP_RULES,
    **MATRIX_RULES,
    **MOVEMENT_RULES,
    **NORMALIZATION_RULES,
    **RANDOM_RULES,
    **SEGMENT_RULES,
    **STATEMENT_RULES,
    **PICKED_RULES,
    **VOLUME_RULES,
}
