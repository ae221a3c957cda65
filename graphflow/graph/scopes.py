"""The scopes of a graph that a thread is in: what shapes the operations that it adds."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from graphflow.graph.elements import Operation


class ControlFrame:
    """One control_dependencies block: what comes first, and the operations built inside so far.

    An operation that takes a result of one built inside follows already, so it is not told again.
    """

    __slots__ = ("inside", "ops")

    def __init__(self, ops: Sequence[Operation]) -> None:
        self.ops = ops
        self.inside: set[Operation] = set()


class Scopes(threading.local):
    """What shapes the operations that this thread adds."""

    def __init__(self) -> None:
        self.name = ""
        self.devices: tuple[Any, ...] = ()
        self.control: tuple[ControlFrame, ...] = ()
        self.colocation: tuple[Operation, ...] = ()
        self.context: Any = None
        self.gradients: dict[str, str] = {}
