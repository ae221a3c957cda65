"""ONNX forms of ops that shape, cut, join and pick."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph.elements import Operation
from graphflow._core.interop.onnx.forms import Writer, form, rank, refuse

_ALL = np.iinfo(np.int64).max


@form("Shape")
def _shape(w: Writer, op: Operation) -> str:
    found = w.node("Shape", w.inputs(op))
    dtype = op.outputs[0].dtype
    return found if dtype.name == "int64" else w.cast(found, dtype, op)


@form("Size")
def _size(w: Writer, op: Operation) -> str:
    return w.cast(w.node("Size", w.inputs(op)), op.outputs[0].dtype, op)


@form("Rank")
def _rank(w: Writer, op: Operation) -> str:
    return w.constant(np.int32(rank(op)))


@form("Reshape")
def _reshape(w: Writer, op: Operation) -> str:
    return w.node("Reshape", [w(op.inputs[0]), w.sizes(op.inputs[1])], allowzero=1 if _has_zero(w, op) else 0)


def _has_zero(w: Writer, op: Operation) -> bool:
    value = w.value(op.inputs[1])
    return value is not None and 0 in np.asarray(value)


@form("Squeeze")
def _squeeze(w: Writer, op: Operation) -> str:
    axes = list(op.attrs.get("squeeze_dims") or op.attrs.get("axis") or ())
    return w.node("Squeeze", [w(op.inputs[0]), *([w.integers(axes)] if axes else [])])


@form("ExpandDims")
def _expand_dims(w: Writer, op: Operation) -> str:
    axis = int(np.asarray(w.known(op, 1, "axis")).reshape(()))
    return w.node("Unsqueeze", [w(op.inputs[0]), w.integers([axis])])


@form("Transpose")
def _transpose(w: Writer, op: Operation) -> str:
    order = np.asarray(w.known(op, 1, "permutation")).tolist()
    return w.node("Transpose", [w(op.inputs[0])], perm=order)


@form("Concat")
def _concat(w: Writer, op: Operation) -> str:
    return _joined(w, op, 0)


@form("ConcatV2")
def _concat_v2(w: Writer, op: Operation) -> str:
    return _joined(w, op, len(op.inputs) - 1)


def _joined(w: Writer, op: Operation, where: int) -> str:
    """where: which input is the axis."""
    axis = int(w.known(op, where, "axis"))
    return w.node("Concat", [w(t) for n, t in enumerate(op.inputs) if n != where], axis=axis)


@form("Pack")
def _pack(w: Writer, op: Operation) -> str:
    axis = int(op.attrs["axis"])
    position = w.integers([axis])
    return w.node("Concat", [w.node("Unsqueeze", [name, position]) for name in w.inputs(op)], axis=axis)


@form("Unpack")
def _unpack(w: Writer, op: Operation) -> list[str]:
    axis = int(op.attrs["axis"])
    count = len(op.outputs)
    parts = w.nodes_of("Split", w.inputs(op), count, axis=axis, num_outputs=count)
    position = w.integers([axis])
    return [w.node("Squeeze", [part, position]) for part in parts]


@form("Split")
def _split(w: Writer, op: Operation) -> list[str]:
    count, axis = len(op.outputs), int(w.known(op, 0, "axis"))
    return w.nodes_of("Split", [w(op.inputs[1])], count, axis=axis, num_outputs=count)


@form("SplitV")
def _split_v(w: Writer, op: Operation) -> list[str]:
    count = len(op.outputs)
    sizes, axis = np.asarray(w.known(op, 1, "sizes")), int(w.known(op, 2, "axis"))
    if (sizes < 0).any():
        whole = op.inputs[0].shape.as_list()[axis]
        if whole is None:
            raise refuse(op, "one of its sizes is the rest of an axis whose size is not known")
        sizes = np.where(sizes < 0, whole - sizes[sizes >= 0].sum(), sizes)
    return w.nodes_of("Split", [w(op.inputs[0]), w.integers(sizes.tolist())], count, axis=axis)


@form("Slice")
def _slice(w: Writer, op: Operation) -> str:
    begin, size = w.value(op.inputs[1]), w.value(op.inputs[2])
    if begin is not None and size is not None:
        end = np.where(np.asarray(size) < 0, _ALL, np.asarray(begin, np.int64) + size)
        return w.node("Slice", [w(op.inputs[0]), w.integers(begin), w.integers(end.tolist())])
    begins, sizes = w.sizes(op.inputs[1]), w.sizes(op.inputs[2])
    rest = w.node("Less", [sizes, w.integers([0])])  # -1: to the end of the axis.
    ends = w.node("Where", [rest, w.integers([_ALL]), w.node("Add", [begins, sizes])])
    return w.node("Slice", [w(op.inputs[0]), begins, ends])


@form("StridedSlice")
def _strided_slice(w: Writer, op: Operation) -> str:
    attrs = op.attrs
    strides = np.asarray(w.known(op, 3, "strides")).tolist()
    given = len(strides) - bin(attrs["new_axis_mask"]).count("1") - bool(attrs["ellipsis_mask"])
    axis = out = 0
    cut: list[tuple[int, int]] = []  # (number among those given, axis of the input)
    gone, new = [], []
    for number in range(len(strides)):
        bit = 1 << number
        if attrs["ellipsis_mask"] & bit:
            skipped = rank(op) - given
            axis, out = axis + skipped, out + skipped
        elif attrs["new_axis_mask"] & bit:
            new.append(out)
            out += 1
        else:
            cut.append((number, axis))
            if attrs["shrink_axis_mask"] & bit:
                gone.append(axis)
            else:
                out += 1
            axis += 1
    name = w(op.inputs[0])
    if cut:
        numbers = [number for number, _ in cut]
        begin, end = _bounds(w, op, numbers, strides)
        steps = [1 if attrs["shrink_axis_mask"] >> n & 1 else strides[n] for n in numbers]
        name = w.node("Slice", [name, begin, end, w.integers([a for _, a in cut]), w.integers(steps)])
    if gone:
        name = w.node("Squeeze", [name, w.integers(gone)])
    return w.node("Unsqueeze", [name, w.integers(new)]) if new else name


def _bounds(w: Writer, op: Operation, numbers: list[int], strides: list[int]) -> tuple[str, str]:
    """Where the slices of a StridedSlice begin and end, masks applied."""

    def masked(which: str) -> Any:
        return np.array([bool(op.attrs[which] >> n & 1) for n in numbers])

    def edge(at_begin: bool) -> Any:
        return np.array(
            [(0 if strides[n] > 0 else _ALL) if at_begin else _ALL * np.sign(strides[n]) for n in numbers]
        )

    shrunk = masked("shrink_axis_mask")
    begin, end = w.value(op.inputs[1]), w.value(op.inputs[2])
    if begin is not None and end is not None:
        first, last = np.asarray(begin, np.int64)[numbers], np.asarray(end, np.int64)[numbers]
        after = np.where(first == -1, _ALL, first + 1)
        first = np.where(masked("begin_mask") & ~shrunk, edge(True), first)
        last = np.where(shrunk, after, np.where(masked("end_mask"), edge(False), last))
        return w.integers(first.tolist()), w.integers(last.tolist())
    order = w.integers(numbers)
    ours, others = (w.node("Gather", [w.sizes(t), order], axis=0) for t in op.inputs[1:3])
    is_last = w.node("Equal", [ours, w.integers([-1])])
    following = w.node("Where", [is_last, w.integers([_ALL]), w.node("Add", [ours, w.integers([1])])])
    stop = w.node("Where", [w.constant(masked("end_mask")), w.integers(edge(False).tolist()), others])
    stop = w.node("Where", [w.constant(shrunk), following, stop])
    start = w.node(
        "Where", [w.constant(masked("begin_mask") & ~shrunk), w.integers(edge(True).tolist()), ours]
    )
    return start, stop


@form("Tile")
def _tile(w: Writer, op: Operation) -> str:
    return w.node("Tile", [w(op.inputs[0]), w.sizes(op.inputs[1])])


@form("BroadcastTo")
def _broadcast_to(w: Writer, op: Operation) -> str:
    return w.node("Expand", [w(op.inputs[0]), w.sizes(op.inputs[1])])


@form("Fill")
def _fill(w: Writer, op: Operation) -> str:
    return w.node("Expand", [w(op.inputs[1]), w.sizes(op.inputs[0])])


@form("ZerosLike")
def _zeros_like(w: Writer, op: Operation) -> str:
    return w.node("Expand", [w.scalar(0, op.inputs[0]), w.node("Shape", w.inputs(op))])


@form("OnesLike")
def _ones_like(w: Writer, op: Operation) -> str:
    return w.node("Expand", [w.scalar(1, op.inputs[0]), w.node("Shape", w.inputs(op))])


@form("Range")
def _range(w: Writer, op: Operation) -> str:
    return w.node("Range", w.inputs(op))


def _pads(w: Writer, op: Operation) -> str:
    return w.integers(np.asarray(w.known(op, 1, "paddings")).T.reshape(-1).tolist())


@form("Pad")
def _pad(w: Writer, op: Operation) -> str:
    return w.node("Pad", [w(op.inputs[0]), _pads(w, op), w.scalar(0, op.inputs[0])])


@form("PadV2")
def _pad_v2(w: Writer, op: Operation) -> str:
    return w.node("Pad", [w(op.inputs[0]), _pads(w, op), w(op.inputs[2])])


@form("MirrorPad")
def _mirror_pad(w: Writer, op: Operation) -> str:
    if op.attrs["mode"] not in (b"REFLECT", "REFLECT"):
        raise refuse(op, "ONNX mirrors without the edge alone (mode REFLECT)")
    return w.node("Pad", [w(op.inputs[0]), _pads(w, op)], mode="reflect")


@form("Gather")
def _gather(w: Writer, op: Operation) -> str:
    return w.node("Gather", [w(op.inputs[0]), w(op.inputs[1])], axis=0)


@form("GatherV2")
def _gather_v2(w: Writer, op: Operation) -> str:
    if op.attrs.get("batch_dims", 0):
        raise refuse(op, "it gathers in batches")
    return w.node("Gather", [w(op.inputs[0]), w(op.inputs[1])], axis=int(w.known(op, 2, "axis")))


@form("GatherNd")
def _gather_nd(w: Writer, op: Operation) -> str:
    return w.node("GatherND", [w(op.inputs[0]), w.sizes(op.inputs[1])])


@form("MatrixBandPart")
def _band(w: Writer, op: Operation) -> str:
    lower, upper = int(w.known(op, 1, "num_lower")), int(w.known(op, 2, "num_upper"))
    if (lower, upper) not in ((-1, 0), (0, -1)):
        raise refuse(op, "ONNX takes the lower or the upper triangle alone")
    return w.node("Trilu", [w(op.inputs[0])], upper=int(lower == 0))


@form("ReverseV2")
def _reverse(w: Writer, op: Operation) -> str:
    axes = np.asarray(w.known(op, 1, "axes")).reshape(-1).tolist()
    if not axes:
        return w.node("Identity", [w(op.inputs[0])])
    parts = ([-1] * len(axes), [-_ALL] * len(axes), axes, [-1] * len(axes))
    return w.node("Slice", [w(op.inputs[0]), *(w.integers(part) for part in parts)])


@form("ReverseSequence")
def _reverse_sequence(w: Writer, op: Operation) -> str:
    batch, time = int(op.attrs["batch_dim"]), int(op.attrs["seq_dim"])
    if {batch, time} != {0, 1}:
        raise refuse(op, "ONNX has batch and time as the first two axes")
    return w.node(
        "ReverseSequence", [w(op.inputs[0]), w.sizes(op.inputs[1])], batch_axis=batch, time_axis=time
    )


@form("OneHot")
def _one_hot(w: Writer, op: Operation) -> str:
    indices, depth, on, off = op.inputs
    axis = int(op.attrs["axis"])
    values = w.node("Concat", [_row(w, w(off)), _row(w, w(on))], axis=0)
    # ONNX counts negative indices from the end, for which there is no 1 here: they become too large.
    sizes, place = w.sizes(depth), w.sizes(indices)
    place = w.node("Where", [w.node("Less", [place, w.integers(0)]), sizes, place])
    return w.node("OneHot", [place, sizes, values], axis=axis)


def _row(w: Writer, name: str) -> Any:
    return w.node("Reshape", [name, w.integers([1])])
