"""Rules of convolutions and pools on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from graphflow._core.codegen.gpu.kernels import windows
from graphflow._core.codegen.gpu.kernels.windows import pool_places_source, size_arguments
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.codegen.gpu.vectors import WIDTH
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.gpu.nodes import Buffers, device_node
from graphflow._core.compiler.gpu.products import add_product, turned
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.values import Value, row_major
from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")


@dataclass(frozen=True)
class _Windows:
    """The windows of an instruction over images of so many channels."""

    vertical: Axis
    horizontal: Axis
    channels: int

    def arguments(self, each: int = 1) -> list[Any]:
        """The sizes as kernels take them, which take `each` channels at a time."""
        return size_arguments(self.vertical, self.horizontal, self.channels // each)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _channels_first(i: Instruction) -> bool:
    return _text(i.attrs.get("data_format", "NHWC")) == "NCHW"


def _last(items: Sequence[Any]) -> tuple[Any, ...]:
    """What goes by axes [n, c, h, w], in the order [n, h, w, c]."""
    n, c, h, w = items
    return n, h, w, c


def _by_axes(i: Instruction, items: Sequence[Any]) -> tuple[Any, ...]:
    """What goes by the axes of an instruction's images, in the order [n, h, w, c]."""
    return _last(items) if _channels_first(i) else tuple(items)


def windows_of(
    i: Instruction, image: tuple[int, ...], window: Sequence[int], outputs: tuple[int, ...]
) -> _Windows | None:
    """The windows of an instruction over images [n, h, w, c]; None for paddings without a kernel."""
    padding = _text(i.attrs["padding"])
    if _text(i.attrs.get("data_format", "NHWC")) not in ("NHWC", "NCHW") or padding not in ("SAME", "VALID"):
        return None
    strides = _by_axes(i, i.attrs["strides"])
    dilations = _by_axes(i, i.attrs.get("dilations") or [1, 1, 1, 1])
    if any(int(n) != 1 for n in (strides[0], strides[3], dilations[0], dilations[3])):
        return None
    axes = [
        Axis.of(image[k + 1], int(window[k]), int(strides[k + 1]), padding, int(dilations[k + 1]))
        for k in (0, 1)
    ]
    if (axes[0].outputs, axes[1].outputs) != tuple(outputs[1:3]):
        return None
    return _Windows(axes[0], axes[1], image[3])


def images_of(lowering: Lowering, i: Instruction, *positions: int) -> list[Value] | None:
    """Inputs that are images, as [n, h, w, c] side by side: images [n, c, h, w] are copied, unless made here."""
    found = []
    for k in positions:
        value = lowering.value(i.inputs[k])
        if value is None or value.dtype not in _FLOATS or len(value.shape) != 4:
            return None
        if _channels_first(i):
            value = Value(value.root, value.dtype, _last(value.shape), _last(value.strides), value.offset)
        found.append(lowering.compact(i, value))
    return found


def filter_of(lowering: Lowering, i: Instruction, position: int) -> Value | None:
    """An input that is filters, side by side."""
    value = lowering.value(i.inputs[position])
    return None if value is None or value.dtype not in _FLOATS else lowering.compact(i, value)


def image_shape(lowering: Lowering, i: Instruction) -> tuple[int, ...]:
    """The shape of a result that is images, as [n, h, w, c]."""
    return _by_axes(i, lowering.shape(i.outputs[0]))


def image_result(lowering: Lowering, i: Instruction) -> Value:
    """A block for a result that is images, as [n, h, w, c]; others see it in the instruction's order of axes."""
    if not _channels_first(i):
        return lowering.result(i)
    shape, dtype = lowering.known[i.outputs[0]]
    block = lowering.temporary(i.name, dtype, _last(shape))
    n, h, w, c = block.strides
    lowering.define(i.outputs[0], Value(block.root, dtype, shape, (n, c, h, w)))
    return block


def matrix_of(value: Value, rows: int, columns: int) -> Value:
    """A value that lies side by side, as a matrix."""
    return Value(value.root, value.dtype, (rows, columns), row_major((rows, columns)), value.offset)


def launched(
    lowering: Lowering,
    i: Instruction,
    name: str,
    arguments: Sequence[Any],
    reads: list[Value],
    target: Value,
    w: _Windows,
) -> None:
    """Adds an elementwise kernel of windows.py over the target: `name`(dtype, wide, *arguments) makes its text."""

    def build(buffers: Buffers) -> Sequence[Any]:
        arrays = [buffers.array(v) for v in (*reads, target)]
        wide = windows.may_be_wide(arrays, w.channels)
        each = WIDTH if wide else 1
        source = getattr(windows, name)(target.dtype, wide, *arguments)
        count = target.size // each
        return [elementwise_launch(source, count, [count, *arrays, *w.arguments(each)])]

    lowering.add(device_node(i, reads, [target], build))


def _patches(lowering: Lowering, i: Instruction, x: Value, w: _Windows) -> Value:
    """The matrix of patches: a row for each window."""
    rows = x.shape[0] * w.vertical.outputs * w.horizontal.outputs
    columns = w.vertical.size * w.horizontal.size * w.channels
    alone = all(a.size == a.stride == 1 for a in (w.vertical, w.horizontal))
    if alone:
        return matrix_of(x, rows, columns)
    target = lowering.temporary(i.name, x.dtype, (rows, columns))
    launched(lowering, i, "patches_source", [], [x], target, w)
    return target


def _forward(lowering: Lowering, i: Instruction) -> bool:
    values, kernel = images_of(lowering, i, 0), filter_of(lowering, i, 1)
    if values is None or kernel is None or kernel.shape[2] != values[0].shape[3]:
        return False
    x = values[0]
    w = windows_of(i, x.shape, kernel.shape, image_shape(lowering, i))
    if w is None:
        return False
    patches = _patches(lowering, i, x, w)
    target = image_result(lowering, i)
    rows, depth = patches.shape
    add_product(
        lowering,
        i,
        patches,
        matrix_of(kernel, depth, kernel.shape[3]),
        matrix_of(target, rows, kernel.shape[3]),
    )
    return True


def _input_gradient(lowering: Lowering, i: Instruction) -> bool:
    values, kernel = images_of(lowering, i, 2), filter_of(lowering, i, 1)
    shape = image_shape(lowering, i)
    if values is None or kernel is None or kernel.shape[2] != shape[3]:
        return False
    g = values[0]
    w = windows_of(i, shape, kernel.shape, g.shape)
    if w is None:
        return False
    rows, filters = g.size // g.shape[3], g.shape[3]
    depth = kernel.size // filters
    target = image_result(lowering, i)
    alone = all(a.size == a.stride == 1 for a in (w.vertical, w.horizontal))
    parts = matrix_of(target, rows, depth) if alone else lowering.temporary(i.name, g.dtype, (rows, depth))
    add_product(lowering, i, matrix_of(g, rows, filters), turned(matrix_of(kernel, depth, filters)), parts)
    if not alone:
        launched(lowering, i, "fold_source", [], [parts], target, w)
    return True


def _filter_gradient(lowering: Lowering, i: Instruction) -> bool:
    values = images_of(lowering, i, 0, 2)
    shape = lowering.shape(i.outputs[0])
    if values is None or values[0].shape[3] != shape[2]:
        return False
    x, g = values
    w = windows_of(i, x.shape, shape, g.shape)
    if w is None:
        return False
    patches = _patches(lowering, i, x, w)
    rows, depth = patches.shape
    target = lowering.result(i)
    add_product(
        lowering, i, turned(patches), matrix_of(g, rows, g.shape[3]), matrix_of(target, depth, g.shape[3])
    )
    return True


def pool_windows_of(i: Instruction, image: tuple[int, ...], outputs: tuple[int, ...]) -> _Windows | None:
    """The windows of a pool; None for those without a kernel."""
    window = _by_axes(i, i.attrs["ksize"])
    if int(window[0]) != 1 or int(window[3]) != 1:
        return None
    return windows_of(i, image, window[1:3], outputs)


def _pool(lowering: Lowering, i: Instruction, largest: bool) -> bool:
    values = images_of(lowering, i, 0)
    w = None if values is None else pool_windows_of(i, values[0].shape, image_shape(lowering, i))
    if values is None or w is None:
        return False
    target = image_result(lowering, i)
    launched(lowering, i, "pool_source", [largest], values, target, w)
    return True


def _pool_with_places(lowering: Lowering, i: Instruction) -> bool:
    values = None if _channels_first(i) else images_of(lowering, i, 0)
    w = None if values is None else pool_windows_of(i, values[0].shape, lowering.shape(i.outputs[0]))
    if values is None or w is None:
        return False
    x, target, chosen = values[0], lowering.result(i, 0), lowering.result(i, 1)

    def build(buffers: Buffers) -> Sequence[Any]:
        source = pool_places_source(x.dtype, chosen.dtype, bool(i.attrs["include_batch_in_index"]))
        arrays = [buffers.array(v) for v in (x, target, chosen)]
        return [elementwise_launch(source, target.size, [target.size, *arrays, *w.arguments()])]

    lowering.add(device_node(i, [x], [target, chosen], build))
    return True


def _max_pool_gradient(lowering: Lowering, i: Instruction) -> bool:
    values = images_of(lowering, i, 0, 1, 2)
    w = None if values is None else pool_windows_of(i, values[0].shape, values[2].shape)
    if values is None or w is None:
        return False
    target = image_result(lowering, i)
    launched(lowering, i, "max_pool_gradient_source", [], values, target, w)
    return True


def _avg_pool_gradient(lowering: Lowering, i: Instruction) -> bool:
    values = images_of(lowering, i, 1)
    w = None if values is None else pool_windows_of(i, image_shape(lowering, i), values[0].shape)
    if values is None or w is None:
        return False
    target = image_result(lowering, i)
    launched(lowering, i, "avg_pool_gradient_source", [], values, target, w)
    return True


WINDOW_RULES: Final[dict[str, Rule]] = {
    "Conv2D": _forward,
    "Conv2DBackpropInput": _input_gradient,
    "Conv2DBackpropFilter": _filter_gradient,
    "MaxPool": partial(_pool, largest=True),
    "AvgPool": partial(_pool, largest=False),
    "MaxPoolWithArgmax": _pool_with_places,
    "MaxPoolGrad": _max_pool_gradient,
    "AvgPoolGrad": _avg_pool_gradient,
}
