"""Decides how a convolution is cut into register tiles, from sizes alone; `conv_emitter.py` writes what is decided.

A tile is some output pixels by some vectors of output channels, each a register that stays there through all taps and
input channels. A weight vector is loaded once for all pixels, an input element once for all vectors. Which taps of
which pixels fall into the padding is known here, so nothing is padded and no product with a zero is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from graphflow._core.codegen.cpu.kernels.kernel_source import VectorUnit
from graphflow._core.kernels.nn.windows import Taps

# A sum waits for the one before it, so that fewer sums than this leave the multipliers idle.
SUMS_IN_FLIGHT = 8


class VectorRun(NamedTuple):
    """`repeats` blocks of vectors: block i starts at channel first + i * step, its vectors at `starts` from there."""

    starts: tuple[int, ...]
    first: int
    repeats: int
    step: int


class TapRun(NamedTuple):
    """`repeats` window columns from `first` on, `step` apart; `inputs` are the pixels' columns (None: padding)."""

    first: int
    repeats: int
    step: int
    inputs: tuple[int | None, ...]
    input_step: int


class TileRun(NamedTuple):
    """`repeats` tiles alike: tile i has its output columns at first + i * step, its input columns likewise."""

    columns: tuple[int, ...]
    taps: tuple[TapRun, ...]
    first: int
    first_input: int
    repeats: int
    step: int
    input_step: int


class RowTable(NamedTuple):
    """For each output row the first window row and input row and how many; both steps hold for all rows."""

    first: tuple[int, ...]
    inputs: tuple[int, ...]
    counts: tuple[int, ...]
    step: int
    input_step: int


def even_parts(total: int, most: int) -> list[int]:
    """`total` as a sum of the fewest parts of at most `most`, the larger ones last."""
    count = -(-total // most)
    return [(total + i) // count for i in range(count)]


def vector_lanes(channels: int, lanes: int) -> int:
    """The widest vector that fits into the channels: a power of two."""
    return 1 << (min(channels, lanes).bit_length() - 1)


def channel_vectors(channels: int, lanes: int) -> list[int]:
    """Where the vectors over the channels start; the last one overlaps its neighbour rather than reach beyond."""
    return [min(start, channels - lanes) for start in range(0, channels, lanes)]


def vector_blocks(channels: int, lanes: int, most: int) -> tuple[VectorRun, ...]:
    """The vectors over the channels in blocks of at most `most`, two that overlap in the same block."""
    starts = channel_vectors(channels, lanes)
    blocks, position = [], 0
    for part in even_parts(len(starts), most):
        block = starts[position : position + part]
        blocks.append((tuple(start - block[0] for start in block), block[0]))
        position += part
    return tuple(VectorRun(key, *run) for key, run in _runs(blocks))


def choose_tile(columns: int, vectors: int, unit: VectorUnit, exact: bool = False) -> tuple[int, int]:
    """How many pixels (or, for a filter's gradient, filter elements) by how many vectors a tile takes.

    The estimate counts multiply-adds, at least as many as hide their latency, and a share of the loads. `exact` keeps
    two vectors at least in a block, so that those that overlap are never in two blocks.
    """
    # Beside sums and weights, for the input element and what the compiler loads ahead; with fewer it spills sums.
    spare = 1 + unit.registers // 16
    best, choice = float("inf"), (1, 1)
    for block in range(2 if exact and vectors > 1 else 1, min(vectors, 8) + 1):
        most = (unit.registers - spare - block) // block
        for pixels in range(1, max(min(most, columns), 0) + 1):
            tiles, blocks = even_parts(columns, pixels), even_parts(vectors, block)
            cost = sum(
                max(p * b, SUMS_IN_FLIGHT) + 0.3 * (p + b)
                for p in set(tiles)
                for b in set(blocks)
                for _ in range(tiles.count(p) * blocks.count(b))
            )
            if cost < best - 1e-9:
                best, choice = cost, (pixels, block)
    return choice


def row_table(taps: Taps) -> RowTable:
    """The rows' taps as tables: within a row they are evenly spaced, and by the same step in every row."""
    longest = max(taps, key=len, default=())
    step, input_step = 1, 1
    if len(longest) > 1:
        step, input_step = longest[1][0] - longest[0][0], longest[1][1] - longest[0][1]
    return RowTable(
        tuple(pairs[0][0] if pairs else 0 for pairs in taps),
        tuple(pairs[0][1] if pairs else 0 for pairs in taps),
        tuple(len(pairs) for pairs in taps),
        step,
        input_step,
    )


def tile_runs(taps: Taps, groups: Sequence[Sequence[int]], pixels: int) -> tuple[TileRun, ...]:
    """The tiles of one output row; `groups` are columns whose inputs are evenly spaced and may share a tile."""
    tiles = []
    for group in groups:
        position = 0
        for part in even_parts(len(group), pixels) if group else []:
            columns = group[position : position + part]
            position += part
            inputs: dict[int, list[int | None]] = {}
            for pixel, column in enumerate(columns):
                for k, source in taps[column]:
                    inputs.setdefault(k, [None] * part)[pixel] = source
            base = next((s for k in sorted(inputs) for s in inputs[k] if s is not None), 0)
            relative = {
                k: tuple(None if source is None else source - base for source in sources)
                for k, sources in inputs.items()
            }
            key = (tuple(column - columns[0] for column in columns), _tap_runs(relative))
            tiles.append((key, (columns[0], base)))
    found: list[TileRun] = []
    for key, (first, base) in tiles:
        last = found[-1] if found else None
        if last is not None and (last.columns, last.taps) == key:
            steps = first - last.first, base - last.first_input
            if last.repeats == 1 or steps == (last.step * last.repeats, last.input_step * last.repeats):
                if last.repeats == 1:
                    last = last._replace(step=steps[0], input_step=steps[1])
                found[-1] = last._replace(repeats=last.repeats + 1)
                continue
        found.append(TileRun(*key, first, base, 1, 0, 0))
    return tuple(found)


def unroll(channels: int, products: int) -> int:
    """How many input channels one pass of the innermost loop takes, given the products of one: a divisor."""
    if channels <= 4 and channels * products <= 128:
        return channels
    return max((u for u in (1, 2, 4) if channels % u == 0 and u * products <= 32), default=1)


def _tap_runs(inputs: dict[int, tuple[int | None, ...]]) -> tuple[TapRun, ...]:
    """Window columns as loops if all pixels have them and they are evenly spaced, otherwise one by one."""
    found: list[TapRun] = []
    for k in sorted(inputs):
        sources = inputs[k]
        last = found[-1] if found else None
        if last is not None and None not in sources and None not in last.inputs:
            shifts = {b - a for a, b in zip(last.inputs, sources) if a is not None and b is not None}
            step, shift = k - last.first, min(shifts)
            if len(shifts) == 1 and last.repeats == 1:
                found[-1] = last._replace(repeats=2, step=step, input_step=shift)
                continue
            if len(shifts) == 1 and (step, shift) == (
                last.step * last.repeats,
                last.input_step * last.repeats,
            ):
                found[-1] = last._replace(repeats=last.repeats + 1)
                continue
        found.append(TapRun(k, 1, 1, sources, 1))
    return tuple(found)


def _runs(items: Sequence[tuple[Any, int]]) -> list[tuple[Any, tuple[int, int, int]]]:
    """Consecutive (key, position) pairs with equal keys and even spacing as (key, (first, count, step))."""
    found: list[tuple[Any, list[int]]] = []
    for key, position in items:
        if found and found[-1][0] == key:
            positions = found[-1][1]
            if len(positions) == 1 or position - positions[-1] == positions[1] - positions[0]:
                positions.append(position)
                continue
        found.append((key, [position]))
    result = []
    for key, positions in found:
        step = next((b - a for a, b in pairwise(positions)), 0)
        result.append((key, (positions[0], len(positions), step)))
    return result
