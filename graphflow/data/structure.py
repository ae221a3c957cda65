"""The structure of a dataset's elements: tuples, named tuples and dictionaries of tensors.

Unlike in the rest of the library a list is no structure here but a tensor to be, as in tf.data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape, as_shape
from graphflow._core.graph.slices import IndexedSlices, SparseTensor, SparseTensorValue
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.sparse.serializing import deserialize_sparse, serialize_many_sparse, serialize_sparse


def is_nested(value: object) -> bool:
    """Whether it is a structure and not a component."""
    return isinstance(value, tuple | Mapping) and not isinstance(value, SparseTensorValue)


def _leaves(structure: Any) -> Iterator[Any]:
    if isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from _leaves(structure[key])
    elif is_nested(structure):
        for item in structure:
            yield from _leaves(item)
    else:
        yield structure


def flatten(structure: Any) -> list[Any]:
    """The components in order; those of a dictionary by its sorted keys."""
    return list(_leaves(structure))


def pack(structure: Any, flat: Sequence[Any]) -> Any:
    """The components in the form of a structure."""
    leaves = iter(flat)

    def packed(form: Any) -> Any:
        if isinstance(form, Mapping):
            values = {key: packed(form[key]) for key in sorted(form)}
            kind: Any = type(form)
            return kind((key, values[key]) for key in form)
        if is_nested(form):
            items = [packed(item) for item in form]
            return type(form)(*items) if hasattr(form, "_fields") else tuple(items)
        return next(leaves)

    return packed(structure)


def map_structure(function: Callable[[Any], Any], structure: Any) -> Any:
    """The structure of a function of each component."""
    return pack(structure, [function(leaf) for leaf in flatten(structure)])


def same_structure(first: Any, second: Any) -> bool:
    """Whether two structures nest alike."""
    if isinstance(first, Mapping) or isinstance(second, Mapping):
        return (
            isinstance(first, Mapping)
            and isinstance(second, Mapping)
            and sorted(first) == sorted(second)
            and all(same_structure(first[key], second[key]) for key in first)
        )
    if is_nested(first) != is_nested(second):
        return False
    if not is_nested(first):
        return True
    return len(first) == len(second) and all(same_structure(a, b) for a, b in zip(first, second, strict=True))


def flatten_up_to(form: Any, structure: Any, what: str) -> list[Any]:
    """The items of a structure that stand where `form` has components; ValueError if it nests otherwise."""
    found: list[Any] = []

    def visit(expected: Any, given: Any) -> None:
        if isinstance(expected, Mapping):
            if not isinstance(given, Mapping) or sorted(given) != sorted(expected):
                raise ValueError(f"{what} must have the structure {form!r}, got {structure!r}.")
            for key in sorted(expected):
                visit(expected[key], given[key])
        elif is_nested(expected):
            if not isinstance(given, tuple | list) or len(given) != len(expected):
                raise ValueError(f"{what} must have the structure {form!r}, got {structure!r}.")
            for item, value in zip(expected, given, strict=True):
                visit(item, value)
        else:
            found.append(given)

    visit(form, structure)
    return found


class Kind(ABC):
    """The type of a component that is no tensor: which tensor stands for it in operations, and how it is shown."""

    @abstractmethod
    def moved(self, shape: TensorShape) -> tuple[DType, TensorShape]:
        """The dtype and the shape of the tensor that stands for a component of this shape."""

    @abstractmethod
    def send(self, value: Any, rows: bool) -> Tensor:
        """The tensor that stands for a component; rows: one for each of its rows, one below the other."""

    @abstractmethod
    def receive(self, tensor: Tensor, shape: TensorShape) -> Any:
        """The component that a tensor stands for."""

    @abstractmethod
    def shown(self, shape: TensorShape) -> tuple[Any, Any, Any]:
        """What output_types, output_shapes and output_classes say of it."""

    def is_compatible_with(self, other: object) -> bool:
        """Whether another type is the same."""
        return self == other


class Component(ABC):
    """A component that is no tensor and no SparseTensor, and knows its own type: a dataset, for one."""

    @abstractmethod
    def _component(self) -> tuple[Kind, TensorShape]:
        """Its type and its shape as a component."""

    def _in_a_row(self, components: Sequence[Any]) -> Any:
        """One component that stands for several of this type; TypeError if there is none."""
        raise TypeError(f"A list of {type(self).__name__} cannot be a component of a dataset.")


@dataclass(frozen=True)
class SparseOf(Kind):
    """The type of a component that is a SparseTensor: its values' dtype. It is three strings while it is moved."""

    dtype: DType

    def moved(self, shape: TensorShape) -> tuple[DType, TensorShape]:
        """Strings, as many as it takes."""
        return dtypes.string, TensorShape(None)

    def send(self, value: Any, rows: bool) -> Tensor:
        """Three strings, or three for each row."""
        return (serialize_many_sparse if rows else serialize_sparse)(value)

    def receive(self, tensor: Tensor, shape: TensorShape) -> SparseTensor:
        """The SparseTensor of such strings."""
        found = deserialize_sparse(tensor, self.dtype)
        if shape.ndims is None:
            return found
        found.indices.set_shape([None, shape.ndims])
        found.dense_shape.set_shape([shape.ndims])
        if not shape.is_fully_defined():
            return found
        return SparseTensor(found.indices, found.values, constant(shape.as_list(), dtypes.int64))

    def shown(self, shape: TensorShape) -> tuple[Any, Any, Any]:
        """The dtype of its values, its shape, and SparseTensor."""
        return self.dtype, shape, SparseTensor


def to_tensors(structure: Any) -> Any:
    """The structure with tensors and SparseTensors for components; TypeError for what is no value."""
    return pack(structure, [_as_component(value, i) for i, value in enumerate(flatten(structure))])


def _as_component(value: Any, position: int) -> Any:
    if isinstance(value, Component):
        return value
    if isinstance(value, list) and value and all(isinstance(one, Component) for one in value):
        return value[0]._in_a_row(value)
    if isinstance(value, IndexedSlices):
        raise TypeError(
            f"{type(value).__name__} cannot be a component of a dataset: give its parts as components."
        )
    if isinstance(value, SparseTensor | SparseTensorValue):
        return SparseTensor.from_value(value)
    return convert_to_tensor(value, name=f"component_{position}")


def signature(element: Any) -> tuple[Any, Any]:
    """The types and the shapes of the components of an element, as structures."""
    found = [_described(value) for value in flatten(element)]
    return pack(element, [kind for kind, _ in found]), pack(element, [shape for _, shape in found])


def _described(value: Any) -> tuple[Any, TensorShape]:
    if isinstance(value, Component):
        return value._component()
    return (SparseOf(value.dtype) if isinstance(value, SparseTensor) else value.dtype), value.shape


def moved(element: Any, rows: bool = False) -> list[Tensor]:
    """The tensors that stand for an element in operations; rows: in place of one for each of its rows."""
    pairs = [(_described(value)[0], value) for value in flatten(element)]
    return [kind.send(value, rows) if isinstance(kind, Kind) else value for kind, value in pairs]


def received(types: Any, shapes: Any, tensors: Sequence[Tensor]) -> Any:
    """The element that tensors stand for."""
    described = zip(flatten(types), flatten(shapes), tensors, strict=True)
    return pack(types, [_received(*each) for each in described])


def _received(kind: Any, shape: TensorShape, tensor: Tensor) -> Any:
    return kind.receive(tensor, shape) if isinstance(kind, Kind) else tensor


def types_of(types: Any) -> Any:
    """A structure of dtypes of whatever names them."""
    return map_structure(as_dtype, types)


def shapes_for(types: Any, shapes: Any) -> Any:
    """A structure of shapes like that of the types; unknown ones if None was given for all."""
    if shapes is None:
        return map_structure(lambda _: TensorShape(None), types)
    if is_nested(types) and isinstance(shapes, list):
        raise TypeError(
            f"output_shapes must have the structure of the types {types!r}, got the list {shapes!r}: a list is a shape."
        )
    return pack(types, [as_shape(shape) for shape in flatten_up_to(types, shapes, "output_shapes")])


def with_classes(types: Any, classes: Any) -> Any:
    """A structure of types, of dtypes and of classes such as output_classes has; None for tensors alone."""
    if classes is None:
        return types
    given = flatten_up_to(types, classes, "output_classes")
    pairs = zip(flatten(types), given, strict=True)
    return pack(types, [SparseOf(dtype) if kind is SparseTensor else dtype for dtype, kind in pairs])


def shown(types: Any, shapes: Any) -> tuple[Any, Any, Any]:
    """What output_types, output_shapes and output_classes say, as structures."""
    pairs = zip(flatten(types), flatten(shapes), strict=True)
    found = [k.shown(shape) if isinstance(k, Kind) else (k, shape, Tensor) for k, shape in pairs]
    first, second, third = (pack(types, [one[i] for one in found]) for i in range(3))
    return first, second, third


def attributes(types: Any, shapes: Any) -> dict[str, Any]:
    """The attributes output_types and output_shapes of an op."""
    pairs = zip(flatten(types), flatten(shapes), strict=True)
    sent = [kind.moved(shape) if isinstance(kind, Kind) else (kind, shape) for kind, shape in pairs]
    return {"output_types": [dtype for dtype, _ in sent], "output_shapes": [shape for _, shape in sent]}
