"""What marks functions as old (tensorflow.python.util.deprecation): here they stay as they are, and nothing warns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_T = TypeVar("_T")

_PRINT_DEPRECATION_WARNINGS = True
"""Programs set it to False; nothing reads it."""


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[_T], _T]:
    """A decorator that leaves a function or class as it is."""
    return lambda marked: marked


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[_T], _T]:
    """A decorator that leaves a function as it is."""
    return lambda marked: marked


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[_T], _T]:
    """A decorator that leaves a function as it is."""
    return lambda marked: marked


def deprecated_alias(deprecated_name: str, name: str, func_or_class: _T, warn_once: bool = True) -> _T:
    """The function or class itself."""
    return func_or_class


def deprecated_argument_lookup(new_name: str, new_value: _T, old_name: str, old_value: _T | None) -> _T:
    """The value of an argument with two names; ValueError if it came by both."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both {old_name!r} and {new_name!r}")
    return old_value


@contextmanager
def silence() -> Iterator[None]:
    """A block in which nothing warns."""
    yield
