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
    _assert_same(first, second, check_types)


def _differ(first: Any, second: Any, how: str) -> str:
    return (
        f"The two structures don't have the same nested structure.\n\nFirst structure: {first!r}\n\nSecond structure: "
        f"{second!r}\n\nMore specifically: {how}"
    )


def _assert_same(first: Any, second: Any, check_types: bool) -> None:
    if is_nested(first) != is_nested(second):
        raise ValueError(_differ(first, second, "one is a sequence, the other is not."))
    if not is_nested(first):
        return
    if check_types and type(first) is not type(second) and not isinstance(first, Mapping):
        kinds = f"{type(first).__name__} and {type(second).__name__}"
        raise TypeError(
            _differ(first, second, f"The two structures don't have the same sequence type: {kinds}.")
        )
    if isinstance(first, Mapping) != isinstance(second, Mapping) or (
        isinstance(first, Mapping) and set(first) != set(second)
    ):
        raise ValueError(_differ(first, second, "The two dictionaries don't have the same keys."))
    if len(first) != len(second):
        how = f"The two structures don't have the same number of elements: {len(first)} and {len(second)}."
        raise ValueError(_differ(first, second, how))
    for a, b in zip(_items(first), _items(second), strict=True):
        _assert_same(a, b, check_types)


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


def assert_shallow_structure(shallow_tree: object, input_tree: object, check_types: bool = True) -> None:
    """Raises TypeError or ValueError unless the one structure is the upper part of the other.

    Args:
        shallow_tree: The upper part.
        input_tree: A structure.
        check_types: Whether the kinds of sequences must agree.
    """
    _assert_shallow(shallow_tree, input_tree, check_types)


def _assert_shallow(shallow_tree: Any, input_tree: Any, check_types: bool) -> None:
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}."
        )
    if check_types and not isinstance(input_tree, type(shallow_tree)):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(input_tree) != len(shallow_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if isinstance(shallow_tree, Mapping) and set(input_tree) != set(shallow_tree):
        raise ValueError(
            "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the keys "
            f"{list(shallow_tree)}, the input_tree {list(input_tree)}."
        )
    for shallow, below in zip(_items(shallow_tree), _items(input_tree), strict=True):
        _assert_shallow(shallow, below, check_types)


def flatten_up_to(shallow_tree: object, input_tree: object, check_types: bool = True) -> list[Any]:
    """The items of a structure that stand where another has leaves, in order.

    Args:
        shallow_tree: The upper part of the structure.
        input_tree: The structure.
        check_types: Whether the kinds of sequences must agree.

    Returns:
        A list.

    Raises:
        TypeError: A leaf stands where shallow_tree has a sequence, or a sequence of another kind.
        ValueError: The lengths or the keys differ.
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    return list(_items_at(shallow_tree, input_tree))


def _items_at(shallow_tree: Any, input_tree: Any) -> Iterator[Any]:
    if is_nested(shallow_tree):
        for shallow, below in zip(_items(shallow_tree), _items(input_tree), strict=True):
            yield from _items_at(shallow, below)
    else:
        yield input_tree


def map_structure_up_to(
    shallow_tree: object, func: Callable[..., Any], *inputs: object, check_types: bool = True
) -> Any:
    """The structure of a function's results for the items that stand where shallow_tree has leaves.

    Args:
        shallow_tree: The upper part of the structures.
        func: A function of an item of each.
        *inputs: The structures.
        check_types: Whether the kinds of sequences must agree.

    Returns:
        A structure of the form of shallow_tree.

    Raises:
        ValueError: There is no structure, or one is of another form.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    rows = zip(*[flatten_up_to(shallow_tree, one, check_types) for one in inputs], strict=True)
    return pack_sequence_as(shallow_tree, [func(*row) for row in rows])


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """A dictionary whose keys, or structures of keys, have their values, or structures of these, one by one.

    Args:
        dictionary: Such as {(4, 5): (6, 8), "a": 1}.

    Returns:
        Such as {4: 6, 5: 8, "a": 1}.

    Raises:
        TypeError: It is no dictionary.
        ValueError: A key and its value differ in structure, or a key comes twice.

    Examples:
        >>> gf.nest.flatten_dict_items({(4, 5): (6, 8), "a": 1})
        {4: 6, 5: 8, 'a': 1}
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    found: dict[Any, Any] = {}
    for key, value in dictionary.items():
        if not is_nested(key):
            pairs = [(key, value)]
        else:
            keys, values = flatten(key), flatten(value)
            if len(keys) != len(values):
                raise ValueError(
                    f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} "
                    f"elements. Key: {keys}, value: {values}."
                )
            pairs = list(zip(keys, values, strict=True))
        for one, item in pairs:
            if one in found:
                raise ValueError(f"Could not flatten dictionary: key {one} is not unique.")
            found[one] = item
    return type(dictionary)(found)  # type: ignore[call-arg, return-value]
