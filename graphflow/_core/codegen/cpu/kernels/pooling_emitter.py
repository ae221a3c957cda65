"""The instructions of the pooling kernels; `emitter.py` says how this is used.

A pool goes over the vectors of channels of one output pixel at a time. Its window rows are a loop with bounds from a
table, its window columns are written out, a version for each way in which a window meets the border.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from graphflow._core.codegen.cpu.kernels.emitter import Emitter

Visit = Callable[[Any, int, int], Any]


def pool(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """Arguments: input, output; unit: output row."""
    source, target = e.pointer(arguments, 0), e.pointer(arguments, 1)

    def row(unit: Any, _: list[Any]) -> list[Any]:
        image, position = e.divide(unit, p["out_rows"])

        def window(inputs: list[Any], rows: Any, row_step: int, output: Any, lanes: int) -> None:
            initial = e.constant(float("-inf") if p["largest"] else 0.0, lanes)

            def window_row(i: Any, held: list[Any]) -> list[Any]:
                total = held[0]
                for at in inputs:
                    value = e.load(source, e.add(at, e.multiply(i, row_step)), lanes)
                    if p["largest"]:
                        total = e.builder.select(larger_or_nan(e, value, total), value, total)
                    else:
                        total = e.builder.fadd(total, value)
                return [total]

            (total,) = e.loop(0, rows, window_row, [initial])
            if not p["largest"]:
                total = e.builder.fdiv(total, window_count(e, rows, len(inputs), lanes))
            e.store(total, target, output)

        each_window(e, p, image, position, window)
        return []

    e.loop(begin, end, row)


def pool_gradient(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """Arguments: input (for the largest alone), gradient, result; unit: an output row, or an image where rows overlap.

    A unit owns the input rows that its windows alone reach, and clears what they may leave out.
    """
    source = e.pointer(arguments, 0) if p["largest"] else None
    gradient, target = (e.pointer(arguments, position + int(p["largest"])) for position in range(2))
    row_size = p["in_columns"] * p["channels"]

    def window(inputs: list[Any], rows: Any, row_step: int, output: Any, lanes: int) -> None:
        share = e.load(gradient, output, lanes)
        winner = None
        if p["largest"]:
            largest, winner = largest_element(e, source, inputs, rows, row_step, lanes)
            if p["relu"]:
                zero = e.constant(0.0, lanes)
                share = e.builder.select(e.builder.fcmp_ordered(">", largest, zero), share, zero)
        else:
            share = e.builder.fdiv(share, window_count(e, rows, len(inputs), lanes))

        def window_row(i: Any, _: list[Any]) -> list[Any]:
            for j, at in enumerate(inputs):
                place, value = e.add(at, e.multiply(i, row_step)), share
                if winner is not None:
                    here = e.builder.icmp_signed("==", winner, element_number(e, i, j, len(inputs), lanes))
                    value = e.builder.select(here, share, e.constant(0.0, lanes))
                if p["overlapping"]:
                    value = e.builder.fadd(e.load(target, place, lanes), value)
                e.store(value, target, place)
            return []

        e.loop(0, rows, window_row)

    def unit_rows(unit: Any, _: list[Any]) -> list[Any]:
        image, position = (unit, 0) if p["whole_images"] else e.divide(unit, p["out_rows"])
        if p["clear"]:
            base = e.multiply(image, p["in_rows"])
            if p["whole_images"]:
                first, past = base, e.add(base, p["in_rows"])
            else:
                first = e.add(base, e.table(p["first_owned"], position))
                past = e.add(base, e.table(p["past_owned"], position))

            def clear(r: Any, _: list[Any]) -> list[Any]:
                def column(c: Any, lanes: int) -> None:
                    e.store(e.constant(0.0, lanes), target, e.add(e.multiply(r, row_size), c))

                each_vector(e, row_size, p["lanes"], column)
                return []

            e.loop(first, past, clear)

        def row(r: Any, _: list[Any]) -> list[Any]:
            each_window(e, p, image, r, window)
            return []

        if p["whole_images"]:
            e.loop(0, p["out_rows"], row)
        else:
            row(position, [])
        return []

    e.loop(begin, end, unit_rows)


def each_window(e: Emitter, p: dict[str, Any], image: Any, position: Any, window: Any) -> None:
    """Emits `window(inputs of its first row, rows, row step, output, lanes)` for all of an output row."""
    channels = p["channels"]
    first_rows, counts = p["rows"]
    x_row = e.add(e.multiply(image, p["in_rows"]), e.table(first_rows, position))
    x_row = e.multiply(x_row, p["in_columns"] * channels)
    y_row = e.add(e.multiply(image, p["out_rows"]), position)
    y_row = e.multiply(y_row, p["out_columns"] * channels)
    rows = e.table(counts, position)
    for columns, first, first_column, count, step, column_step in p["windows"]:

        def pixel(
            i: Any, _: list[Any], columns: Any = columns, first: Any = first, first_column: Any = first_column,
            step: Any = step, column_step: Any = column_step,
        ) -> list[Any]:  # fmt: skip
            x = e.add(x_row, e.multiply(i, column_step * channels), first_column * channels)
            y = e.add(y_row, e.multiply(i, step * channels), first * channels)

            def vector(c: Any, lanes: int) -> None:
                inputs = [e.add(x, c, column * channels) for column in columns]
                window(inputs, rows, p["in_columns"] * channels, e.add(y, c), lanes)

            each_vector(e, channels, p["lanes"], vector)
            return []

        e.loop(0, count, pixel)


def each_vector(e: Emitter, size: int, lanes: int, visit: Any) -> None:
    """Emits `visit(offset, lanes)` for vectors that cover `size` elements, narrower ones at the end."""
    whole = size // lanes

    def numbered(i: Any, _: list[Any]) -> list[Any]:
        visit(e.multiply(i, lanes), lanes)
        return []

    e.loop(0, whole, numbered)
    at = whole * lanes
    while lanes > 1:
        lanes //= 2
        if size - at >= lanes:
            visit(at, lanes)
            at += lanes


def larger_or_nan(e: Emitter, value: Any, best: Any) -> Any:
    """Whether a value takes the place of the best: it is larger or the first NaN."""
    larger = e.builder.fcmp_unordered(">", value, best)
    return e.builder.and_(larger, e.builder.fcmp_ordered("ord", best, best))


def largest_element(
    e: Emitter, source: Any, inputs: list[Any], rows: Any, row_step: int, lanes: int
) -> list[Any]:
    """The first largest element of the window, lane by lane, and its number there."""

    def window_row(i: Any, held: list[Any]) -> list[Any]:
        best, number = held
        for j, at in enumerate(inputs):
            value = e.load(source, e.add(at, e.multiply(i, row_step)), lanes)
            taken = larger_or_nan(e, value, best)
            best = e.builder.select(taken, value, best)
            number = e.builder.select(taken, element_number(e, i, j, len(inputs), lanes), number)
        return [best, number]

    start = [e.constant(float("-inf"), lanes), element_number(e, 0, 0, 1, lanes)]
    return e.loop(0, rows, window_row, start)


def element_number(e: Emitter, row: Any, column: int, columns: int, lanes: int) -> Any:
    """The int32 number of a window's element, in every lane."""
    word = ir.IntType(32)
    number = e.add(e.multiply(row, columns), column)
    kind = word if lanes == 1 else ir.VectorType(word, lanes)
    if isinstance(number, int):
        return ir.Constant(kind, number if lanes == 1 else [number] * lanes)
    return e.spread(e.builder.trunc(number, word), lanes)


def window_count(e: Emitter, rows: Any, columns: int, lanes: int) -> Any:
    """How many elements a window has, in every lane."""
    if isinstance(rows, int):
        return e.constant(float(rows * columns), lanes)
    count = e.builder.sitofp(e.multiply(rows, columns), e.element)
    return e.spread(count, lanes)
