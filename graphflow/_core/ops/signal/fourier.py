"""Fourier transforms over the last one to three axes, of complex and of real numbers.

That of real numbers keeps the first half of the last axis, of which the rest follows. All are linear, so each one's
gradient is another: that of a transform is the inverse one times the number of elements.
"""

from __future__ import annotations

from typing import Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, Signature, op_def
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.math import arithmetic, casting, numeric, reductions
from graphflow._core.ops.rules import require_rank, require_rank_at_least

_AXES: Final = {"": 1, "2D": 2, "3D": 3}
_PARTNERS: Final = {
    dtypes.float32: dtypes.complex64,
    dtypes.float64: dtypes.complex128,
    dtypes.complex64: dtypes.float32,
    dtypes.complex128: dtypes.float64,
}
"""What real numbers become, and back. TensorFlow 1's functions take float32 alone, and so do those here."""


def _size(tensor: Tensor, axes: int) -> Tensor:
    """How many elements the last axes have, as a number of the tensor's dtype."""
    return casting.cast(reductions.reduce_prod(array.shape(tensor)[-axes:]), tensor.dtype)


def _complex(suffix: str) -> tuple[OpDef, OpDef]:
    """A transform of complex numbers and its inverse."""
    axes = _AXES[suffix]

    def infer(op: Operation) -> Signature:
        x = op.inputs[0]
        return [(x.dtype, require_rank_at_least(x.dims, axes, "the input"))]

    def forward_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
        return (arithmetic.multiply(apply(inverse, (g,)).outputs[0], _size(g, axes)),)

    def inverse_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
        return (arithmetic.divide(apply(forward, (g,)).outputs[0], _size(g, axes)),)

    inputs = ("input: Tcomplex=complex(complex64)",)
    forward = op_def(f"FFT{suffix}", inputs, infer=infer, gradient=forward_gradient)
    inverse = op_def(f"IFFT{suffix}", inputs, infer=infer, gradient=inverse_gradient)
    return forward, inverse


def _real(suffix: str) -> tuple[OpDef, OpDef]:
    """A transform of real numbers to half of the complex ones, and its inverse."""
    axes = _AXES[suffix]

    def infer(op: Operation) -> Signature:
        dims = require_rank_at_least(op.inputs[0].dims, axes, "the input")
        require_rank(op.inputs[1].dims, 1, "fft_length")
        lengths = partial_shape(op.inputs[1]) or (None,) * axes
        if len(lengths) != axes:
            raise ValueError(
                f"Dimension must be {axes} but is {len(lengths)}: fft_length has one for each axis."
            )
        real = op.op_def is backward
        last = lengths[-1] if real or lengths[-1] is None else lengths[-1] // 2 + 1
        dtype = _PARTNERS[op.inputs[0].dtype]
        return [(dtype, None if dims is None else (*dims[:-axes], *lengths[:-1], last))]

    def forward_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
        whole = _fitted(g, op.inputs[1])
        back = apply(_COMPLEX[suffix][1], (whole,)).outputs[0]
        slope = numeric.real(arithmetic.multiply(back, _size(whole, axes)))
        return _fitted(slope, array.shape(op.inputs[0])[-axes:]), None

    def backward_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
        length = op.inputs[1]
        half = apply(forward, (g, length)).outputs[0]
        # All but the first, and the middle one of an even number, stand for themselves and for one that is left out.
        once = array.ones_like(half[..., :1])
        odd = length[-1] - 2 * (length[-1] // 2)
        places = array.range_(array.shape(half)[-1])
        doubled = arithmetic.minimum(places, 1) * arithmetic.minimum(length[-1] // 2 - places + odd, 1)
        weights = casting.cast(1 + doubled, half.dtype) * once
        slope = arithmetic.divide(
            arithmetic.multiply(half, weights), _size(casting.cast(g, half.dtype), axes)
        )
        return _fitted(slope, array.shape(op.inputs[0])[-axes:]), None

    reals = ("input: float32|float64(float32)", "fft_length: int32")
    forward = op_def(f"RFFT{suffix}", reals, infer=infer, gradient=forward_gradient)
    halves = ("input: complex64|complex128(complex64)", "fft_length: int32")
    backward = op_def(f"IRFFT{suffix}", halves, infer=infer, gradient=backward_gradient)
    return forward, backward


def _fitted(tensor: Tensor, lengths: Tensor) -> Tensor:
    """A tensor whose last axes have these lengths: what is too long is cut off, what is too short has zeros behind."""
    known = constant_value(lengths)
    dims = tensor.dims
    if known is not None and dims is not None and dims[-len(known) :] == tuple(int(n) for n in known):
        return tensor
    outer = array.shape(tensor)[: array.rank(tensor) - array.size(lengths)]
    own = array.shape(tensor)[array.rank(tensor) - array.size(lengths) :]
    kept = array.concat([outer, arithmetic.minimum(own, lengths)], 0)
    cut = array.slice_(tensor, array.zeros_like(kept), kept)
    behind = array.concat([array.zeros_like(outer), arithmetic.maximum(lengths - own, 0)], 0)
    result = array.pad(cut, array.stack([array.zeros_like(behind), behind], 1))
    if known is not None and dims is not None:
        result.set_shape([*dims[: len(dims) - len(known)], *(int(n) for n in known)])
    return result


_COMPLEX: Final = {suffix: _complex(suffix) for suffix in _AXES}
_REAL: Final = {suffix: _real(suffix) for suffix in _AXES}


def transform(suffix: str, inverse: bool, input: TensorLike, name: str | None) -> Tensor:
    """A transform of complex numbers over as many axes as the suffix of its op's name says ("", "2D" or "3D")."""
    return apply(_COMPLEX[suffix][inverse], (input,), name=name).outputs[0]


def real_transform(
    suffix: str, inverse: bool, input: TensorLike, length: IntTensorLike | None, name: str | None
) -> Tensor:
    """A transform of real numbers, or back, with the input cut or made longer to what the length needs."""
    axes = _AXES[suffix]
    default = f"{'i' if inverse else ''}rfft{suffix.lower()}"
    with op_scope(name, default, [input, length]) as scope:
        x = convert_to_tensor(input, dtypes.complex64 if inverse else dtypes.float32)
        require_rank_at_least(x.dims, axes, "the input")
        sizes = _lengths(x, axes, inverse) if length is None else convert_to_tensor(length, dtypes.int32)
        if length is not None:
            needed = array.concat([sizes[:-1], sizes[-1:] // 2 + 1], 0) if inverse else sizes
            known = constant_value(sizes)
            if known is not None and inverse:
                needed = convert_to_tensor([*known[:-1], known[-1] // 2 + 1], dtypes.int32)
            x = _fitted(x, needed)
        return apply(_REAL[suffix][inverse], (x, sizes), name=scope).outputs[0]


def _lengths(x: Tensor, axes: int, inverse: bool) -> Tensor:
    """The lengths that an input has by itself: the last axis of a half one is taken for that of an even number."""
    dims = None if x.dims is None else x.dims[-axes:]
    if dims is not None and None not in dims:
        sizes = [int(n or 0) for n in dims]
        if inverse:
            sizes[-1] = max(0, 2 * (sizes[-1] - 1))
        return convert_to_tensor(sizes, dtypes.int32)
    found = array.shape(x)[-axes:]
    if not inverse:
        return found
    return array.concat([found[:-1], arithmetic.maximum(0, 2 * (found[-1:] - 1))], 0)
