"""Normalisation in native code: of batches, and of each pixel by the channels beside its own.

That of batches is reductions over the images, arithmetic on channels and one pass over the images, as statements rather
than a kernel, so that what comes before and after is fused with them: the relu that follows, the update of the moving
averages, the optimizer's of scale and offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.sources import neighbours
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode, Statements
from graphflow._core.compiler.values import Value, whole
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
_CHANNELS: Final = {"NHWC": 3, "NCHW": 1}
"""The axis of the channels, by layout."""


def _over(i: Instruction) -> tuple[int, ...]:
    """The axes but the channels'."""
    return tuple(axis for axis in range(4) if axis != _CHANNELS[i.attrs["data_format"]])


def _beside_images(i: Instruction, reads: list[Value]) -> list[Value]:
    """The operands, vectors of channels laid against the images."""
    ones = (1,) * (3 - _CHANNELS[i.attrs["data_format"]])
    return [
        Value(v.root, v.dtype, v.shape + ones, v.strides + ones, v.offset) if len(v.shape) == 1 else v
        for v in reads
    ]


def _operands(lowering: Lowering, i: Instruction, count: int) -> list[Value] | None:
    """The first inputs; None if they are not images and vectors of channels, of one dtype."""
    found = [lowering.value(name) for name in i.inputs[:count]]
    values = [value for value in found if value is not None]
    if len(values) != count or i.attrs["data_format"] not in _CHANNELS:
        return None
    if any(value.dtype != values[0].dtype or 0 in value.shape for value in values):
        return None
    images = [value for value in values if len(value.shape) == 4]
    fits = False
    if images:
        shape = images[0].shape
        fits = all(v.shape in (shape, (shape[_CHANNELS[i.attrs["data_format"]]],)) for v in values)
    return values if fits and values[0].dtype in _FLOATS else None


def _reduced(lowering: Lowering, i: Instruction, kind: str, text: str, reads: list[Value]) -> Value:
    """A reduction over all axes but the channels'."""
    space, over, reads = reads[0].shape, _over(i), _beside_images(i, reads)
    target = lowering.temporary(i.name, reads[0].dtype, (space[_CHANNELS[i.attrs["data_format"]]],))
    if all(space[axis] == 1 for axis in over):
        lowering.elementwise(i, text, reads, whole(target.root, target.dtype, space))
        return target
    lowering.add(
        Statements(
            i, reads, [target.root], space=space, lines=[("out", target.dtype, text)], results=[("out", target)],
            reduce=(kind, over),
        )
    )  # fmt: skip
    return target


def _vector(lowering: Lowering, i: Instruction, text: str, reads: list[Value]) -> Value:
    """Arithmetic on channels."""
    target = lowering.temporary(i.name, reads[0].dtype, reads[0].shape)
    lowering.elementwise(i, text, reads, target)
    return target


def _reserved(lowering: Lowering, i: Instruction, first: int) -> None:
    """The results from `first` on, which hold nothing on a CPU."""
    for name, dtype in zip(i.outputs[first:], i.dtypes[first:], strict=True):
        root = lowering.fresh(name)
        lowering.constants[root] = np.empty(0, dtype.as_numpy_dtype)
        lowering.define(name, whole(root, dtype.name, (0,)))


def _used(i: Instruction) -> tuple[bool, ...]:
    return i.used or (True,) * len(i.outputs)


def _forward(lowering: Lowering, i: Instruction) -> bool:
    training, used = i.attrs["is_training"], _used(i)
    values = _operands(lowering, i, 3 if training else 5)
    if values is None:
        return False
    x, scale, offset = values[:3]
    epsilon = repr(float(i.attrs["epsilon"]))
    if training:
        mean = _reduced(lowering, i, "mean", "{0}", [x])
        variance = mean
        if used[0] or used[2] or used[4]:
            variance = _reduced(lowering, i, "mean", "({0} - {1}) * ({0} - {1})", [x, mean])
    else:
        mean, variance = values[3:]
    if used[0]:
        factor = _vector(lowering, i, f"{{0}} / sqrt({{1}} + {epsilon})", [scale, variance])
        shift = _vector(lowering, i, "{0} - {1} * {2}", [offset, mean, factor])
        lowering.elementwise(i, "{0} * {1} + {2}", _beside_images(i, [x, factor, shift]), lowering.result(i))
    count = x.size // scale.size
    unbiased = f"{{0}} * {count / max(count - 1, 1)!r}" if training else "{0}"
    results = ((1, mean, "{0}"), (2, variance, unbiased), (3, mean, "{0}"), (4, variance, "{0}"))
    for position, value, text in results:
        if used[position]:
            # What is given in inference may be a variable that a later update changes: the results are copies.
            copied = not training or position == 2
            lowering.define(i.outputs[position], _vector(lowering, i, text, [value]) if copied else value)
    _reserved(lowering, i, 5)
    return True


def _gradient(lowering: Lowering, i: Instruction) -> bool:
    values, used = _operands(lowering, i, 5), _used(i)
    if values is None or len(values[0].shape) != 4 or values[1].shape != values[0].shape:
        return False
    g, x, scale, mean, variance = values
    epsilon, count = repr(float(i.attrs["epsilon"])), repr(float(g.size // scale.size))
    training = i.attrs["is_training"] and used[0]
    inverse = total = product = mean
    if used[0] or used[1]:
        inverse = _vector(lowering, i, f"1.0 / sqrt({{0}} + {epsilon})", [variance])
    if used[2] or training:
        total = _reduced(lowering, i, "sum", "{0}", [g])
    if used[1] or training:
        product = _reduced(lowering, i, "sum", "{0} * ({1} - {2})", [g, x, mean])
    if used[1]:
        lowering.elementwise(i, "{0} * {1}", [product, inverse], lowering.result(i, 1))
    if used[2]:
        lowering.elementwise(i, "{0}", [total], lowering.result(i, 2))
    if used[0]:
        factor = _vector(lowering, i, "{0} * {1}", [scale, inverse])
        text, reads = "{0} * {1}", [g, factor]
        if training:
            slope = _vector(
                lowering, i, f"{{0}} * {{1}} * {{2}} * {{2}} / {count}", [factor, product, inverse]
            )
            # A gradient that is the same everywhere is taken away before it is multiplied, so that nothing is left.
            average = _vector(lowering, i, f"{{0}} / {count}", [total])
            text, reads = "({0} - {1}) * {2} - ({3} - {4}) * {5}", [g, average, factor, x, mean, slope]
        lowering.elementwise(i, text, _beside_images(i, reads), lowering.result(i))
    _reserved(lowering, i, 3)
    return True


# ---- local response normalisation -----------------------------------------------------------------------------------


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


NORMALIZATION_RULES: Final[dict[str, Rule]] = {
    "FusedBatchNormV3": _forward,
    "FusedBatchNormGradV3": _gradient,
    "LRN": _response(False),
    "LRNGrad": _response(True),
}
"""Those of batches look at their inputs and results themselves: some are empty."""
