"""Gradients of arithmetic and reductions, which need broadcasting undone, and so each other.

Loaded when one of them is first asked for (graphflow._core.graph.op_def.GradientsIn).
"""

from __future__ import annotations

from typing import Any

import graphflow._core.ops.core as core
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import gradient_of
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply
from graphflow._core.ops.math import (
    arithmetic,
    casting,
    comparison,
    numeric,
    reductions,
    scans,
    transcendental,
)
from graphflow._core.ops.math.broadcasting import broadcast_like, unbroadcast_pair
from graphflow._core.ops.math.contraction import split_axes
from graphflow._core.ops.math.elementwise import binary


@gradient_of("Add", "AddV2")
def _add_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return unbroadcast_pair(op, g, g)


@gradient_of("Sub")
def _subtract_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return unbroadcast_pair(op, g, numeric.negative(g))


@gradient_of("Mul")
def _multiply_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    return unbroadcast_pair(op, arithmetic.multiply(g, y), arithmetic.multiply(x, g))


@gradient_of("RealDiv", "Div")
def _divide_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    return unbroadcast_pair(
        op,
        arithmetic.realdiv(g, y),
        arithmetic.multiply(g, arithmetic.realdiv(arithmetic.realdiv(numeric.negative(x), y), y)),
    )


@gradient_of("DivNoNan")
def _div_no_nan_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    slope = arithmetic.div_no_nan(arithmetic.div_no_nan(numeric.negative(x), y), y)
    return unbroadcast_pair(op, arithmetic.div_no_nan(g, y), arithmetic.multiply(g, slope))


@gradient_of("MulNoNan")
def _mul_no_nan_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    return unbroadcast_pair(op, arithmetic.multiply_no_nan(g, y), arithmetic.multiply_no_nan(x, g))


@gradient_of("FloorMod")
def _floormod_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = op.inputs
    return unbroadcast_pair(
        op, g, arithmetic.multiply(g, numeric.negative(binary(arithmetic.FLOOR_DIV, x, y, None)))
    )


@gradient_of("TruncateMod")
def _truncatemod_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = op.inputs
    quotient = arithmetic.realdiv(arithmetic.subtract(x, op.outputs[0]), y)
    return unbroadcast_pair(op, g, arithmetic.multiply(g, numeric.negative(quotient)))


@gradient_of("Pow")
def _power_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    exponent = core.constant_value(y)
    if exponent is not None and exponent.ndim == 0 and exponent == 2:
        x_gradient = arithmetic.multiply(g, arithmetic.multiply(y, x))
    else:
        x_gradient = arithmetic.multiply(
            arithmetic.multiply(g, y), arithmetic.pow_(x, arithmetic.subtract(y, 1))
        )
    # log(x) where it exists; the other elements stay out of log, whose gradient would be NaN there.
    zero = array.zeros_like(x)
    usable = comparison.not_equal(x, zero) if x.dtype.is_complex else comparison.greater(x, zero)
    safe = array.where(usable, x, array.ones_like(x))
    logarithm = array.where(usable, transcendental.log(safe), zero)
    y_gradient = arithmetic.multiply(arithmetic.multiply(g, numeric.conj(op.outputs[0])), logarithm)
    return unbroadcast_pair(op, x_gradient, y_gradient)


@gradient_of("SquaredDifference")
def _squared_difference_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = op.inputs
    if g.dtype.is_complex:  # The op is abs(x - y) ** 2, whose imaginary part is always 0.
        g = casting.cast(numeric.real(g), g.dtype)
    slope = arithmetic.multiply(arithmetic.multiply(g, 2), arithmetic.subtract(x, y))
    return unbroadcast_pair(op, slope, numeric.negative(slope))


@gradient_of("Xlogy")
def _xlogy_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    nonzero = casting.cast(comparison.not_equal(x, array.zeros_like(x)), x.dtype)
    return unbroadcast_pair(
        op,
        arithmetic.multiply(g, arithmetic.xlogy(nonzero, y)),
        arithmetic.multiply(g, arithmetic.xdivy(x, y)),
    )


@gradient_of("Xdivy")
def _xdivy_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    nonzero = casting.cast(comparison.not_equal(x, array.zeros_like(x)), x.dtype)
    slope = arithmetic.xdivy(numeric.negative(x), transcendental.square(y))
    return unbroadcast_pair(
        op, arithmetic.multiply(g, arithmetic.xdivy(nonzero, y)), arithmetic.multiply(g, slope)
    )


@gradient_of("Maximum")
def _maximum_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return _chosen_gradient(op, g, comparison.greater_equal(op.inputs[0], op.inputs[1]))


@gradient_of("Minimum")
def _minimum_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return _chosen_gradient(op, g, comparison.less_equal(op.inputs[0], op.inputs[1]))


def _chosen_gradient(op: Operation, g: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    zeros = array.zeros_like(g)
    return unbroadcast_pair(op, array.where(first, g, zeros), array.where(first, zeros, g))


@gradient_of("Complex")
def _complex_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return unbroadcast_pair(op, numeric.real(g), numeric.imag(g))


@gradient_of("Atan2")
def _atan2_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    y, x = op.inputs
    scaled = arithmetic.realdiv(g, arithmetic.add(transcendental.square(x), transcendental.square(y)))
    return unbroadcast_pair(
        op, arithmetic.multiply(x, scaled), arithmetic.multiply(numeric.negative(y), scaled)
    )


def _spread(op: Operation, g: Tensor) -> Tensor:
    """The gradient of a reduction's result at each element that went into it."""
    axes = reductions.known_axes(op)
    leading = axes is not None and axes == tuple(range(len(axes)))
    everything = op.outputs[0].dims == ()
    return broadcast_like(g if leading or everything else _with_kept_axes(op, g), op.inputs[0])


@gradient_of("Sum")
def _sum_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    return _spread(op, g), None


@gradient_of("Mean")
def _mean_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    x, axes = op.inputs[0], reductions.known_axes(op)
    count = None if axes is None or x.dims is None else shapes.size_of(tuple(x.dims[i] for i in axes))
    if count is not None:
        return _spread(op, arithmetic.realdiv(g, max(count, 1))), None
    whole, kept = array.size(x), arithmetic.maximum(array.size(op.outputs[0]), 1)
    divisor = casting.cast(arithmetic.floor_div(whole, kept), g.dtype)
    return _spread(op, arithmetic.realdiv(g, divisor)), None


@gradient_of("Max", "Min")
def _extremum_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    # Elements that tie share the gradient evenly, as in TensorFlow.
    x, indices = op.inputs
    y, g = _with_kept_axes(op, op.outputs[0]), _with_kept_axes(op, g)
    chosen = casting.cast(comparison.equal(y, x), g.dtype)
    count = reductions.reduce_sum(chosen, indices, keepdims=True)
    return arithmetic.multiply(arithmetic.realdiv(chosen, count), g), None


@gradient_of("Prod")
def _product_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    # The product of all other elements from the products before and after each one, so that zeros do no harm.
    x, axes, g = op.inputs[0], reductions.known_axes(op), _with_kept_axes(op, g)
    if axes is None:
        return arithmetic.multiply(g, _product_of_others_over(x, op.inputs[1])), None
    for axis in axes:
        g = arithmetic.multiply(g, _product_of_others(x, axis))
        x = reductions.reduce_prod(x, axis, keepdims=True)
    g.set_shape(op.inputs[0].dims)
    return g, None


def _product_of_others_over(x: Tensor, indices: Tensor) -> Tensor:
    """The same over several axes that are computed: brought to the front, and made one."""
    chosen, free = split_axes(x, indices)
    order = array.concat([chosen, free], 0)
    turned, shape = array.transpose(x, order), array.shape(x)
    sizes = [reductions.reduce_prod(array.gather(shape, axes)) for axes in (chosen, free)]
    flat = _product_of_others(array.reshape(turned, array.stack(sizes)), 0)
    return array.transpose(array.reshape(flat, array.shape(turned)), array.invert_permutation(order))


def _product_of_others(x: Tensor, axis: Any) -> Tensor:
    before = scans.cumprod(x, axis, exclusive=True)
    after = scans.cumprod(x, axis, exclusive=True, reverse=True)
    return arithmetic.multiply(numeric.conj(before), numeric.conj(after))


@gradient_of("EuclideanNorm")
def _euclidean_norm_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    if reductions.known_axes(op) == ():
        return g, None
    y = _with_kept_axes(op, op.outputs[0])
    if g.dtype.is_complex:  # The norm's imaginary part is always 0.
        g = casting.cast(numeric.real(g), g.dtype)
    return arithmetic.multiply(op.inputs[0], arithmetic.realdiv(_with_kept_axes(op, g), y)), None


def _with_kept_axes(op: Operation, tensor: Tensor) -> Tensor:
    """A tensor of the shape of a reduction's result, with the reduced axes put back as axes of one element."""
    axes = reductions.known_axes(op)
    if op.attrs["keep_dims"] or axes == ():
        return tensor
    if axes is None:
        return apply(reductions.RESTORE_AXES, (tensor, *op.inputs)).outputs[0]
    for axis in axes:
        tensor = array.expand_dims(tensor, axis)
    return tensor
