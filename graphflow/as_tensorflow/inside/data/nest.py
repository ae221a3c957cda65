"""Structures of a dataset's elements (tensorflow.python.data.util.nest): a list in one is a tensor to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphflow.data import structure


def is_sequence(value: Any) -> bool:
    """Whether it is a structure and not a component."""
    return structure.is_nested(value)


def flatten(value: Any) -> list[Any]:
    """The components in order."""
    return structure.flatten(value)


def pack_sequence_as(form: Any, flat_sequence: Any) -> Any:
    """The components in the form of a structure; ValueError if there are more or fewer of them."""
    if not isinstance(flat_sequence, list) and not is_sequence(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    count, wanted = len(flat_sequence), len(flatten(form))
    if not is_sequence(form) and count != 1:
        raise ValueError(f"Structure is a scalar but len(flat_sequence) == {count} > 1")
    if count != wanted:
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had {count} elements."
        )
    return structure.pack(form, flat_sequence)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raises ValueError if the nesting differs, TypeError if with `check_types` a structure's class does."""
    if len(flatten(nest1)) != len(flatten(nest2)):
        raise ValueError(
            "The two structures don't have the same number of elements.\n\n"
            f"First structure: {nest1!r}\n\nSecond structure: {nest2!r}"
        )
    _assert_same(nest1, nest2, check_types)


def _assert_same(first: Any, second: Any, check_types: bool) -> None:
    if is_sequence(first) != is_sequence(second):
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {first!r}\n\n"
            f"Second structure: {second!r}"
        )
    if not is_sequence(first):
        return
    if check_types and type(first) is not type(second):
        raise TypeError(
            f"The two structures don't have the same sequence type. First structure has type {type(first)}, while "
            f"second structure has type {type(second)}."
        )
    if isinstance(first, Mapping) and isinstance(second, Mapping) and set(first) != set(second):
        raise ValueError(
            f"The two dictionaries don't have the same set of keys: {list(first)} and {list(second)}."
        )
    for one, other in zip(_items(first), _items(second), strict=True):
        _assert_same(one, other, check_types)


def _items(form: Any) -> list[Any]:
    return [form[key] for key in sorted(form)] if isinstance(form, Mapping) else list(form)


def map_structure(func: Callable[..., Any], *structures: Any, **check_types_dict: bool) -> Any:
    """The structure of a function of each component."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    if set(check_types_dict) - {"check_types"}:
        raise ValueError("Only valid keyword argument is check_types")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, **check_types_dict)
    rows = zip(*map(flatten, structures), strict=True)
    return structure.pack(structures[0], [func(*row) for row in rows])


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raises TypeError or ValueError unless the one is the upper part of the other."""
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
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
    if check_types and isinstance(shallow_tree, Mapping) and set(input_tree) != set(shallow_tree):
        raise ValueError(
            "The two structures don't have the same keys. Input structure has keys "
            f"{list(input_tree)}, while shallow structure has keys {list(shallow_tree)}."
        )
    for shallow, below in zip(_items(shallow_tree), _items(input_tree), strict=True):
        assert_shallow_structure(shallow, below, check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    """The items of a structure that stand where another has components."""
    assert_shallow_structure(shallow_tree, input_tree)
    if not is_sequence(shallow_tree):
        return [input_tree]
    pairs = zip(_items(shallow_tree), _items(input_tree), strict=True)
    return [item for shallow, below in pairs for item in flatten_up_to(shallow, below)]


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """A function of the items of structures that stand where another has components, in its form."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    rows = zip(*[flatten_up_to(shallow_tree, one) for one in inputs], strict=True)
    return structure.pack(shallow_tree, [func(*row) for row in rows])
