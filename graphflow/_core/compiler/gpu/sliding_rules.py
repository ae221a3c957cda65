"""Rules of ops whose windows need no kernel of their own: depthwise convolutions, volumes, patches, LRN.

The windows of a padded block are a view of it with more axes, which overlap. A reduction over the axes of the window is
a pool or a depthwise convolution; a copy of them is the patches of a matrix product. A gradient to the input is the
same over the gradient, whose elements lie a stride apart between zeros, with the window turned round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from graphflow._core.compiler.cpu.assembly_rules import filled
from graphflow._core.compiler.gpu.products import add_product, turned
from graphflow._core.compiler.gpu.window_rules import (
    filter_of,
    image_result,
    image_shape,
    images_of,
    launched,
    matrix_of,
    pool_windows_of,
    windows_of,
)
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.shared.strided import box, permuted, reduced, split
from graphflow._core.compiler.values import Value, whole
from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")


# ---- windows as views ----------------------------------------------------------------------------------------------


def _placed(
    lowering: Lowering,
    i: Instruction,
    value: Value,
    lengths: Sequence[int],
    starts: Sequence[int],
    steps: Sequence[int],
    filler: Any = 0,
) -> Value:
    """The value in a block that is longer along the axes after the first."""
    inner = value.shape[1 : 1 + len(lengths)]
    if tuple(lengths) == inner:
        return value
    rest = len(value.shape) - 1 - len(lengths)
    shape = (value.shape[0], *lengths, *value.shape[1 + len(lengths) :])
    block = filled(lowering, i, lowering.temporary(i.name, value.dtype, shape), filler)
    place = box(block, [0, *starts, *[0] * rest], value.shape, [1, *steps, *[1] * rest])
    lowering.elementwise(i, "{0}", [value], place, forced=True)
    return block


def _views(value: Value, axes: Sequence[Axis]) -> Value:
    """The windows [batch, windows..., elements of a window..., rest...] of a padded block."""
    count = len(axes)
    inner = value.strides[1 : 1 + count]
    shape = (*(a.outputs for a in axes), *(a.size for a in axes))
    strides = [
        *(a.stride * s for a, s in zip(axes, inner, strict=True)),
        *(a.dilation * s for a, s in zip(axes, inner, strict=True)),
    ]
    return Value(
        value.root,
        value.dtype,
        (value.shape[0], *shape, *value.shape[1 + count :]),
        (value.strides[0], *strides, *value.strides[1 + count :]),
        value.offset,
    )


def _over(lowering: Lowering, i: Instruction, value: Value, axes: Sequence[Axis], filler: Any = 0) -> Value:
    """The windows of a value, with its padding."""
    lengths = [a.before + a.inputs + a.after for a in axes]
    padded = _placed(lowering, i, value, lengths, [a.before for a in axes], [1] * len(axes), filler)
    return _views(padded, axes)


def _back(lowering: Lowering, i: Instruction, gradient: Value, axes: Sequence[Axis]) -> Value:
    """For each element of the input, the gradients of the windows that cover it, the last element's window first."""
    lengths = [a.inputs + a.extent - 1 for a in axes]
    starts = [a.extent - 1 - a.before for a in axes]
    block = _placed(lowering, i, gradient, lengths, starts, [a.stride for a in axes])
    around = [Axis(n, a.size, 1, a.dilation, 0, a.inputs) for n, a in zip(lengths, axes, strict=True)]
    return _views(block, around)


def _round(value: Value, count: int) -> Value:
    """Filters, the elements of the window in reverse order."""
    rest = len(value.shape) - count
    starts = [n - 1 for n in value.shape[:count]]
    return box(value, [*starts, *[0] * rest], value.shape, [*[-1] * count, *[1] * rest])


def _repeated(value: Value, times: int) -> Value:
    """The value with one more axis, along which it is the same."""
    return Value(value.root, value.dtype, (*value.shape, times), (*value.strides, 0), value.offset)


# ---- depthwise convolutions ----------------------------------------------------------------------------------------


def _depthwise(lowering: Lowering, i: Instruction) -> bool:
    values, kernel = images_of(lowering, i, 0), filter_of(lowering, i, 1)
    if values is None or kernel is None or kernel.shape[2] != values[0].shape[3]:
        return False
    w = windows_of(i, values[0].shape, kernel.shape, image_shape(lowering, i))
    if w is None:
        return False
    if kernel.shape[3] == 1:
        launched(lowering, i, "depthwise_source", [], [values[0], kernel], image_result(lowering, i), w)
        return True
    views = _repeated(_over(lowering, i, values[0], [w.vertical, w.horizontal]), kernel.shape[3])
    reduced(lowering, i, "sum", "{0} * {1}", [views, kernel], (3, 4), image_result(lowering, i))
    return True


def _depthwise_input(lowering: Lowering, i: Instruction) -> bool:
    values, kernel = images_of(lowering, i, 2), filter_of(lowering, i, 1)
    shape = image_shape(lowering, i)
    if values is None or kernel is None or kernel.shape[2] != shape[3]:
        return False
    w = windows_of(i, shape, kernel.shape, values[0].shape)
    if w is None:
        return False
    if kernel.shape[3] == 1:
        launched(lowering, i, "depthwise_input_source", [], [values[0], kernel], image_result(lowering, i), w)
        return True
    views = split(_back(lowering, i, values[0], [w.vertical, w.horizontal]), 5, kernel.shape[3])
    reads = [permuted(views, (0, 1, 2, 3, 4, 6, 5)), permuted(_round(kernel, 2), (0, 1, 3, 2))]
    reduced(lowering, i, "sum", "{0} * {1}", reads, (3, 4, 5), image_result(lowering, i))
    return True


def _depthwise_filter(lowering: Lowering, i: Instruction) -> bool:
    values, shape = images_of(lowering, i, 0, 2), lowering.shape(i.outputs[0])
    if values is None or values[0].shape[3] != shape[2]:
        return False
    x, g = values
    w = windows_of(i, x.shape, shape, g.shape)
    if w is None:
        return False
    views = _repeated(_over(lowering, i, x, [w.vertical, w.horizontal]), shape[3])
    parts = split(split(g, 3, shape[3]), 2, 1, 1)  # [batch, row, column, 1, 1, channel, multiplier]
    reduced(lowering, i, "sum", "{0} * {1}", [views, parts], (0, 1, 2), lowering.result(i))
    return True


# ---- volumes -------------------------------------------------------------------------------------------------------


def _volume_axes(
    i: Instruction, shape: Sequence[int], size: Sequence[int], outputs: Sequence[int]
) -> list[Axis] | None:
    strides, dilations = i.attrs["strides"], i.attrs.get("dilations") or [1] * 5
    padding = i.attrs["padding"]
    padding = padding.decode() if isinstance(padding, bytes) else padding
    if len(shape) != 5 or {strides[0], strides[4], dilations[0], dilations[4]} != {1}:
        return None
    axes = [
        Axis.of(int(shape[k]), int(size[k - 1]), int(strides[k]), padding, int(dilations[k]))
        for k in (1, 2, 3)
    ]
    return axes if tuple(a.outputs for a in axes) == tuple(outputs[1:4]) else None


def _value(lowering: Lowering, i: Instruction, position: int) -> Value | None:
    value = lowering.value(i.inputs[position])
    return value if value is not None and value.dtype in _FLOATS and len(value.shape) == 5 else None


def _patches(lowering: Lowering, i: Instruction, views: Value) -> Value:
    """A matrix with a row for each window."""
    copy = lowering.temporary(i.name, views.dtype, views.shape)
    lowering.elementwise(i, "{0}", [views], copy)
    columns = math.prod(views.shape[4:])
    return matrix_of(copy, views.size // columns, columns)


def _volume_convolution(lowering: Lowering, i: Instruction) -> bool:
    x, kernel = _value(lowering, i, 0), _value(lowering, i, 1)
    if x is None or kernel is None or kernel.shape[3] != x.shape[4]:
        return False
    axes = _volume_axes(i, x.shape, kernel.shape, lowering.shape(i.outputs[0]))
    if axes is None:
        return False
    patches = _patches(lowering, i, _over(lowering, i, x, axes))
    filters = matrix_of(lowering.compact(i, kernel), patches.shape[1], kernel.shape[4])
    target = matrix_of(lowering.result(i), patches.shape[0], kernel.shape[4])
    add_product(lowering, i, patches, filters, target)
    return True


def _volume_input(lowering: Lowering, i: Instruction) -> bool:
    kernel, g = _value(lowering, i, 1), _value(lowering, i, 2)
    shape = lowering.shape(i.outputs[0])
    if kernel is None or g is None or kernel.shape[3:] != (shape[4], g.shape[4]):
        return False
    axes = _volume_axes(i, shape, kernel.shape, g.shape)
    if axes is None:
        return False
    patches = _patches(lowering, i, _back(lowering, i, g, axes))
    filters = lowering.compact(i, permuted(_round(kernel, 3), (0, 1, 2, 4, 3)))
    target = matrix_of(lowering.result(i), patches.shape[0], shape[4])
    add_product(lowering, i, patches, matrix_of(filters, patches.shape[1], shape[4]), target)
    return True


def _volume_filter(lowering: Lowering, i: Instruction) -> bool:
    x, g = _value(lowering, i, 0), _value(lowering, i, 2)
    shape = lowering.shape(i.outputs[0])
    if x is None or g is None or shape[3:] != (x.shape[4], g.shape[4]):
        return False
    axes = _volume_axes(i, x.shape, shape, g.shape)
    if axes is None:
        return False
    patches = _patches(lowering, i, _over(lowering, i, x, axes))
    gradients = matrix_of(lowering.compact(i, g), patches.shape[0], shape[4])
    target = matrix_of(lowering.result(i), patches.shape[1], shape[4])
    add_product(lowering, i, turned(patches), gradients, target)
    return True


def _counts(lowering: Lowering, i: Instruction, axes: Sequence[Axis], dtype: str) -> Value:
    """How many elements of each window lie inside: [windows..., 1]."""
    inside = np.ones((), dtype)
    for axis in axes:
        inside = np.multiply.outer(inside, np.array([len(taps) for taps in axis.taps()], dtype))
    value = whole(lowering.fresh(i.name), dtype, (*inside.shape, 1))
    lowering.constants[value.root] = inside
    return value


def _volume_pool(lowering: Lowering, i: Instruction, largest: bool) -> bool:
    x = _value(lowering, i, 0)
    shape = lowering.shape(i.outputs[0])
    axes = None if x is None else _volume_axes(i, x.shape, i.attrs["ksize"][1:4], shape)
    if x is None or axes is None:
        return False
    if largest:
        views = _over(lowering, i, x, axes, -np.inf)
        reduced(lowering, i, "max", "{0}", [views], (4, 5, 6), lowering.result(i))
        return True
    total = lowering.temporary(i.name, x.dtype, shape)
    reduced(lowering, i, "sum", "{0}", [_over(lowering, i, x, axes)], (4, 5, 6), total)
    reads = [total, _counts(lowering, i, axes, x.dtype)]
    lowering.elementwise(i, "{0} / {1}", reads, lowering.result(i))
    return True


def _volume_average_gradient(lowering: Lowering, i: Instruction) -> bool:
    g = _value(lowering, i, 1)
    shape = lowering.shape(i.outputs[0])
    axes = None if g is None else _volume_axes(i, shape, i.attrs["ksize"][1:4], g.shape)
    if g is None or axes is None:
        return False
    share = lowering.temporary(i.name, g.dtype, g.shape)
    lowering.elementwise(i, "{0} / {1}", [g, _counts(lowering, i, axes, g.dtype)], share)
    reduced(lowering, i, "sum", "{0}", [_back(lowering, i, share, axes)], (4, 5, 6), lowering.result(i))
    return True


# ---- gradients of the largest --------------------------------------------------------------------------------------


def _first_largest(lowering: Lowering, i: Instruction, x: Value, y: Value, axes: Sequence[Axis]) -> Value:
    """The number of the first element of each window that is its largest, int32; else the window's size."""
    count = len(axes)
    views = _over(lowering, i, x, axes, -np.inf)
    window = views.shape[1 + count : 1 + 2 * count]
    beside = split(y, count, *[1] * count)  # An axis of one place for each of the window's.
    reads = [views, beside, _numbers(lowering, i, window)]
    found = lowering.temporary(i.name, "int32", y.shape)
    text = f"{{2}} if {{0}} == {{1}} else {math.prod(window)}"
    return reduced(lowering, i, "min", text, reads, range(1 + count, 1 + 2 * count), found)


def _numbers(lowering: Lowering, i: Instruction, window: Sequence[int], turned_round: bool = False) -> Value:
    """The numbers of the elements of a window: [elements..., 1]."""
    value = whole(lowering.fresh(i.name), "int32", (*window, 1))
    lowering.constants[value.root] = np.arange(math.prod(window), dtype=np.int32)
    return _round(value, len(window)) if turned_round else value


def _largest_gradient(
    lowering: Lowering, i: Instruction, values: Sequence[Value], axes: Sequence[Axis], target: Value
) -> None:
    """Each element gets the gradients of the windows whose first largest it is."""
    x, y, g = values
    count = len(axes)
    first = _first_largest(lowering, i, x, y, axes)
    gradients, places = (_back(lowering, i, v, axes) for v in (g, first))
    window = gradients.shape[1 + count : 1 + 2 * count]
    reads = [gradients, places, _numbers(lowering, i, window, True)]
    # Between the gradients lie zeros, and so do zeros that name the first element: they add nothing.
    over = range(1 + count, 1 + 2 * count)
    reduced(lowering, i, "sum", "{0} if {1} == {2} else 0", reads, over, target)


def _largest_of(
    lowering: Lowering, i: Instruction, values: Sequence[Value], axes: Sequence[Axis], target: Value
) -> None:
    """Each window gives the element of the third value that lies where the first largest of the first does."""
    x, y, g = values
    count = len(axes)
    first = split(_first_largest(lowering, i, x, y, axes), count, *[1] * count)
    views = _over(lowering, i, g, axes)
    reads = [views, first, _numbers(lowering, i, views.shape[1 + count : 1 + 2 * count])]
    over = range(1 + count, 1 + 2 * count)
    reduced(lowering, i, "sum", "{0} if {1} == {2} else 0", reads, over, target)


def _volume_largest(rule: Callable[..., None], lowering: Lowering, i: Instruction) -> bool:
    found = [_value(lowering, i, k) for k in range(3)]
    values = [lowering.compact(i, v) for v in found if v is not None]
    if len(values) != 3:
        return False
    axes = _volume_axes(i, values[0].shape, i.attrs["ksize"][1:4], values[1].shape)
    if axes is None:
        return False
    rule(lowering, i, values, axes, lowering.result(i))
    return True


def _image_largest_of(lowering: Lowering, i: Instruction) -> bool:
    values = images_of(lowering, i, 0, 1, 2)
    w = None if values is None else pool_windows_of(i, values[0].shape, values[1].shape)
    if values is None or w is None:
        return False
    _largest_of(lowering, i, values, [w.vertical, w.horizontal], image_result(lowering, i))
    return True


# ---- patches, normalisation across channels ------------------------------------------------------------------------


def _image_patches(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    padding = i.attrs["padding"]
    padding = padding.decode() if isinstance(padding, bytes) else padding
    sizes, strides, rates = (i.attrs[name] for name in ("ksizes", "strides", "rates"))
    if (
        value is None
        or len(value.shape) != 4
        or {n[k] for n in (sizes, strides, rates) for k in (0, 3)} != {1}
    ):
        return False
    axes = [Axis.of(value.shape[k], int(sizes[k]), int(strides[k]), padding, int(rates[k])) for k in (1, 2)]
    target = lowering.result(i)
    if tuple(a.outputs for a in axes) != target.shape[1:3]:
        return False
    views = _over(lowering, i, value, axes)
    lowering.elementwise(i, "{0}", [views], whole(target.root, target.dtype, views.shape))
    return True


def _across_channels(lowering: Lowering, i: Instruction, text: str, reads: Sequence[Value]) -> Value:
    """The sum of a text over the neighbouring channels of each."""
    shape, radius = reads[0].shape, int(i.attrs["depth_radius"])
    channels = Axis(shape[-1], 2 * radius + 1, 1, 1, radius, shape[-1])
    terms = lowering.temporary(i.name, reads[0].dtype, (reads[0].size // shape[-1], shape[-1]))
    lowering.elementwise(i, text, reads, whole(terms.root, terms.dtype, shape))
    views = _over(lowering, i, terms, [channels])
    total = lowering.temporary(i.name, terms.dtype, shape)
    flat = whole(total.root, total.dtype, terms.shape)
    reduced(lowering, i, "sum", "{0}", [views], (2,), flat)
    return total


def _lrn(lowering: Lowering, i: Instruction) -> bool:
    x = lowering.value(i.inputs[0])
    if x is None or x.dtype not in _FLOATS or len(x.shape) != 4:
        return False
    bias, alpha, beta = (repr(float(i.attrs[name])) for name in ("bias", "alpha", "beta"))
    total = _across_channels(lowering, i, "{0} * {0}", [x])
    text = f"{{0}} * pow({bias} + {alpha} * {{1}}, -{beta})"
    lowering.elementwise(i, text, [x, total], lowering.result(i))
    return True


def _lrn_gradient(lowering: Lowering, i: Instruction) -> bool:
    found = [lowering.value(name) for name in i.inputs[:2]]
    values = [v for v in found if v is not None and v.dtype in _FLOATS and len(v.shape) == 4]
    if len(values) != 2:
        return False
    g, x = values
    bias, alpha, beta = (float(i.attrs[name]) for name in ("bias", "alpha", "beta"))
    total = _across_channels(lowering, i, "{0} * {0}", [x])
    share = f"{{0}} * pow({bias!r} + {alpha!r} * {{2}}, -{beta!r})"
    terms = f"{share} * {{1}} / ({bias!r} + {alpha!r} * {{2}})"
    sums = _across_channels(lowering, i, terms, [g, x, total])
    text = f"{share} - {2 * alpha * beta!r} * {{1}} * {{3}}"
    lowering.elementwise(i, text, [g, x, total, sums], lowering.result(i))
    return True


SLIDING_RULES: Final[dict[str, Rule]] = {
    "DepthwiseConv2dNative": _depthwise,
    "DepthwiseConv2dNativeBackpropInput": _depthwise_input,
    "DepthwiseConv2dNativeBackpropFilter": _depthwise_filter,
    "Conv3D": _volume_convolution,
    "Conv3DBackpropInputV2": _volume_input,
    "Conv3DBackpropFilterV2": _volume_filter,
    "MaxPool3D": partial(_volume_pool, largest=True),
    "AvgPool3D": partial(_volume_pool, largest=False),
    "AvgPool3DGrad": _volume_average_gradient,
    "MaxPool3DGrad": partial(_volume_largest, _largest_gradient),
    "MaxPool3DGradGrad": partial(_volume_largest, _largest_of),
    "MaxPoolGradGrad": _image_largest_of,
    "ExtractImagePatches": _image_patches,
    "LRN": _lrn,
    "LRNGrad": _lrn_gradient,
}
