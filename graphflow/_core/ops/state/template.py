"""make_template: a function whose variables are made at its first call and shared by every later one."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import user_line
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.state.variable_scope import (
    ScopeSettings,
    VariableScope,
    pure_scope,
    unique_scope_name,
    variable_scope,
)


class Template:
    """A function that shares its variables between calls; made by make_template. Thread-safe."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Any = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._name = name
        self._function = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._line = user_line()
        self._started = False
        self._called = False
        self._lock = threading.Lock()
        self._scope: VariableScope | None = None
        if create_scope_now:
            settings = ScopeSettings(custom_getter=custom_getter)
            with pure_scope(unique_name or unique_scope_name(name), settings, None) as scope:
                self._scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function inside the template's variable scope.

        ValueError if a later call makes a trainable variable.
        """
        # No lock is held during the call: towers that share a template wait for one another inside it.
        with self._lock:
            first, self._started = not self._started, True
        try:
            if self._scope is not None:
                with variable_scope(self._scope, reuse=not first):
                    return self._call(args, kwargs)
            with variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
                self._scope = scope
                return self._call(args, kwargs)
        except BaseException:
            self._started = not first
            raise

    def _call(self, args: Any, kwargs: Any) -> Any:
        before = len(self._trainable())
        result = self._function(*args, **kwargs)
        new = self._trainable()[before:]
        if self._called and new:
            names = ", ".join(v.name for v in new)
            raise ValueError(
                f"The template {self._name!r} (defined at {self._line[0]}:{self._line[1]}) made the trainable "
                f"variables {names} in a call after its first. Make them with gf.get_variable instead of gf.Variable."
            )
        self._called = True
        return result

    def _trainable(self) -> list[Any]:
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def name(self) -> str:
        """The name given to it."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._function

    @property
    def variable_scope(self) -> VariableScope | None:
        """Its variable scope; None before there is one."""
        return self._scope

    @property
    def var_scope(self) -> VariableScope | None:
        """Its variable scope; None before there is one."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The prefix of its variables, with a "/" at the end; None before there is one."""
        if self._scope is None:
            return None
        name = self._scope.name
        return f"{name}/" if name and not name.endswith("/") else name

    def _variables(self, key: str) -> list[Any]:
        return get_default_graph().get_collection(key, self.variable_scope_name) if self._called else []

    @property
    def variables(self) -> list[Any]:
        """Its global and local variables; none before the first call."""
        return self.global_variables + self.local_variables

    weights = variables

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables; none before the first call."""
        return self._variables(GraphKeys.TRAINABLE_VARIABLES)

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        """Its global variables that are not trained; none before the first call."""
        trained = set(self.trainable_variables)
        return [v for v in self.global_variables if v not in trained]

    non_trainable_weights = non_trainable_variables

    @property
    def global_variables(self) -> list[Any]:
        """Its global variables; none before the first call."""
        return self._variables(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        """Its local variables; none before the first call."""
        return self._variables(GraphKeys.LOCAL_VARIABLES)


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Template:
    """A function that calls `func_` with `kwargs` and shares the variables it makes between calls (tf.make_template).

    Args:
        name_: The scope of the variables, made unique.
        func_: The function.
        create_scope_now_: Fixes the scope here instead of at the first call.
        unique_name_: a name taken as it is.
        custom_getter_: See variable_scope.
        **kwargs: Its arguments by name.

    Returns:
        A function.
    """
    function = functools.partial(func_, **kwargs) if kwargs else func_
    return Template(name_, function, create_scope_now_, unique_name_, custom_getter_)
