"""The instructions of convolutions and pools of any sizes: all sizes are arguments, read when the kernel is called.

Every sum has the order that it has in the kernels made for a shape (`conv_emitter.py`, `pooling_emitter.py`), product
by product and rounding by rounding, so that either may take the other's place at any time. A tile is some neighbouring
pixels by some vectors of channels; pixels whose windows reach over the border are computed one by one. Channels that
fill no vector are loaded and stored under a mask. `windows.py` says what the arguments are, and makes the sources.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from graphflow._core.codegen.cpu.kernels.emitter import Emitter

TILE = 4
"""Pixels, or elements of a filter, in a tile: with two vectors of channels, as many sums as hide their latency."""
Lanes = tuple[int, Any]
"""How wide a vector is, and which of its lanes are there: None for all."""


class AxisWords(NamedTuple):
    """Which input meets which window element: for output o and element k, (o * pace + shift + k * spread) / divisor.

    It has to be a whole number from 0 on and less than `inputs`. Elements that meet the same output are `step` apart,
    and their inputs `input_step`; outputs `divisor` apart meet the same elements, at inputs `pace` apart.
    """

    size: Any
    inputs: Any
    pace: Any
    shift: Any
    spread: Any
    divisor: Any
    step: Any
    input_step: Any


def words_of(e: Emitter, arguments: Any, first: int, count: int) -> list[Any]:
    """Some words of the argument list."""
    return [e.argument(arguments, first + k) for k in range(count)]


def product(e: Emitter, first: Any, *others: Any) -> Any:
    """The product of int64 values, one of which may be a number known now."""
    total = e.index(first)
    for other in others:
        total = e.builder.mul(total, e.index(other))
    return total


def upward(e: Emitter, value: Any, divisor: Any) -> Any:
    """A quotient of int64 values that are not negative, rounded up."""
    return e.builder.udiv(e.builder.sub(e.builder.add(value, divisor), e.index(1)), divisor)


def flag(e: Emitter, condition: Any) -> Any:
    """A truth value as the number of turns of a loop that runs if it holds."""
    return e.builder.zext(condition, e.index(0).type)


def is_set(e: Emitter, word: Any) -> Any:
    """Whether a word is not zero."""
    return e.builder.icmp_signed("!=", word, e.index(0))


def every_lane(e: Emitter, condition: Any, lanes: int) -> Any:
    """A truth value in every lane."""
    return e.spread(condition, lanes)


def first_lanes(e: Emitter, count: Any, lanes: int) -> Any:
    """The mask of the first `count` lanes."""
    word = ir.IntType(32)
    numbers = ir.Constant(ir.VectorType(word, lanes), list(range(lanes)))
    return e.builder.icmp_signed("<", numbers, e.spread(e.builder.trunc(count, word), lanes))


def masked(e: Emitter, operation: str, result: Any, operands: Sequence[Any], lanes: int) -> Any:
    """A call of LLVM's masked load or store."""
    name = f"llvm.masked.{operation}.v{lanes}f{e.bytes * 8}.p0"
    function = e.module.globals.get(name)
    if function is None:
        function = ir.Function(e.module, ir.FunctionType(result, [o.type for o in operands]), name)
    return e.builder.call(function, operands)


def load(e: Emitter, pointer: Any, offset: Any, lanes: Lanes) -> Any:
    """A vector from an offset on; lanes that are not there are zero."""
    width, mask = lanes
    if mask is None:
        return e.load(pointer, offset, width)
    kind = e.vector(width)
    align = ir.Constant(ir.IntType(32), e.bytes)
    return masked(e, "load", kind, [e.address(pointer, offset), align, mask, e.constant(0.0, width)], width)


def store(e: Emitter, value: Any, pointer: Any, offset: Any, lanes: Lanes) -> None:
    """Stores the lanes that are there."""
    width, mask = lanes
    if mask is None:
        e.store(value, pointer, offset)
        return
    align = ir.Constant(ir.IntType(32), e.bytes)
    masked(e, "store", ir.VoidType(), [value, e.address(pointer, offset), align, mask], width)


def each_block(e: Emitter, channels: Any, lanes: int, visit: Callable[[Any, list[int], Lanes], None]) -> None:
    """Emits `visit(first channel, starts of its vectors, lanes)` for pairs of vectors, then for what is left."""
    pairs = e.builder.udiv(channels, e.index(2 * lanes))

    def pair(i: Any, _: list[Any]) -> list[Any]:
        visit(e.multiply(i, 2 * lanes), [0, lanes], (lanes, None))
        return []

    def rest(i: Any, _: list[Any]) -> list[Any]:
        channel = e.add(e.multiply(pairs, 2 * lanes), e.multiply(i, lanes))
        visit(channel, [0], (lanes, first_lanes(e, e.builder.sub(channels, channel), lanes)))
        return []

    e.loop(0, pairs, pair)
    left = e.builder.sub(channels, e.multiply(pairs, 2 * lanes))
    e.loop(0, upward(e, left, e.index(lanes)), rest)


def meeting(e: Emitter, axis: AxisWords, output: Any) -> tuple[Any, Any, Any, Any]:
    """The first window element that meets an output, its input, how many do, and which would without a border."""
    b = e.builder
    start = b.add(b.mul(output, axis.pace), axis.shift)

    def element(k: Any, held: list[Any]) -> list[Any]:
        first, source, count, lowest = held
        at = b.add(start, b.mul(k, axis.spread))
        quotient = b.sdiv(at, axis.divisor)
        even = b.icmp_signed("==", b.mul(quotient, axis.divisor), at)
        inside = b.and_(b.icmp_signed(">=", at, e.index(0)), b.icmp_signed("<", quotient, axis.inputs))
        inside = b.and_(even, inside)
        new = b.and_(inside, b.icmp_signed("==", count, e.index(0)))
        return [
            b.select(new, k, first),
            b.select(new, quotient, source),
            b.add(count, flag(e, inside)),
            b.select(even, e.smaller(lowest, k), lowest),
        ]

    zero = e.index(0)
    first, source, count, lowest = e.loop(0, axis.size, element, [axis.size, zero, zero, axis.size])
    return first, source, count, lowest


def inner_outputs(e: Emitter, axis: AxisWords, first: Any, count: Any) -> tuple[Any, Any]:
    """Of `count` outputs, `divisor` apart from `first` on, the range of those that meet all elements they could."""
    b = e.builder

    def look(j: Any, held: list[Any]) -> list[Any]:
        low, past = held
        element, _, found, lowest = meeting(e, axis, b.add(first, b.mul(j, axis.divisor)))
        possible = upward(e, b.sub(axis.size, lowest), axis.step)
        whole = b.and_(b.icmp_signed("==", element, lowest), b.icmp_signed("==", found, possible))
        return [b.select(whole, e.smaller(low, j), low), b.select(whole, b.add(j, e.index(1)), past)]

    low, past = e.loop(0, count, look, [count, e.index(0)])
    return low, e.larger(low, past)


def gather(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """A convolution, or its gradient to the input; unit: a row of the result."""
    source, weights, target = (e.pointer(arguments, position) for position in range(3))
    bias, has_bias, relu = (
        e.pointer(arguments, 3),
        is_set(e, e.argument(arguments, 3)),
        e.argument(arguments, 4),
    )
    in_rows, in_columns, channels, out_rows, out_columns, outputs = words_of(e, arguments, 5, 6)
    rows, columns = (AxisWords(*words_of(e, arguments, first, 8)) for first in (11, 19))
    b, lanes = e.builder, p["lanes"]
    line = b.mul(in_columns, channels)
    pixel_step = b.mul(columns.pace, channels)
    output_step = b.mul(columns.divisor, outputs)
    adjoining = b.and_(
        b.icmp_signed("==", columns.step, e.index(1)), b.icmp_signed("==", columns.input_step, e.index(1))
    )

    def block(channel: Any, starts: list[int], width: Lanes) -> None:
        def sums_of(pixels: int, x_tile: Any, taps: Any, first: Any, count: Any) -> list[Any]:
            """The sums of neighbouring pixels, vector by vector."""
            turns = b.select(adjoining, e.index(1), count)
            length = b.select(adjoining, b.mul(count, channels), channels)

            def window_row(i: Any, sums: list[Any]) -> list[Any]:
                x_row = b.add(x_tile, product(e, i, rows.input_step, line))
                w_row = b.add(b.mul(b.add(taps[0], b.mul(i, rows.step)), columns.size), first)

                def window_column(j: Any, sums: list[Any]) -> list[Any]:
                    x = e.address(source, x_row, product(e, j, columns.input_step, channels))
                    w_place = product(e, b.add(w_row, b.mul(j, columns.step)), channels, outputs)
                    w = e.address(weights, w_place, channel)

                    def element(c: Any, sums: list[Any]) -> list[Any]:
                        sums, at = list(sums), b.mul(c, outputs)
                        loaded = [load(e, w, e.add(at, start), width) for start in starts]
                        for pixel in range(pixels):
                            value = e.load(x, e.add(c, product(e, pixel, pixel_step)), 1)
                            spread = e.spread(value, lanes)
                            for v, weight in enumerate(loaded):
                                place = pixel * len(loaded) + v
                                sums[place] = e.multiply_add(spread, weight, sums[place])
                        return sums

                    return e.loop(0, length, element, sums)

                return e.loop(0, turns, window_column, sums)

            zeros = [e.constant(0.0, lanes)] * (pixels * len(starts))
            return e.loop(0, taps[2], window_row, zeros)

        def finished(total: Any, start: int) -> Any:
            (total,) = e.loop(
                0,
                flag(e, has_bias),
                lambda _, held: [b.fadd(held[0], load(e, bias, e.add(channel, start), width))],
                [total],
            )
            zero = e.constant(0.0, lanes)
            cut = b.and_(b.fcmp_ordered("<", total, zero), every_lane(e, is_set(e, relu), lanes))
            return b.select(cut, zero, total)

        def phase(number: Any, _: list[Any]) -> list[Any]:
            count = upward(e, b.sub(out_columns, number), columns.divisor)
            low, past = inner_outputs(e, columns, number, count)
            _, _, _, lowest = meeting(e, columns, number)
            inner_count = upward(e, b.sub(columns.size, lowest), columns.step)
            start = b.add(b.add(b.mul(number, columns.pace), columns.shift), b.mul(lowest, columns.spread))
            first_source = b.sdiv(start, columns.divisor)
            inside = b.sub(past, low)
            most = b.select(b.icmp_signed("<", inside, e.index(TILE)), e.index(0), inside)
            tiles = upward(e, most, e.index(TILE))
            left = b.sub(inside, most)
            behind = b.sub(count, past)

            def row(unit: Any, _: list[Any]) -> list[Any]:
                image, position = e.divide(unit, out_rows)
                taps = meeting(e, rows, position)
                x_line = b.mul(b.add(b.mul(image, in_rows), taps[1]), line)
                y_line = b.add(product(e, unit, out_columns, outputs), channel)

                def placed(sums: list[Any], pixels: int, j: Any) -> None:
                    column = b.add(number, b.mul(j, columns.divisor))
                    y = e.address(target, y_line, b.mul(column, outputs))
                    for pixel in range(pixels):
                        for v, first in enumerate(starts):
                            total = finished(sums[pixel * len(starts) + v], first)
                            store(e, total, y, e.add(product(e, pixel, output_step), first), width)

                def tile(t: Any, _: list[Any]) -> list[Any]:
                    # The last one may share pixels with the one before: it stores there what that has stored.
                    j = e.smaller(b.add(low, e.multiply(t, TILE)), e.add(past, -TILE))
                    at = b.add(first_source, b.mul(j, columns.pace))
                    x = b.add(x_line, b.mul(at, channels))
                    placed(sums_of(TILE, x, taps, lowest, inner_count), TILE, j)
                    return []

                def single(t: Any, _: list[Any]) -> list[Any]:
                    after = b.sub(t, low)
                    j = b.select(
                        b.icmp_signed("<", after, behind),
                        b.add(past, after),
                        b.sub(b.add(low, after), behind),
                    )
                    j = b.select(b.icmp_signed("<", t, low), t, j)
                    first, at, found, _ = meeting(e, columns, b.add(number, b.mul(j, columns.divisor)))
                    x = b.add(x_line, b.mul(at, channels))
                    placed(sums_of(1, x, taps, first, found), 1, j)
                    return []

                e.loop(0, tiles, tile)
                e.loop(0, e.add(low, behind, left), single)
                return []

            e.loop(begin, end, row)
            return []

        e.loop(0, e.smaller(columns.divisor, out_columns), phase)

    each_block(e, outputs, lanes, block)


def turn_filter(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """A filter with its last two axes exchanged; unit: a tap."""
    source, target = e.pointer(arguments, 0), e.pointer(arguments, 1)
    channels, outputs = words_of(e, arguments, 2, 2)
    b = e.builder

    def tap(unit: Any, _: list[Any]) -> list[Any]:
        base = product(e, unit, channels, outputs)

        def channel(c: Any, _: list[Any]) -> list[Any]:
            x, y = e.address(source, base, b.mul(c, outputs)), e.address(target, base, c)

            def output(o: Any, _: list[Any]) -> list[Any]:
                e.store(e.load(x, o, 1), y, b.mul(o, channels))
                return []

            e.loop(0, outputs, output)
            return []

        e.loop(0, channels, channel)
        return []

    e.loop(begin, end, tap)


def filter_of_gradient(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """A convolution's gradient to its filter; unit: a tile of a row of the filter, in one group of images.

    A tile is some elements (window column and channel) by some vectors of outputs. The elements that are left over when
    a row is cut into tiles are tiles of one.
    """
    source, gradient, target = (e.pointer(arguments, position) for position in range(3))
    images, groups = words_of(e, arguments, 3, 2)
    in_rows, in_columns, channels, out_rows, out_columns, outputs = words_of(e, arguments, 5, 6)
    window = words_of(e, arguments, 11, 8)
    (rows, row_stride, row_dilation, rows_before), (columns, stride, dilation, before) = (
        window[:4],
        window[4:],
    )
    b, lanes = e.builder, p["lanes"]
    elements = b.mul(columns, channels)
    whole = b.udiv(elements, e.index(TILE))
    tiles = b.add(whole, b.urem(elements, e.index(TILE)))

    def met(size: Any, outputs: Any, pace: Any, first: Any, last: Any) -> tuple[Any, Any]:
        """The range of outputs whose inputs are there for elements at two offsets, the first the smaller."""
        low = upward(e, e.larger(b.neg(first), 0), pace)
        room = e.add(b.sub(size, last), -1)
        past = e.add(b.udiv(e.larger(room, 0), pace), 1)
        past = b.select(b.icmp_signed("<", room, e.index(0)), e.index(0), past)
        low = e.smaller(low, outputs)
        return low, e.larger(low, e.smaller(past, outputs))

    def tile(group: Any, window_row: Any, first: Any, count: int) -> None:
        image = b.udiv(b.mul(group, images), groups)
        past_image = b.udiv(b.mul(e.add(group, 1), images), groups)
        row_shift = b.sub(b.mul(window_row, row_dilation), rows_before)
        low_row, past_row = met(in_rows, out_rows, row_stride, row_shift, row_shift)
        numbers = [e.add(first, k) for k in range(count)]
        columns_of = [b.udiv(number, channels) for number in numbers]
        shifts = [b.sub(b.mul(column, dilation), before) for column in columns_of]
        places = [
            b.add(b.mul(shift, channels), b.sub(number, b.mul(column, channels)))
            for number, column, shift in zip(numbers, columns_of, shifts)
        ]
        low, past = met(in_columns, out_columns, stride, shifts[0], shifts[-1])
        pixel_step = b.mul(stride, channels)

        def block(channel: Any, starts: list[int], width: Lanes) -> None:
            def row(image: Any, r: Any, sums: list[Any]) -> list[Any]:
                x_row = b.add(b.add(b.mul(image, in_rows), b.mul(r, row_stride)), row_shift)
                x_line = product(e, x_row, in_columns, channels)
                y_row = b.mul(b.add(b.mul(image, out_rows), r), out_columns)
                y = e.address(gradient, b.mul(y_row, outputs), channel)

                def added(c: Any, vectors: list[Any], k: int, sums: list[Any]) -> list[Any]:
                    value = e.load(source, e.add(x_line, b.mul(c, pixel_step), places[k]), 1)
                    spread = e.spread(value, lanes)
                    return [e.multiply_add(spread, vector, total) for vector, total in zip(vectors, sums)]

                def vectors_at(c: Any) -> list[Any]:
                    at = b.mul(c, outputs)
                    return [load(e, y, e.add(at, start), width) for start in starts]

                def inner(c: Any, sums: list[Any]) -> list[Any]:
                    vectors, found = vectors_at(c), []
                    for k in range(count):
                        found += added(c, vectors, k, sums[k * len(starts) : (k + 1) * len(starts)])
                    return found

                def outer(c: Any, sums: list[Any]) -> list[Any]:
                    vectors, found = vectors_at(c), []
                    for k, shift in enumerate(shifts):

                        def present(_: Any, held: list[Any], k: int = k) -> list[Any]:
                            return added(c, vectors, k, held)

                        at = b.add(b.mul(c, stride), shift)
                        there = b.and_(
                            b.icmp_signed(">=", at, e.index(0)), b.icmp_signed("<", at, in_columns)
                        )
                        held = sums[k * len(starts) : (k + 1) * len(starts)]
                        found += e.loop(0, flag(e, there), present, held)
                    return found

                if count == 1:
                    return e.loop(low, past, inner, sums)

                def side(s: Any, sums: list[Any]) -> list[Any]:
                    left = b.icmp_signed("==", s, e.index(0))
                    sums = e.loop(
                        b.select(left, e.index(0), past), b.select(left, low, out_columns), outer, sums
                    )
                    return e.loop(low, b.select(left, past, low), inner, sums)

                return e.loop(0, 2, side, sums)

            zeros = [e.constant(0.0, lanes)] * (count * len(starts))

            def rows_of(n: Any, sums: list[Any]) -> list[Any]:
                return e.loop(low_row, past_row, lambda r, held: row(n, r, held), sums)

            sums = e.loop(image, past_image, rows_of, zeros)
            row_of = b.mul(b.add(b.mul(group, rows), window_row), elements)
            for k, number in enumerate(numbers):
                y = e.address(target, b.mul(b.add(row_of, number), outputs), channel)
                for v, start in enumerate(starts):
                    store(e, sums[k * len(starts) + v], y, start, width)

        each_block(e, outputs, lanes, block)

    def numbered(unit: Any, _: list[Any]) -> list[Any]:
        rest, number = e.divide(unit, tiles)
        group, window_row = e.divide(rest, rows)
        is_whole = b.icmp_signed("<", number, whole)

        def together(_: Any, held: list[Any]) -> list[Any]:
            tile(group, window_row, e.multiply(number, TILE), TILE)
            return []

        def alone(_: Any, held: list[Any]) -> list[Any]:
            tile(group, window_row, e.add(e.multiply(whole, TILE), b.sub(number, whole)), 1)
            return []

        e.loop(0, flag(e, is_whole), together)
        e.loop(0, flag(e, b.not_(is_whole)), alone)
        return []

    e.loop(begin, end, numbered)


def add_groups(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """The sum of partial results [groups, size], in order; unit: a vector of the sum."""
    source, target = e.pointer(arguments, 0), e.pointer(arguments, 1)
    size, groups = words_of(e, arguments, 2, 2)
    b, lanes = e.builder, p["lanes"]

    def vector(unit: Any, _: list[Any]) -> list[Any]:
        at = e.multiply(unit, lanes)
        width = (lanes, first_lanes(e, e.smaller(b.sub(size, at), lanes), lanes))
        (total,) = e.loop(
            1,
            groups,
            lambda g, held: [b.fadd(held[0], load(e, source, b.add(at, b.mul(g, size)), width))],
            [load(e, source, at, width)],
        )
        store(e, total, target, at, width)
        return []

    e.loop(begin, end, vector)
