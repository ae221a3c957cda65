"""The instructions of the convolution kernels: `conv_tiles.py` says what a tile is, `emitter.py` how this is used.

A convolution and its gradient to the input are one computation, `gather_convolution`: each output row is the sum over
window rows, window columns and channels of input elements times vectors of weights; only the tables of which input
belongs to which tap differ. Every sum has one order, whatever range of rows a call is given.
"""

from itertools import product
from typing import Any

from llvmlite import ir

from graphflow._core.codegen.cpu.kernels.emitter import Emitter


def gather_convolution(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """Arguments: input, weights [window rows, window columns, channels, outputs], output[, bias]; unit: output row."""
    source, weights, target = (e.pointer(arguments, position) for position in range(3))
    bias = e.pointer(arguments, 3) if p["bias"] else None
    channels, outputs, lanes = p["channels"], p["outputs"], p["lanes"]
    in_row = p["in_columns"] * channels
    first_tap, first_input, tap_counts, tap_step, input_step = p["rows"]

    def window_columns(run: Any, vectors: Any, x: Any, w: Any, sums: list[Any]) -> list[Any]:
        first, count, step, inputs, column_step = run
        pixels = [pixel for pixel, column in enumerate(inputs) if column is not None]

        def column(j: Any, sums: list[Any]) -> list[Any]:
            x_column = e.address(source, x, e.multiply(j, column_step * channels))
            w_column = e.address(
                weights, w, first * channels * outputs, e.multiply(j, step * channels * outputs)
            )

            def channel(c: Any, sums: list[Any]) -> list[Any]:
                sums = list(sums)
                for further in range(p["unroll"]):
                    at = e.add(c, further)
                    loaded = [
                        e.load(w_column, e.add(e.multiply(at, outputs), start), lanes) for start in vectors
                    ]
                    for pixel in pixels:
                        element = e.load(x_column, e.add(at, inputs[pixel] * channels), 1)
                        spread = e.spread(element, lanes)
                        for v, weight in enumerate(loaded):
                            place = pixel * len(vectors) + v
                            sums[place] = e.multiply_add(spread, weight, sums[place])
                return sums

            return e.loop(0, channels, channel, sums, step=p["unroll"])

        return e.loop(0, count, column, sums)

    def block(vectors: Any, channel: Any) -> None:
        offsets = (
            [e.load(bias, e.add(channel, start), lanes) for start in vectors] if bias is not None else None
        )

        def row(unit: Any, _: list[Any]) -> list[Any]:
            image, position = e.divide(unit, p["out_rows"])
            tap = e.table(first_tap, position)
            x_row = e.multiply(e.add(e.multiply(image, p["in_rows"]), e.table(first_input, position)), in_row)
            y_row = e.add(e.multiply(unit, p["out_columns"] * outputs), channel)
            for columns, taps, first, first_column, count, step, column_step in p["tiles"]:

                def tile(
                    t: Any,
                    _: list[Any],
                    columns: Any = columns,
                    taps: Any = taps,
                    first: Any = first,
                    first_column: Any = first_column,
                    step: Any = step,
                    column_step: Any = column_step,
                ) -> list[Any]:
                    x_tile = e.add(x_row, first_column * channels, e.multiply(t, column_step * channels))

                    def window_row(i: Any, sums: list[Any]) -> list[Any]:
                        x = e.add(x_tile, e.multiply(i, input_step * in_row))
                        w_row = e.add(tap, e.multiply(i, tap_step))
                        w = e.add(e.multiply(w_row, p["window_columns"] * channels * outputs), channel)
                        for run in taps:
                            sums = window_columns(run, vectors, x, w, sums)
                        return sums

                    zeros = [e.constant(0.0, lanes)] * (len(columns) * len(vectors))
                    sums = e.loop(0, e.table(tap_counts, position), window_row, zeros)
                    y = e.address(target, y_row, first * outputs, e.multiply(t, step * outputs))
                    for (column, (v, start)), total in zip(product(columns, enumerate(vectors)), sums):
                        if offsets is not None:
                            total = e.builder.fadd(total, offsets[v])
                        if p["relu"]:
                            zero = e.constant(0.0, lanes)
                            negative = e.builder.fcmp_ordered("<", total, zero)
                            total = e.builder.select(negative, zero, total)
                        e.store(total, y, column * outputs + start)
                    return []

                e.loop(0, count, tile)
            return []

        e.loop(begin, end, row)

    for starts, first, count, step in p["blocks"]:

        def numbered(
            i: Any, _: list[Any], starts: Any = starts, first: Any = first, step: Any = step
        ) -> list[Any]:
            block(starts, e.add(first, e.multiply(i, step)))
            return []

        e.loop(0, count, numbered)


def transpose_filter(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """Arguments: filter [taps, channels, outputs], result [taps, outputs, channels]; unit: tap."""
    source, target = e.pointer(arguments, 0), e.pointer(arguments, 1)
    channels, outputs, lanes = p["channels"], p["outputs"], p["lanes"]

    def tap(unit: Any, _: list[Any]) -> list[Any]:
        base = e.multiply(unit, channels * outputs)

        def square(c: Any, o: Any) -> None:
            rows = [
                e.load(source, e.add(base, e.multiply(e.add(c, i), outputs), o), lanes) for i in range(lanes)
            ]
            for i, row in enumerate(transposed(e, rows)):
                e.store(row, target, e.add(base, e.multiply(e.add(o, i), channels), c))

        def band(i: Any, _: list[Any]) -> list[Any]:
            c = e.smaller(e.multiply(i, lanes), channels - lanes)

            def along(j: Any, _: list[Any]) -> list[Any]:
                square(c, e.smaller(e.multiply(j, lanes), outputs - lanes))
                return []

            e.loop(0, -(-outputs // lanes), along)
            return []

        e.loop(0, -(-channels // lanes), band)
        return []

    e.loop(begin, end, tap)


def transposed(e: Emitter, rows: list[Any]) -> list[Any]:
    """A square of vectors transposed: log2 steps, each interleaving the first half of the rows with the second."""
    lanes = len(rows)
    half = lanes // 2
    for _ in range(lanes.bit_length() - 1):
        interleaved = []
        for low, high in zip(rows[:half], rows[half:]):
            for start in (0, half):
                order = [start + i // 2 + (i % 2) * lanes for i in range(lanes)]
                mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), order)
                interleaved.append(e.builder.shuffle_vector(low, high, mask))
        rows = interleaved
    return rows


def filter_gradient(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """Arguments: input, gradient, result [groups, filter], images; unit: a tile of the filter in one group of images.

    Each element of a group's result is summed over the group's images, rows and columns in order. Tiles are visited in
    the inner loop and images in the outer one, so that a block of both inputs stays in the cache.
    """
    source, gradient, target = (e.pointer(arguments, position) for position in range(3))
    images, groups, tiles = e.argument(arguments, 3), p["groups"], p["tiles"]
    first_group, past_group = e.divide(begin, tiles)[0], e.divide(e.add(end, tiles - 1), tiles)[0]

    def group(g: Any, _: list[Any]) -> list[Any]:
        result = e.address(target, e.multiply(g, p["filter_size"]))
        first, last = (
            e.larger(e.add(begin, e.multiply(g, -tiles)), 0),
            e.smaller(e.add(end, e.multiply(g, -tiles)), tiles),
        )
        image = e.divide(e.builder.mul(e.index(g), images), groups)[0]
        past_image = e.divide(e.builder.mul(e.index(e.add(g, 1)), images), groups)[0]

        def each_tile(visit: Any) -> None:
            for kind in p["kinds"]:
                low, high = e.larger(first, kind["first"]), e.smaller(last, kind["first"] + kind["count"])

                def numbered(unit: Any, _: list[Any], kind: Any = kind) -> list[Any]:
                    visit(kind, e.add(unit, -kind["first"]))
                    return []

                e.loop(low, high, numbered)

        def clear(kind: Any, unit: Any) -> None:
            place = FilterTile(e, p, kind, unit)
            for offset in place.offsets():
                e.store(e.constant(0.0, p["lanes"]), result, offset)

        each_tile(clear)

        def images_block(n: Any, _: list[Any]) -> list[Any]:
            past = e.smaller(e.add(n, p["images_block"]), past_image)

            def rows_block(row: Any, _: list[Any]) -> list[Any]:
                def accumulate(kind: Any, unit: Any) -> None:
                    place = FilterTile(e, p, kind, unit)
                    offsets = place.offsets()
                    sums = [e.load(result, offset, p["lanes"]) for offset in offsets]
                    low = e.larger(e.table(p["first_row"], place.window_row), row)
                    high = e.smaller(e.table(p["past_row"], place.window_row), e.add(row, p["rows_block"]))
                    sums = e.loop(
                        n, past, lambda i, held: place.image(source, gradient, i, low, high, held), sums
                    )
                    for offset, total in zip(offsets, sums):
                        e.store(total, result, offset)

                each_tile(accumulate)
                return []

            e.loop(0, p["out_rows"], rows_block, step=p["rows_block"])
            return []

        e.loop(image, past_image, images_block, step=p["images_block"])
        return []

    e.loop(first_group, past_group, group)


class FilterTile:
    """Where one tile of a filter's gradient lies in the filter and in the input, from its number."""

    def __init__(self, e: Emitter, p: dict[str, Any], kind: dict[str, Any], unit: Any) -> None:
        self.e, self.p, self.kind = e, p, kind
        starts, first, count, step = kind["outputs"]
        rest, block = e.divide(unit, count)
        rest, channel = e.divide(rest, kind["channel_tiles"])
        self.window_row, self.window_column = e.divide(rest, kind["window_columns"])
        self.starts = starts
        self.output = e.add(first, e.multiply(block, step))
        self.channel = e.add(kind["first_channel"], e.multiply(channel, kind["channel_step"]))

    def offsets(self) -> list[Any]:
        """The offsets of its vectors in the filter, element by element."""
        e, p = self.e, self.p
        row = e.multiply(self.window_row, p["window_columns"] * p["channels"] * p["outputs"])
        column = e.multiply(self.window_column, p["channels"] * p["outputs"])
        base = e.add(row, column, e.multiply(self.channel, p["outputs"]), self.output)
        return [
            e.add(base, offset * p["outputs"] + start)
            for _, offset in self.kind["elements"]
            for start in self.starts
        ]

    def image(
        self, source: Any, gradient: Any, image: Any, low: Any, high: Any, sums: list[Any]
    ) -> list[Any]:
        """The sums with the products of some output rows of one image added."""
        e, p, kind = self.e, self.p, self.kind
        channels, outputs, lanes = p["channels"], p["outputs"], p["lanes"]
        tap = e.multiply(self.window_column, p["column_dilation"] * channels)
        vectors = len(self.starts)

        def row(r: Any, sums: list[Any]) -> list[Any]:
            x_row = e.add(
                e.multiply(image, p["in_rows"]),
                e.multiply(r, p["row_stride"]),
                e.multiply(self.window_row, p["row_dilation"]),
                -p["rows_before"],
            )
            x_base = e.add(
                e.multiply(x_row, p["in_columns"] * channels),
                -p["columns_before"] * channels,
                tap,
                self.channel,
            )
            y_row = e.add(e.multiply(image, p["out_rows"]), r)
            y_base = e.add(e.multiply(y_row, p["out_columns"] * outputs), self.output)
            x, y = e.address(source, x_base), e.address(gradient, y_base)
            for elements, first, past in kind["column_runs"]:

                def column(c: Any, sums: list[Any], elements: Any = elements) -> list[Any]:
                    sums = list(sums)
                    at = e.multiply(c, p["column_stride"] * channels)
                    loaded = [e.load(y, e.add(e.multiply(c, outputs), start), lanes) for start in self.starts]
                    for element in elements:
                        value = e.load(x, e.add(at, kind["elements"][element][0]), 1)
                        spread = e.spread(value, lanes)
                        for v, vector in enumerate(loaded):
                            place = element * vectors + v
                            sums[place] = e.multiply_add(spread, vector, sums[place])
                    return sums

                sums = e.loop(
                    e.table(first, self.window_column), e.table(past, self.window_column), column, sums
                )
            return sums

        return e.loop(low, high, row, sums)


def sum_groups(e: Emitter, arguments: Any, begin: Any, end: Any, p: dict[str, Any]) -> None:
    """Arguments: partial results [groups, size], result [size]; unit: a vector. Groups are added in order."""
    source, target = e.pointer(arguments, 0), e.pointer(arguments, 1)
    size, lanes = p["size"], p["lanes"]

    def vector(unit: Any, _: list[Any]) -> list[Any]:
        at = e.smaller(e.multiply(unit, lanes), size - lanes)
        total = e.load(source, at, lanes)
        for group in range(1, p["groups"]):
            total = e.builder.fadd(total, e.load(source, e.add(at, group * size), lanes))
        e.store(total, target, at)
        return []

    e.loop(begin, end, vector)
