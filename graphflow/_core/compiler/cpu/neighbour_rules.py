"""Rules of what takes each element from its neighbours: images resized by copying, local response normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.sources import nearest, neighbours
from graphflow._core.compiler.lower import NATIVE_DTYPES, Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import Value, whole
from graphflow._core.kernels.image import resizing
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")


def _table(lowering: Lowering, i: Instruction, array: Any) -> Value:
    made = array.astype(np.int32)
    value = whole(lowering.fresh(i.name), "int32", made.shape)
    lowering.constants[value.root] = made
    return value


def _resize(gradient: bool) -> Rule:
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
        tables = [_table(lowering, i, c) for c in copied]
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


def _response(gradient: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        # The gradient takes what it is of, the input and the output.
        names = [i.inputs[1], i.inputs[0]] if gradient else [i.inputs[0]]
        values = [v for v in map(lowering.value, names) if v is not None]
        if len(values) != len(names) or any(v.dtype not in _FLOATS or not v.shape for v in values):
            return False
        if any(v.shape != values[0].shape or v.dtype != values[0].dtype for v in values):
            return False
        reads = [lowering.compact(i, v) for v in values]
        target = lowering.result(i)
        dtype, channels = target.dtype, target.shape[-1]
        pixels = target.size // channels
        bias, alpha, beta = (float(i.attrs[name]) for name in ("bias", "alpha", "beta"))
        # Neighbours farther than the last channel are none.
        reach = min(max(0, int(i.attrs["depth_radius"])), channels - 1)
        room = (neighbours.space(pixels, channels, reach),)
        scratch = [lowering.temporary(i.name, dtype, room) for _ in range(2 if gradient else 1)]

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            places = [address(v) for v in (*reads, target, *scratch)]
            return neighbours.response_steps(kernels[0], places, pixels, channels, reach)

        make = neighbours.response_gradient_source if gradient else neighbours.response_source
        made = [v.root for v in (target, *scratch)]
        source = make(dtype, bias, alpha, beta, reach)
        lowering.add(KernelNode(i, reads, made, sources=[source], emit=emit))
        return True

    return rule


NEIGHBOUR_RULES: Final[dict[str, Rule]] = {
    "LRN": _response(False),
    "LRNGrad": _response(True),
    "ResizeNearestNeighbor": _resize(False),
    "ResizeNearestNeighborGrad": _resize(True),
}
