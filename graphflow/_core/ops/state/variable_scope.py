"""Variable scopes: names and settings for the variables that get_variable makes inside, and whether they are shared.

A scope is data (VariableScope), immutable but for its setters; `with variable_scope(...)` makes one from the arguments
and from the scope around it and puts it in force for the thread and the graph. A name scope is opened with it, made
unique if variables are shared, so that operations of two uses have different names.
"""

from __future__ import annotations

import enum
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph, outermost
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import (
    Constraint,
    DeviceLike,
    DTypeLike,
    InitializerLike,
    Partitioner,
    Regularizer,
)
from graphflow._core.ops.core import graph_of
from graphflow._core.ops.state.variable_store import Request, VariableStore

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable


class ReuseMode(enum.Enum):
    """Ways of sharing besides True and False."""

    AUTO_REUSE = 1


AUTO_REUSE = ReuseMode.AUTO_REUSE
"""Makes get_variable share a variable if it exists and make it if it does not."""


class VariableScope:
    """The settings of a variable scope; what `with variable_scope(...)` yields.

    `name` is the prefix of variables, `original_name_scope` that of the operations built when the scope was first
    opened. Setters change the scope for what follows.

    Args:
        reuse: Whether variables that are there are taken.
        name: The scope's name.
        initializer: What it begins with.
        regularizer: Of the variables made in it.
        caching_device: Accepted, and not needed.
        partitioner: Of the variables made in it.
        custom_getter: Called instead of the one that makes variables.
        name_scope: The name scope of its operations.
        dtype: Of the variables made in it.
        use_resource: Whether variables of which nobody says it are resource variables.
        constraint: Of the variables made in it.
    """

    def __init__(
        self,
        reuse: bool | ReuseMode | None,
        name: str = "",
        initializer: InitializerLike | None = None,
        regularizer: Regularizer | None = None,
        caching_device: DeviceLike | None = None,
        partitioner: Partitioner | None = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: DTypeLike = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Constraint | None = None,
    ) -> None:
        self._reuse = reuse
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    @property
    def name(self) -> str:
        """The prefix of its variables, without a "/" at the end."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope opened with it first, with a "/" at the end."""
        return self._name_scope

    @property
    def reuse(self) -> bool | ReuseMode | None:
        """Whether its variables are shared: False, True or AUTO_REUSE."""
        return self._reuse

    @property
    def initializer(self) -> InitializerLike | None:
        """The initializer of variables that are given none."""
        return self._initializer

    @property
    def regularizer(self) -> Regularizer | None:
        """The regularizer of variables that are given none."""
        return self._regularizer

    @property
    def caching_device(self) -> DeviceLike | None:
        """The caching device of variables that are given none."""
        return self._caching_device

    @property
    def partitioner(self) -> Partitioner | None:
        """The partitioner of variables that are given none."""
        return self._partitioner

    @property
    def custom_getter(self) -> Callable[..., Any] | None:
        """The function that makes its variables, or None."""
        return self._custom_getter

    @property
    def dtype(self) -> DTypeLike:
        """The dtype of variables that are given none."""
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        """Whether variables of which nobody says it are resource variables; None if the scope does not say."""
        return self._use_resource

    @property
    def constraint(self) -> Constraint | None:
        """The constraint of variables that are given none."""
        return self._constraint

    def reuse_variables(self) -> None:
        """Shares its variables from now on."""
        self._reuse = True

    def set_initializer(self, initializer: InitializerLike | None) -> None:
        """Sets the initializer of variables that are given none.

        Args:
            initializer: What it begins with.
        """
        self._initializer = initializer

    def set_regularizer(self, regularizer: Regularizer | None) -> None:
        """Sets the regularizer of variables that are given none.

        Args:
            regularizer: From a variable to a scalar that is added to the losses.
        """
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: DeviceLike | None) -> None:
        """Sets the caching device of variables that are given none.

        Args:
            caching_device: Accepted, and not needed.
        """
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Partitioner | None) -> None:
        """Sets the partitioner of variables that are given none.

        Args:
            partitioner: From a shape and a dtype to the number of parts along each axis, or None.
        """
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Callable[..., Any] | None) -> None:
        """Sets the function that makes its variables.

        Args:
            custom_getter: Called instead of the one that makes variables, which is its first argument.
        """
        self._custom_getter = custom_getter

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the dtype of variables that are given none.

        Args:
            dtype: The dtype.
        """
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Says whether variables of which nobody says it are resource variables.

        Args:
            use_resource: Whether variables of which nobody says it are resource variables.
        """
        self._use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """The items of a collection whose names begin with the scope's.

        Args:
            name: A name for the operation.
        """
        return get_default_graph().get_collection(name, f"{self._name}/" if self._name else "")

    def global_variables(self) -> list[Variable]:
        """Its global variables."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def trainable_variables(self) -> list[Variable]:
        """Its trainable variables."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def local_variables(self) -> list[Variable]:
        """Its local variables."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def full_name(self, name: str) -> str:
        """A variable's name inside the scope.

        Args:
            name: A name for the operation.
        """
        return f"{self._name}/{name}" if self._name else name

    def complete(self, request: Request, dtype: DTypeLike | None) -> None:
        """Fills in what a caller of get_variable left open.

        Args:
            request: What is asked of a variable.
            dtype: Its dtype.
        """
        request.name = self.full_name(request.name)
        request.reuse = self._reuse
        request.dtype = self._dtype if dtype is None else dtype
        for setting in (
            "initializer",
            "regularizer",
            "caching_device",
            "partitioner",
            "constraint",
            "use_resource",
        ):
            if getattr(request, setting) is None:
                setattr(request, setting, getattr(self, setting))

    def __repr__(self) -> str:
        return f"<gf.VariableScope {self._name!r} reuse={self._reuse}>"


class _ThreadScopes(threading.local):
    """The scope in force in a thread, and how often each name was opened there."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.opened: dict[str, int] = {}

    def unique(self, prefix: str) -> str:
        """The prefix, with _1, _2, ... if a scope of that name was opened already."""
        name = self.current.full_name(prefix)
        if not self.opened.get(name):
            return prefix
        index = 1
        while self.opened.get(f"{name}_{index}"):
            index += 1
        return f"{prefix}_{index}"


class GraphScopes:
    """The state of a graph for get_variable: its variables, and each thread's scopes."""

    def __init__(self) -> None:
        self.store = VariableStore()
        self.threads = _ThreadScopes()


_making = threading.Lock()


def scopes_of(graph: Graph | None = None) -> GraphScopes:
    """The state for get_variable of a graph, by default the default one; made on first use."""
    graph = outermost(graph or get_default_graph())
    if graph.variable_store is None:
        with _making:
            if graph.variable_store is None:
                graph.variable_store = GraphScopes()
    scopes: GraphScopes = graph.variable_store
    return scopes


def unique_scope_name(prefix: str) -> str:
    """The name that a scope opened in the current one would get for a default name."""
    return scopes_of().threads.unique(prefix)


def get_variable_scope() -> VariableScope:
    """The variable scope in force in this thread, for the default graph (tf.get_variable_scope).

    Examples:
        >>> with gf.variable_scope("layer"):
        ...     print(gf.get_variable_scope().name)
        layer
    """
    return scopes_of().threads.current


def _chained(inner: Any, outer: Any) -> Any:
    """A custom getter inside another one: the inner is asked first, and asks the outer."""
    if outer is None:
        return inner

    def chained(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return chained


class ScopeSettings:
    """The settings that the arguments of variable_scope change in the scope around it, or in one opened again."""

    def __init__(
        self,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self.reuse = reuse
        self.constraint = constraint
        self.custom_getter = custom_getter
        self.given = {
            "_initializer": initializer,
            "_regularizer": regularizer,
            "_caching_device": caching_device,
            "_partitioner": partitioner,
            "_dtype": dtype,
            "_use_resource": use_resource,
        }

    def scope(self, base: VariableScope, name: str, name_scope: str) -> VariableScope:
        """The scope of that name with these settings, the rest as in `base`; a constraint is never inherited."""
        result = VariableScope(
            self.reuse or base.reuse, name, name_scope=name_scope, constraint=self.constraint
        )
        for setting, value in self.given.items():
            setattr(result, setting, getattr(base, setting) if value is None else value)
        result._custom_getter = base.custom_getter
        if self.custom_getter is not None:
            result._custom_getter = _chained(self.custom_getter, base.custom_getter)
        return result


@contextmanager
def pure_scope(
    name_or_scope: str | VariableScope, settings: ScopeSettings, name_scope: str | None
) -> Iterator[VariableScope]:
    """A variable scope without a name scope: one inside the current, or one opened again."""
    threads = scopes_of().threads
    outer = threads.current
    if isinstance(name_or_scope, VariableScope):
        name = name_or_scope.name
        scope = settings.scope(name_or_scope, name, name_or_scope.original_name_scope)
    else:
        name = outer.full_name(name_or_scope)
        scope = settings.scope(outer, name, name_or_scope if name_scope is None else name_scope)
    threads.opened[name] = threads.opened.get(name, 0) + 1
    opened = dict(threads.opened)
    threads.current = scope
    try:
        yield scope
    finally:
        if isinstance(name_or_scope, VariableScope):
            threads.opened = opened
        else:
            for other in threads.opened:
                if other.startswith(f"{name}/"):
                    threads.opened[other] = 0
        threads.current = outer


class variable_scope:
    """A context in which get_variable makes or shares variables named NAME/... (tf.variable_scope).

    Scopes inside inherit its settings, but for the constraint.

    Args:
        name_or_scope: A name, put after that of the scope around; or a VariableScope, opened again wherever this
            is.
        default_name: The name if name_or_scope is None, made unique.
        values: Tensors, whose graph is taken.
        initializer: Makes the initial value of variables that are given none.
        regularizer: Regularizes variables that are given none.
        caching_device: For variables that are given none.
        partitioner: Divides variables that are given none.
        custom_getter: A function (getter, name, ...) that is asked for each variable instead of `getter`, which
            makes it.
        reuse: None inherits; True shares variables and makes none; AUTO_REUSE shares those that are there.
        dtype: The type of variables that are given none.
        use_resource: Whether variables of which nobody says it are resource variables, as gf.Variable says.
        constraint: What an optimizer applies to variables that are given none.
        auxiliary_name_scope: Whether a name scope is opened, too.

    Raises:
        ValueError: `reuse` is none of those, or a scope with a default name is to be shared.
        TypeError: The name is no string or VariableScope, or neither a name nor a default is given.

    Examples:
        >>> with gf.variable_scope("layer"):
        ...     w = gf.get_variable("w", [2])
        >>> with gf.variable_scope("layer", reuse=True):
        ...     print(gf.get_variable("w", [2]) is w, w.name)
        True layer/w:0
    """

    def __init__(
        self,
        name_or_scope: str | VariableScope | None,
        default_name: str | None = None,
        values: Sequence[Any] | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Regularizer | None = None,
        caching_device: DeviceLike | None = None,
        partitioner: Partitioner | None = None,
        custom_getter: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Constraint | None = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, str | VariableScope):
            raise TypeError(f"name_or_scope must be a string or a VariableScope, got {name_or_scope!r}.")
        if reuse not in (None, False, True) and reuse is not AUTO_REUSE:
            raise ValueError(
                f"The reuse parameter must be True, False, None or gf.AUTO_REUSE, got {reuse!r}."
            )
        if name_or_scope is None and reuse:
            raise ValueError(
                "reuse=True cannot be used without a name_or_scope: a default name is a new one."
            )
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be True or False, got {auxiliary_name_scope!r}.")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._graph = graph_of(list(values or ()))
        self._settings = ScopeSettings(
            initializer, regularizer, caching_device, partitioner, custom_getter, reuse or None, dtype, use_resource,
            constraint,
        )  # fmt: skip
        self._auxiliary = auxiliary_name_scope
        # Entered again, it is the same scope: only its operations get names of their own.
        self._unique_name: str | None = None
        self._name_scope: str | None = None
        self._entered: list[tuple[ExitStack, VariableScope]] = []

    def __enter__(self) -> VariableScope:
        with ExitStack() as stack:
            stack.enter_context(self._graph.as_default())
            target = self._name_or_scope
            if isinstance(target, VariableScope):
                part = target.name.split("/")[-1]
            else:
                part = str(self._default_name if target is None else target)
            name_scope = self._open_name_scope(stack, part)
            if target is None:
                target = self._unique_name = self._unique_name or scopes_of(self._graph).threads.unique(part)
            if self._name_scope is None:
                self._name_scope = name_scope
            scope = stack.enter_context(pure_scope(target, self._settings, self._name_scope))
            self._entered.append((stack.pop_all(), scope))
        return scope

    def _open_name_scope(self, stack: ExitStack, part: str) -> str | None:
        """Opens the name scope that goes with the variable scope; the current one again without an auxiliary one."""
        if not self._auxiliary:
            current = self._graph.get_name_scope()
            return stack.enter_context(self._graph.name_scope(f"{current}/" if current else ""))
        return stack.enter_context(self._graph.name_scope(part)) if part else None

    def __exit__(self, *error: Any) -> None:
        stack, scope = self._entered[-1]
        if scopes_of(self._graph).threads.current is not scope:
            raise RuntimeError(
                f"Improper nesting of variable_scope: {scope.name!r} is not the innermost one."
            )
        del self._entered[-1]
        stack.__exit__(*error)


@contextmanager
def variable_op_scope(
    values: Sequence[Any],
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Regularizer | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner | None = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Constraint | None = None,
) -> Iterator[VariableScope]:
    """The old form of variable_scope, with `values` first (tf.variable_op_scope).

    Args:
        values: Tensors, whose graph is used.
        name_or_scope: The scope.
        default_name: The name if there is none, made unique.
        initializer: What it begins with.
        regularizer: Of the variables made in it.
        caching_device: Accepted, and not needed.
        partitioner: Of the variables made in it.
        custom_getter: Called instead of the one that makes variables.
        reuse: Whether variables that are there are taken.
        dtype: Of the variables made in it.
        use_resource: Whether variables of which nobody says it are resource variables.
        constraint: Of the variables made in it.
    """
    with variable_scope(
        name_or_scope, default_name, values, initializer, regularizer, caching_device, partitioner, custom_getter,
        reuse, dtype, use_resource, constraint,
    ) as scope:  # fmt: skip
        yield scope


def no_regularizer(_: Any) -> None:
    """Regularizes nothing: for a variable inside a scope with a regularizer (tf.no_regularizer).

    Args:
        _: The variable.
    """
