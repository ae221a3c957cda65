"""TensorSpec: what a tensor is to be: its shape, its dtype and its name."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import ShapeLike, TensorShape
from graphflow._core.graph.types import DTypeLike


class TensorSpec:
    """What a tensor is to be (tf.TensorSpec). Immutable; equal to others of the same shape, dtype and name.

    Args:
        shape: The shape, of which sizes may be None.
        dtype: The dtype.
        name: The name, or None.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = TensorShape(shape), as_dtype(dtype), name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """A spec with the shape and dtype of another.

        Args:
            spec: The other.
            name: The name, by default the other's.

        Returns:
            The new spec.
        """
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """The spec that a tensor has.

        Args:
            tensor: The tensor.
            name: The name, by default that of its operation.

        Returns:
            The spec.
        """
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or another spec, has the dtype and may have the shape.

        Args:
            spec_or_tensor: The other.
        """
        other = spec_or_tensor
        return self._dtype.is_compatible_with(other.dtype) and self._shape.is_compatible_with(other.shape)

    def _parts(self) -> tuple[Any, ...]:
        return (self._shape.dims and tuple(self._shape.as_list()), self._shape.ndims, self._dtype, self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"
