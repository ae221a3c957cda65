"""The scopes of the default graph as functions: names, devices, control dependencies, colocation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from graphflow._core.graph.defaults import get_default_graph, outermost
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.types import CollectionNames, DeviceLike, SupportsTensor
from graphflow._core.ops.core import graph_of


class name_scope:
    """Prefixes the names of operations built inside (tf.name_scope).

    Args:
        name: The scope; None takes default_name. One that ends in "/" re-enters a scope under just that name,
            another is made unique.
        default_name: The scope if `name` is None.
        values: Tensors, whose graph is made the default inside.

    Examples:
        >>> with gf.name_scope("encoder"):
        ...     x = gf.constant(1.0, name="x")
        >>> x.name
        'encoder/x:0'
    """

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None
    ) -> None:
        self._name = default_name if name is None else name
        if name is not None and not isinstance(name, str):
            raise TypeError(f"A name scope is a string, not {name!r}.")
        self._values = list(values or ())
        if self._name is None and self._values:
            raise ValueError("At least one of name and default_name must be given with values.")
        self._scopes: list[AbstractContextManager[str]] = []

    @property
    def name(self) -> str | None:
        """The scope asked for."""
        return self._name

    def __enter__(self) -> str:
        scope = _entered(graph_of(self._values), self._name)
        self._scopes.append(scope)
        return scope.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._scopes.pop().__exit__(*exc)


@contextmanager
def _entered(graph: Graph, name: str | None) -> Iterator[str]:
    with graph.as_default(), graph.name_scope(name) as scope:
        yield scope


def op_scope(values: Iterable[Any], name: str | None, default_name: str | None = None) -> name_scope:
    """name_scope() with its arguments in the old order (tf.op_scope).

    Args:
        values: Tensors, whose graph is used.
        name: A name for the operation.
        default_name: The name if there is none.
    """
    return name_scope(name, default_name, values)


@contextmanager
def init_scope() -> Iterator[None]:
    """Builds outside of branches, loops, control dependencies and functions, as initial values are (tf.init_scope).

    Inside, the default graph is that around all functions. Name scopes stay as they are.

    Examples:
        >>> with gf.control_dependencies([gf.no_op()]), gf.init_scope():
        ...     step = gf.no_op()
        >>> step.control_inputs
        []
    """
    graph = get_default_graph()
    around = outermost(graph)
    name = graph.get_name_scope()
    with around.as_default(), around.context_scope(None):
        if around is graph or not name:
            yield
        else:
            with around.name_scope(f"{name}/"):
                yield


def device(device_name_or_function: DeviceLike | None) -> AbstractContextManager[None]:
    """Asks for a device for operations built inside (tf.device).

    Args:
        device_name_or_function: A name such as "/job:ps/task:0" or "/gpu:0", or a DeviceSpec, which completes what
            inner blocks leave open; a function that is given each operation and returns its device; or None, which
            forgets what outer blocks say.

    Returns:
        A context manager.

    Examples:
        >>> with gf.device("/cpu:0"):
        ...     x = gf.constant(1.0)
        >>> x.device
        '/device:CPU:0'
    """
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Makes operations built inside run after others (tf.control_dependencies).

    Args:
        control_inputs: Operations, tensors and variables that must have run before; None forgets those of outer
            blocks.

    Returns:
        A context manager. A tensor that was built before does not wait: gf.identity makes one inside that does.

    Examples:
        >>> count = gf.Variable(0)
        >>> with gf.control_dependencies([count.assign(5)]):
        ...     done = gf.constant("done")
        >>> with gf.Session() as session:
        ...     session.run(count.initializer)
        ...     session.run(done)
        ...     print(session.run(count))
        b'done'
        5
    """
    if callable(control_inputs):
        raise TypeError("control_dependencies() takes operations and tensors, not functions.")
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(
    op: Operation | Tensor | SupportsTensor | None, ignore_existing: bool = False
) -> AbstractContextManager[None]:
    """Places operations built inside where `op` is (tf.colocate_with).

    Args:
        op: An operation, tensor or variable.
        ignore_existing: Whether outer blocks of this kind do not count.
    """
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Puts the state of operations built inside in a container, which Session.reset() can clear (tf.container).

    Args:
        container_name: Its name.
    """
    return get_default_graph().container(container_name)


def add_to_collection(name: str, value: Any) -> None:
    """Appends a value to a collection of the default graph.

    Args:
        name: A name for the operation.
        value: Anything.

    Examples:
        >>> gf.add_to_collection("outputs", "logits")
        >>> gf.get_collection("outputs")
        ['logits']
    """
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: CollectionNames, value: Any) -> None:
    """Appends a value to several collections of the default graph.

    Args:
        names: The collections' names.
        value: Anything.
    """
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """The items of a collection of the default graph (tf.get_collection).

    Args:
        key: The collection's name, such as gf.GraphKeys.UPDATE_OPS.
        scope: A regular expression that the beginning of an item's name must match; items without a name are left
            out.

    Returns:
        A list of its own, which is empty if there is no such collection.

    Examples:
        >>> gf.add_to_collection("outputs", "logits")
        >>> gf.get_collection("outputs")
        ['logits']
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """A collection of the default graph itself.

    Args:
        key: The collection's name, such as one of gf.GraphKeys.
    """
    return get_default_graph().get_collection_ref(key)
