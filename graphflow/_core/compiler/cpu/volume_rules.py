"""Convolutions of volumes as convolutions of planes, of which each holds the channels of all planes that it is made of.

So the kernels of images serve. The planes are laid out side by side, which takes as many times the volume as the filter
is deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.codegen.cpu.kernels.conv import Convolution
from graphflow._core.compiler.cpu.assembly_rules import filled
from graphflow._core.compiler.cpu.convolution_rules import convolution_node, filter_gradient_node
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
_MOST_LAID_OUT: Final = 1 << 25
"""More elements than that are not laid out at once: NumPy's kernel does it in pieces."""


def _axes(i: Instruction, shape: tuple[int, ...], size: tuple[int, ...]) -> list[Axis] | None:
    """The windows along the three axes; None for what is left to the NumPy kernel."""
    strides, dilations = i.attrs["strides"], i.attrs.get("dilations", [1] * 5)
    padding = i.attrs["padding"]
    name = padding.decode() if isinstance(padding, bytes) else str(padding)
    layout = i.attrs.get("data_format", "NDHWC")
    if len(shape) != 5 or len(size) != 5 or {strides[0], strides[4], dilations[0], dilations[4]} != {1}:
        return None
    if layout not in ("NDHWC", b"NDHWC") or name not in ("SAME", "VALID") or shape[4] != size[3]:
        return None
    return [Axis.of(shape[k], size[k - 1], int(strides[k]), name, int(dilations[k])) for k in (1, 2, 3)]


def _padded(lowering: Lowering, i: Instruction, x: Value, axis: Axis) -> Value:
    """The volumes with planes of zeros before and after them."""
    planes = max(axis.before + axis.inputs, (axis.outputs - 1) * axis.stride + axis.extent)
    if planes == axis.inputs:
        return x
    room = lowering.temporary(i.name, x.dtype, (x.shape[0], planes, *x.shape[2:]))
    filled(lowering, i, room)
    place = Value(room.root, x.dtype, x.shape, room.strides, axis.before * room.strides[1])
    lowering.elementwise(i, "{0}", [x], place, forced=True)
    return room


def _planes(lowering: Lowering, i: Instruction, x: Value, axis: Axis) -> Value:
    """[volumes x planes of the result, rows, columns, planes of the filter x channels]."""
    count, _, rows, columns, channels = x.shape
    room = _padded(lowering, i, x, axis)
    n, d, h, w, c = room.strides
    shape = (count, axis.outputs, rows, columns, axis.size, channels)
    strides = (n, d * axis.stride, h, w, d * axis.dilation, c)
    view = Value(room.root, x.dtype, shape, strides, room.offset)
    return lowering.compact(i, view).reshaped((count * axis.outputs, rows, columns, axis.size * channels))


def _filter_of_planes(lowering: Lowering, i: Instruction, w: Value) -> Value:
    """A filter [planes, rows, columns, channels, outputs] as [rows, columns, planes x channels, outputs]."""
    view = lowering.compact(i, w.transposed((1, 2, 0, 3, 4)))
    return view.reshaped((*view.shape[:2], view.shape[2] * view.shape[3], view.shape[4]))


def _fits(x: Value, axes: Sequence[Axis]) -> bool:
    return x.size * axes[0].size <= _MOST_LAID_OUT and all(axis.outputs > 0 for axis in axes)


def _operands(lowering: Lowering, i: Instruction, *positions: int) -> list[Value] | None:
    values = [v for k in positions if (v := lowering.value(i.inputs[k])) is not None]
    if len(values) != len(positions) or any(v.dtype not in _FLOATS or len(v.shape) != 5 for v in values):
        return None
    return values


def _described(axes: Sequence[Axis], w: Value) -> Convolution:
    return Convolution(axes[1], axes[2], w.shape[2], w.shape[3], w.dtype)


def _convolve(lowering: Lowering, i: Instruction, x: Value, w: Value, axes: Sequence[Axis]) -> None:
    """Adds the result = the windows over volumes, times the filter."""
    planes, weights = _planes(lowering, i, x, axes[0]), _filter_of_planes(lowering, i, w)
    lowering.add(convolution_node(i, _described(axes, weights), planes, weights, lowering.result(i)))


def _forward(lowering: Lowering, i: Instruction) -> bool:
    found = _operands(lowering, i, 0, 1)
    if found is None:
        return False
    x, w = found
    axes = _axes(i, x.shape, w.shape)
    if axes is None or not _fits(x, axes):
        return False
    _convolve(lowering, i, x, w, axes)
    return True


def _input_gradient(lowering: Lowering, i: Instruction) -> bool:
    """Where windows are a step apart: a convolution of the gradient with the filter from its end to its start."""
    found = _operands(lowering, i, 1, 2)
    if found is None:
        return False
    w, g = found
    target_shape = lowering.shape(i.outputs[0])
    axes = _axes(i, target_shape, w.shape)
    if axes is None or any(axis.stride != 1 or axis.before > axis.extent - 1 for axis in axes):
        return False
    if g.shape != (target_shape[0], *(axis.outputs for axis in axes), w.shape[4]) or not _fits(g, axes):
        return False
    back = [
        Axis(axis.outputs, axis.size, 1, axis.dilation, axis.extent - 1 - axis.before, axis.inputs)
        for axis in axes
    ]
    end = sum((n - 1) * step for n, step in zip(w.shape[:3], w.strides[:3], strict=True))
    shape = (*w.shape[:3], w.shape[4], w.shape[3])
    strides = (*(-s for s in w.strides[:3]), w.strides[4], w.strides[3])
    turned = Value(w.root, w.dtype, shape, strides, w.offset + end)
    _convolve(lowering, i, g, turned, back)
    return True


def _filter_gradient(lowering: Lowering, i: Instruction) -> bool:
    found = _operands(lowering, i, 0, 2)
    if found is None:
        return False
    x, g = found
    shape = lowering.shape(i.outputs[0])
    axes = _axes(i, x.shape, shape)
    if axes is None or not _fits(x, axes):
        return False
    if g.shape != (x.shape[0], *(axis.outputs for axis in axes), shape[4]):
        return False
    planes, gradient = _planes(lowering, i, x, axes[0]), lowering.compact(i, g)
    images = gradient.reshaped((planes.shape[0], *g.shape[2:]))
    made = lowering.temporary(i.name, x.dtype, (shape[1], shape[2], shape[0] * shape[3], shape[4]))
    lowering.add(filter_gradient_node(lowering, i, _described(axes, made), planes, images, made))
    parts = made.reshaped((shape[1], shape[2], shape[0], shape[3], shape[4]))
    lowering.elementwise(i, "{0}", [parts.transposed((2, 0, 1, 3, 4))], lowering.result(i))
    return True


VOLUME_RULES: Final[dict[str, Rule]] = {
    "Conv3D": _forward,
    "Conv3DBackpropFilterV2": _filter_gradient,
    "Conv3DBackpropInputV2": _input_gradient,
}
