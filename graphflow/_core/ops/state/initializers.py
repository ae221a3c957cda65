"""Initializers: what a variable starts with, as objects that know everything but the shape.

An initializer is called with the shape when the variable is built. One that depends on the shape (its fans) looks at
the whole variable's, also if it makes only one part of a partitioned variable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import graphflow._core.ops.random as random
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import constant
from graphflow._core.ops.math.decompositions import qr
from graphflow._core.ops.math.linalg import matrix_diag_part
from graphflow._core.ops.math.math import sign

# The standard deviation of a standard normal that is cut off at two.
_TRUNCATED_STDDEV: Final = 0.87962566103423978
_MODES: Final = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS: Final = ("normal", "uniform", "truncated_normal", "untruncated_normal")


class Initializer:
    """Makes the initial value of a variable of a given shape.

    dtype: the type of the elements if the call does not say it.
    """

    dtype: DType

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """The initial value.

        Args:
            shape: The shape.
            dtype: The dtype; by default the initializer's own.
            partition_info: Of what whole the shape is a part.

        Returns:
            A tensor.
        """
        return self.make(shape, self.dtype if dtype is None else as_dtype(dtype), partition_info)

    def make(self, shape: Any, dtype: DType, partition_info: Any) -> Tensor:
        """The initial value; what a subclass defines.

        Args:
            shape: The shape.
            dtype: The dtype.
            partition_info: Of what whole the shape is a part.

        Returns:
            A tensor.

        Raises:
            TypeError: The class does not define it.
        """
        raise TypeError(
            f"{type(self).__name__} does not say how to make a value: define make() or __call__()."
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer of a configuration that get_config() returned.

        Args:
            config: What get_config gave.

        Returns:
            A new initializer.
        """
        return cls(**config)


def float_type(dtype: Any) -> DType:
    """A dtype; ValueError if it is none of floats."""
    found = as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found.name}.")
    return found


def extents_of(shape: Any) -> list[int]:
    """A shape that has to be known, as ints."""
    dims = shapes.as_dims(shape)
    if dims is None or None in dims:
        raise ValueError(f"This initializer needs a known shape, got {shapes.text(dims)}.")
    return [d for d in dims if d is not None]


def _whole(shape: Any, partition_info: Any) -> list[int]:
    return extents_of(shape if partition_info is None else partition_info.full_shape)


class _Typed(Initializer):
    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype: DType = as_dtype(dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"dtype": self.dtype.name}


class Zeros(_Typed):
    """Zeros (tf.zeros_initializer); False or empty strings for these types.

    Examples:
        >>> w = gf.get_variable("w", [2], initializer=gf.zeros_initializer())
        >>> with gf.Session() as session:
        ...     session.run(w.initializer)
        ...     print(session.run(w))
        [0. 0.]
    """

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """Zeros of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        return array.zeros(shape, dtype)


class Ones(_Typed):
    """Ones (tf.ones_initializer); True for bool."""

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """Ones of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        return array.ones(shape, dtype)


class Constant(Initializer):
    """A given value (tf.constant_initializer).

    Args:
        value: A scalar for all elements; or a list or array, laid out in the variable's shape in row-major order,
            whose last element fills what is missing.
        dtype: The type of the elements if the call does not say it.
        verify_shape: Whether the value must have the variable's shape.

    Raises:
        TypeError: The value is no number, list or array.
        ValueError: When it is called: there are more values than elements.

    Examples:
        >>> w = gf.get_variable("w", [3], initializer=gf.constant_initializer(0.1))
        >>> with gf.Session() as session:
        ...     session.run(w.initializer)
        ...     print(session.run(w))
        [0.1 0.1 0.1]
    """

    def __init__(
        self, value: TensorLike = 0, dtype: DTypeLike = dtypes.float32, verify_shape: bool = False
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"Invalid initial value of type {type(value).__name__}: give a scalar, list or array."
            )
        self.value: TensorLike = value
        self.dtype: DType = as_dtype(dtype)
        self.verify_shape = verify_shape

    def __call__(
        self,
        shape: IntTensorLike,
        dtype: DTypeLike | None = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        """The value in that shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.
            verify_shape: Whether the value must have that shape.
        """
        verify = self.verify_shape if verify_shape is None else verify_shape
        element_type = self.dtype if dtype is None else as_dtype(dtype)
        known: Any = shape  # A computed shape is refused there.
        return constant(self.value, dtype=element_type, shape=known, verify_shape=verify)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """Uniform draws from [minval, maxval) (tf.random_uniform_initializer); maxval is 1 for floats if not given.

    Args:
        minval: The lower bound, which may be drawn.
        maxval: The upper bound, which is not drawn.
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.

    Examples:
        >>> w = gf.get_variable("w", [2], initializer=gf.random_uniform_initializer(-0.1, 0.1))
        >>> w.shape
        TensorShape([2])
    """

    def __init__(
        self,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype: DType = as_dtype(dtype)

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """Draws of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        return random.random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed, "dtype": self.dtype.name}


class RandomNormal(Initializer):
    """Normal draws (tf.random_normal_initializer).

    Args:
        mean: The mean, a float.
        stddev: The standard deviation, a float.
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.

    Raises:
        ValueError: For a dtype that is no float.

    Examples:
        >>> w = gf.get_variable("w", [2, 3], initializer=gf.random_normal_initializer(stddev=0.02))
        >>> w.shape
        TensorShape([2, 3])
    """

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype: DType = float_type(dtype)

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """Draws of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        return random.random_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


class TruncatedNormal(RandomNormal):
    """Normal draws within two standard deviations (tf.truncated_normal_initializer).

    Examples:
        >>> w = gf.get_variable("w", [100], initializer=gf.truncated_normal_initializer(stddev=0.1))
        >>> with gf.Session() as session:
        ...     session.run(w.initializer)
        ...     print(bool((abs(session.run(w)) <= 0.2).all()))
        True
    """

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """Draws of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class UniformUnitScaling(Initializer):
    """Uniform draws that keep the variance of what they multiply (tf.uniform_unit_scaling_initializer).

    The limit is factor * sqrt(3 / inputs), inputs being the product of all extents but the last (Sussillo and Abbott,
    2014; factor 1 for linear layers, 1.43 for relu, 1.15 for tanh).

    Args:
        factor: A positive float.
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.
    """

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32
    ) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype: DType = float_type(dtype)

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """Draws of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        inputs = max(1.0, float(math.prod(_whole(shape, partition_info)[:-1])))
        limit = math.sqrt(3 / inputs) * self.factor
        return random.random_uniform(shape, -limit, limit, dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    """Inputs and outputs of a weight of that shape, the filter's area counted for a convolution's."""
    if len(shape) < 2:
        return (shape[0], shape[0]) if shape else (1, 1)
    area = math.prod(shape[:-2])
    return shape[-2] * area, shape[-1] * area


class VarianceScaling(Initializer):
    """Draws whose variance is scale / n (tf.variance_scaling_initializer).

    Args:
        scale: A positive float.
        mode: n is the number of inputs ("fan_in"), of outputs ("fan_out") or their mean ("fan_avg").
        distribution: "truncated_normal" (also called "normal"), "untruncated_normal" or "uniform".
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.

    Raises:
        ValueError: For another mode or distribution.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"`scale` must be positive, got {scale}.")
        if mode not in _MODES:
            raise ValueError(f"Invalid `mode` argument: {mode!r}, expected one of {', '.join(_MODES)}.")
        if distribution.lower() not in _DISTRIBUTIONS:
            known = ", ".join(_DISTRIBUTIONS)
            raise ValueError(f"Invalid `distribution` argument: {distribution!r}, expected one of {known}.")
        self.scale = scale
        self.mode = mode
        self.distribution: str = distribution.lower()
        self.seed = seed
        self.dtype: DType = float_type(dtype)

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """Draws of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        fan_in, fan_out = _fans(_whole(shape, partition_info))
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        return random.truncated_normal(
            shape, 0.0, math.sqrt(variance) / _TRUNCATED_STDDEV, dtype, seed=self.seed
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class GlorotUniform(VarianceScaling):
    """Uniform draws of variance 2 / (inputs + outputs) (tf.glorot_uniform_initializer; Glorot and Bengio, 2010).

    As in TensorFlow, `dtype` is only checked: without a dtype the call makes float32.

    Args:
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.
    """

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        float_type(dtype)
        super().__init__(1.0, "fan_avg", "uniform", seed)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Truncated normal draws of variance 2 / (inputs + outputs) (tf.glorot_normal_initializer).

    As in TensorFlow, `dtype` is only checked: without a dtype the call makes float32.

    Args:
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.
    """

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        float_type(dtype)
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, times `gain` (tf.orthogonal_initializer; Saxe et al., 2014).

    A shape of more axes is seen as a matrix of its last axis.

    Args:
        gain: A factor.
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.

    Raises:
        ValueError: For a shape of less than two axes.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype: DType = float_type(dtype)

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """A matrix of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        extents = extents_of(shape)
        if len(extents) < 2:
            raise ValueError(
                f"The tensor to initialize must be at least two-dimensional, got shape {extents}."
            )
        rows, columns = math.prod(extents[:-1]), extents[-1]
        drawn = random.random_normal((max(rows, columns), min(rows, columns)), dtype=dtype, seed=self.seed)
        q, r = qr(drawn, full_matrices=False)
        q = q * sign(matrix_diag_part(r))
        if rows < columns:
            q = array.matrix_transpose(q)
        return self.gain * array.reshape(q, extents)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class Identity(Initializer):
    """The identity matrix, times `gain` (tf.initializers.identity).

    Args:
        gain: A factor.
        dtype: A float dtype.

    Raises:
        ValueError: For a shape of other than two axes.
    """

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain = gain
        self.dtype: DType = float_type(dtype)

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """The matrix of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        extents = _whole(shape, partition_info)
        if len(extents) != 2:
            raise ValueError(
                f"Identity matrix initializer can only be used for 2D matrices, got shape {extents}."
            )
        matrix = array.eye(extents[0], extents[1], dtype=dtype)
        if partition_info is not None:
            matrix = array.slice_(matrix, partition_info.var_offset, extents_of(shape))
        return self.gain * matrix

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"gain": self.gain, "dtype": self.dtype.name}


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal draws of variance 1 / inputs (tf.initializers.lecun_normal).

    Args:
        seed: The op's own seed; with the graph's it decides what is drawn.
    """
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform draws of variance 1 / inputs (tf.initializers.lecun_uniform).

    Args:
        seed: The op's own seed; with the graph's it decides what is drawn.
    """
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal draws of variance 2 / inputs (tf.initializers.he_normal; He et al., 2015).

    Args:
        seed: The op's own seed; with the graph's it decides what is drawn.
    """
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform draws of variance 2 / inputs (tf.initializers.he_uniform).

    Args:
        seed: The op's own seed; with the graph's it decides what is drawn.
    """
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


class ContribVarianceScaling(Initializer):
    """Draws of variance factor / n (tf.contrib.layers.variance_scaling_initializer).

    The normal draws are truncated, with a factor 1.3 for what that takes away of the variance, which is not
    what VarianceScaling does.

    Args:
        factor: A positive float.
        mode: "FAN_IN", "FAN_OUT" or "FAN_AVG".
        uniform: Whether draws are uniform, else normal.
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.
    """

    def __init__(
        self,
        factor: float = 2.0,
        mode: str = "FAN_IN",
        uniform: bool = False,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        if mode.lower() not in _MODES:
            raise TypeError(f"Unknown mode {mode!r}: expected FAN_IN, FAN_OUT or FAN_AVG.")
        found = as_dtype(dtype)
        if not found.is_floating:
            raise TypeError(f"Cannot create initializer for non-floating point type {found.name}.")
        self.factor = factor
        self.mode = mode
        self.uniform = uniform
        self.seed = seed
        self.dtype = found

    def make(self, shape: IntTensorLike, dtype: DType, partition_info: Any) -> Tensor:
        """Draws of the shape.

        Args:
            shape: The variable's shape.
            dtype: The variable's dtype.
            partition_info: Which part of a larger variable it is, or None.

        Returns:
            The initial value, a tensor.
        """
        if not dtype.is_floating:
            raise TypeError(f"Cannot create initializer for non-floating point type {dtype.name}.")
        fan_in, fan_out = _fans(extents_of(shape))
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode.lower()]
        if self.uniform:
            limit = math.sqrt(3.0 * self.factor / count)
            return random.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        return random.truncated_normal(
            shape, 0.0, math.sqrt(1.3 * self.factor / count), dtype, seed=self.seed
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {
            "factor": self.factor,
            "mode": self.mode,
            "uniform": self.uniform,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = dtypes.float32
) -> ContribVarianceScaling:
    """Draws of variance 2 / (inputs + outputs) (tf.contrib.layers.xavier_initializer).

    Args:
        uniform: Whether draws are uniform, else normal.
        seed: The op's own seed; with the graph's it decides what is drawn.
        dtype: A float dtype.

    Returns:
        An initializer.
    """
    return ContribVarianceScaling(1.0, "FAN_AVG", uniform, seed, dtype)


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that initialises all tables of the default graph (tf.tables_initializer).

    Args:
        name: A name for the operation.
    """
    return group(*get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)
