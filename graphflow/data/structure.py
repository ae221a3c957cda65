"""The structure of a dataset's elements: tuples, named tuples and dictionaries of tensors.

Unlike in the rest of the library a list is no structure here but a tensor to be, as in tf.data.
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class SparseOf:
    """The type of a component that is a SparseTensor: its values' dtype. It is three strings while it is moved."""

    dtype: DType

    def is_compatible_with(self, other: object) -> bool:
        """Whether another type is the same."""
        return self == other


def to_tensors(structure: Any) -> Any:
    """The structure with tensors and SparseTensors for components; TypeError for what is no value."""
    flat = []
    for i, value in enumerate(flatten(structure)):
        if isinstance(value, IndexedSlices):
            raise TypeError(
                f"{type(value).__name__} cannot be a component of a dataset: give its parts as components."
            )
        sparse = isinstance(value, SparseTensor | SparseTensorValue)
        flat.append(
            SparseTensor.from_value(value) if sparse else convert_to_tensor(value, name=f"component_{i}")
        )
    return pack(structure, flat)


def signature(element: Any) -> tuple[Any, Any]:
    """The types and the shapes of the components of an element, as structures."""

    def type_of(value: Any) -> Any:
        return SparseOf(value.dtype) if isinstance(value, SparseTensor) else value.dtype

    return map_structure(type_of, element), map_structure(lambda value: value.shape, element)


def moved(element: Any, rows: bool = False) -> list[Tensor]:
    """The tensors that stand for an element in operations; rows: in place of one for each of its rows."""
    serialize = serialize_many_sparse if rows else serialize_sparse
    return [serialize(value) if isinstance(value, SparseTensor) else value for value in flatten(element)]


def received(types: Any, shapes: Any, tensors: Sequence[Tensor]) -> Any:
    """The element that tensors stand for."""
    described = zip(flatten(types), flatten(shapes), tensors, strict=True)
    return pack(types, [_received(*each) for each in described])


def _received(kind: Any, shape: TensorShape, tensor: Tensor) -> Any:
    if not isinstance(kind, SparseOf):
        return tensor
    found = deserialize_sparse(tensor, kind.dtype)
    if shape.ndims is None:
        return found
    found.indices.set_shape([None, shape.ndims])
    found.dense_shape.set_shape([shape.ndims])
    if not shape.is_fully_defined():
        return found
    return SparseTensor(found.indices, found.values, constant(shape.as_list(), dtypes.int64))


def types_of(types: Any) -> Any:
    """A structure of dtypes of whatever names them."""
    return map_structure(as_dtype, types)


def shapes_for(types: Any, shapes: Any) -> Any:
    """A structure of shapes like that of the types; unknown ones if None was given for all."""
    if shapes is None:
        return map_structure(lambda _: TensorShape(None), types)
    return pack(types, [as_shape(shape) for shape in flatten_up_to(types, shapes, "output_shapes")])


def with_classes(types: Any, classes: Any) -> Any:
    """A structure of types, of dtypes and of classes such as output_classes has; None for tensors alone."""
    if classes is None:
        return types
    given = flatten_up_to(types, classes, "output_classes")
    pairs = zip(flatten(types), given, strict=True)
    return pack(types, [SparseOf(dtype) if kind is SparseTensor else dtype for dtype, kind in pairs])


def dtypes_for(types: Any) -> Any:
    """A structure of dtypes: of a SparseTensor that of its values."""
    return map_structure(lambda kind: kind.dtype if isinstance(kind, SparseOf) else kind, types)


def classes_for(types: Any) -> Any:
    """A structure of classes: Tensor or SparseTensor for each component."""
    return map_structure(lambda kind: SparseTensor if isinstance(kind, SparseOf) else Tensor, types)


def attributes(types: Any, shapes: Any) -> dict[str, Any]:
    """The attributes output_types and output_shapes of an op."""
    pairs = list(zip(flatten(types), flatten(shapes), strict=True))
    return {
        "output_types": [dtypes.string if isinstance(kind, SparseOf) else kind for kind, _ in pairs],
        "output_shapes": [
            TensorShape(None) if isinstance(kind, SparseOf) else shape for kind, shape in pairs
        ],
    }
