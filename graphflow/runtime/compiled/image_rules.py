"""Images in native code: resizes by tables, bilinear crops of boxes, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from graphflow.kernels.cpu import resizing
from graphflow.kernels.cpu.cropping import check_owners
from graphflow.kernels.cpu.resizing import Taps
from graphflow.kernels.native import images
from graphflow.plan.ir import Instruction
from graphflow.runtime.compiled.lower import Lowering, Rule
from graphflow.runtime.compiled.nodes import Address, KernelNode
from graphflow.runtime.compiled.values import Value, whole

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


def _crop(gradient: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        from graphflow.kernels.native import PROGRAM_STATUS

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
                indices=ids,
                check=partial(check_owners, count=shape[0]),
                fallible=True,
            )
        )
        return True

    return rule


IMAGE_RULES: Final[dict[str, Rule]] = {
    "ResizeBilinear": _resize(resizing.bilinear, False),
    "ResizeBicubic": _resize(resizing.bicubic, False),
    "ResizeArea": _resize(resizing.area, False),
    "ResizeBilinearGrad": _resize(resizing.bilinear, True),
    "ResizeBicubicGrad": _resize(resizing.bicubic, True),
    "CropAndResize": _crop(False),
    "CropAndResizeGradImage": _crop(True),
}
