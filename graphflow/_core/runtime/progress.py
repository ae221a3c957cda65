"""How far the parts of one run are, as a pure state machine: values go in, stages to compute and what is sent come out.

The same rules hold for the devices of one process and for the tasks of a cluster: a part goes through its stages in
order, one at a time, each when what it receives is there. No thread, no socket and no clock is known here. Nothing is
kept that no later stage takes, so that who lent a value gets it back soon.

A plan names values; a run numbers them. What is the same for every run is worked out once: each feed, edge and result
of a part has a place of its own in one list of values, as has a name that is given a value again, and a stage knows the
places that it reads, writes and is the last to use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

_LARGEST_EDGE: Final = 2**31 - 1
_ABSENT: Final = object()
"""At a place whose value is not there yet."""


@dataclass(frozen=True, eq=False)
class PartStage:
    """A stage of a part: `run` is what computes it, which is nothing to this module.

    receives: the name of the value that each edge brings. sends: edge, name of the value (None for a signal), and the
    task it goes to, "" for the own.
    """

    run: Any
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    receives: Mapping[int, str]
    sends: Sequence[tuple[int, str | None, str]]


@dataclass(frozen=True, eq=False)
class Parts:
    """What is run here of one plan: the stages by device, the names of what is fed, and what is fetched."""

    stages: Mapping[str, Sequence[PartStage]]
    feeds: tuple[str, ...]
    fetches: Sequence[tuple[str, str]]
    """Device and name of each value that is handed out at the end."""

    @cached_property
    def program(self) -> Program:
        """The same with places for names; KeyError for what `check` finds wrong."""
        return Program(self)

    def check(self) -> None:
        """ValueError where a stage, a send or a fetch wants what is not there when its turn comes."""
        known = {device: set(self.feeds) for device in self.stages}
        received: set[int] = set()
        for device, stages in self.stages.items():
            for stage in stages:
                known[device].update(stage.receives.values())
                _check_names(stage.feeds, known[device], "A stage takes")
                known[device].update(stage.fetches)
                _check_names([n for _, n, _ in stage.sends if n is not None], known[device], "A stage sends")
                for edge in (*stage.receives, *(edge for edge, _, _ in stage.sends)):
                    if type(edge) is not int or not 0 <= edge <= _LARGEST_EDGE:
                        raise ValueError(f"An edge has the number {edge!r:.100}.")
                if not received.isdisjoint(stage.receives):
                    raise ValueError("Two stages receive the same value.")
                received.update(stage.receives)
        for device, name in self.fetches:
            _check_names([name], known.get(device, set()), f"{device} hands over")


def _check_names(names: Sequence[str], known: set[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{what} {name!r:.200}, which is not there.")


@dataclass(frozen=True, eq=False, slots=True)
class Parcel:
    """What a stage sends to another task: the edges, those of signals last, and the places of the others' values."""

    task: str
    edges: np.ndarray[Any, Any]
    places: tuple[int, ...]


@dataclass(eq=False, slots=True)
class _Turn:
    """A stage with places for names: those that must be filled before it begins, that it takes, and that it fills.

    spent, sent: what nothing takes after it has begun, as another process may wait to use that memory again, and after
    it has sent. here: for each edge to a part of the same task where it ends and where its value is, None for a signal.
    """

    part: int
    device: str
    stage: PartStage
    awaits: tuple[int, ...]
    takes: tuple[int, ...]
    fills: tuple[int, ...]
    parcels: tuple[Parcel, ...]
    here: tuple[tuple[int, int | None], ...]
    spent: tuple[int, ...] = ()
    sent: tuple[int, ...] = ()
    following: _Turn | None = None


class Program:
    """The stages of parts with places for names."""

    def __init__(self, parts: Parts) -> None:
        self._count = 0
        self.edges: dict[int, int] = {
            edge: self._new() for each in parts.stages.values() for stage in each for edge in stage.receives
        }
        """Where what comes along each edge goes."""
        self.fed: list[tuple[int, int]] = []
        """Places of fed values, each with the value's position among the feeds."""
        self.first: list[_Turn | None] = []
        """The first stage of each part."""
        places: dict[tuple[str, str], int] = {}
        for part, (device, stages) in enumerate(parts.stages.items()):
            names = self._feed(parts.feeds, _used(stages, [n for d, n in parts.fetches if d == device]))
            turns = [self._turn(part, device, stage, names) for stage in stages]
            places.update({(device, name): place for name, place in names.items()})
            _link(turns, {names[name] for holder, name in parts.fetches if holder == device})
            self.first.append(turns[0] if turns else None)
        self.fetches = tuple([places[fetch] for fetch in parts.fetches])
        self.blank = [_ABSENT] * self._count

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def _feed(self, feeds: Sequence[str], used: set[str]) -> dict[str, int]:
        """Places for the fed values that a part uses, by name."""
        names = {}
        for position, name in enumerate(feeds):
            if name in used:
                names[name] = self._new()
                self.fed.append((names[name], position))
        return names

    def _turn(self, part: int, device: str, stage: PartStage, names: dict[str, int]) -> _Turn:
        """The next stage of a part; what it receives and computes has these names from then on."""
        names.update({name: self.edges[edge] for edge, name in stage.receives.items()})
        takes = tuple([names[name] for name in stage.feeds])
        fills = tuple([self._new() for _ in stage.fetches])
        names.update(zip(stage.fetches, fills, strict=True))
        sends: dict[str, list[tuple[int, int | None]]] = {}
        for edge, name, task in stage.sends:
            sends.setdefault(task, []).append((edge, None if name is None else names[name]))
        here = [(self.edges[edge], place) for edge, place in sends.pop("", ()) if edge in self.edges]
        return _Turn(
            part,
            device,
            stage,
            tuple([self.edges[edge] for edge in stage.receives]),
            takes,
            fills,
            tuple([_parcel(task, found) for task, found in sends.items()]),
            tuple(here),
        )


def _used(stages: Iterable[PartStage], fetches: Iterable[str]) -> set[str]:
    """The names that stages take or send, or that are fetched."""
    used = set(fetches)
    for stage in stages:
        used.update(stage.feeds, (name for _, name, _ in stage.sends if name is not None))
    return used


def _parcel(task: str, sends: Sequence[tuple[int, int | None]]) -> Parcel:
    with_value = [(edge, place) for edge, place in sends if place is not None]
    signals = [edge for edge, place in sends if place is None]
    edges = np.array([*(edge for edge, _ in with_value), *signals], np.int32)
    return Parcel(task, edges, tuple([place for _, place in with_value]))


def _link(turns: Sequence[_Turn], later: set[int]) -> None:
    """Tells each stage of a part which follows it, and what it is the last to use; `later`: what is used after all."""
    following = None
    for turn in reversed(turns):
        turn.following, following = following, turn
        sent = {place for parcel in turn.parcels for place in parcel.places}
        sent |= {place for _, place in turn.here if place is not None}
        turn.spent = tuple(dict.fromkeys(p for p in turn.takes if p not in later and p not in sent))
        turn.sent = tuple(sorted(sent - later))
        later = later | sent | set(turn.takes)


@dataclass(eq=False, slots=True)
class RunStage:
    """Compute a stage of a run, and tell `done` of it.

    Who computes it may empty `values` when it is through: nothing else keeps what no later stage takes.
    """

    key: Any
    device: str
    stage: PartStage
    values: Sequence[Any]
    turn: _Turn


@dataclass(eq=False, slots=True)
class SendTensors:
    """Send values to a task, along the edges that `to` has; a signal has no value."""

    key: Any
    to: Parcel
    values: Sequence[Any]


class Progress:
    """One run of some parts. Not thread-safe."""

    __slots__ = ("_edges", "_fetches", "_key", "_left", "_next", "_values", "ended")

    def __init__(self, plan: Parts, feeds: Sequence[Any], key: Any = None) -> None:
        """`key` names the run in what it says is to be done."""
        if len(feeds) != len(plan.feeds):
            raise ValueError(f"{len(feeds)} values are fed, and it takes {len(plan.feeds)}.")
        program = plan.program
        self._key = key
        self._edges = program.edges
        self._fetches = program.fetches
        self._values = values = program.blank.copy()
        for place, position in program.fed:
            values[place] = feeds[position]
        self._next = program.first.copy()
        """Of each part the stage that has not begun, where none is being computed."""
        self._left = len(self._next) - self._next.count(None)
        """How many parts are not through."""
        self.ended = not self._left
        """Whether all parts are through."""

    def arrived(self, edges: Sequence[int], values: Sequence[Any]) -> None:
        """Values came from elsewhere along edges, beyond the values signals; what came before is there already."""
        places, found = self._edges, self._values
        for edge, value in zip(edges, values, strict=False):
            place = places.get(edge)
            if place is not None and found[place] is _ABSENT:
                found[place] = value
        for edge in edges[len(values) :]:
            place = places.get(edge)
            if place is not None and found[place] is _ABSENT:
                found[place] = True

    def ready(self) -> list[RunStage]:
        """The stages that can be computed and were not said before: at most one of each part."""
        found = []
        values = self._values
        for turn in self._next:
            if turn is None:
                continue
            for place in turn.awaits:
                if values[place] is _ABSENT:
                    break
            else:
                self._next[turn.part] = None
                taken = [values[place] for place in turn.takes]
                found.append(RunStage(self._key, turn.device, turn.stage, taken, turn))
                for place in turn.spent:
                    values[place] = None
        return found

    def done(self, work: RunStage, results: Sequence[Any]) -> list[SendTensors]:
        """Takes the results of a stage; what goes out, once for each task."""
        turn = work.turn
        values = self._values
        for place, value in zip(turn.fills, results, strict=True):
            values[place] = value
        self._next[turn.part] = turn.following
        if turn.following is None:
            self._left -= 1
            self.ended = not self._left
        for end, source in turn.here:
            values[end] = True if source is None else values[source]
        outgoing = [SendTensors(self._key, p, [values[place] for place in p.places]) for p in turn.parcels]
        for place in turn.sent:
            values[place] = None
        return outgoing

    def fetched(self) -> list[Any]:
        """What is handed out at the end."""
        return [self._values[place] for place in self._fetches]

    def awaited(self) -> list[int]:
        """The edges along which something has to come before the next stages can begin."""
        return [
            edge
            for turn in self._next
            if turn is not None
            for edge in turn.stage.receives
            if self._values[self._edges[edge]] is _ABSENT
        ]
