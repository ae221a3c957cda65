"""The instructions of pools of any sizes: all sizes are arguments; `windows_emitter.py` has what is used here.

Elements are met in the order in which the kernels made for a shape meet them (`pooling_emitter.py`), and a tie, a NaN
and a sum end as they do there.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir

from graphflow._core.codegen.cpu.kernels.emitter import Emitter
from graphflow._core.codegen.cpu.sources.windows_emitter import (
    Lanes,
    first_lanes,
    is_set,
    load,
    store,
    upward,
    words_of,
)


class Images(NamedTuple):
    """The sizes of a pool: its input [N, rows, columns, channels], its output, and its windows."""

    in_rows: Any
    in_columns: Any
    channels: Any
    out_rows: Any
    out_columns: Any
    window_rows: Any
    row_stride: Any
    rows_before: Any
    window_columns: Any
    stride: Any
    before: Any


class Window(NamedTuple):
    """A window's inputs: the offset of the first, how many rows and columns, and the offset of its output."""

    first: Any
    rows: Any
    columns: Any
    output: Any


def clipped(e: Emitter, output: Any, stride: Any, before: Any, size: Any, inputs: Any) -> tuple[Any, Any]:
    """The first input of a window, and how many it has."""
    start = e.builder.sub(e.builder.mul(output, stride), before)
    first = e.larger(start, 0)
    return first, e.builder.sub(e.smaller(e.builder.add(start, size), inputs), first)


def each_window(
    e: Emitter, s: Images, image: Any, row: Any, lanes: int, visit: Callable[[Window, Lanes], None]
) -> None:
    """Emits `visit(window, lanes)` for all vectors of channels of an output row of an image."""
    b = e.builder
    first_row, rows = clipped(e, row, s.row_stride, s.rows_before, s.window_rows, s.in_rows)
    x_row = b.mul(b.add(b.mul(image, s.in_rows), first_row), s.in_columns)
    y_row = b.mul(b.add(b.mul(image, s.out_rows), row), s.out_columns)

    def pixel(column: Any, _: list[Any]) -> list[Any]:
        first_column, columns = clipped(e, column, s.stride, s.before, s.window_columns, s.in_columns)
        x, y = b.mul(b.add(x_row, first_column), s.channels), b.mul(b.add(y_row, column), s.channels)

        def channel(c: Any, width: Lanes) -> None:
            visit(Window(b.add(x, c), rows, columns, b.add(y, c)), width)

        each_vector(e, s.channels, lanes, channel)
        return []

    e.loop(0, s.out_columns, pixel)


def each_vector(e: Emitter, size: Any, lanes: int, visit: Callable[[Any, Lanes], None]) -> None:
    """Emits `visit(offset, lanes)` for vectors that cover `size` elements."""
    whole = e.builder.udiv(size, e.index(lanes))

    def numbered(i: Any, _: list[Any]) -> list[Any]:
        visit(e.multiply(i, lanes), (lanes, None))
        return []

    def rest(_: Any, held: list[Any]) -> list[Any]:
        at = e.multiply(whole, lanes)
        visit(at, (lanes, first_lanes(e, e.builder.sub(size, at), lanes)))
        return []

    e.loop(0, whole, numbered)
    left = e.builder.sub(size, e.multiply(whole, lanes))
    e.loop(0, upward(e, left, e.index(lanes)), rest)


def each_element(
    e: Emitter,
    s: Images,
    window: Window,
    visit: Callable[[Any, Any, list[Any]], list[Any]],
    carried: list[Any],
) -> list[Any]:
    """Emits `carried = visit(number, offset, carried)` for all elements of a window, row by row."""
    b = e.builder
    line = b.mul(s.in_columns, s.channels)

    def row(i: Any, held: list[Any]) -> list[Any]:
        def column(j: Any, held: list[Any]) -> list[Any]:
            number = b.add(b.mul(i, window.columns), j)
            at = e.add(window.first, b.mul(i, line), b.mul(j, s.channels))
            return visit(number, at, held)

        return e.loop(0, window.columns, column, held)

    return e.loop(0, window.rows, row, carried)


def elements(e: Emitter, window: Window, lanes: int) -> Any:
    """How many elements a window has, in every lane."""
    count = e.builder.mul(window.rows, window.columns)
    return e.spread(e.builder.sitofp(count, e.element), lanes)


def takes_place(e: Emitter, value: Any, best: Any) -> Any:
    """Whether a value takes the place of the best: it is larger or the first NaN."""
    larger = e.builder.fcmp_unordered(">", value, best)
    return e.builder.and_(larger, e.builder.fcmp_ordered("ord", best, best))


def numbers(e: Emitter, number: Any, lanes: int) -> Any:
    """The int32 of a number, in every lane."""
    return e.spread(e.builder.trunc(e.index(number), ir.IntType(32)), lanes)


def pool_of_windows(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """The largest element or the mean of each window; unit: an output row."""
    source, target = e.pointer(arguments, 0), e.pointer(arguments, 1)
    s, lanes, b = Images(*words_of(e, arguments, 2, 11)), p["lanes"], e.builder

    def window(of: Window, width: Lanes) -> None:
        def element(_: Any, at: Any, held: list[Any]) -> list[Any]:
            value = load(e, source, at, width)
            if p["largest"]:
                return [b.select(takes_place(e, value, held[0]), value, held[0])]
            return [b.fadd(held[0], value)]

        initial = e.constant(float("-inf") if p["largest"] else 0.0, lanes)
        (total,) = each_element(e, s, of, element, [initial])
        if not p["largest"]:
            total = b.fdiv(total, elements(e, of, lanes))
        store(e, total, target, of.output, width)

    def row(unit: Any, _: list[Any]) -> list[Any]:
        image, position = e.divide(unit, s.out_rows)
        each_window(e, s, image, position, lanes, window)
        return []

    e.loop(begin, end, row)


def gradient_of_windows(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """A pool's gradient to its input; unit: an output row, or an image if windows share rows.

    A unit owns the input rows that its windows alone reach, and clears what they may leave out.
    """
    source, gradient, target = (e.pointer(arguments, position) for position in range(3))
    relu, overlapping, whole_images, clear = words_of(e, arguments, 3, 4)
    s, lanes, b = Images(*words_of(e, arguments, 7, 11)), p["lanes"], e.builder
    line = b.mul(s.in_columns, s.channels)
    adding = e.spread(is_set(e, overlapping), lanes)
    cutting = e.spread(is_set(e, relu), lanes)

    def best_of(of: Window, width: Lanes) -> list[Any]:
        def element(number: Any, at: Any, held: list[Any]) -> list[Any]:
            value = load(e, source, at, width)
            taken = takes_place(e, value, held[0])
            found = b.select(taken, numbers(e, number, lanes), held[1])
            return [b.select(taken, value, held[0]), found]

        return each_element(e, s, of, element, [e.constant(float("-inf"), lanes), numbers(e, 0, lanes)])

    def window(of: Window, width: Lanes) -> None:
        share, winner, zero = load(e, gradient, of.output, width), None, e.constant(0.0, lanes)
        if p["largest"]:
            largest, winner = best_of(of, width)
            cut = b.and_(cutting, b.not_(b.fcmp_ordered(">", largest, zero)))
            share = b.select(cut, zero, share)
        else:
            share = b.fdiv(share, elements(e, of, lanes))

        def element(number: Any, at: Any, held: list[Any]) -> list[Any]:
            value = share
            if winner is not None:
                here = b.icmp_signed("==", winner, numbers(e, number, lanes))
                value = b.select(here, share, zero)
            value = b.select(adding, b.fadd(load(e, target, at, width), value), value)
            store(e, value, target, at, width)
            return []

        each_element(e, s, of, element, [])

    def rows_owned(image: Any, position: Any) -> tuple[Any, Any]:
        """The input rows, of all images, that the windows of an output row alone reach."""

        def start(row: Any) -> Any:
            first, _ = clipped(e, row, s.row_stride, s.rows_before, s.window_rows, s.in_rows)
            first = b.select(b.icmp_signed("<", row, s.out_rows), first, s.in_rows)
            first = b.select(b.icmp_signed("==", row, e.index(0)), e.index(0), first)
            return e.add(b.mul(image, s.in_rows), first)

        return start(position), start(e.add(position, 1))

    def cleared(first: Any, past: Any) -> None:
        def row(r: Any, _: list[Any]) -> list[Any]:
            def vector(c: Any, width: Lanes) -> None:
                store(e, e.constant(0.0, lanes), target, b.add(b.mul(r, line), c), width)

            each_vector(e, line, lanes, vector)
            return []

        e.loop(first, past, row)

    def unit_rows(unit: Any, _: list[Any]) -> list[Any]:
        whole = is_set(e, whole_images)
        image, position = e.divide(unit, b.select(whole, e.index(1), s.out_rows))
        first, past = rows_owned(image, position)
        first = b.select(whole, b.mul(image, s.in_rows), first)
        past = b.select(whole, b.mul(e.add(image, 1), s.in_rows), past)
        cleared(first, b.select(is_set(e, clear), past, first))

        def row(r: Any, _: list[Any]) -> list[Any]:
            each_window(e, s, image, b.add(position, r), lanes, window)
            return []

        e.loop(0, b.select(whole, s.out_rows, e.index(1)), row)
        return []

    e.loop(begin, end, unit_rows)
