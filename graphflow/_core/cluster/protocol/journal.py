"""The journal of a task: the last events that it has handled, and the instructions that came of each.

An entry is data, so that a journal can be printed, sent to who asks (`graphflow status --journal`), written down, and
played again (graphflow/_core/cluster/protocol/replay.py).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from typing import Any, Final

from graphflow._core.cluster.protocol import (
    lease,
    membership,
    queries,
    registrations,
    sessions,
    strangers,
    subgraphs,
    welcomes,
)
from graphflow._core.common.machine import Event, Instruction, Shared, StepEvent, Tick
from graphflow._core.common.records import dataclass

MOST_ENTRIES: Final = 256
"""Entries of each kind that are kept."""
MOST_REQUESTS: Final = 64
"""Entries of what comes all the time: requests, renewed leases, hellos that only say that a client is alive."""
_MOST_TEXT: Final = 300
"""Characters of an event or instruction as a line has it."""


_Ring = deque[tuple[int, Event, tuple[Instruction, ...]]]


@dataclass(frozen=True, slots=True)
class Entry:
    """An event that was handled, and what came of it. number: how many events there were with it."""

    number: int
    event: Event
    instructions: tuple[Instruction, ...]


class Journal:
    """The last entries of a task. For one thread.

    Each kind of entry has a ring of its own, so that requests, thousands a second, do not push out how a session began
    or a task was lost. A kind is what one machine decides about; requests and signs of life are kinds of their own.

    most: how many of each kind are kept; None for all, as a test may want.
    """

    def __init__(self, most: int | None = MOST_ENTRIES) -> None:
        self.handled = 0
        """How many events there were, without the ticks at which nothing happened."""
        self._most = most
        few = None if most is None else min(most, MOST_REQUESTS)
        self._alive: _Ring = deque(maxlen=few)
        self._rings: dict[type[Event], _Ring] = {
            sessions.RequestCame: deque(maxlen=few), lease.LeaseRenewed: deque(maxlen=few),
        }  # fmt: skip
        """By the classes of events; those of one module have one."""
        self._modules: dict[str, _Ring] = {}

    @property
    def entries(self) -> list[Entry]:
        """The entries that are kept, in the order of the events."""
        rings = [self._alive, self._rings[sessions.RequestCame], self._rings[lease.LeaseRenewed],
                 *self._modules.values()]  # fmt: skip
        return [Entry(*found) for found in heapq.merge(*rings, key=itemgetter(0))]

    @property
    def forgotten(self) -> int:
        """How many entries are not here any more."""
        return self.handled - len(self.entries)

    def add(self, event: Event, instructions: Sequence[Instruction]) -> None:
        """Keeps an event; not a tick at which nothing happened, which changes nothing."""
        kind = type(event)
        if instructions or kind is not Tick:
            self.handled += 1
            ring = self._rings.get(kind)
            if ring is None:
                ring = self._ring_of(event)
            ring.append((self.handled, event, tuple(instructions)))

    def _ring_of(self, event: Event) -> _Ring:
        kind = type(event)
        if isinstance(event, sessions.SessionGreeted) and event.alive:
            return self._alive
        ring = self._modules.setdefault(kind.__module__, deque(maxlen=self._most))
        if kind is not sessions.SessionGreeted:
            self._rings[kind] = ring
        return ring

    def lines(self, now: float, most: int | None = None) -> list[str]:
        """The entries as text, a line for each event and instruction; times are seconds before `now`.

        most: with how many lines it may end; None for all.
        """
        found: list[str] = []
        entries = self.entries
        begin = 0 if most is None else max(0, len(entries) - most)  # Each entry has a line or more.
        for entry in entries[begin:]:
            found += self.lines_of(entry, now)
        return found if most is None else found[-most:]

    @staticmethod
    def lines_of(entry: Entry, now: float) -> list[str]:
        """An entry as text, a line for the event and one for each instruction."""
        return [
            f"{entry.event.now - now:.3f} s: {line_of(entry.event)}",
            *(f"    -> {line_of(instruction)}" for instruction in entry.instructions),
        ]

    def data(self) -> dict[str, Any]:
        """All of it as JSON has it; `read` is the way back."""
        entries = [
            [to_data(entry.event), *(to_data(instruction) for instruction in entry.instructions)]
            for entry in self.entries
        ]
        return {"forgotten": self.forgotten, "entries": entries}


# ---- as data --------------------------------------------------------------------------------------------------------


_KINDS: Final = (Event, StepEvent, Instruction, Shared)


def classes_of(modules: Iterable[Any]) -> dict[str, type[Any]]:
    """The events and instructions of modules, and what they share, by their names."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, _KINDS)
    }


_CLASSES: Final = classes_of(
    (lease, membership, queries, registrations, sessions, strangers, subgraphs, welcomes)
)


def to_data(value: Any) -> Any:
    """An event, an instruction, or a value of one of their fields as JSON has it; a class of errors is its name."""
    if isinstance(value, _KINDS):
        own = {field.name: to_data(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, **own}
    if isinstance(value, type):
        return {"error": value.__name__}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, tuple):
        return {"tuple": [to_data(each) for each in value]}
    if isinstance(value, Mapping):
        return {"map": [[to_data(key), to_data(each)] for key, each in value.items()]}
    if isinstance(value, list):
        return [to_data(each) for each in value]
    return value


def from_data(data: Any, classes: Mapping[str, type[Any]] = _CLASSES) -> Any:
    """What `to_data` was given, of these classes. KeyError or TypeError for anything else."""
    match data:
        case {"type": str(name), **own}:
            return classes[name](**{str(key): from_data(each, classes) for key, each in own.items()})
        case {"bytes": str(text)}:
            return bytes.fromhex(text)
        case {"tuple": [*values]}:
            return tuple(from_data(each, classes) for each in values)
        case {"map": [*pairs]}:
            return {from_data(key, classes): from_data(each, classes) for key, each in pairs}
        case [*values]:
            return [from_data(each, classes) for each in values]
        case _:
            return data


def read(data: Mapping[str, Any]) -> Journal:
    """A journal from its data. KeyError, TypeError or ValueError for what is none."""
    found = Journal(None)
    for event, *instructions in data["entries"]:
        found.add(from_data(event), [from_data(each) for each in instructions])
    found.handled += int(data["forgotten"])
    return found


def line_of(value: Event | Instruction) -> str:
    """An event or instruction without its time, in a line that is not too long."""
    own = [
        f"{field.name}={_short(getattr(value, field.name))}" for field in fields(value) if field.name != "now"
    ]
    text = f"{type(value).__name__}({', '.join(own)})"
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."


def _short(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else repr(value)
