"""Values that may be missing when a program runs (tf.data.experimental.Optional), such as the next of an iterator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.core import apply
from graphflow._core.ops.io import optionals as ops
from graphflow.data import structure
from graphflow.data.iterators import Iterator
from graphflow.data.specs import TypeSpec, specs_for, types_and_shapes


class Optional(structure.Component):
    """A value that may be missing, which is known when it is run.

    Made by `from_value`, `none_from_structure` and get_next_as_optional; it may be a component of a dataset.

    Args:
        variant_tensor: The tensor that stands for it.
        value_structure: The structure of the specs of the value.

    Examples:
        >>> some = gf.data.experimental.Optional.from_value((1, "a"))
        >>> none = gf.data.experimental.Optional.none_from_structure(some.value_structure)
        >>> with gf.Session() as session:
        ...     print(session.run([some.has_value(), none.has_value()]), session.run(some.get_value()))
        [np.True_, np.False_] (np.int32(1), b'a')
    """

    def __init__(self, variant_tensor: Tensor, value_structure: Any) -> None:
        self._variant_tensor = variant_tensor
        self._value_structure = value_structure

    @staticmethod
    def from_value(value: Any) -> Optional:
        """One that has a value.

        Args:
            value: A structure of tensors, or of what may be a component of a dataset.

        Returns:
            The optional.
        """
        element = structure.to_tensors(value)
        tensors = structure.moved(element)
        return Optional(
            apply(ops.FROM_VALUE, (tensors,)).outputs[0], specs_for(*structure.signature(element))
        )

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """One that has none.

        Args:
            value_structure: The structure of specs, such as gf.TensorSpec, of the value that it might have.

        Returns:
            The optional.
        """
        return Optional(apply(ops.NONE, ()).outputs[0], value_structure)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value, a scalar of bool.

        Args:
            name: A name for the operation.

        Returns:
            The scalar.
        """
        return apply(ops.HAS_VALUE, (self._variant_tensor,), None, name).outputs[0]

    def get_value(self, name: str | None = None) -> Any:
        """The value; running it raises InvalidArgumentError if there is none.

        Args:
            name: A name for the operation.

        Returns:
            A structure of tensors.
        """
        types, shapes = types_and_shapes(self._value_structure)
        op = apply(ops.GET_VALUE, (self._variant_tensor,), structure.attributes(types, shapes), name)
        return structure.received(types, shapes, op.outputs)

    @property
    def value_structure(self) -> Any:
        """The structure of the specs of the value."""
        return self._value_structure

    def _component(self) -> tuple[structure.Kind, TensorShape]:
        return OptionalOf(*types_and_shapes(self._value_structure)), self._variant_tensor.shape

    def __repr__(self) -> str:
        return (
            f"<gf.data.experimental.Optional {self._variant_tensor.op.name!r} of {self._value_structure!r}>"
        )


@dataclass(frozen=True)
class OptionalOf(structure.Kind):
    """The type of a component that is an optional: of the types and shapes of its value."""

    types: Any
    shapes: Any

    def moved(self, shape: TensorShape) -> tuple[dtypes.DType, TensorShape]:
        """One variant."""
        return dtypes.variant, shape

    def send(self, value: Any, rows: bool) -> Tensor:
        """The tensor that stands for the optional."""
        tensor: Tensor = value._variant_tensor
        return tensor

    def receive(self, tensor: Tensor, shape: TensorShape) -> Optional:
        """The optional."""
        return Optional(tensor, specs_for(self.types, self.shapes))

    def shown(self, shape: TensorShape) -> tuple[Any, Any, Any]:
        """Its spec."""
        return (OptionalSpec(specs_for(self.types, self.shapes)),) * 3


class OptionalSpec(TypeSpec):
    """What an optional is to be (tf.OptionalSpec).

    Args:
        value_structure: The structure of the specs of the value.
    """

    __slots__ = ("_value_structure",)

    def __init__(self, value_structure: Any) -> None:
        self._value_structure = value_structure

    @classmethod
    def from_value(cls, value: Optional) -> OptionalSpec:
        """The spec that an optional has.

        Args:
            value: The optional.

        Returns:
            The spec.
        """
        return cls(value.value_structure)

    @property
    def value_type(self) -> type:
        """The class of the values."""
        return Optional

    def _parts(self) -> tuple[Any, ...]:
        return (self._value_structure,)

    def _described(self) -> tuple[Any, TensorShape]:
        return OptionalOf(*types_and_shapes(self._value_structure)), TensorShape([])

    def __repr__(self) -> str:
        return f"OptionalSpec({self._value_structure!r})"


def get_next_as_optional(iterator: Iterator) -> Optional:
    """The next element of an iterator, which is missing at the end (tf.data.experimental.get_next_as_optional).

    Args:
        iterator: The iterator.

    Returns:
        The optional: each run that uses it takes one element.
    """
    attrs = structure.attributes(iterator._output_types, iterator._output_shapes)
    op = apply(ops.GET_NEXT, (iterator._iterator_resource,), attrs)
    return Optional(op.outputs[0], iterator.element_spec)
