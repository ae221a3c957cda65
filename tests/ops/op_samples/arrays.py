"""Samples of ops that join, cut, pad and rearrange arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import (
    DOUBLE,
    KINDS,
    NUMBERS,
    SHAPES,
    SINGLE,
    Case,
    Draw,
    Random,
    Sample,
    differentiable,
    draw,
    ints,
    of_one,
    over,
    scalar,
)  # fmt: skip

NONE = np.zeros(0, np.int32)
LONG = np.int64

# ---- joining and cutting --------------------------------------------------------------------------------------------


def _pack(random: Random) -> Iterable[Sample]:
    for count, (dtype, shape) in enumerate(over(KINDS, SHAPES)):
        values = [draw(random, dtype, shape) for _ in range(count % 3 + 1)]
        axis = (0, -1, len(shape))[count % 3]

        def reference(*values: Any, axis: int = axis) -> Any:
            return np.stack(values, axis)

        yield Sample((values,), {"axis": axis, "N": len(values)}, reference, smooth=differentiable(dtype))


def _unpack(random: Random) -> Iterable[Sample]:
    for dtype, (shape, axis) in over(
        KINDS, (((3,), 0), ((2, 3), 1), ((2, 3), -2), ((1, 0), 0), ((2, 2, 2), -1))
    ):

        def reference(x: Any, axis: int = axis) -> Any:
            return [np.squeeze(part, axis) for part in np.split(x, x.shape[axis], axis)]

        attrs = {"axis": axis, "num": shape[axis]}
        yield Sample((draw(random, dtype, shape),), attrs, reference, smooth=differentiable(dtype))


def _concat(random: Random) -> Iterable[Sample]:
    def reference(*inputs: Any) -> Any:
        return np.concatenate(inputs[:-1], int(inputs[-1]))

    cases = (
        (((2, 3), (1, 3)), 0), (((2, 3), (2, 1), (2, 0)), -1), (((3,),), 0), (((0,), (0,)), 0),
        (((1, 2, 1), (1, 1, 1)), 1), (((0, 2), (3, 2)), -2),
    )  # fmt: skip
    for dtype, (shapes, axis) in over(KINDS, cases):
        values = [draw(random, dtype, s) for s in shapes]
        index = scalar(axis, LONG if len(shapes) == 3 else np.int32)
        yield Sample((values, index), {"N": len(values)}, reference, smooth=differentiable(dtype))


def _split(random: Random) -> Iterable[Sample]:
    for dtype, (shape, axis, count) in over(
        KINDS, (((4, 3), 0, 2), ((2, 6), 1, 3), ((2, 3), -1, 1), ((0, 2), 0, 2))
    ):

        def reference(axis: Any, x: Any, count: int = count) -> Any:
            return np.split(x, count, int(axis))

        inputs = (scalar(axis), draw(random, dtype, shape))
        yield Sample(inputs, {"num_split": count}, reference, smooth=differentiable(dtype))


def _split_v(random: Random) -> Iterable[Sample]:
    def reference(x: Any, sizes: Any, axis: Any) -> Any:
        known = [x.shape[int(axis)] - sum(sizes) - 1 if s < 0 else s for s in sizes]
        return np.split(x, np.cumsum(known)[:-1], int(axis))

    cases = (
        ((5, 2), (2, 3), 0),
        ((2, 6), (1, 0, 5), 1),
        ((3,), (3,), -1),
        ((4, 2), (1, -1), 0),
        ((0, 2), (0, 0), 0),
    )
    for dtype, (shape, sizes, axis) in over(KINDS, cases):
        lengths = np.array(sizes, LONG if len(sizes) > 2 else np.int32)
        inputs = (draw(random, dtype, shape), lengths, scalar(axis))
        yield Sample(inputs, {"num_split": len(sizes)}, reference, smooth=differentiable(dtype))


# Shape, begin, end, strides; the masks of begin, end, ellipsis, new axes and lost axes; the same in Python.
SLICES: list[tuple[Any, ...]] = [
    ((4,), [1], [3], [1], 0, 0, 0, 0, 0, np.s_[1:3]),
    ((2, 5), [0, 4], [2, 0], [1, -2], 0, 0, 0, 0, 0, np.s_[0:2, 4:0:-2]),
    ((3, 4), [1], [2], [1], 0, 0, 0, 0, 1, np.s_[1]),
    ((3, 4), [0, 1], [0, 3], [1, 1], 1, 1, 0, 0, 0, np.s_[:, 1:3]),
    ((2, 3, 2), [0, -1], [0, 0], [1, 1], 0, 0, 1, 0, 2, np.s_[..., -1]),
    ((2, 3), [0, 1], [0, 2], [1, 1], 0, 0, 0, 1, 0, np.s_[None, 1:2]),
    ((3,), [2], [2], [1], 0, 0, 0, 0, 0, np.s_[2:2]),
    ((3,), [-1], [0], [-1], 0, 1, 0, 0, 0, np.s_[-1::-1]),
    ((0, 2), [0], [5], [1], 0, 0, 0, 0, 0, np.s_[0:5]),
    ((2, 3), [], [], [], 0, 0, 0, 0, 0, np.s_[...]),
    ((3, 2, 4), [1, 0, 3], [2, 0, 9], [1, 1, 2], 0, 0, 2, 0, 1, np.s_[1, ..., 3:9:2]),
]
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _slice_inputs(row: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return tuple(np.array(v, np.int32) for v in row[1:4]), dict(zip(MASKS, row[4:9], strict=True))


def _strided_slice(random: Random) -> Iterable[Sample]:
    for dtype, row in over(KINDS, SLICES):
        bounds, masks = _slice_inputs(row)

        def reference(x: Any, *bounds: Any, index: Any = row[9]) -> Any:
            return np.asarray(x[index], x.dtype)

        inputs = (draw(random, dtype, row[0]), *bounds)
        yield Sample(inputs, masks, reference, smooth=differentiable(dtype))


def _strided_slice_grad(random: Random) -> Iterable[Sample]:
    for dtype, row in over([DOUBLE, SINGLE, np.dtype(np.complex128)], SLICES):
        bounds, masks = _slice_inputs(row)

        def reference(shape: Any, begin: Any, end: Any, strides: Any, dy: Any, index: Any = row[9]) -> Any:
            result = np.zeros(tuple(shape), dy.dtype)
            result[index] = dy
            return result

        dy = draw(random, dtype, np.empty(row[0])[row[9]].shape)
        yield Sample((np.array(row[0], np.int32), *bounds, dy), masks, reference)


def _sliced(x: Any, begin: Any, size: Any) -> Any:
    return x[tuple(slice(b, n if s < 0 else b + s) for b, s, n in zip(begin, size, x.shape))]


PARTS: list[Case] = [
    ((4,), ((1,), (2,)), {}), ((2, 5), ((0, 4), (2, -1)), {}), ((3, 2), ((1, 0), (0, 2)), {}),
    ((0,), ((0,), (-1,)), {}), ((), (NONE, NONE), {}),
    ((2, 3), (np.array([1, 1], LONG), np.array([1, 2], LONG)), {}),
]  # fmt: skip

# ---- layout ---------------------------------------------------------------------------------------------------------

TILES: list[Case] = [
    ((3,), ((2,),), {}), ((2, 3), ((1, 2),), {}), ((2, 1), (np.array([2, 3], LONG),), {}), ((), (NONE,), {}),
    ((2, 2), ((0, 1),), {}), ((0, 2), ((3, 2),), {}), ((1, 2, 2), ((2, 1, 2),), {}),
]  # fmt: skip
PADDINGS = (
    ((3,), ((1, 2),)), ((2, 3), ((0, 1), (1, 0))), ((2, 2), ((0, 0), (0, 0))), ((0, 2), ((1, 1), (0, 1))),
    ((2, 2, 3), ((1, 0), (0, 1), (1, 1))), ((1, 3), ((0, 0), (2, 2))),
)  # fmt: skip


def _padding_cases(attrs: dict[str, Any] | None = None, margin: int | None = None) -> list[Case]:
    """`margin`: only paddings that are smaller than the axis by that."""
    return [
        (shape, (np.array(rows, (np.int32, LONG)[number % 2]),), attrs or {})
        for number, (shape, rows) in enumerate(PADDINGS)
        if margin is None or all(max(r) <= n - margin for r, n in zip(rows, shape))
    ]


def _pad_v2(random: Random) -> Iterable[Sample]:
    def reference(x: Any, rows: Any, value: Any) -> Any:
        return np.pad(x, rows, constant_values=value)

    for dtype, (shape, (rows,), _) in over(NUMBERS, _padding_cases()):
        inputs = (draw(random, dtype, shape), rows, draw(random, dtype, ()))
        # As in TensorFlow, no gradient flows to the padding.
        yield Sample(inputs, {}, reference, smooth=differentiable(dtype), varied=(0,))


def _mirrored(x: Any, rows: Any, mode: str) -> Any:
    result = x
    for axis, (before, after) in enumerate(rows):
        offset, size = int(mode == "REFLECT"), x.shape[axis]
        head = [offset + i for i in range(before)][::-1]
        tail = [size - 1 - offset - i for i in range(after)]
        result = result.take([*head, *range(size), *tail], axis)
    return result


MIRRORED = [*_padding_cases({"mode": "REFLECT"}, 1), *_padding_cases({"mode": "SYMMETRIC"}, 0)]
MIRRORED.append(((0, 2), (np.array([[0, 0], [1, 1]], np.int32),), {"mode": "SYMMETRIC"}))


def _mirror_pad_grad(random: Random) -> Iterable[Sample]:
    for dtype, (shape, (rows,), attrs) in over([DOUBLE, SINGLE], MIRRORED):
        spread = _mirrored(np.arange(np.prod(shape)).reshape(shape), rows, attrs["mode"])

        def reference(g: Any, rows: Any, spread: Any = spread, shape: Any = shape) -> Any:
            result = np.zeros(shape, g.dtype)
            np.add.at(result.reshape(-1), spread.reshape(-1), g.reshape(-1))
            return result

        yield Sample((draw(random, dtype, spread.shape), rows), attrs, reference)


REVERSALS: list[Case] = [
    ((3,), ((0,),), {}), ((2, 3), ((-1,),), {}), ((2, 3), ((0, 1),), {}), ((2, 3), (NONE,), {}), ((0, 2), ((0,),), {}),
    ((2, 2, 2), (np.array([2, 0], LONG),), {}), ((), (NONE,), {}),
]  # fmt: skip
SEQUENCES: list[Case] = [
    ((2, 4), ((3, 0),), {"batch_dim": 0, "seq_dim": 1}),
    ((3, 2), (np.array([1, 3], LONG),), {"batch_dim": 1, "seq_dim": 0}),
    ((2, 3, 2), ((2, 3),), {"batch_dim": 0, "seq_dim": 1}),
    ((0, 3), (NONE,), {"batch_dim": 0, "seq_dim": 1}),
]


def _sequence_reversed(x: Any, lengths: Any, batch_dim: int, seq_dim: int) -> Any:
    result = x.copy()
    rows, out = (np.moveaxis(a, (batch_dim, seq_dim), (0, 1)) for a in (x, result))
    for i, length in enumerate(lengths):
        for j in range(length):
            out[i, j] = rows[i, length - 1 - j]
    return result


ROLLS: list[Case] = [
    ((4,), (scalar(1), scalar(0)), {}), ((2, 3), ((1, -2), (0, 1)), {}), ((3, 2), ((4,), (0,)), {}),
    ((0,), ((2,), (0,)), {}), ((2, 3), (np.array([1, 1], LONG), ints(1, 1)), {}),
    ((2, 3), (scalar(-1), scalar(-1)), {}),
]  # fmt: skip
TARGETS: list[Case] = [
    ((3,), ((2, 3),), {}), ((), ((2,),), {}), ((2, 1), ((2, 3),), {}), ((1,), ((0,),), {}),
    ((2,), (np.array([2], LONG),), {}), ((), (NONE,), {}),
]  # fmt: skip


def _broadcast_args(random: Random) -> Iterable[Sample]:
    def reference(a: Any, b: Any) -> Any:
        return np.array(np.broadcast_shapes(tuple(a), tuple(b)), a.dtype)

    for dtype in (np.int32, LONG):
        for a, b in (((2, 1), (3,)), ((), (2, 3)), ((4,), ()), ((1, 0), (2, 1)), ((), ())):
            yield Sample((np.array(a, dtype), np.array(b, dtype)), {}, reference)


# ---- space ----------------------------------------------------------------------------------------------------------


def _depth(shape: Sequence[int], block: int, layout: str) -> Case:
    return shape, (), {"block_size": block, "data_format": layout}


def _to_depth(x: Any, block_size: int, data_format: str) -> Any:
    x = np.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    n, h, w, c = x.shape
    result = np.empty((n, h // block_size, w // block_size, c * block_size * block_size), x.dtype)
    for i, j in np.ndindex(block_size, block_size):
        start = (i * block_size + j) * c
        result[..., start : start + c] = x[:, i::block_size, j::block_size]
    return np.moveaxis(result, -1, 1) if data_format == "NCHW" else result


def _from_depth(x: Any, block_size: int, data_format: str) -> Any:
    x = np.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    n, h, w, deep = x.shape
    c = deep // block_size**2
    result = np.empty((n, h * block_size, w * block_size, c), x.dtype)
    for i, j in np.ndindex(block_size, block_size):
        start = (i * block_size + j) * c
        result[:, i::block_size, j::block_size] = x[..., start : start + c]
    return np.moveaxis(result, -1, 1) if data_format == "NCHW" else result


def _every(place: Sequence[int], blocks: Any) -> tuple[slice, ...]:
    return (slice(None), *(slice(offset, None, int(block)) for offset, block in zip(place, blocks)))


def _to_batch(x: Any, blocks: Any, rows: Any) -> Any:
    padded = np.pad(x, [(0, 0), *map(tuple, rows), *[(0, 0)] * (x.ndim - 1 - len(blocks))])
    return np.concatenate([padded[_every(place, blocks)] for place in np.ndindex(*blocks)])


def _from_batch(x: Any, blocks: Any, crops: Any) -> Any:
    parts = np.split(x, int(np.prod(blocks)))
    space = [n * int(b) for n, b in zip(x.shape[1:], blocks)]
    result = np.empty((len(parts[0]), *space, *x.shape[1 + len(blocks) :]), x.dtype)
    for place, part in zip(np.ndindex(*blocks), parts):
        result[_every(place, blocks)] = part
    return result[(slice(None), *(slice(a, n - b) for (a, b), n in zip(crops, space)))]


def _rows(*rows: Any) -> Any:
    return np.array(rows, np.int32).reshape(-1, 2)


TO_BATCH: list[Case] = [
    ((1, 4, 2, 1), ((2, 2), _rows((0, 0), (0, 0))), {}),
    ((2, 3, 2), ((2,), _rows((1, 0))), {}),
    ((0, 2, 2, 1), ((2, 1), _rows((0, 0), (1, 1))), {}),
    ((1, 2, 2, 2), (np.array([1, 2], LONG), _rows((0, 0), (0, 2))), {}),
]
FROM_BATCH: list[Case] = [
    ((4, 1, 1, 2), ((2, 2), _rows((0, 0), (0, 0))), {}),
    ((4, 2, 1), ((2,), _rows((1, 0))), {}),
    ((0, 2, 1, 1), ((2, 1), _rows((0, 0), (0, 0))), {}),
    ((2, 2, 2), (np.array([2], LONG), _rows((1, 2))), {}),
]
DEEP = [_depth((1, 2, 1, 4), 2, "NHWC"), _depth((2, 4, 1, 1), 2, "NCHW"), _depth((0, 1, 1, 4), 2, "NHWC")]
SHALLOW = [_depth((1, 4, 2, 1), 2, "NHWC"), _depth((2, 1, 2, 2), 2, "NCHW"), _depth((0, 2, 2, 3), 2, "NHWC")]


def _axes_in_another_order(random: Random) -> Iterable[Sample]:
    for dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        for source, target in (("NHWC", "NCHW"), ("NDHWC", "NCDHW"), ("abcd", "dbca")):

            def reference(x: Any, source: str = source, target: str = target) -> Any:
                return np.array([target.index(source[n]) for n in x.flat], x.dtype).reshape(x.shape)

            count = len(source)
            x = random.integers(-count, count, [2, 3]).astype(dtype)
            yield Sample((x,), {"src_format": source, "dst_format": target}, reference)


def _sizes_in_another_order(random: Random) -> Iterable[Sample]:
    for dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        for source, target, shape in (
            ("NHWC", "NCHW", (4,)),
            ("NDHWC", "NCDHW", (5, 2)),
            ("NCHW", "NHWC", (4, 2)),
        ):

            def reference(x: Any, source: str = source, target: str = target) -> Any:
                return np.stack([x[source.index(letter)] for letter in target])

            x = random.integers(0, 9, shape).astype(dtype)
            yield Sample((x,), {"src_format": source, "dst_format": target}, reference)


TABLE: dict[str, Draw] = {
    "DataFormatDimMap": _axes_in_another_order,
    "DataFormatVecPermute": _sizes_in_another_order,
    "Pack": _pack,
    "Unpack": _unpack,
    "ConcatV2": _concat,
    "Split": _split,
    "SplitV": _split_v,
    "StridedSlice": _strided_slice,
    "StridedSliceGrad": _strided_slice_grad,
    "Slice": of_one(_sliced, PARTS),
    "Tile": of_one(lambda x, multiples: np.tile(x, tuple(multiples)), TILES),
    "Pad": of_one(lambda x, rows: np.pad(x, rows), _padding_cases(), NUMBERS),
    "PadV2": _pad_v2,
    "MirrorPad": of_one(_mirrored, MIRRORED),
    "MirrorPadGrad": _mirror_pad_grad,
    "ReverseV2": of_one(lambda x, axes: np.flip(x, tuple(axes)), REVERSALS),
    "ReverseSequence": of_one(_sequence_reversed, SEQUENCES),
    "Roll": of_one(lambda x, shift, axis: np.roll(x, shift.tolist(), axis.tolist()), ROLLS),
    "BroadcastTo": of_one(lambda x, shape: np.broadcast_to(x, tuple(shape)), TARGETS),
    "BroadcastArgs": _broadcast_args,
    "SpaceToDepth": of_one(_to_depth, SHALLOW),
    "DepthToSpace": of_one(_from_depth, DEEP),
    "SpaceToBatchND": of_one(_to_batch, TO_BATCH, NUMBERS),
    "BatchToSpaceND": of_one(_from_batch, FROM_BATCH),
}
