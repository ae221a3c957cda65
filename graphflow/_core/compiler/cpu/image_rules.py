"""Images in native code: resizes by tables or copying, crops of boxes, and their gradients; colours as statements.

The channels of a pixel are three operands that lie beside each other in memory, so that hue and saturation are
elementwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.kernels import images
from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS
from graphflow._core.codegen.cpu.sources import nearest
from graphflow._core.compiler.lower import NATIVE_DTYPES, Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode, Statements
from graphflow._core.compiler.values import Value, whole
from graphflow._core.kernels.image import resizing
from graphflow._core.kernels.image.cropping import check_owners
from graphflow._core.kernels.image.resizing import Taps
from graphflow._core.plan.ir import Instruction

_PIXELS: Final = ("float32", "uint8")


def _constant(lowering: Lowering, label: str, array: Any) -> Value:
    root = lowering.fresh(label)
    lowering.constants[root] = array
    return whole(root, array.dtype.name, array.shape)


def _tables(lowering: Lowering, i: Instruction, taps: Taps, gradient: bool) -> list[Value]:
    """For each new pixel where its share of the lists begins; the old pixels; their weights.

    Of a gradient the old pixels are the result's: what they are made of is what was made of them.
    """
    old = np.stack([index for index, _ in taps.taps])
    new = np.broadcast_to(np.arange(old.shape[1]), old.shape)
    weights = np.stack([weight for _, weight in taps.taps])
    kept = weights != 0
    owners, pixels = (old, new) if gradient else (new, old)
    owners, pixels, weights = owners[kept], pixels[kept], weights[kept]
    order = np.argsort(owners, kind="stable")
    count = taps.size if gradient else old.shape[1]
    starts = np.searchsorted(owners[order], np.arange(count + 1))
    found = (starts.astype(np.int32), pixels[order].astype(np.int32), weights[order].astype(np.float32))
    return [_constant(lowering, i.name, np.append(a, a.dtype.type(0))) for a in found]


def _resize(taps_of: Callable[..., Taps], gradient: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        given = lowering.value(i.inputs[0])
        other = lowering.shape(i.inputs[1]) if gradient else ()
        if given is None or given.dtype not in _PIXELS or 0 in given.shape or len(given.shape) != 4:
            return False
        if i.dtypes[0].name != "float32" or not gradient and lowering.constant(i.inputs[1]) is None:
            return False
        flags = [bool(i.attrs[n]) for n in ("align_corners", "half_pixel_centers") if n in i.attrs]
        shape = tuple(lowering.shape(i.outputs[0]))
        batch, channels = given.shape[0], given.shape[3]
        # What is wrong, or the same size, is left to the NumPy kernel.
        if all(flags[:2]) and len(flags) == 2 or len(shape) != 4 or 0 in shape:
            return False
        if shape[1:3] == given.shape[1:3] or (shape[0], shape[3]) != (batch, channels):
            return False
        small, large = (shape, given.shape) if gradient else (given.shape, shape)
        if gradient and len(other) != 4:
            return False
        tables = [
            table
            for axis in (1, 2)
            for table in _tables(lowering, i, taps_of(small[axis], large[axis], *flags), gradient)
        ]
        x, target = lowering.compact(i, given), lowering.result(i)
        units = images.resize_units(batch, shape[1])
        mixed = lowering.temporary(i.name, "float32", (units, x.shape[2] * channels))

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            return images.resize_steps(
                kernels[0],
                address(x),
                [address(table) for table in tables],
                address(mixed),
                address(target),
                batch,
                (x.shape[1], x.shape[2]),
                (shape[1], shape[2]),
                channels,
            )

        sources = [images.resize_source(x.dtype, channels)]
        made = [target.root, mixed.root]
        lowering.add(KernelNode(i, [x, *tables], made, sources=sources, emit=emit))
        return True

    return rule


def _nearest(gradient: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        given = lowering.value(i.inputs[0])
        shape, dtype = lowering.known[i.outputs[0]]
        flags = bool(i.attrs["align_corners"]), bool(i.attrs["half_pixel_centers"])
        # What is wrong is left to the NumPy kernel.
        if given is None or lowering.constant(i.inputs[1]) is None or all(flags):
            return False
        if len(given.shape) != 4 or len(shape) != 4 or dtype == "bool" or dtype not in NATIVE_DTYPES:
            return False
        x, target = lowering.compact(i, given), lowering.result(i)
        small, large = (shape, x.shape) if gradient else (x.shape, shape)
        copied = [resizing.nearest(small[axis], large[axis], *flags) for axis in (1, 2)]
        if gradient:
            copied = [np.searchsorted(c, np.arange(small[k] + 1)) for k, c in enumerate(copied, 1)]
        tables = [_constant(lowering, i.name, c.astype(np.int32)) for c in copied]
        batch, channels = shape[0], shape[3]
        sizes = (small[1], small[2], large[1], large[2], channels)

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            places = [address(x), *map(address, tables), address(target)]
            make = nearest.nearest_gradient_steps if gradient else nearest.nearest_steps
            return make(kernels[0], places, batch, sizes)

        source = (
            nearest.nearest_gradient_source(dtype, channels)
            if gradient
            else nearest.nearest_source(dtype, np.dtype(dtype).itemsize, channels)
        )
        lowering.add(KernelNode(i, [x, *tables], [target.root], sources=[source], emit=emit))
        return True

    return rule


def _crop(gradient: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        if i.attrs["method"] != "bilinear" or lowering.constant(i.inputs[3]) is None:
            return False
        given, boxes, owners = (lowering.value(name) for name in i.inputs[:3])
        if given is None or boxes is None or owners is None or i.dtypes[0].name != "float32":
            return False
        made = tuple(lowering.shape(i.outputs[0]))
        shape, crops = (made, given.shape) if gradient else (given.shape, made)
        if given.dtype not in _PIXELS or len(shape) != 4 or len(crops) != 4 or 0 in shape or 0 in crops:
            return False
        if boxes.shape != (crops[0], 4) or owners.shape != crops[:1] or crops[3] != shape[3]:
            return False
        x, placed, ids = (lowering.compact(i, value) for value in (given, boxes, owners))
        target = lowering.result(i)

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            return images.crop_steps(
                kernels[0],
                PROGRAM_STATUS,
                address(placed),
                address(ids),
                address(x),
                address(target),
                shape,
                crops,
                gradient,
            )

        outside = float(i.attrs.get("extrapolation_value", 0.0))
        source = images.crop_gradient_source() if gradient else images.crop_source(x.dtype, outside)
        lowering.add(
            KernelNode(
                i,
                [x, placed, ids],
                [target.root],
                sources=[source],
                emit=emit,
                checked=[ids],
                check=partial(check_owners, count=shape[0]),
                fallible=True,
            )
        )
        return True

    return rule


# ---- colours ----------------------------------------------------------------------------------------------------

_EXTREMES: Final = (
    ("top", "max(max({0}, {1}), {2})"),
    ("least", "min(min({0}, {1}), {2})"),
    ("spread", "top - least"),
)
_SIXTHS: Final = (
    ("unit", "1.0 / (spread if spread > 0.0 else 1.0)"),
    (
        "sixths",
        "({1} - {2}) * unit if {0} == top else ({2} - {0}) * unit + 2.0 if {1} == top else ({0} - {1}) * unit + 4.0",
    ),
)


def _wheel(at: str, pale: str, scale: str) -> tuple[tuple[str, str], ...]:
    """Red, green and blue at a place on the wheel of six."""
    parts = (f"abs({at} - 3.0) - 1.0", f"2.0 - abs({at} - 2.0)", f"2.0 - abs({at} - 4.0)")
    return tuple(
        (name, f"min(max({part}, 0.0), 1.0) * {scale} + {pale}")
        for name, part in zip(("red", "green", "blue"), parts, strict=True)
    )


_HUE: Final = (
    *_EXTREMES,
    *_SIXTHS,
    ("turned", "sixths + {3} * 6.0"),
    ("at", "turned - floor(turned / 6.0) * 6.0"),
    *_wheel("at", "least", "spread"),
)
_SATURATION: Final = (
    *_EXTREMES,
    *_SIXTHS,
    ("at", "sixths + 6.0 if sixths < 0.0 else sixths"),
    ("part", "spread / top if top > 0.0 else 0.0"),
    ("more", "min(max(part * {3}, 0.0), 1.0)"),
    ("full", "more * top"),
    ("pale", "(1.0 - more) * top"),
    *_wheel("at", "pale", "full"),
)


def _channels(value: Value) -> list[Value]:
    """Each channel of images: a value of its own."""
    return [
        Value(
            value.root,
            value.dtype,
            value.shape[:-1],
            value.strides[:-1],
            value.offset + c * value.strides[-1],
        )
        for c in range(3)
    ]


def _images(lowering: Lowering, i: Instruction) -> tuple[Value, Value] | None:
    """The images, float32, and the amount of an adjustment."""
    value, amount = (lowering.value(name) for name in i.inputs)
    if value is None or amount is None or value.dtype != "float32" or amount.shape:
        return None
    return (value, amount) if len(value.shape) >= 3 and 0 not in value.shape else None


def _adjusted(lines: Sequence[tuple[str, str]]) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        found = _images(lowering, i)
        if found is None or found[0].shape[-1] != 3:
            return False
        target = lowering.result(i)
        results = list(zip(("red", "green", "blue"), _channels(target), strict=True))
        lowering.add(
            Statements(
                i,
                [*_channels(found[0]), found[1]],
                [target.root],
                space=target.shape[:-1],
                lines=[(name, "float32", text) for name, text in lines],
                results=results,
                forced=True,
            )
        )
        return True

    return rule


def _contrast(lowering: Lowering, i: Instruction) -> bool:
    found = _images(lowering, i)
    if found is None:
        return False
    x, factor = found
    *batch, height, width, channels = x.shape
    if height * width == 1:
        return False
    mean = lowering.temporary(i.name, "float32", (*batch, channels))
    axes = (len(batch), len(batch) + 1)
    lowering.add(
        Statements(
            i, [x], [mean.root], space=x.shape, lines=[("out", "float32", "{0}")], results=[("out", mean)],
            reduce=("mean", axes),
        )
    )  # fmt: skip
    beside = Value(mean.root, "float32", (*batch, 1, 1, channels), (*mean.strides[:-1], 1, 1, 1), mean.offset)
    lowering.elementwise(i, "({0} - {1}) * {2} + {1}", [x, beside, factor], lowering.result(i))
    return True


IMAGE_RULES: Final[dict[str, Rule]] = {
    "AdjustContrastv2": _contrast,
    "AdjustHue": _adjusted(_HUE),
    "AdjustSaturation": _adjusted(_SATURATION),
    "ResizeBilinear": _resize(resizing.bilinear, False),
    "ResizeBicubic": _resize(resizing.bicubic, False),
    "ResizeArea": _resize(resizing.area, False),
    "ResizeBilinearGrad": _resize(resizing.bilinear, True),
    "ResizeBicubicGrad": _resize(resizing.bicubic, True),
    "ResizeNearestNeighbor": _nearest(False),
    "ResizeNearestNeighborGrad": _nearest(True),
    "CropAndResize": _crop(False),
    "CropAndResizeGradImage": _crop(True),
}
