"""arg_scope: default arguments for functions, in force inside a block (tf.contrib.framework)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
Scope = Mapping[Any, Mapping[str, Any]]


_current: ContextVar[Scope | None] = ContextVar("arg_scope", default=None)
"""The defaults in force, by function. The towers of a distribution strategy begin with those of the call's context."""


def current_arg_scope() -> Scope:
    """The defaults in force, {function: {argument: value}} (tf.contrib.framework.current_arg_scope)."""
    return _current.get() or {}


def add_arg_scope(func: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, taking defaults from arg_scope (tf.contrib.framework.add_arg_scope); a decorator.

    Args:
        func: The function.
    """

    @wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> _R:
        return func(*args, **{**current_arg_scope().get(scoped, {}), **kwargs})

    scoped._takes_arg_scope = True  # type: ignore[attr-defined]
    return scoped


def has_arg_scope(func: Any) -> bool:
    """Whether a function takes defaults from arg_scope (tf.contrib.framework.has_arg_scope).

    Args:
        func: The function.
    """
    return getattr(func, "_takes_arg_scope", False)


def arg_scope_func_key(op: Any) -> Any:
    """The key of a function in the defaults in force, itself (tf.contrib.framework.arg_scope_func_key).

    Args:
        op: The function.
    """
    return op


@contextmanager
def arg_scope(list_ops_or_scope: Sequence[Any] | Scope, **kwargs: Any) -> Iterator[Scope]:
    """Gives functions default arguments inside the block (tf.contrib.framework.arg_scope).

    Inner scopes win, arguments of a call win over all.

    Args:
        list_ops_or_scope: Functions decorated with add_arg_scope, for which the keyword arguments become
            defaults; or what a former arg_scope yielded, which is put in force again.
        **kwargs: The defaults.

    Raises:
        ValueError: If a function takes no defaults, or arguments are given with a scope.
    """
    outer = current_arg_scope()
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError("arg_scope: a scope that is put in force again takes no arguments.")
        scope: Scope = list_ops_or_scope
    else:
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                name = getattr(function, "__name__", function)
                raise ValueError(f"arg_scope: {name} is not decorated with @add_arg_scope.")
        scope = {**outer, **{f: {**outer.get(f, {}), **kwargs} for f in list_ops_or_scope}}
    token = _current.set(scope)
    try:
        yield scope
    finally:
        _current.reset(token)
