"""Nested structures of lists, tuples, named tuples and dictionaries: flattening and packing (TensorFlow's nest).

Dictionaries are gone through in the order of their sorted keys, so that equal structures flatten equally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any


def is_nested(structure: object) -> bool:
    """Whether it is a structure and not a leaf.

    Args:
        structure: Anything.
    """
    return isinstance(structure, list | tuple | Mapping) and not isinstance(structure, str | bytes)


is_sequence = is_nested


def _items(structure: Any) -> Sequence[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in _sorted_keys(structure)]
    return structure  # type: ignore[no-any-return]


def _sorted_keys(structure: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError:
        raise TypeError(
            f"The keys of a nested dictionary must be sortable, got {list(structure)!r}."
        ) from None


def _leaves(structure: Any) -> Iterator[Any]:
    if is_nested(structure):
        for item in _items(structure):
            yield from _leaves(item)
    else:
        yield structure


def flatten(structure: Any) -> list[Any]:
    """The leaves, in order; a leaf alone is a list of itself.

    Args:
        structure: Nested lists, tuples and dictionaries.

    Returns:
        A list.
    """
    return list(_leaves(structure))


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """The leaves in the form of `structure`.

    Args:
        structure: The form.
        flat_sequence: The leaves, in order.

    Returns:
        A structure of that form.

    Raises:
        ValueError: If their number differs.
    """
    flat = list(flat_sequence)
    expected = len(flatten(structure))
    if len(flat) != expected:
        raise ValueError(
            f"The structure has {expected} leaves, but {len(flat)} were given. Structure: {structure!r}."
        )
    leaves = iter(flat)
    return _packed(structure, leaves)


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, Mapping):
        values = {key: _packed(structure[key], leaves) for key in _sorted_keys(structure)}
        kind: Any = type(structure)
        return kind((key, values[key]) for key in structure)
    items = [_packed(item, leaves) for item in structure]
    if hasattr(structure, "_fields"):
        return type(structure)(*items)
    return type(structure)(items)


def assert_same_structure(first: Any, second: Any, check_types: bool = True) -> None:
    """Raises ValueError if the nesting differs, TypeError if with `check_types` a sequence's type does.

    Args:
        first: A structure.
        second: A structure.
        check_types: Whether the kinds of sequences must agree.
    """
    if is_nested(first) != is_nested(second):
        raise ValueError(
            "The two structures don't have the same nested structure.\n\nFirst structure: "
            f"{first!r}\n\nSecond structure: {second!r}"
        )
    if not is_nested(first):
        return
    if check_types and type(first) is not type(second) and not isinstance(first, Mapping):
        raise TypeError(
            f"The two structures don't have the same sequence type: {type(first).__name__} and {type(second).__name__}."
        )
    if isinstance(first, Mapping) != isinstance(second, Mapping) or (
        isinstance(first, Mapping) and set(first) != set(second)
    ):
        raise ValueError(f"The two dictionaries don't have the same keys: {first!r} and {second!r}.")
    if len(first) != len(second):
        raise ValueError(
            "The two structures don't have the same number of elements.\n\nFirst structure: "
            f"{first!r}\n\nSecond structure: {second!r}"
        )
    for a, b in zip(_items(first), _items(second), strict=True):
        assert_same_structure(a, b, check_types)


def map_structure(function: Callable[..., Any], *structures: Any, check_types: bool = True) -> Any:
    """The structure of the results of a function of the leaves that correspond.

    Args:
        function: A function of a leaf of each.
        *structures: Structures of one form.
        check_types: Whether the kinds of sequences must agree.

    Returns:
        A structure of that form.
    """
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types)
    flat = zip(*[flatten(s) for s in structures], strict=True)
    return pack_sequence_as(structures[0], [function(*leaves) for leaves in flat])
