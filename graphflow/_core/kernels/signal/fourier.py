"""The NumPy kernels of Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


def _check_rank(x: Any, axes: int) -> None:
    if np.ndim(x) < axes:
        raise invalid(f"Input must have rank of at least {axes} but got: {list(np.shape(x))}")


def _lengths(fft_length: Any, axes: int) -> list[int]:
    if np.shape(fft_length) != (axes,):
        raise invalid(f"fft_length must have shape [{axes}]")
    lengths = [int(n) for n in fft_length]
    for place, length in enumerate(lengths):
        if length < 0:
            raise invalid(f"fft_length[{place}] must >= 0, but got: {length}")
    return lengths


def _check_input(x: Any, needed: list[int]) -> None:
    """What the transform reads must be there; longer axes are cut off."""
    for place, length in enumerate(needed):
        own = x.shape[place - len(needed)]
        if x.size and own < length:
            raise invalid(
                f"Input dimension {x.ndim - len(needed) + place} must have length of at least {length} but got: {own}"
            )


def _complex_transform(axes: int, inverse: bool) -> Any:
    function = np.fft.ifftn if inverse else np.fft.fftn

    def run(x: Any) -> Any:
        _check_rank(x, axes)
        if not x.size:
            return np.zeros(x.shape, x.dtype)
        return function(x, axes=range(-axes, 0)).astype(x.dtype, copy=False)

    return run


def _real_transform(axes: int) -> Any:
    def make(node: Node) -> Kernel:
        def run(x: Any, fft_length: Any) -> Any:
            _check_rank(x, axes)
            lengths = _lengths(fft_length, axes)
            _check_input(x, lengths)
            shape = (*x.shape[:-axes], *lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0)
            dtype = node.dtypes[0].as_numpy_dtype
            if not x.size or not math.prod(shape):
                return np.zeros(shape, dtype)
            return np.fft.rfftn(x, lengths, range(-axes, 0)).astype(dtype, copy=False)

        return run

    return make


def _real_inverse(axes: int) -> Any:
    def make(node: Node) -> Kernel:
        def run(x: Any, fft_length: Any) -> Any:
            _check_rank(x, axes)
            lengths = _lengths(fft_length, axes)
            _check_input(x, [*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0])
            shape = (*x.shape[:-axes], *lengths)
            dtype = node.dtypes[0].as_numpy_dtype
            if not x.size or not math.prod(shape):
                return np.zeros(shape, dtype)
            return np.fft.irfftn(x, lengths, range(-axes, 0)).astype(dtype, copy=False)

        return run

    return make


for _axes, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    simple(f"FFT{_suffix}", _complex_transform(_axes, False))
    simple(f"IFFT{_suffix}", _complex_transform(_axes, True))
    kernel(f"RFFT{_suffix}")(_real_transform(_axes))
    kernel(f"IRFFT{_suffix}")(_real_inverse(_axes))
