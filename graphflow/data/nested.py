"""Datasets as components of elements: their type, and what a program says and reads of it (tf.data.DatasetSpec)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import ShapeLike, TensorShape
from graphflow.data import structure
from graphflow.data.specs import TypeSpec, specs_for, types_and_shapes


@dataclass(frozen=True)
class DatasetOf(structure.Kind):
    """The type of a component that is a dataset: of the types and shapes of its elements."""

    types: Any
    shapes: Any
    dataset_type: ClassVar[type]

    @classmethod
    def install(cls, dataset_type: type) -> None:
        """Says which class datasets are of; called by the module that has it."""
        cls.dataset_type = dataset_type

    def moved(self, shape: TensorShape) -> tuple[dtypes.DType, TensorShape]:
        """One description."""
        return dtypes.variant, shape

    def send(self, value: Any, rows: bool) -> Tensor:
        """The tensor that stands for the dataset, or for several."""
        tensor: Tensor = value._variant_tensor
        return tensor

    def receive(self, tensor: Tensor, shape: TensorShape) -> Any:
        """The dataset, or several in a batch, of which unbatch makes single ones."""
        return self.dataset_type(tensor, self.types, self.shapes)

    def shown(self, shape: TensorShape) -> tuple[Any, Any, Any]:
        """Its spec."""
        return (DatasetSpec(specs_for(self.types, self.shapes), shape),) * 3


class DatasetSpec(TypeSpec):
    """What a dataset is to be (tf.data.DatasetSpec).

    Args:
        element_spec: The structure of the specs of its elements.
        dataset_shape: The shape of a tensor of several such datasets; () for one.
    """

    __slots__ = ("_element_spec", "_shape")

    def __init__(self, element_spec: Any, dataset_shape: ShapeLike = ()) -> None:
        self._element_spec, self._shape = element_spec, TensorShape(dataset_shape)

    @classmethod
    def from_value(cls, value: Any) -> DatasetSpec:
        """The spec that a dataset has.

        Args:
            value: The dataset.

        Returns:
            The spec.
        """
        return cls(value.element_spec)

    @property
    def value_type(self) -> type:
        """The class of the values."""
        return DatasetOf.dataset_type

    def _parts(self) -> tuple[Any, ...]:
        return (self._element_spec, self._shape)

    def _described(self) -> tuple[Any, TensorShape]:
        return DatasetOf(*types_and_shapes(self._element_spec)), self._shape

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, {self._shape!r})"
