"""Rules of ops that take or change rows by index: gather, scatter, sparse updates, unsorted segments.

Where an index names an element of several axes, a statement first makes the number of the row that it means, so that
the same kernels serve. A number below zero is none: kernels report it as an index that is out of range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.gpu.kernels import indexing
from graphflow._core.codegen.gpu.kernels.indexing import INDEX_CHECK_SOURCE, gather_source, row_update_source
from graphflow._core.codegen.gpu.status import RANGE
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.compiler.cpu.assembly_rules import filled
from graphflow._core.compiler.gpu.nodes import Buffers, Messages, device_node
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.shared.row_numbers import as_rows, batch_numbers, reversed_numbers, row_numbers
from graphflow._core.compiler.shared.strided import places_along, reduced
from graphflow._core.compiler.values import Value, whole
from graphflow._core.ops.state.training import RULES as UPDATES
from graphflow._core.ops.state.training import UpdateRule
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
_ATOMIC: Final = ("float32", "float64", "int32", "int64")


def _takes(operation: str, dtype: str) -> bool:
    """Whether a GPU changes elements of a dtype: atomically, or if the order counts one after the other."""
    if operation == "div":
        return dtype in _FLOATS
    return dtype in _ATOMIC or operation in ("update", "mul") and dtype != "bool"


def _unchecked(lowering: Lowering, ids: Value, rows: int) -> bool:
    """Whether no node before sees to it that indices, side by side, are of rows that there are; the next one does."""
    known = (ids.root, ids.offset, ids.size, rows)
    if known in lowering.checked:
        return False
    if ids.root not in lowering.ever_written:
        lowering.checked.add(known)
    return True


# ---- taking rows ---------------------------------------------------------------------------------------------------


def take_rows(
    lowering: Lowering,
    i: Instruction,
    x: Value,
    ids: Value,
    target: Value,
    along: int = 0,
    messages: Messages | None = None,
) -> None:
    """Adds target = x by the numbers of places along an axis, all of them side by side."""
    size, columns = x.shape[along], math.prod(x.shape[along + 1 :])
    _unchecked(lowering, ids, size)

    def build(buffers: Buffers) -> Sequence[Any]:
        arrays = [buffers.array(v) for v in (x, ids, target)]
        arguments = [buffers.status, buffers.number, target.size, *arrays, size, ids.size, columns]
        return [elementwise_launch(gather_source(columns > 1), target.size, arguments)]

    lowering.add(device_node(i, [x, ids], [target], build, messages=messages, fallible=True))


def _gather(lowering: Lowering, i: Instruction) -> bool:
    params, indices = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
    axis = lowering.constant(i.inputs[2]) if len(i.inputs) > 2 else np.int32(0)
    if params is None or indices is None or axis is None or not params.shape:
        return False
    along, batch = int(axis) % len(params.shape), int(i.attrs.get("batch_dims", 0))
    x = lowering.compact(i, params)
    if not batch:
        take_rows(lowering, i, x, lowering.compact(i, indices), lowering.result(i), along)
        return True
    batch += len(indices.shape) * (batch < 0)
    if along != batch or indices.shape[:batch] != x.shape[:batch]:
        return False
    ids = batch_numbers(lowering, i, indices, x.shape[: batch + 1])
    rows, messages = math.prod(x.shape[: batch + 1]), {RANGE: f"an index is not in [0, {x.shape[batch]})"}
    take_rows(lowering, i, as_rows(x, rows), ids, lowering.result(i), messages=messages)
    return True


def outside(shape: tuple[int, ...]) -> Messages:
    """What it means that the numbers of index vectors are of nothing that there is."""
    return {RANGE: f"the indices do not index into shape {list(shape)}"}


def _gather_nd(lowering: Lowering, i: Instruction) -> bool:
    params, indices = (lowering.value(n) for n in i.inputs)
    if params is None or indices is None or not indices.shape or indices.shape[-1] > len(params.shape):
        return False
    x = lowering.compact(i, params)
    ids = row_numbers(lowering, i, indices, x.shape)
    rows = as_rows(x, math.prod(x.shape[: indices.shape[-1]]))
    take_rows(lowering, i, rows, ids, lowering.result(i), messages=outside(x.shape))
    return True


def _reverse_sequence(lowering: Lowering, i: Instruction) -> bool:
    found = reversed_numbers(lowering, i)
    if found is None:
        return False
    x, ids, limit = found
    messages = {RANGE: f"a length is not in [0, {limit}]"}
    take_rows(lowering, i, as_rows(x, ids.size), ids, lowering.result(i), messages=messages)
    return True


def _in_top_k(lowering: Lowering, i: Instruction) -> bool:
    predictions, targets, count = (lowering.value(n) for n in i.inputs)
    if predictions is None or targets is None or count is None or len(predictions.shape) != 2:
        return False
    x = lowering.compact(i, predictions)
    rows, classes = x.shape
    if targets.shape != (rows,):
        return False
    known = f"{{0}} >= 0 and {{0}} < {classes}"
    ids = lowering.temporary(i.name, "int64", (rows,))
    text = f"cast({{1}}, int64) * {classes} + (cast({{0}}, int64) if {known} else 0)"
    lowering.elementwise(i, text, [targets, places_along(lowering, i, 0, (rows,))], ids)
    chosen = lowering.temporary(i.name, x.dtype, (rows,))
    take_rows(lowering, i, as_rows(x, x.size), ids, chosen)
    beside = Value(chosen.root, chosen.dtype, x.shape, (1, 0))
    above, odd = (lowering.temporary(i.name, "int32", (rows,)) for _ in range(2))
    reduced(lowering, i, "sum", "1 if {0} > {1} else 0", [x, beside], (1,), above)
    # The difference is no number if the prediction is none, or infinite.
    reduced(lowering, i, "max", "1 if {0} - {0} != 0 else 0", [x], (1,), odd)
    text = f"{known} and {{2}} == 0 and {{1}} < cast({{3}}, int32)"
    lowering.elementwise(i, text, [targets, above, odd, count], lowering.result(i))
    return True


# ---- changing rows -------------------------------------------------------------------------------------------------


def change_rows(
    lowering: Lowering,
    i: Instruction,
    operation: str,
    x: Value,
    ids: Value,
    y: Value,
    variables: Sequence[str] = (),
    dropping: bool = False,
    messages: Messages | None = None,
) -> None:
    """Adds x[ids[k]] op= y[k], all of them rows side by side; `dropping` leaves out numbers below zero.

    A variable is left as it was if any number is wrong.
    """
    rows, columns = x.shape[0], x.size // x.shape[0]
    first = bool(variables) and not dropping and _unchecked(lowering, ids, rows)

    def build(buffers: Buffers) -> Sequence[Any]:
        head, arrays = [buffers.status, buffers.number], [buffers.array(v) for v in (x, ids, y)]
        check = _check_launches(buffers, ids, rows) if first else []
        source = indexing.scatter_atomic_source(y.dtype, operation, dropping)
        if source is not None:
            return [*check, elementwise_launch(source, y.size, [*head, y.size, *arrays, rows, columns])]
        source = indexing.scatter_source(y.dtype, operation, dropping)
        return [*check, elementwise_launch(source, columns, [*head, columns, *arrays, rows, ids.size])]

    made = [] if variables else [x]
    lowering.add(device_node(i, [x, ids, y], made, build, variables, messages=messages, fallible=True))


def _check_launches(buffers: Buffers, ids: Value, rows: int) -> Sequence[Any]:
    arguments = [buffers.status, buffers.number, ids.size, buffers.array(ids), rows]
    return [elementwise_launch(INDEX_CHECK_SOURCE, ids.size, arguments)]


def _scatter(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        variable, indices, updates = (lowering.value(n) for n in i.inputs)
        if variable is None or indices is None or updates is None:
            return False
        if not _takes(operation, variable.dtype) or updates.shape != indices.shape + variable.shape[1:]:
            return False
        ids, y = (lowering.compact(i, lowering.apart(i, v, variable)) for v in (indices, updates))
        dropping = bool(i.attrs.get("dropping"))
        change_rows(lowering, i, operation, variable, ids, y, [variable.root], dropping)
        _changed(lowering, i, variable)
        return True

    return rule


def _changed(lowering: Lowering, i: Instruction, variable: Value) -> None:
    if not i.used or i.used[0]:
        lowering.elementwise(i, "{0}", [variable], lowering.result(i))


def _fits(operation: str, x: Value, indices: Value, updates: Value) -> bool:
    """Whether index vectors name places of x of the shape of the updates, and a GPU can change them."""
    depth = indices.shape[-1] if indices.shape else 0
    if not _takes(operation, x.dtype) or not 0 < depth <= len(x.shape):
        return False
    return updates.shape == (*indices.shape[:-1], *x.shape[depth:])


def _changing(lowering: Lowering, i: Instruction, operation: str) -> tuple[Value, Value, Value] | None:
    """What is changed, the index vectors and the updates; None if a GPU cannot do it."""
    x, indices, updates = (lowering.value(n) for n in i.inputs)
    if x is None or indices is None or updates is None or not _fits(operation, x, indices, updates):
        return None
    return x, indices, updates


def _change_named(
    lowering: Lowering, i: Instruction, operation: str, x: Value, indices: Value, updates: Value
) -> None:
    """Changes what index vectors name."""
    y = lowering.compact(i, lowering.apart(i, updates, x))
    ids = row_numbers(lowering, i, indices, x.shape)
    rows = as_rows(x, math.prod(x.shape[: indices.shape[-1]]))
    variables = [x.root] if x.root in lowering.variables else []
    change_rows(lowering, i, operation, rows, ids, y, variables, messages=outside(x.shape))


def _scatter_variable(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        values = _changing(lowering, i, operation)
        if values is None:
            return False
        _change_named(lowering, i, operation, *values)
        _changed(lowering, i, values[0])
        return True

    return rule


def _scatter_new(lowering: Lowering, i: Instruction) -> bool:
    indices, updates = (lowering.value(n) for n in i.inputs[:2])
    shape, dtype = lowering.known[i.outputs[0]]
    if indices is None or updates is None or lowering.constant(i.inputs[2]) is None:
        return False
    if not _fits("add", whole("", dtype, shape), indices, updates):
        return False
    target = filled(lowering, i, lowering.result(i))
    _change_named(lowering, i, "add", target, indices, updates)
    return True


def _scatter_tensor(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        values = _changing(lowering, i, operation)
        if values is None:
            return False
        value, indices, updates = values
        target = lowering.result(i)
        lowering.elementwise(i, "{0}", [value], target, forced=True)
        _change_named(lowering, i, operation, target, indices, updates)
        return True

    return rule


def _segments(operation: str, neutral: Callable[[Any], Any]) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        data, segments = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
        if data is None or segments is None or not _takes(operation, data.dtype):
            return False
        rank = len(segments.shape)
        if lowering.constant(i.inputs[2]) is None or data.shape[:rank] != segments.shape:
            return False
        x, ids = lowering.compact(i, data), lowering.compact(i, segments)
        target = filled(lowering, i, lowering.result(i), neutral(np.dtype(data.dtype)))
        change_rows(lowering, i, operation, target, ids, x, dropping=True)
        return True

    return rule


def _lowest(dtype: Any) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


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
        dropping = bool(i.attrs.get("dropping"))
        first = not dropping and _unchecked(lowering, ids, rows)

        def build(buffers: Buffers) -> Sequence[Any]:
            source = row_update_source(update.slots, update.numbers, update.text, g.dtype, dropping)
            arrays = [buffers.array(v) for v in (ids, *cells, *numbers, g)]
            count, taken = (g.size, columns) if dropping else (columns, ids.size)
            head = [buffers.status, buffers.number, count, rows, taken]
            check = _check_launches(buffers, ids, rows) if first else []
            return [*check, elementwise_launch(source, count, [*head, *arrays])]

        roots = [v.root for v in cells]
        lowering.add(device_node(i, [*cells, *numbers, ids, g], [], build, roots, fallible=True))
        _changed(lowering, i, cells[0])
        return True

    return rule


INDEX_RULES: Final[dict[str, Rule]] = {
    "GatherV2": _gather,
    "GatherNd": _gather_nd,
    "ReverseSequence": _reverse_sequence,
    "InTopKV2": _in_top_k,
    **{
        f"Scatter{name}": _scatter(name.lower())
        for name in ("Add", "Sub", "Update", "Mul", "Div", "Min", "Max")
    },
    **{f"ScatterNd{name}": _scatter_variable(name.lower()) for name in ("Add", "Sub", "Update")},
    **{f"TensorScatter{name}": _scatter_tensor(name.lower()) for name in ("Add", "Sub", "Update")},
    "ScatterNd": _scatter_new,
    "UnsortedSegmentSum": _segments("add", lambda dtype: 0),
    "UnsortedSegmentProd": _segments("mul", lambda dtype: 1),
    "UnsortedSegmentMax": _segments("max", _lowest),
    "UnsortedSegmentMin": _segments("min", _highest),
    **{f"SparseApply{update.name}": _sparse_update(update) for update in UPDATES},
}
