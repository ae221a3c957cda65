"""Rules of ops that take or change rows by index: gather, scatter, unsorted segments, sparse updates of optimizers.

Where an index names an element of several axes, a statement first makes the number of the row that it means, so that
the same kernels serve. Whether indices are of rows that there are is looked at by the kernels; what is wrong is said by
the NumPy kernel's own check, of the indices that were given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.kernels import nnkernels, rows
from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS
from graphflow._core.codegen.cpu.sources import ranks
from graphflow._core.compiler.cpu.assembly_rules import filled
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.scalar_texts import with_roots
from graphflow._core.compiler.shared.repeated_rows import FIRSTS
from graphflow._core.compiler.shared.row_numbers import as_rows, batch_numbers, reversed_numbers, row_numbers
from graphflow._core.compiler.shared.strided import places_along
from graphflow._core.compiler.values import Value, whole
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.array.indexing import check_below, check_range, linear
from graphflow._core.ops.state.training import RULES as UPDATES
from graphflow._core.ops.state.training import UpdateRule
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
_CHANGED: Final = (*_FLOATS, "int32", "int64")
_INDICES: Final = ("int32", "int64")
Check = Callable[[Any], None]
"""Given the indices, raises what is wrong with them."""


# ---- taking rows ---------------------------------------------------------------------------------------------------


def take_rows(
    lowering: Lowering, i: Instruction, x: Value, ids: Value, target: Value, given: Value, check: Check
) -> None:
    """Adds target = the rows of x, side by side, by number; `given` are the indices that were made numbers of."""
    count, row_bytes = x.shape[0], x.size // x.shape[0] * np.dtype(x.dtype).itemsize

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        places = address(x), count, row_bytes, address(ids), ids.size, address(target)
        return nnkernels.gather_steps(kernels[0], PROGRAM_STATUS, *places)

    reads = [x, ids] if given is ids else [x, ids, given]
    lowering.add(
        KernelNode(
            i, reads, [target.root], sources=[nnkernels.gather_source(ids.dtype)], emit=emit,
            checked=[given], check=check, fallible=True,
        )
    )  # fmt: skip


def _gather(lowering: Lowering, i: Instruction) -> bool:
    params, indices = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
    axis = lowering.constant(i.inputs[2])
    if params is None or indices is None or axis is None or not params.shape or indices.dtype not in _INDICES:
        return False
    along, batch = int(axis) % len(params.shape), int(i.attrs.get("batch_dims", 0))
    batch += len(indices.shape) * (batch < 0)
    check = partial(check_range, limit=params.shape[along], what="indices")
    if batch:
        if along != batch or indices.shape[:batch] != params.shape[:batch]:
            return False
        ids = batch_numbers(lowering, i, indices, params.shape[: batch + 1])
        x = as_rows(lowering.compact(i, params), math.prod(params.shape[: batch + 1]))
        take_rows(lowering, i, x, ids, lowering.result(i), indices, check)
        return True
    x, ids = lowering.compact(i, params), lowering.compact(i, indices)
    outer, size = math.prod(x.shape[:along]), x.shape[along]
    if outer == 1:
        take_rows(lowering, i, as_rows(x, size), ids, lowering.result(i), ids, check)
        return True
    spread = Value(ids.root, ids.dtype, (outer, ids.size), (0, 1), ids.offset)
    numbers = lowering.temporary(i.name, "int64", spread.shape)
    text = f"(cast({{0}}, int64) + cast({{1}}, int64) * {size}) if {{0}} >= 0 and {{0}} < {size} else -1"
    lowering.elementwise(i, text, [spread, places_along(lowering, i, 0, spread.shape)], numbers)
    take_rows(lowering, i, as_rows(x, outer * size), numbers, lowering.result(i), ids, check)
    return True


def _check_vectors(indices: Any, shape: tuple[int, ...]) -> None:
    linear(indices, shape)


def _gather_nd(lowering: Lowering, i: Instruction) -> bool:
    params, indices = (lowering.value(n) for n in i.inputs)
    if params is None or indices is None or not indices.shape or indices.dtype not in _INDICES:
        return False
    depth = indices.shape[-1]
    if depth > len(params.shape):
        return False
    x = as_rows(lowering.compact(i, params), math.prod(params.shape[:depth]))
    ids = row_numbers(lowering, i, indices, params.shape)
    take_rows(lowering, i, x, ids, lowering.result(i), indices, partial(_check_vectors, shape=params.shape))
    return True


def _reverse_sequence(lowering: Lowering, i: Instruction) -> bool:
    found = reversed_numbers(lowering, i)
    lengths = lowering.value(i.inputs[1])
    if found is None or lengths is None:
        return False
    x, ids, longest = found

    def check(lengths: Any) -> None:
        raise invalid(f"seq_lengths must lie in [0, {longest}], got {lengths.tolist()}")

    take_rows(lowering, i, as_rows(x, ids.size), ids, lowering.result(i), lengths, check)
    return True


# ---- changing rows -------------------------------------------------------------------------------------------------


def _takes(operation: str, dtype: str) -> bool:
    return dtype in (_FLOATS if operation == "div" else _CHANGED)


def _kept(check: Check) -> Check:
    """The check of indices of which some are marked as left out."""
    return lambda indices: check(indices[indices != rows.LEFT_OUT])


def _change_rows(
    lowering: Lowering,
    i: Instruction,
    operation: str,
    x: Value,
    ids: Value,
    y: Value,
    given: Value,
    check: Check,
    variable: bool,
    leaving: str = "",
) -> None:
    """Adds x[ids[k]] op= y[k], all of them rows side by side; a variable is left as it was if any number is wrong."""
    count = x.shape[0]
    columns = x.size // count

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        places = address(x), count, columns, address(ids), ids.size, address(y)
        return rows.change_steps(kernels[0], PROGRAM_STATUS, *places)

    source = rows.change_source(x.dtype, ids.dtype, operation, leaving)
    reads = [x, ids, y] if given is ids else [x, ids, y, given]
    lowering.add(
        KernelNode(
            i, reads, [] if variable else [x.root], [x.root] if variable else [], sources=[source], emit=emit,
            checked=[given], check=check, fallible=True,
        )
    )  # fmt: skip


def _changed(lowering: Lowering, i: Instruction, variable: Value) -> None:
    """Gives the variable as the result, which is a copy, if anything takes it."""
    if not i.used or i.used[0]:
        lowering.elementwise(i, "{0}", [variable], lowering.result(i))


def _scatter(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        variable, indices, updates = (lowering.value(n) for n in i.inputs)
        if variable is None or indices is None or updates is None or not variable.shape:
            return False
        if not _takes(operation, variable.dtype) or variable.root not in lowering.variables:
            return False
        if updates.shape != indices.shape + variable.shape[1:] or indices.dtype not in _INDICES:
            return False
        ids, y = (lowering.compact(i, lowering.apart(i, v, variable)) for v in (indices, updates))
        check: Check = partial(check_range, limit=variable.shape[0], what="indices")
        marked = bool(i.attrs.get("dropping"))
        leaving, check = ("marked", _kept(check)) if marked else ("", check)
        x = as_rows(variable, variable.shape[0])
        _change_rows(lowering, i, operation, x, ids, y, ids, check, True, leaving)
        _changed(lowering, i, variable)
        return True

    return rule


def _change_named(
    lowering: Lowering, i: Instruction, operation: str, x: Value, indices: Value, updates: Value
) -> bool:
    """Changes what index vectors name; False if they name no places of x of the shape of the updates."""
    depth = indices.shape[-1] if indices.shape else 0
    if not _takes(operation, x.dtype) or not 0 < depth <= len(x.shape) or indices.dtype not in _INDICES:
        return False
    if updates.shape != (*indices.shape[:-1], *x.shape[depth:]):
        return False
    y, given = (lowering.compact(i, lowering.apart(i, v, x)) for v in (updates, indices))
    ids = row_numbers(lowering, i, given, x.shape)
    check = partial(_check_vectors, shape=x.shape)
    blocks = as_rows(x, math.prod(x.shape[:depth]))
    _change_rows(lowering, i, operation, blocks, ids, y, given, check, x.root in lowering.variables)
    return True


def _scatter_variable(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        x, indices, updates = (lowering.value(n) for n in i.inputs)
        if x is None or indices is None or updates is None or x.root not in lowering.variables:
            return False
        if not _change_named(lowering, i, operation, x, indices, updates):
            return False
        _changed(lowering, i, x)
        return True

    return rule


def _fits(x: Value, indices: Value, updates: Value) -> bool:
    depth = indices.shape[-1] if indices.shape else 0
    fits = 0 < depth <= len(x.shape) and updates.shape == (*indices.shape[:-1], *x.shape[depth:])
    return fits and x.dtype in _CHANGED and indices.dtype in _INDICES


def _scatter_new(lowering: Lowering, i: Instruction) -> bool:
    indices, updates = (lowering.value(n) for n in i.inputs[:2])
    shape, dtype = lowering.known[i.outputs[0]]
    if indices is None or updates is None or lowering.constant(i.inputs[2]) is None:
        return False
    if not _fits(whole("", dtype, shape), indices, updates):
        return False
    return _change_named(lowering, i, "add", filled(lowering, i, lowering.result(i)), indices, updates)


def _scatter_tensor(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        value, indices, updates = (lowering.value(n) for n in i.inputs)
        if value is None or indices is None or updates is None or not _fits(value, indices, updates):
            return False
        target = lowering.result(i)
        lowering.elementwise(i, "{0}", [value], target, forced=True)
        return _change_named(lowering, i, operation, target, indices, updates)

    return rule


def _segments(operation: str, neutral: Callable[[Any], Any]) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        data, segments = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
        if data is None or segments is None or not _takes(operation, data.dtype):
            return False
        rank, shape = len(segments.shape), lowering.shape(i.outputs[0])
        if lowering.constant(i.inputs[2]) is None or data.shape[:rank] != segments.shape:
            return False
        if segments.dtype not in _INDICES or shape[1:] != data.shape[rank:]:
            return False
        x, ids = lowering.compact(i, data), lowering.compact(i, segments)
        target = filled(lowering, i, lowering.result(i), neutral(np.dtype(data.dtype)))
        limit = shape[0]

        def check(ids: Any) -> None:
            check_below(ids, limit, "segment_ids")

        _change_rows(
            lowering, i, operation, as_rows(target, limit), ids, x, ids, check, False, leaving="negative"
        )
        return True

    return rule


def _lowest(dtype: Any) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


def _check_rows(indices: Any, count: int) -> None:
    kept = indices[indices != rows.LEFT_OUT]
    bad = (kept < 0) | (kept >= count)
    if bad.any():
        position = int(np.argmax(bad))
        text = f"Index {int(kept[position])} at offset {position} in indices is out of range [0, {count})"
        raise invalid(text)


def _sparse_update(update: UpdateRule) -> Rule:
    slots = len(update.slots)

    def rule(lowering: Lowering, i: Instruction) -> bool:
        values = [v for v in map(lowering.value, i.inputs) if v is not None]
        if len(values) != len(i.inputs) or values[0].dtype not in _FLOATS or values[-1].dtype not in _INDICES:
            return False
        cells, numbers, gradient, indices = values[:slots], values[slots:-2], values[-2], values[-1]
        roots = [v.root for v in cells]
        alike = all(v.shape == cells[0].shape for v in cells) and all(v.shape == () for v in numbers)
        distinct = len(set(roots)) == slots and not set(roots) & {v.root for v in values[slots:]}
        if not alike or not distinct or gradient.shape != indices.shape + cells[0].shape[1:]:
            return False
        ids, g = lowering.compact(i, indices), lowering.compact(i, gradient)
        count = cells[0].shape[0]

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            places = [address(v) for v in cells], [address(v) for v in numbers], count, g.size // ids.size
            return rows.update_steps(kernels[0], PROGRAM_STATUS, *places, address(ids), ids.size, address(g))

        leaving = "marked" if i.attrs.get("dropping") else ""
        text = with_roots(i, update.text, lowering.constant)
        source = rows.update_source(update.slots, update.numbers, text, g.dtype, ids.dtype, leaving)
        lowering.add(
            KernelNode(
                i, [*cells, *numbers, ids, g], [], roots, sources=[source], emit=emit,
                checked=[ids], check=partial(_check_rows, count=count), fallible=True,
            )
        )  # fmt: skip
        _changed(lowering, i, cells[0])
        return True

    return rule


def _firsts(lowering: Lowering, i: Instruction) -> bool:
    """For each index the place of the first that is equal to it, and the index itself if it is that one."""
    indices = lowering.value(i.inputs[0])
    if indices is None or indices.dtype not in _INDICES:
        return False
    ids, height = lowering.compact(i, indices), int(i.attrs["rows"])
    firsts, places = lowering.result(i, 0), lowering.result(i, 1)
    table = lowering.temporary(i.name, "int32", (height,))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        given = address(ids), address(table), address(firsts), address(places)
        return rows.first_of_equal_steps(kernels[0], *given, ids.size, height)

    source = rows.first_of_equal_source(ids.dtype, places.dtype)
    makes = [table.root, firsts.root, places.root]
    lowering.add(KernelNode(i, [ids], makes, sources=[source], emit=emit))
    return True


# ---- rows of numbers -----------------------------------------------------------------------------------------------

_MOST_KEPT: Final = 256
"""Elements of a row that are kept in order by moving them."""
_FEW: Final = 4
"""A part of a row so small, or a smaller one, is kept so; for a larger one the whole row is sorted."""
_SHORT: Final = 64
"""Elements that are always kept so."""


def _top_k(lowering: Lowering, i: Instruction) -> bool:
    value, wanted = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or wanted is None or value.dtype == "bool" or not value.shape:
        return False
    columns, count = value.shape[-1], int(wanted)
    if not 0 < count <= columns:
        return False
    x, values, places = lowering.compact(i, value), lowering.result(i, 0), lowering.result(i, 1)
    few = count <= max(_SHORT, min(columns // _FEW, _MOST_KEPT))
    scratch = []
    if not few:
        key = rows.sorted_key(x.dtype)
        scratch = [lowering.temporary(i.name, dtype, x.shape) for dtype in (key, key, "int32", "int32")]
        scratch.append(lowering.temporary(i.name, "int32", (x.size // columns, 256)))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        sizes = x.size // columns, columns, count
        if few:
            return rows.top_k_steps(kernels[0], address(x), address(values), address(places), *sizes)
        results = address(values), address(places)
        return rows.sorted_steps(kernels[0], address(x), results, [address(v) for v in scratch], *sizes)

    source = rows.top_k_source(x.dtype) if few else rows.sorted_source(x.dtype)
    makes = [v.root for v in (values, places, *scratch)]
    lowering.add(KernelNode(i, [x], makes, sources=[source], emit=emit))
    return True


def _scan(operation: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        value, axis = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
        if value is None or axis is None or not value.shape or value.dtype not in _CHANGED:
            return False
        x, target, along = lowering.compact(i, value), lowering.result(i), int(axis) % len(value.shape)
        length, inner = x.shape[along], math.prod(x.shape[along + 1 :])
        options = bool(i.attrs["reverse"]), bool(i.attrs["exclusive"])

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            sizes = x.size // length, length, inner
            return rows.scan_steps(kernels[0], address(x), address(target), *sizes, *options)

        source = rows.scan_source(x.dtype, operation)
        lowering.add(KernelNode(i, [x], [target.root], sources=[source], emit=emit))
        return True

    return rule


def _in_top_k(lowering: Lowering, i: Instruction) -> bool:
    predictions, targets, most = (lowering.value(n) for n in i.inputs)
    if predictions is None or targets is None or most is None or predictions.dtype not in _FLOATS:
        return False
    if len(predictions.shape) != 2 or targets.shape != predictions.shape[:1]:
        return False
    x, chosen, target = lowering.compact(i, predictions), lowering.compact(i, targets), lowering.result(i)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return ranks.in_top_k_steps(kernels[0], *map(address, (x, chosen, most, target)), *x.shape)

    source = ranks.in_top_k_source(x.dtype, chosen.dtype)
    lowering.add(KernelNode(i, [x, chosen, most], [target.root], sources=[source], emit=emit))
    return True


INDEX_RULES: Final[dict[str, Rule]] = {
    "GatherV2": _gather,
    "GatherNd": _gather_nd,
    "ReverseSequence": _reverse_sequence,
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
    "TopKV2": _top_k,
    "InTopKV2": _in_top_k,
    "Cumsum": _scan("sum"),
    "Cumprod": _scan("prod"),
    FIRSTS: _firsts,
}
