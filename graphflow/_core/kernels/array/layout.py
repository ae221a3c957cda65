"""NumPy kernels of the ops that move elements: tile, pad, reverse, roll and broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph import shapes
from graphflow._core.kernels.array.array import checked, invalid, normalized
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple, takes


def _tile(x: Any, multiples: Any) -> Any:
    times = multiples.tolist()
    if len(times) != x.ndim or any(n < 0 for n in times):
        raise invalid(f"Expected {x.ndim} multiples >= 0, but got {times}.")
    return np.tile(x, times) if times else x.copy()


simple("Tile", _tile)


def _widths(x: Any, paddings: Any) -> list[tuple[int, int]]:
    if paddings.shape != (x.ndim, 2):
        raise invalid(f"paddings must be a matrix with {x.ndim} rows of two: {paddings.shape}")
    widths = [(int(before), int(after)) for before, after in paddings]
    if any(n < 0 for pair in widths for n in pair):
        raise invalid(f"Paddings must be non-negative: {widths}")
    return widths


def pad(x: Any, paddings: Any, value: Any = 0) -> Any:
    """The tensor with a value around it; `paddings` has a row of two numbers for each axis."""
    widths = _widths(x, paddings)
    shape = tuple(d + before + after for d, (before, after) in zip(x.shape, widths, strict=True))
    filling = b"" if x.dtype == object and np.ndim(value) == 0 and value == 0 else value
    result = np.full(shape, filling, x.dtype)
    result[tuple(slice(before, before + d) for d, (before, _) in zip(x.shape, widths, strict=True))] = x
    return result


simple("Pad", pad)
simple("PadV2", pad)


def _mirror_indices(length: int, before: int, after: int, edge: int) -> Any:
    """Which element each place of a mirrored axis comes from."""
    if max(before, after) > length - edge:
        raise invalid(
            f"Paddings ({before}, {after}) must be no greater than {length - edge} for an axis of length {length}."
        )
    head = np.arange(before, 0, -1) - 1 + edge
    tail = length - 1 - edge - np.arange(after)
    return np.concatenate([head, np.arange(length), tail])


@kernel("MirrorPad")
def _mirror_pad(node: Node) -> Kernel:
    edge = 1 if node.attrs["mode"] == "REFLECT" else 0

    def run(x: Any, paddings: Any) -> Any:
        result = x
        for axis, (before, after) in enumerate(_widths(x, paddings)):
            result = result.take(_mirror_indices(x.shape[axis], before, after, edge), axis)
        return result.copy() if result is x else result

    return run


@kernel("MirrorPadGrad")
def _mirror_pad_grad(node: Node) -> Kernel:
    edge = 1 if node.attrs["mode"] == "REFLECT" else 0

    def run(g: Any, paddings: Any) -> Any:
        result = g
        for axis, (before, after) in enumerate(_widths(g, paddings)):
            length = g.shape[axis] - before - after
            sources = _mirror_indices(length, before, after, edge)
            rows = np.moveaxis(result, axis, 0)
            total = rows[before : before + length].copy()
            np.add.at(total, sources[:before], rows[:before])
            np.add.at(total, sources[before + length :], rows[before + length :])
            result = np.moveaxis(total, 0, axis)
        return result.copy() if result is g else result

    return run


def _reverse(x: Any, axis: Any) -> Any:
    for i, a in enumerate(axis.tolist()):
        if not -x.ndim <= a < x.ndim:
            raise invalid(f"axis[{i}] = {a} is out of valid range [-{x.ndim}, {x.ndim}).")
    chosen = [normalized(a, x.ndim) for a in axis]
    twice = next((a for a in chosen if chosen.count(a) > 1), None)
    if twice is not None:
        raise invalid(f"axis {twice} specified more than once.")
    return np.flip(x, tuple(chosen)) if chosen else x


simple("ReverseV2", _reverse, view=True)


@kernel("ReverseSequence")
def _reverse_sequence(node: Node) -> Kernel:
    along, batch = node.attrs["seq_dim"], node.attrs["batch_dim"]

    def run(x: Any, lengths: Any) -> Any:
        seq_axis, batch_axis = normalized(along, x.ndim, "seq_dim"), normalized(batch, x.ndim, "batch_dim")
        count, longest = x.shape[batch_axis], x.shape[seq_axis]
        if lengths.shape != (count,):
            raise invalid(f"Length of seq_lengths != input.dims({batch_axis}), ({lengths.size} vs. {count})")
        if lengths.size and (lengths.min() < 0 or lengths.max() > longest):
            raise invalid(f"seq_lengths must lie in [0, {longest}], got {lengths.tolist()}")
        place = np.arange(longest)
        limit = lengths[:, None]
        source = np.where(place < limit, limit - 1 - place, place)
        shape = [1] * x.ndim
        shape[batch_axis], shape[seq_axis] = count, longest
        if batch_axis > seq_axis:
            source = source.T
        return np.take_along_axis(x, source.reshape(shape), seq_axis)

    return run


def _roll(x: Any, shift: Any, axis: Any) -> Any:
    if not x.ndim:
        raise invalid("input must be 1-D or higher")
    for what, given in (("shift", shift), ("axis", axis)):
        if np.ndim(given) > 1:
            raise invalid(f"{what} must be a scalar or a 1-D vector. Found: {list(np.shape(given))}")
    axes = [normalized(a, x.ndim) for a in np.atleast_1d(axis)]
    shifts = [int(s) for s in np.atleast_1d(shift)]
    if len(axes) != len(shifts):
        raise invalid(f"shift and axis must have the same size, got {len(shifts)} and {len(axes)}.")
    return np.roll(x, shifts, axes)


simple("Roll", _roll)


def _broadcast_to(x: Any, shape: Any) -> Any:
    return np.broadcast_to(x, tuple(shape.tolist()))


def _broadcast_args(first: Any, second: Any) -> Any:
    dims = shapes.broadcast(tuple(first.tolist()), tuple(second.tolist()))
    return np.array(dims, first.dtype)


simple("BroadcastTo", checked(_broadcast_to), view=True)
simple("BroadcastArgs", checked(_broadcast_args))


@kernel("EnsureShape", view=True)
def _ensure_shape(node: Node) -> Kernel:
    wanted = node.attrs["shape"].raw

    def run(x: Any) -> Any:
        if not shapes.compatible(x.shape, wanted):
            raise invalid(
                f"Shape of tensor {list(x.shape)} is not compatible with expected shape {shapes.text(wanted)}."
            )
        return x

    return run


takes(0.0, "MirrorPadGrad", call=40_000.0)
