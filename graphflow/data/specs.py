"""What values are to be: of a tensor its shape, its dtype and its name, and what there is to say of other values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import ShapeLike, TensorShape
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike
from graphflow.data import structure


class TypeSpec(ABC):
    """What a value is to be (tf.TypeSpec). Immutable; equal to others that say the same."""

    __slots__ = ()

    @property
    @abstractmethod
    def value_type(self) -> type:
        """The class of the values."""

    @abstractmethod
    def _parts(self) -> tuple[Any, ...]:
        """What tells it from others of its class."""

    @abstractmethod
    def _described(self) -> tuple[Any, TensorShape]:
        """The type and the shape of a component of a dataset that is such a value."""

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or what another spec says, fits.

        Args:
            spec_or_value: The value or the other spec.
        """
        try:
            other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        except (TypeError, ValueError):
            return False
        (one,), (two,) = [structure.flatten(kind) for kind in (self._described()[0], other._described()[0])]
        shapes = self._described()[1], other._described()[1]
        return (
            type(self) is type(other)
            and one.is_compatible_with(two)
            and shapes[0].is_compatible_with(shapes[1])
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeSpec) and type(other) is type(self) and other._parts() == self._parts()

    def __hash__(self) -> int:
        return hash((type(self), str(self._parts())))


class TensorSpec(TypeSpec):
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

    @property
    def value_type(self) -> type:
        """The class of the values."""
        return Tensor

    def _parts(self) -> tuple[Any, ...]:
        return (self._shape.dims and tuple(self._shape.as_list()), self._shape.ndims, self._dtype, self._name)

    def _described(self) -> tuple[Any, TensorShape]:
        return self._dtype, self._shape

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class SparseTensorSpec(TypeSpec):
    """What a SparseTensor is to be (tf.SparseTensorSpec).

    Args:
        shape: The shape, of which sizes may be None; by default nothing is known of it.
        dtype: The dtype of the values.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32) -> None:
        self._shape, self._dtype = TensorShape(shape), as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The spec that a SparseTensor has.

        Args:
            value: A SparseTensor, or the arrays of one.

        Returns:
            The spec.
        """
        found = SparseTensor.from_value(value)
        return cls(found.shape, found.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    @property
    def value_type(self) -> type:
        """The class of the values."""
        return SparseTensor

    def _parts(self) -> tuple[Any, ...]:
        return (self._shape.dims and tuple(self._shape.as_list()), self._shape.ndims, self._dtype)

    def _described(self) -> tuple[Any, TensorShape]:
        return structure.SparseOf(self._dtype), self._shape

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"


def spec_of(value: Any) -> TypeSpec:
    """The spec of a value that is a tensor or can become a component of a dataset."""
    return specs_for(*structure.signature(structure.to_tensors(value)))  # type: ignore[no-any-return]


def specs_for(types: Any, shapes: Any) -> Any:
    """The structure of the specs of components of these types and shapes."""
    pairs = zip(structure.flatten(types), structure.flatten(shapes), strict=True)
    return structure.pack(types, [_spec(kind, shape) for kind, shape in pairs])


def _spec(kind: Any, shape: TensorShape) -> TypeSpec:
    if isinstance(kind, structure.SparseOf):
        return SparseTensorSpec(shape, kind.dtype)
    if isinstance(kind, structure.Kind):
        spec: TypeSpec = kind.shown(shape)[0]
        return spec
    return TensorSpec(shape, kind)


def types_and_shapes(specs: Any) -> tuple[Any, Any]:
    """The types and the shapes that a structure of specs says."""
    found = []
    for spec in structure.flatten(specs):
        if not isinstance(spec, TypeSpec):
            raise TypeError(f"Expected a structure of specs such as gf.TensorSpec, got {spec!r} in it.")
        found.append(spec._described())
    return structure.pack(specs, [kind for kind, _ in found]), structure.pack(
        specs, [shape for _, shape in found]
    )
