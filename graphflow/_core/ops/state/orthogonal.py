"""Kernels of convolutions that keep the norm of their inputs (tf.contrib.framework.convolutional_orthogonal_2d)."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike
from graphflow._core.ops import random
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import scatter_nd
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.decompositions import qr
from graphflow._core.ops.math.linalg import matmul, matrix_diag_part
from graphflow._core.ops.math.math import sign
from graphflow._core.ops.state.initializers import Initializer, extents_of, float_type


class _Orthogonal(Initializer):
    """What the initializers of this module have in common.

    Args:
        gain: A factor of the norm.
        seed: The first op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype: DType = float_type(dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}

    def _matrix(self, size: int, dtype: DType, seed: int | None) -> Tensor:
        """A random matrix with orthonormal rows and columns."""
        q, r = qr(random.random_normal([size, size], dtype=dtype, seed=seed), full_matrices=False)
        return q * sign(matrix_diag_part(r))

    def _channels(self, extents: list[int]) -> tuple[int, int]:
        inputs, outputs = extents[-2:]
        if inputs > outputs:
            raise ValueError(
                f"{type(self).__name__}: there must be at least as many output channels as input channels, got "
                f"the shape {extents}."
            )
        return inputs, outputs


class ConvolutionDeltaOrthogonal(_Orthogonal):
    """A kernel that is an orthogonal matrix in its centre, and 0 elsewhere.

    Of one to three axes. TensorFlow: tf.contrib.framework.convolutional_delta_orthogonal. Source: Xiao et al.,
    "Dynamical Isometry and a Mean Field Theory of CNNs", ICML 2018, algorithm 2.

    Args:
        gain: A factor of the norm.
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.

    Raises:
        ValueError: For a shape of other than three to five axes, or with more input than output channels.
    """

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """A kernel of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        extents = extents_of(shape)
        if not 3 <= len(extents) <= 5:
            raise ValueError(f"{type(self).__name__}: the shape must have three to five axes, got {extents}.")
        inputs, outputs = self._channels(extents)
        rows = self._matrix(outputs, dtype, self.seed)[:inputs] * self.gain
        centre = [(size - 1) // 2 for size in extents[:-2]]
        return scatter_nd([centre], array.expand_dims(rows, 0), extents)


class ConvolutionOrthogonal(_Orthogonal):
    """A kernel that keeps the norm of inputs that are padded around; those derived say over how many axes.

    Source: Xiao et al., "Dynamical Isometry and a Mean Field Theory of CNNs", ICML 2018, algorithm 1.

    Args:
        gain: A factor of the norm.
        seed: The first op's own seed, from which others count on; with the graph's it decides what is drawn.
        dtype: A float dtype.

    Raises:
        ValueError: For a shape of another rank, of windows that are no cubes, or with more input than output channels.
    """

    axes: ClassVar[int]

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """A kernel of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        extents = extents_of(shape)
        if len(extents) != self.axes + 2:
            raise ValueError(
                f"{type(self).__name__}: the shape must have {self.axes + 2} axes, got {extents}."
            )
        inputs, outputs = self._channels(extents)
        size = extents[0]
        if extents[: self.axes] != [size] * self.axes:
            raise ValueError(
                f"{type(self).__name__}: the window must be as long along each axis, got {extents}."
            )
        rows = self._matrix(outputs, dtype, self._next_seed())[:inputs]
        if size == 1:
            return array.reshape(rows * self.gain, extents)
        blocks = self._blocks(outputs, dtype)
        for length in range(2, size):
            blocks = self._convolved(blocks, length, self._blocks(outputs, dtype))
        places = itertools.product(range(size), repeat=self.axes)
        kernel = array.stack([matmul(rows, blocks[place]) for place in places])
        return array.reshape(kernel, extents) * self.gain

    def _next_seed(self) -> int | None:
        found = self.seed
        if self.seed:
            self.seed += 1
        return found

    def _projection(self, size: int, dtype: DType) -> Tensor:
        """A random symmetric matrix that is its own square."""
        basis = self._matrix(size, dtype, self._next_seed())
        chosen = basis * cast(random.random_normal([size], seed=self._next_seed()) > 0, dtype)
        return matmul(chosen, array.matrix_transpose(chosen))

    def _blocks(self, size: int, dtype: DType) -> dict[tuple[int, ...], Tensor]:
        """Matrices for a window of two along each axis, the product of a projection, or of what it leaves, for each."""
        identity = array.eye(size, dtype=dtype)
        pairs = [(identity - p, p) for p in (self._projection(size, dtype) for _ in range(self.axes))]
        found = {}
        for place in itertools.product((0, 1), repeat=self.axes):
            # A 2-D kernel of TensorFlow's begins with the projections, those of other ranks too but for 3-D ones.
            taken = place if self.axes == 3 else tuple(1 - i for i in place)
            product, *others = (pair[i] for pair, i in zip(pairs, taken, strict=True))
            for other in others:
                product = matmul(product, other)
            found[place] = product
        return found

    def _convolved(
        self, long: dict[tuple[int, ...], Tensor], length: int, short: dict[tuple[int, ...], Tensor]
    ) -> dict[tuple[int, ...], Tensor]:
        """Two windows of matrices, of `length` and of 2 along each axis, convolved with each other."""
        found: dict[tuple[int, ...], Tensor] = {}
        for place in itertools.product(range(length + 1), repeat=self.axes):
            for step in sorted(short, reverse=True):
                before = tuple(i - j for i, j in zip(place, step, strict=True))
                if before in long:
                    product = matmul(long[before], short[step])
                    found[place] = found[place] + product if place in found else product
        return found


class ConvolutionOrthogonal1D(ConvolutionOrthogonal):
    """A kernel [size, inputs, outputs] that keeps norms (tf.contrib.framework.convolutional_orthogonal_1d).

    Args:
        gain: A factor of the norm.
        seed: The first op's own seed.
        dtype: A float dtype.
    """

    axes = 1


class ConvolutionOrthogonal2D(ConvolutionOrthogonal):
    """A kernel [size, size, inputs, outputs] that keeps norms (tf.contrib.framework.convolutional_orthogonal_2d).

    Args:
        gain: A factor of the norm.
        seed: The first op's own seed.
        dtype: A float dtype.
    """

    axes = 2


class ConvolutionOrthogonal3D(ConvolutionOrthogonal):
    """A kernel [size, size, size, inputs, outputs] that keeps norms.

    TensorFlow: tf.contrib.framework.convolutional_orthogonal_3d.

    Args:
        gain: A factor of the norm.
        seed: The first op's own seed.
        dtype: A float dtype.
    """

    axes = 3
