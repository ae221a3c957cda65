"""Fourier transforms, as tf.signal has them: of complex numbers, of real ones, and the same backwards."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntsLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.layout import roll
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.signal.fourier import real_transform, transform


def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """The Fourier transform of complex numbers over the last axis (tf.signal.fft).

    Args:
        input: complex64 or complex128.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: The input has too few axes.
    """
    return transform("", False, input, name)


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse Fourier transform of complex numbers over the last axis (tf.signal.ifft).

    Args:
        input: complex64 or complex128.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: The input has too few axes.
    """
    return transform("", True, input, name)


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """The Fourier transform of complex numbers over the last two axes (tf.signal.fft2d).

    Args:
        input: complex64 or complex128.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: The input has too few axes.
    """
    return transform("2D", False, input, name)


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse Fourier transform of complex numbers over the last two axes (tf.signal.ifft2d).

    Args:
        input: complex64 or complex128.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: The input has too few axes.
    """
    return transform("2D", True, input, name)


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """The Fourier transform of complex numbers over the last three axes (tf.signal.fft3d).

    Args:
        input: complex64 or complex128.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: The input has too few axes.
    """
    return transform("3D", False, input, name)


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse Fourier transform of complex numbers over the last three axes (tf.signal.ifft3d).

    Args:
        input: complex64 or complex128.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: The input has too few axes.
    """
    return transform("3D", True, input, name)


def rfft(
    input_tensor: TensorLike, fft_length: IntTensorLike | None = None, name: str | None = None
) -> Tensor:
    """The Fourier transform of real numbers over the last axis (tf.signal.rfft).

    Args:
        input_tensor: float32.
        fft_length: One number of int32, to which the input is cut or filled up with zeros; by default its own.
        name: A name for the scope of the operations.

    Returns:
        complex64; the last axis has fft_length / 2 + 1 elements, of which the others follow.

    Raises:
        ValueError: The input has too few axes.
    """
    return real_transform("", False, input_tensor, fft_length, name)


def irfft(
    input_tensor: TensorLike, fft_length: IntTensorLike | None = None, name: str | None = None
) -> Tensor:
    """The real numbers whose Fourier transform over the last axis this is (tf.signal.irfft).

    Args:
        input_tensor: complex64, as rfft gives.
        fft_length: One number of int32, the extent of the result; by default the last one is twice that
            of the input minus 2.
        name: A name for the scope of the operations.

    Returns:
        float32.

    Raises:
        ValueError: The input has too few axes.
    """
    return real_transform("", True, input_tensor, fft_length, name)


def rfft2d(
    input_tensor: TensorLike, fft_length: IntTensorLike | None = None, name: str | None = None
) -> Tensor:
    """The Fourier transform of real numbers over the last two axes (tf.signal.rfft2d).

    Args:
        input_tensor: float32.
        fft_length: 2 numbers of int32, to which the input is cut or filled up with zeros; by default its own.
        name: A name for the scope of the operations.

    Returns:
        complex64; the last axis has fft_length / 2 + 1 elements, of which the others follow.

    Raises:
        ValueError: The input has too few axes.
    """
    return real_transform("2D", False, input_tensor, fft_length, name)


def irfft2d(
    input_tensor: TensorLike, fft_length: IntTensorLike | None = None, name: str | None = None
) -> Tensor:
    """The real numbers whose Fourier transform over the last two axes this is (tf.signal.irfft2d).

    Args:
        input_tensor: complex64, as rfft2d gives.
        fft_length: 2 numbers of int32, the extent of the result; by default the last one is twice that
            of the input minus 2.
        name: A name for the scope of the operations.

    Returns:
        float32.

    Raises:
        ValueError: The input has too few axes.
    """
    return real_transform("2D", True, input_tensor, fft_length, name)


def rfft3d(
    input_tensor: TensorLike, fft_length: IntTensorLike | None = None, name: str | None = None
) -> Tensor:
    """The Fourier transform of real numbers over the last three axes (tf.signal.rfft3d).

    Args:
        input_tensor: float32.
        fft_length: 3 numbers of int32, to which the input is cut or filled up with zeros; by default its own.
        name: A name for the scope of the operations.

    Returns:
        complex64; the last axis has fft_length / 2 + 1 elements, of which the others follow.

    Raises:
        ValueError: The input has too few axes.
    """
    return real_transform("3D", False, input_tensor, fft_length, name)


def irfft3d(
    input_tensor: TensorLike, fft_length: IntTensorLike | None = None, name: str | None = None
) -> Tensor:
    """The real numbers whose Fourier transform over the last three axes this is (tf.signal.irfft3d).

    Args:
        input_tensor: complex64, as rfft3d gives.
        fft_length: 3 numbers of int32, the extent of the result; by default the last one is twice that
            of the input minus 2.
        name: A name for the scope of the operations.

    Returns:
        float32.

    Raises:
        ValueError: The input has too few axes.
    """
    return real_transform("3D", True, input_tensor, fft_length, name)


def fftshift(x: TensorLike, axes: IntsLike | None = None, name: str | None = None) -> Tensor:
    """Axes rolled so that the first element comes to the middle (tf.signal.fftshift).

    Args:
        x: A tensor.
        axes: One axis or several; by default all.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.
    """
    with op_scope(name, "fftshift", [x]) as scope:
        given = convert_to_tensor(x, name="x")
        chosen = _axes(given, axes)
        if isinstance(chosen, list):
            shape = array.shape(given)
            shifts: Any = array.stack([shape[axis] // 2 for axis in chosen])
        else:
            shifts = array.shape(given) // 2
        return roll(given, shifts, chosen, name=scope)


def ifftshift(x: TensorLike, axes: IntsLike | None = None, name: str | None = None) -> Tensor:
    """Axes rolled so that the middle element comes to the front (tf.signal.ifftshift).

    Args:
        x: A tensor.
        axes: One axis or several; by default all.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.
    """
    with op_scope(name, "ifftshift", [x]) as scope:
        given = convert_to_tensor(x, name="x")
        chosen = _axes(given, axes)
        if isinstance(chosen, list):
            shape = array.shape(given)
            shifts: Any = array.stack([-(shape[axis] // 2) for axis in chosen])
        else:
            shifts = -(array.shape(given) // 2)
        return roll(given, shifts, chosen, name=scope)


def _axes(x: Tensor, axes: Any) -> Any:
    """The axes as a list; as a tensor if even their number is not known."""
    if axes is not None:
        return [int(axis) for axis in axes] if hasattr(axes, "__len__") else [int(axes)]
    return array.range_(array.rank(x)) if x.dims is None else list(range(len(x.dims)))
