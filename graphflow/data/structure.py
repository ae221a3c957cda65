"""The structure of a dataset's elements: tuples, named tuples and dictionaries of tensors.

Unlike in the rest of the library a list is no structure here but a tensor to be, as in tf.data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape, as_shape
from graphflow._core.graph.slices import IndexedSlices, SparseTensor, SparseTensorValue
from graphflow._core.ops.core import convert_to_tensor


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


def to_tensors(structure: Any) -> Any:
    """The structure with tensors for components; TypeError for what is no value."""
    flat = flatten(structure)
    for value in flat:
        if isinstance(value, SparseTensor | SparseTensorValue | IndexedSlices):
            raise TypeError(
                f"{type(value).__name__} cannot be a component of a dataset: give its parts as three components."
            )
    tensors = [convert_to_tensor(value, name=f"component_{i}") for i, value in enumerate(flat)]
    return pack(structure, tensors)


def types_of(types: Any) -> Any:
    """A structure of dtypes of whatever names them."""
    return map_structure(as_dtype, types)


def shapes_for(types: Any, shapes: Any) -> Any:
    """A structure of shapes like that of the types; unknown ones if None was given for all."""
    if shapes is None:
        return map_structure(lambda _: TensorShape(None), types)
    return pack(types, [as_shape(shape) for shape in flatten_up_to(types, shapes, "output_shapes")])


def classes_for(types: Any) -> Any:
    """A structure of classes: every component is a Tensor."""
    return map_structure(lambda _: Tensor, types)


def attributes(types: Any, shapes: Any) -> dict[str, Any]:
    """The attributes output_types and output_shapes of an op."""
    flat: list[DType] = flatten(types)
    return {"output_types": flat, "output_shapes": flatten(shapes)}
