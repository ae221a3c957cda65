"""The scopes of a graph that a thread is in: what shapes the operations that it adds."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

Node = TypeVar("Node")
"""An operation, which stands above: a scope only keeps it."""


class ControlFrame(Generic[Node]):
    """One control_dependencies block: what comes first, and the operations built inside so far.

    An operation that takes a result of one built inside follows already, so it is not told again.
    """

    __slots__ = ("inside", "ops")

    def __init__(self, ops: Sequence[Node]) -> None:
        self.ops = ops
        self.inside: set[Node] = set()


class Scopes(threading.local):
    """What shapes the operations that this thread adds."""

    def __init__(self) -> None:
        self.name = ""
        self.devices: tuple[Any, ...] = ()
        self.control: tuple[ControlFrame[Any], ...] = ()
        self.colocation: tuple[Any, ...] = ()
        self.context: Any = None
        self.gradients: dict[str, str] = {}
        self.container = ""
        self.creators: tuple[Any, ...] = ()
        """Functions that make variables in place of gf.Variable; owned by ops.variable_creators."""
        self.distribution: tuple[Any, ...] = ()
        """The contexts of distribution strategies; owned by distribute.context."""
        self.seen: set[str] | None = None
        """In a tower that shares another's variables, the names of those it has asked for; otherwise None."""
        self.loss_reduction: str | None = None
        """How the last loss was reduced; owned by losses."""

    def snapshot(self) -> dict[str, Any]:
        """The scopes that this thread is in, for another thread, or for the same one later, to enter."""
        return dict(self.__dict__)

    def take_over(self, snapshot: Mapping[str, Any]) -> None:
        """Puts this thread into the scopes of a snapshot."""
        self.__dict__.update(snapshot)


class ContainerScope:
    """The part of a graph that says which container variables, queues and other state are in."""

    _scopes: Scopes

    @property
    def scopes(self) -> Scopes:
        """What shapes the operations that this thread adds."""
        return self._scopes

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Puts the state of operations built inside in a container, which Session.reset() can clear by itself.

        State of the same name in another container is another state. (tf.Graph.container)
        """
        if not isinstance(container_name, str) or "|" in container_name:
            raise ValueError(f"A container has a name without '|', got {container_name!r}.")
        outer, self._scopes.container = self._scopes.container, container_name
        try:
            yield container_name
        finally:
            self._scopes.container = outer


def resource_name(attrs: Mapping[str, Any], name: str, kind: str = "") -> str:
    """The name that a store has a resource under: its kind, such as "queue/", and its shared_name or its operation's.

    A container stands before that.
    """
    container = attrs.get("container")
    shared = f"{kind}{attrs.get('shared_name') or name}"
    return f"{container}|{shared}" if container else shared


def container_of(name: str) -> str:
    """The container that a name of a store is in; "" for the default one."""
    return name.partition("|")[0] if "|" in name else ""
