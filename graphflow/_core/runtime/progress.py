"""How far the parts of one run are: a state machine that takes values, and says what to compute and what to send.

The same rules hold for the devices of one process and for the tasks of a cluster: a part goes through its stages in
order, one at a time, and a stage begins when everything that it receives is there. This module knows no thread, no
socket and no clock. It drops each value after the last stage that takes it, so that borrowed memory is free again soon.

A plan names values; a run numbers them. The numbers are the same for every run and are worked out once: each feed, each
edge and each result of a part has a slot of its own in one list of values. A name that is given a value again gets
another slot. A stage knows the slots that it reads, those that it writes, and those that nothing uses after it.

Stages of which one may wait for another of the same run say which others they need. Such a part, too, goes through them
in order, one at a time; but after a while who runs it asks `overdue` for those that can begin beside one that waits, or
before one that receives something. The clock for that is not here, either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass

_LARGEST_EDGE: Final = 2**31 - 1
_ABSENT: Final = object()
"""Fills a slot whose value is not there yet."""


@dataclass(frozen=True, eq=False)
class PartStage:
    """A stage of a part. `run` is the object that computes it; this module does not look at it.

    receives: the name of the value that each edge brings. sends: edge, name of the value (None for a signal), and the
    task that it goes to, "" for the own. needs: the places in the part of the stages that come first; None if all
    before it do. turn: no two stages with the same text are computed at once, unless it is "". patience: after so many
    seconds others of its part may begin beside it; 0 for never.
    """

    run: Any
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    receives: Mapping[int, str]
    sends: Sequence[tuple[int, str | None, str]]
    needs: tuple[int, ...] | None = None
    turn: str = ""
    patience: float = 0.0


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of one plan that this process runs: stages by device, the names of the fed values, and the fetches."""

    stages: Mapping[str, Sequence[PartStage]]
    feeds: tuple[str, ...]
    fetches: Sequence[tuple[str, str]]
    """Device and name of each fetched value."""

    @cached_property
    def apart(self) -> bool:
        """Whether stages say what they need."""
        return any(stage.needs is not None for each in self.stages.values() for stage in each)

    @cached_property
    def program(self) -> Program:
        """The same with slots in place of names; KeyError for what `check` finds wrong."""
        return Program(self)

    def check(self) -> None:
        """Raises ValueError if a stage, a send or a fetch needs a value that is not there when its turn comes."""
        known = {device: set(self.feeds) for device in self.stages}
        received: set[int] = set()
        for device, stages in self.stages.items():
            _check_needs(stages, set(self.feeds))
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


def _check_needs(stages: Sequence[PartStage], fed: set[str]) -> None:
    """Raises ValueError if stages that say what they need do not need all that they take, or not all say so."""
    if all(stage.needs is None for stage in stages):
        return
    for place, stage in enumerate(stages):
        needs = stage.needs
        if needs is None or any(type(need) is not int or not 0 <= need < place for need in needs):
            raise ValueError(f"The stage {place} of a part needs {needs!r:.200}.")
        given = fed.union(stage.receives.values())
        for need in needs:
            given.update(stages[need].receives.values(), stages[need].fetches)
        _check_names(stage.feeds, given, "A stage takes, of those that it needs,")


@dataclass(frozen=True, eq=False, slots=True)
class OutgoingMessage:
    """What a stage sends to another task: the edges, those of signals last, and the slots of the values."""

    task: str
    edges: np.ndarray[Any, Any]
    slots: tuple[int, ...]


@dataclass(eq=False, slots=True)
class _Turn:
    """A stage with slots in place of names.

    awaits: the slots that must be filled before it begins. takes, fills: those that it reads and writes. spent: those
    that nothing reads after it has begun; they are emptied then, since another process may wait for that memory. sent:
    those that nothing reads after it has sent. Of a part whose stages say what they need, these two are what it reads
    and what it sends, and others may read it. here: for each edge to a part of the same task the slot at its end and
    the slot of its value, None for a signal.
    """

    part: int
    device: str
    stage: PartStage
    awaits: tuple[int, ...]
    takes: tuple[int, ...]
    fills: tuple[int, ...]
    outgoing: tuple[OutgoingMessage, ...]
    here: tuple[tuple[int, int | None], ...]
    spent: tuple[int, ...] = ()
    sent: tuple[int, ...] = ()
    following: _Turn | None = None
    place: int = 0


class Program:
    """The stages of parts with slots in place of names."""

    def __init__(self, parts: Parts) -> None:
        self._count = 0
        self.edges: dict[int, int] = {
            edge: self._new() for each in parts.stages.values() for stage in each for edge in stage.receives
        }
        """The slot for the value of each edge."""
        self.fed: list[tuple[int, int]] = []
        """The slots of fed values, each with the value's position among the feeds."""
        self.first: list[_Turn | None] = []
        """The first stage of each part; None for those whose stages say what they need."""
        self.apart: list[list[_Turn]] = []
        """The stages of each part whose stages say what they need."""
        slots: dict[tuple[str, str], int] = {}
        for part, (device, stages) in enumerate(parts.stages.items()):
            names = self._feed(parts.feeds, _used(stages, [n for d, n in parts.fetches if d == device]))
            turns = [self._turn(part, device, stage, names) for stage in stages]
            slots.update({(device, name): slot for name, slot in names.items()})
            later = {names[name] for holder, name in parts.fetches if holder == device}
            if turns and turns[0].stage.needs is not None:
                _count(turns, later)
                self.apart.append(turns)
                self.first.append(None)
            else:
                _link(turns, later)
                self.first.append(turns[0] if turns else None)
        self.fetches = tuple([slots[fetch] for fetch in parts.fetches])
        self.blank = [_ABSENT] * self._count

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def _feed(self, feeds: Sequence[str], used: set[str]) -> dict[str, int]:
        """Slots for the fed values that a part uses, by name."""
        names = {}
        for position, name in enumerate(feeds):
            if name in used:
                names[name] = self._new()
                self.fed.append((names[name], position))
        return names

    def _turn(self, part: int, device: str, stage: PartStage, names: dict[str, int]) -> _Turn:
        """The next stage of a part. Adds the values that it receives and computes to `names`."""
        names.update({name: self.edges[edge] for edge, name in stage.receives.items()})
        takes = tuple([names[name] for name in stage.feeds])
        fills = tuple([self._new() for _ in stage.fetches])
        names.update(zip(stage.fetches, fills, strict=True))
        sends: dict[str, list[tuple[int, int | None]]] = {}
        for edge, name, task in stage.sends:
            sends.setdefault(task, []).append((edge, None if name is None else names[name]))
        here = [(self.edges[edge], slot) for edge, slot in sends.pop("", ()) if edge in self.edges]
        return _Turn(
            part,
            device,
            stage,
            tuple([self.edges[edge] for edge in stage.receives]),
            takes,
            fills,
            tuple([_outgoing_message(task, found) for task, found in sends.items()]),
            tuple(here),
        )


def _used(stages: Iterable[PartStage], fetches: Iterable[str]) -> set[str]:
    """The names that stages take or send, or that are fetched."""
    used = set(fetches)
    for stage in stages:
        used.update(stage.feeds, (name for _, name, _ in stage.sends if name is not None))
    return used


def _outgoing_message(task: str, sends: Sequence[tuple[int, int | None]]) -> OutgoingMessage:
    with_value = [(edge, slot) for edge, slot in sends if slot is not None]
    signals = [edge for edge, slot in sends if slot is None]
    edges = np.array([*(edge for edge, _ in with_value), *signals], np.int32)
    return OutgoingMessage(task, edges, tuple([slot for _, slot in with_value]))


def _link(turns: Sequence[_Turn], later: set[int]) -> None:
    """Sets for each stage of a part which one follows it, and what it is the last to use.

    later: the slots that are used after all stages.
    """
    following = None
    for turn in reversed(turns):
        turn.following, following = following, turn
        sent = {slot for message in turn.outgoing for slot in message.slots}
        sent |= {slot for _, slot in turn.here if slot is not None}
        turn.spent = tuple(dict.fromkeys(p for p in turn.takes if p not in later and p not in sent))
        turn.sent = tuple(sorted(sent - later))
        later = later | sent | set(turn.takes)


def _count(turns: Sequence[_Turn], later: set[int]) -> None:
    """Sets for each stage of a part whose stages say what they need its place, and what it takes and sends, each once.

    later: the slots that are used after all stages.
    """
    for place, turn in enumerate(turns):
        sent = {slot for message in turn.outgoing for slot in message.slots}
        sent.update(slot for _, slot in turn.here if slot is not None)
        turn.place = place
        turn.spent = tuple(sorted({*turn.takes, *turn.awaits} - later))
        turn.sent = tuple(sorted(sent - later))


class _Apart:
    """How far a part is whose stages say what they need."""

    __slots__ = ("at_work", "begun", "ended", "impatient", "left", "turns", "users")

    def __init__(self, turns: list[_Turn]) -> None:
        self.turns = turns
        self.begun = [False] * len(turns)
        self.ended = [False] * len(turns)
        self.left = len(turns)
        self.at_work: dict[int, bool] = {}
        """By place the stages that are computed, and whether others may begin beside each."""
        self.impatient = False
        """Whether stages may begin before one that receives something."""
        self.users: dict[int, int] = {}
        """How many stages have still to use each slot."""
        for turn in turns:
            for slot in (*turn.spent, *turn.sent):
                self.users[slot] = self.users.get(slot, 0) + 1

    def next(self, values: Sequence[Any]) -> _Turn | None:
        """The stage that begins now, if any."""
        if not all(self.at_work.values()):
            return None
        busy = {self.turns[place].stage.turn for place in self.at_work}
        for turn in self.turns:
            if self.begun[turn.place] or not self._may_begin(turn, busy):
                continue
            if not any(values[slot] is _ABSENT for slot in turn.awaits):
                return turn
            if not self.impatient:
                return None
        return None

    def _may_begin(self, turn: _Turn, busy: Collection[str]) -> bool:
        stage = turn.stage
        return all(self.ended[need] for need in stage.needs or ()) and not (stage.turn and stage.turn in busy)

    def awaiting(self) -> list[_Turn]:
        """The stages that wait for what they receive alone."""
        return [turn for turn in self.turns if not self.begun[turn.place] and self._may_begin(turn, ())]

    def overdue(self, seconds: float, patience: float) -> None:
        """So long nothing has happened: what has waited for longer than its patience, others may begin beside.

        patience: that of a part which waits for what it receives.
        """
        for place in self.at_work:
            if 0 < self.turns[place].stage.patience <= seconds:
                self.at_work[place] = True
        if all(self.at_work.values()) and seconds >= patience:
            self.impatient = True

    def begin(self, turn: _Turn, values: list[Any]) -> None:
        """A stage begins, and has taken its values."""
        self.begun[turn.place] = True
        self.at_work[turn.place] = False
        self._empty(turn.spent, values)

    def end(self, turn: _Turn, values: list[Any]) -> None:
        """A stage has ended, and has sent its values."""
        del self.at_work[turn.place]
        self.ended[turn.place] = True
        self.left -= 1
        self._empty(turn.sent, values)

    def _empty(self, slots: Sequence[int], values: list[Any]) -> None:
        """One stage less uses these slots; those that no other uses are emptied."""
        for slot in slots:
            self.users[slot] -= 1
            if not self.users[slot]:
                values[slot] = None


@dataclass(eq=False, slots=True)
class RunStage:
    """An instruction: compute a stage of a run, then call `done` with the results.

    The code that computes it may empty `values` afterwards: nothing else keeps a value that no later stage takes.
    """

    key: Any
    device: str
    stage: PartStage
    values: Sequence[Any]
    turn: _Turn


@dataclass(eq=False, slots=True)
class SendTensors:
    """An instruction: send values to a task, along the edges that `to` has; a signal has no value."""

    key: Any
    to: OutgoingMessage
    values: Sequence[Any]


class Progress:
    """One run of some parts. Not thread-safe."""

    __slots__ = ("_apart", "_edges", "_fetches", "_key", "_left", "_next", "_values", "ended", "moves")

    def __init__(self, plan: Parts, feeds: Sequence[Any], key: Any = None) -> None:
        """`key` names the run in its instructions."""
        if len(feeds) != len(plan.feeds):
            raise ValueError(f"{len(feeds)} values are fed, and it takes {len(plan.feeds)}.")
        program = plan.program
        self._key = key
        self._edges = program.edges
        self._fetches = program.fetches
        self._values = values = program.blank.copy()
        for slot, position in program.fed:
            values[slot] = feeds[position]
        self._next = program.first.copy()
        """The next stage of each part; None while one of its stages is computed, and after its last one."""
        self._left = len(self._next) - self._next.count(None)
        """How many parts have stages left."""
        self._apart: dict[int, _Apart] = {}
        """The parts whose stages say what they need, by number."""
        for turns in program.apart:
            self._apart[turns[0].part] = _Apart(turns)
            self._left += 1
        self.moves = 0
        """How many stages of these have begun or ended."""
        self.ended = not self._left
        """Whether all stages of all parts were computed."""

    def arrived(self, edges: Sequence[int], values: Sequence[Any]) -> None:
        """Takes values that came along the first edges; the other edges are signals. What comes again is ignored."""
        slots, found = self._edges, self._values
        for edge, value in zip(edges, values, strict=False):
            slot = slots.get(edge)
            if slot is not None and found[slot] is _ABSENT:
                found[slot] = value
        for edge in edges[len(values) :]:
            slot = slots.get(edge)
            if slot is not None and found[slot] is _ABSENT:
                found[slot] = True

    def ready(self) -> list[RunStage]:
        """The stages that can be computed and were not returned before: at most one of each part."""
        found = []
        values = self._values
        for turn in self._next:
            if turn is None:
                continue
            for slot in turn.awaits:
                if values[slot] is _ABSENT:
                    break
            else:
                self._next[turn.part] = None
                taken = [values[slot] for slot in turn.takes] if turn.takes else []
                found.append(RunStage(self._key, turn.device, turn.stage, taken, turn))
                for slot in turn.spent:
                    values[slot] = None
        for part in self._apart.values():
            turn = part.next(values)
            if turn is not None:
                self.moves += 1
                taken = [values[slot] for slot in turn.takes]
                found.append(RunStage(self._key, turn.device, turn.stage, taken, turn))
                part.begin(turn, values)
        return found

    @property
    def may_be_overdue(self) -> bool:
        """Whether stages of a part may begin beside one that waits, after a while."""
        return bool(self._apart)

    def overdue(self, seconds: float, patience: float) -> list[RunStage]:
        """For so long `moves` has not changed: the stages that begin now, as `ready` returns them.

        patience: for so long a part waits for what it receives before it does what comes after.
        """
        for part in self._apart.values():
            part.overdue(seconds, patience)
        return self.ready()

    def done(self, work: RunStage, results: Sequence[Any]) -> list[SendTensors]:
        """Takes the results of a stage; returns what is to be sent, at most one message for each task."""
        turn = work.turn
        values = self._values
        for slot, value in zip(turn.fills, results, strict=True):
            values[slot] = value
        apart = self._apart.get(turn.part) if self._apart else None
        if apart is None:
            self._next[turn.part] = turn.following
        if turn.following is None if apart is None else apart.left == 1:
            self._left -= 1
            self.ended = not self._left
        for end, source in turn.here:
            values[end] = True if source is None else values[source]
        outgoing: list[SendTensors] = []
        for to in turn.outgoing:
            outgoing.append(SendTensors(self._key, to, [values[slot] for slot in to.slots]))
        if apart is None:
            for slot in turn.sent:
                values[slot] = None
        else:
            self.moves += 1
            apart.end(turn, values)
        return outgoing

    def fetched(self) -> list[Any]:
        """The fetched values, after the last stage."""
        return list(map(self._values.__getitem__, self._fetches))

    def awaited_values(self) -> list[str]:
        """The values that have to come before the next stages can begin, by their names where they are made."""
        return [
            name.partition("->")[0]
            for turn in self._following()
            for edge, name in turn.stage.receives.items()
            if self._values[self._edges[edge]] is _ABSENT
        ]

    def awaited(self) -> list[int]:
        """The edges along which something has to come before the next stages can begin."""
        return [
            edge
            for turn in self._following()
            for edge in turn.stage.receives
            if self._values[self._edges[edge]] is _ABSENT
        ]

    def _following(self) -> Iterator[_Turn]:
        yield from (turn for turn in self._next if turn is not None)
        for part in self._apart.values():
            yield from part.awaiting()
