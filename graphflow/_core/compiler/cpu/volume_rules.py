"""Convolutions of volumes as products: windows over planes, laid out side by side, by each plane of the filter.

A plane's windows serve all planes of the filter: where these move by one, what is laid out once is read at a shift.
It takes as many times the volume as a plane of the filter has elements. Else it is laid out for each.
"""

from __future__ import annotations

from typing import Final

from graphflow._core.codegen.cpu import blas
from graphflow._core.compiler.cpu.assembly_rules import filled
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.products import Product, product_node
from graphflow._core.compiler.values import Value, row_major
from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
_MOST_LAID_OUT: Final = 1 << 24
"""More elements than that are not laid out at once: NumPy's kernel does it in pieces."""
_MOST_PRODUCTS: Final = 64


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


def _padded(lowering: Lowering, i: Instruction, x: Value, widths: list[tuple[int, int]]) -> Value:
    """The volumes with zeros around them."""
    if not any(before or after for before, after in widths):
        return lowering.compact(i, x)
    inner = tuple(b + n + a for n, (b, a) in zip(x.shape[1:4], widths, strict=True))
    room = lowering.temporary(i.name, x.dtype, (x.shape[0], *inner, x.shape[4]))
    filled(lowering, i, room)
    offset = sum(b * step for (b, _), step in zip(widths, room.strides[1:4], strict=True))
    lowering.elementwise(i, "{0}", [x], Value(room.root, x.dtype, x.shape, room.strides, offset), forced=True)
    return room


class _Windows:
    """The windows over padded volumes, as matrices: a row a place, for one plane of the filter at a time."""

    def __init__(self, lowering: Lowering, i: Instruction, x: Value, axes: list[Axis], shared: bool) -> None:
        self._lowering, self._i, self._x, self._axes = lowering, i, x, axes
        self.planes = axes[0].outputs
        self.plane = axes[1].outputs * axes[2].outputs
        self.depth = axes[1].size * axes[2].size * x.shape[4]
        every = x.shape[1]
        self._shared = self._laid_out(every, 1, 0) if shared and axes[0].stride == 1 else None

    def _laid_out(self, planes: int, step: int, first: int) -> Value:
        _, rows, columns = self._axes
        x = self._x
        n, d, h, w, c = x.strides
        shape = (x.shape[0], planes, rows.outputs, columns.outputs, rows.size, columns.size, x.shape[4])
        strides = (
            n, d * step, h * rows.stride, w * columns.stride, h * rows.dilation, w * columns.dilation, c,
        )  # fmt: skip
        view = Value(x.root, x.dtype, shape, strides, x.offset + first * d)
        made = self._lowering.temporary(self._i.name, x.dtype, shape)
        self._lowering.elementwise(self._i, "{0}", [view], made)
        return made.reshaped((x.shape[0] * planes * self.plane, self.depth))

    def matrix(self, k: int) -> tuple[Value, int]:
        """Those of plane k of the filter of the first volume, and how far it is to the next volume's, in elements."""
        first = k * self._axes[0].dilation
        if self._shared is None:
            made = self._laid_out(self.planes, self._axes[0].stride, first)
            rows = self.planes * self.plane
        else:
            made, rows = self._shared, self._x.shape[1] * self.plane
            made = Value(
                made.root, made.dtype, made.shape, made.strides, made.offset + first * self.plane * self.depth
            )
        shape = (self.planes * self.plane, self.depth)
        return Value(made.root, made.dtype, shape, row_major(shape), made.offset), rows * self.depth


def _fits(x: Value, axes: list[Axis], filters: int) -> bool:
    laid_out = x.size * axes[1].size * axes[2].size
    return blas.find_blas() is not None and laid_out <= _MOST_LAID_OUT and filters <= _MOST_PRODUCTS


def _operands(lowering: Lowering, i: Instruction, *positions: int) -> list[Value] | None:
    values = [v for k in positions if (v := lowering.value(i.inputs[k])) is not None]
    if len(values) != len(positions) or any(v.dtype not in _FLOATS or len(v.shape) != 5 for v in values):
        return None
    return values


def _convolve(
    lowering: Lowering, i: Instruction, x: Value, w: Value, target: Value, axes: list[Axis]
) -> None:
    """Adds target = the windows over padded volumes, times the filter."""
    windows = _Windows(lowering, i, x, axes, shared=True)
    filters = w.reshaped((w.shape[0], windows.depth, w.shape[4]))
    for k in range(w.shape[0]):
        first, apart = windows.matrix(k)
        second = Value(
            w.root, w.dtype, filters.shape[1:], filters.strides[1:], w.offset + k * filters.strides[0]
        )
        lowering.add(
            product_node(
                i,
                Product(
                    first, second, target, (False, False), windows.depth,
                    batch=x.shape[0], strides=(apart, 0), accumulate=k > 0,
                ),
            )
        )  # fmt: skip


def _forward(lowering: Lowering, i: Instruction) -> bool:
    found = _operands(lowering, i, 0, 1)
    if found is None:
        return False
    x, w = found
    axes = _axes(i, x.shape, w.shape)
    if axes is None or not _fits(x, axes, w.shape[0]):
        return False
    room = _padded(lowering, i, x, [(axis.before, axis.after) for axis in axes])
    _convolve(lowering, i, room, lowering.compact(i, w), lowering.result(i), axes)
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
    if g.shape != (target_shape[0], *(axis.outputs for axis in axes), w.shape[4]):
        return False
    widths = []
    for axis in axes:
        before = axis.extent - 1 - axis.before
        widths.append((before, axis.inputs + axis.extent - 1 - before - axis.outputs))
    back = [Axis(b + axis.outputs + a, axis.size, 1, axis.dilation, 0, axis.inputs)
            for axis, (b, a) in zip(axes, widths, strict=True)]  # fmt: skip
    if any(a < 0 for _, a in widths) or not _fits(g, axes, w.shape[0]):
        return False
    end = sum((n - 1) * step for n, step in zip(w.shape[:3], w.strides[:3], strict=True))
    shape = (*w.shape[:3], w.shape[4], w.shape[3])
    strides = (*(-s for s in w.strides[:3]), w.strides[4], w.strides[3])
    turned = lowering.temporary(i.name, w.dtype, shape)
    lowering.elementwise(i, "{0}", [Value(w.root, w.dtype, shape, strides, w.offset + end)], turned)
    room = _padded(lowering, i, g, widths)
    _convolve(lowering, i, room, turned, lowering.result(i), back)
    return True


def _filter_gradient(lowering: Lowering, i: Instruction) -> bool:
    found = _operands(lowering, i, 0, 2)
    if found is None:
        return False
    x, g = found
    target_shape = lowering.shape(i.outputs[0])
    axes = _axes(i, x.shape, target_shape)
    if axes is None or not _fits(x, axes, target_shape[0]):
        return False
    if g.shape != (x.shape[0], *(axis.outputs for axis in axes), target_shape[4]):
        return False
    room = _padded(lowering, i, x, [(axis.before, axis.after) for axis in axes])
    gradient, target = lowering.compact(i, g), lowering.result(i)
    # The windows of several volumes are one matrix only if they are laid out for each plane of the filter.
    windows = _Windows(lowering, i, room, axes, shared=x.shape[0] == 1)
    rows, part = x.shape[0] * windows.planes * windows.plane, windows.depth * target_shape[4]
    second = gradient.reshaped((rows, target_shape[4]))
    for k in range(target_shape[0]):
        made, _ = windows.matrix(k)
        first = Value(made.root, made.dtype, (rows, windows.depth), made.strides, made.offset)
        shape = (windows.depth, target_shape[4])
        place = Value(target.root, target.dtype, shape, row_major(shape), target.offset + k * part)
        lowering.add(product_node(i, Product(first, second, place, (True, False), rows)))
    return True


VOLUME_RULES: Final[dict[str, Rule]] = {
    "Conv3D": _forward,
    "Conv3DBackpropFilterV2": _filter_gradient,
    "Conv3DBackpropInputV2": _input_gradient,
}
