"""Rules of ops that put rows to places that are constants: sorted segments, stitches; and of those that count.

Each row of the result is made once: the tables of what it is made of are constants, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.sources import segments
from graphflow._core.compiler.cpu.assembly_rules import constant, filled
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.math.sorting import width_of_bins
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
_NUMBERS: Final = (*_FLOATS, "int32", "int64")


def _lowest(dtype: Any) -> str:
    return f"{np.finfo(dtype).min!s}" if dtype.kind == "f" else f"-{np.iinfo(dtype).max} - 1"


def _highest(dtype: Any) -> str:
    return f"{np.finfo(dtype).max!s}" if dtype.kind == "f" else f"{np.iinfo(dtype).max}"


def _segments(operation: str, neutral: Callable[[Any], str], mean: bool = False) -> Rule:
    """Segments whose numbers are constants, so that there are as many in each run."""

    def rule(lowering: Lowering, i: Instruction) -> bool:
        data, numbers = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
        if data is None or numbers is None or not data.shape:
            return False
        if numbers.shape != data.shape[:1] or numbers[0] < 0 or (np.diff(numbers) < 0).any():
            return False  # The NumPy kernel says what is wrong.
        counts = np.bincount(numbers)
        if (
            data.dtype not in (_FLOATS if mean else _NUMBERS)
            or lowering.shape(i.outputs[0])[0] != counts.size
        ):
            return False
        if operation in ("max", "min") and not counts.all():
            return False  # What has no rows is 0.
        x, result = lowering.compact(i, data), lowering.result(i)
        target = lowering.temporary(i.name, result.dtype, result.shape) if mean else result
        starts = constant(lowering, i, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
        columns = x.size // numbers.size

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            places = address(x), address(starts), address(target)
            return segments.segments_steps(kernels[0], *places, columns, counts.size, numbers.size)

        source = segments.segments_source(x.dtype, operation, neutral(np.dtype(x.dtype)))
        lowering.add(KernelNode(i, [x, starts], [target.root], sources=[source], emit=emit))
        if mean:
            shape = (counts.size, *(1,) * (len(result.shape) - 1))
            sizes = constant(lowering, i, np.maximum(counts, 1).astype(result.dtype).reshape(shape))
            lowering.elementwise(i, "{0} / {1}", [target, sizes], result)
        return True

    return rule


def _stitch(lowering: Lowering, i: Instruction) -> bool:
    """What is named twice is what came last, what is not named is 0."""
    half = len(i.inputs) // 2
    places = [lowering.constant(name) for name in i.inputs[:half]]
    parts = [lowering.value(name) for name in i.inputs[half:]]
    shape = lowering.shape(i.outputs[0])
    if any(place is None for place in places) or any(data is None for data in parts):
        return False
    if any(d.shape != p.shape + shape[1:] for p, d in zip(places, parts, strict=True) if d is not None):
        return False
    flat = np.concatenate([place.reshape(-1) for place in places]).astype(np.int64)
    if (flat < 0).any() or (flat >= shape[0]).any():
        return False  # The NumPy kernel says what is wrong.
    last = np.full(int(shape[0]), -1, np.int64)
    np.maximum.at(last, flat, np.arange(flat.size))
    target = lowering.result(i)
    if (last < 0).any():
        filled(lowering, i, target)
    first = 0
    for place, data in zip(places, parts, strict=True):
        assert data is not None
        kept = np.flatnonzero(last[flat[first : first + place.size]] == np.arange(first, first + place.size))
        if kept.size:
            _place(lowering, i, lowering.compact(i, data), kept, flat[first + kept], target)
        first += place.size
    return True


def _place(lowering: Lowering, i: Instruction, x: Value, rows: Any, places: Any, target: Value) -> None:
    """Copies rows of x to places of their own."""
    from_rows, to_places = constant(lowering, i, rows.astype(np.int64)), constant(lowering, i, places)
    columns = target.size // target.shape[0]

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        given = address(x), address(from_rows), address(to_places), address(target)
        return segments.placed_steps(kernels[0], *given, columns, rows.size)

    source = segments.placed_source(np.dtype(x.dtype).itemsize)
    lowering.add(KernelNode(i, [x, from_rows, to_places], [target.root], sources=[source], emit=emit))


def _histogram(lowering: Lowering, i: Instruction) -> bool:
    """A statement finds the bins as NumPy's kernel does; they are counted in parts, whose sum is the result."""
    value, (limits, number) = lowering.value(i.inputs[0]), map(lowering.constant, i.inputs[1:])
    if value is None or limits is None or number is None or limits.shape != (2,) or not limits[0] < limits[1]:
        return False  # The NumPy kernel says what is wrong.
    bins, low = int(number), limits[0].item()
    if bins <= 0 or not np.isfinite(limits).all():
        return False
    places, result = lowering.temporary(i.name, "int32", value.shape), lowering.result(i)
    width = constant(lowering, i, np.float64(width_of_bins(limits, bins)))
    start = constant(lowering, i, np.array(low, value.dtype))
    above = "cast(({0} if {0} > {1} else {1}) - {1}, float64)"
    text = f"cast(maximum(minimum({above} / {{2}}, {bins - 1}), 0), int32)"
    lowering.elementwise(i, text, [value, start, width], places, forced=True)
    size = value.size
    counts = lowering.temporary(i.name, result.dtype, (segments.counted_parts(size), bins))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return segments.counted_steps(kernels[0], address(places), address(counts), size, bins)

    source = segments.counted_source(result.dtype)
    lowering.add(KernelNode(i, [places], [counts.root], sources=[source], emit=emit))
    lowering.reduction(i, "sum", (0,), counts, target=result)
    return True


SEGMENT_RULES: Final[dict[str, Rule]] = {
    "DynamicStitch": _stitch,
    "HistogramFixedWidth": _histogram,
    "SegmentSum": _segments("add", lambda dtype: "0"),
    "SegmentMean": _segments("add", lambda dtype: "0", mean=True),
    "SegmentProd": _segments("mul", lambda dtype: "1"),
    "SegmentMax": _segments("max", _lowest),
    "SegmentMin": _segments("min", _highest),
}
