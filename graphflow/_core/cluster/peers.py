"""The other tasks of a cluster as one task knows them, and the clients that wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from graphflow._core.graph.devices import DeviceSpec


@dataclass
class Peer:
    """Another task: its address, and, once it has said so, its incarnation and devices."""

    task: str
    address: str
    incarnation: str = ""
    devices: list[str] = field(default_factory=list)
    greeted: bool = False
    """Whether this connection to it began with a hello, without which it takes nothing."""
    asked: int = 0
    """The number of the hello that wants an answer and has none yet; 0 where there is none."""
    greeted_at: float = 0.0
    """When it was greeted last."""
    listener: str = ""
    """The name at which it accepts local channels."""
    last: str = ""
    """The incarnation that it had last, whether it is there now or not."""
    left: bool = False
    """Whether it was there once, and is not now."""
    others_left: set[str] = field(default_factory=set)
    """The tasks of which it says that."""
    users: set[str] = field(default_factory=set)
    """The tasks of which it says that they have a client with a session."""
    in_use: bool = False
    """Whether it had a client with a session when it last said hello."""

    def parted(self) -> None:
        """The connection to it ends: the next one begins with a hello."""
        self.greeted, self.asked = False, 0


@dataclass
class Greeting:
    """A client that waits for its welcome until a deadline, or until all tasks that it wants have answered."""

    client: bytes
    request: int
    tasks: set[str]
    """The tasks that have not answered."""
    deadline: float
    wanted: set[str] = field(default_factory=set)
    needs: set[str] | None = None
    """The tasks without which it does not go on even where they have left; None for all."""


def passes(task: str, filters: Sequence[str]) -> bool:
    """Whether a session with these device filters sees a task; without any it sees all."""
    spec = DeviceSpec.from_string(task)
    for text in filters:
        wanted = DeviceSpec.from_string(str(text))
        if wanted.job in (None, spec.job) and wanted.task in (None, spec.task):
            return True
    return not filters
