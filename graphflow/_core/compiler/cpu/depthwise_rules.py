"""How depthwise convolutions and their gradients become kernels: for usual windows, or the same for all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.cpu.kernels import depthwise
from graphflow._core.codegen.cpu.kernels.depthwise import Depthwise
from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.codegen.cpu.sources import depthwise as single
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _described(
    i: Instruction, image: Sequence[int], window: Sequence[int], outputs: Sequence[int]
) -> Depthwise | None:
    """The convolution of an instruction; None for layouts and paddings without a kernel."""
    padding = _text(i.attrs["padding"])
    if _text(i.attrs.get("data_format", "NHWC")) != "NHWC" or padding not in ("SAME", "VALID"):
        return None
    strides, dilations = i.attrs["strides"], i.attrs.get("dilations") or [1, 1, 1, 1]
    if not len(image) == len(window) == len(outputs) == 4 or window[2] != image[3]:
        return None
    axes = [Axis.of(image[k], window[k - 1], int(strides[k]), padding, int(dilations[k])) for k in (1, 2)]
    if tuple(a.outputs for a in axes) != tuple(outputs[1:3]) or outputs[3] != window[2] * window[3]:
        return None
    return Depthwise(axes[0], axes[1], window[2], window[3])


def _values(lowering: Lowering, i: Instruction, *positions: int) -> list[Value]:
    """Values side by side, of one dtype; none if they are not there."""
    found = [lowering.value(i.inputs[k]) for k in positions]
    values = [v for v in found if v is not None and v.dtype in _FLOATS and len(v.shape) == 4]
    return [lowering.compact(i, v) for v in values] if len(values) == len(found) else []


def _usual(d: Depthwise) -> bool:
    """Whether there are kernels for its window."""
    return d.multiplier == 1 and d.rows.size * d.columns.size <= single.MOST_TAPS


def _forward(lowering: Lowering, i: Instruction) -> bool:
    values = _values(lowering, i, 0, 1)
    d = _described(i, values[0].shape, values[1].shape, lowering.shape(i.outputs[0])) if values else None
    if d is None:
        return False
    dtype = values[0].dtype
    if _usual(d):
        source = single.forward_source(dtype, d.rows.size, d.columns.size)
    else:
        source = depthwise.forward_source(dtype)
    _add(lowering, i, d, source, values, values[0].shape[0] * d.rows.outputs)
    return True


def _input_gradient(lowering: Lowering, i: Instruction) -> bool:
    values = _values(lowering, i, 2, 1)
    d = _described(i, lowering.shape(i.outputs[0]), values[1].shape, values[0].shape) if values else None
    if d is None:
        return False
    dtype = values[0].dtype
    if _usual(d):
        source = single.input_gradient_source(dtype, d.rows.size, d.columns.size)
    else:
        source = depthwise.input_gradient_source(dtype)
    _add(lowering, i, d, source, values, values[0].shape[0] * d.rows.inputs)
    return True


def _add(
    lowering: Lowering, i: Instruction, d: Depthwise, source: str, values: Sequence[Value], units: int
) -> None:
    target = lowering.result(i)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        places = [address(v) for v in (*values, target)]
        return d.steps(kernels[0], places, units, d.window * d.columns.outputs)

    lowering.add(KernelNode(i, list(values), [target.root], sources=[source], emit=emit))


def _filter_gradient(lowering: Lowering, i: Instruction) -> bool:
    values = _values(lowering, i, 0, 2)
    d = _described(i, values[0].shape, lowering.shape(i.outputs[0]), values[1].shape) if values else None
    if d is None:
        return False
    x, g = values
    both = lowering.temporary(i.name, x.dtype, (2, *lowering.shape(i.outputs[0])))
    lowering.define(i.outputs[0], Value(both.root, both.dtype, both.shape[1:], both.strides[1:]))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        words = [address(x), address(g), address(both), *d.words(), x.shape[0]]
        return [Step(kernels[0], words, 0, d.rows.size * d.columns.size, 1)]

    kind = single if d.multiplier == 1 else depthwise
    source = kind.filter_gradient_source(x.dtype)
    lowering.add(KernelNode(i, [x, g], [both.root], sources=[source], emit=emit))
    return True


DEPTHWISE_RULES: Final[dict[str, Rule]] = {
    "DepthwiseConv2dNative": _forward,
    "DepthwiseConv2dNativeBackpropInput": _input_gradient,
    "DepthwiseConv2dNativeBackpropFilter": _filter_gradient,
}
