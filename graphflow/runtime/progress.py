"""How far the parts of one run are, as a pure state machine: values go in, stages to compute come out.

The same rules hold for the devices of one process and for the tasks of a cluster: a part goes through its stages in
order, one at a time, each when what it receives is there. No thread, no socket and no clock is known here. Nothing is
kept that no later stage takes, so that who lent a value gets it back soon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_LARGEST_EDGE: Final = 2**31 - 1


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
    spent: tuple[str, ...] = field(default=(), init=False)
    """What nothing takes after this stage has begun: another process may wait to use that memory again."""
    sent: tuple[str, ...] = field(default=(), init=False)
    """What nothing takes after this stage has sent it."""


@dataclass(frozen=True, eq=False)
class Parts:
    """What is run here of one plan: the stages by device, the names of what is fed, and what is fetched."""

    stages: Mapping[str, Sequence[PartStage]]
    feeds: tuple[str, ...]
    fetches: Sequence[tuple[str, str]]
    """Device and name of each value that is handed out at the end."""
    edges: frozenset[int] = field(init=False)
    """What the stages receive."""

    def __post_init__(self) -> None:
        edges = frozenset(edge for stages in self.stages.values() for s in stages for edge in s.receives)
        object.__setattr__(self, "edges", edges)
        for device, stages in self.stages.items():
            self._find_spent(stages, {name for holder, name in self.fetches if holder == device})

    @staticmethod
    def _find_spent(stages: Sequence[PartStage], later: set[str]) -> None:
        for stage in reversed(stages):
            sent = {name for _, name, _ in stage.sends if name is not None}
            spent = tuple(dict.fromkeys(n for n in stage.feeds if n not in later and n not in sent))
            object.__setattr__(stage, "spent", spent)
            object.__setattr__(stage, "sent", tuple(sorted(sent - later)))
            later = later | sent | set(stage.feeds)

    def check(self) -> None:
        """ValueError where a stage, a send or a fetch wants what is not there when its turn comes."""
        known = {device: set(self.feeds) for device in self.stages}
        for device, stages in self.stages.items():
            for stage in stages:
                known[device].update(stage.receives.values())
                _check_names(stage.feeds, known[device], "A stage takes")
                known[device].update(stage.fetches)
                _check_names([n for _, n, _ in stage.sends if n is not None], known[device], "A stage sends")
                for edge in (*stage.receives, *(edge for edge, _, _ in stage.sends)):
                    if type(edge) is not int or not 0 <= edge <= _LARGEST_EDGE:
                        raise ValueError(f"An edge has the number {edge!r:.100}.")
        for device, name in self.fetches:
            _check_names([name], known.get(device, set()), f"{device} hands over")


def _check_names(names: Sequence[str], known: set[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{what} {name!r:.200}, which is not there.")


@dataclass(eq=False, slots=True)
class Work:
    """A stage to compute now. Who computes it empties `values` when it is through: nothing else keeps them."""

    device: str
    stage: PartStage
    values: Sequence[Any]


Outgoing = tuple[list[int], list[Any], list[int]]
"""The edges that have values, these values, and the edges of signals."""


@dataclass(eq=False, slots=True)
class _Part:
    """How far a part is: its values by name, the stage that is next, and whether that is being computed."""

    stages: Sequence[PartStage]
    values: dict[str, Any]
    place: int = 0
    busy: bool = False


class Progress:
    """One run of some parts. Not thread-safe."""

    __slots__ = ("_inbox", "_parts", "_plan")

    def __init__(self, plan: Parts, feeds: Sequence[Any], early: Mapping[int, Any] | None = None) -> None:
        """`early`: what came along edges before the run began."""
        fed = dict(zip(plan.feeds, feeds, strict=True))
        self._plan = plan
        self._inbox: dict[int, Any] = dict(early or {})
        self._parts = {device: _Part(stages, dict(fed)) for device, stages in plan.stages.items()}

    def arrived(self, edges: Sequence[int], values: Sequence[Any]) -> None:
        """Values came from elsewhere along edges; True stands for a signal."""
        known = self._plan.edges
        self._inbox.update((e, v) for e, v in zip(edges, values, strict=True) if e in known)

    def ready(self) -> list[Work]:
        """The stages that can be computed and were not said before: at most one of each part."""
        found = []
        for device, part in self._parts.items():
            if part.busy or part.place == len(part.stages):
                continue
            stage = part.stages[part.place]
            if not self._inbox.keys() >= stage.receives.keys():
                continue
            for edge, name in stage.receives.items():
                part.values[name] = self._inbox.pop(edge)
            part.busy = True
            found.append(Work(device, stage, [part.values[name] for name in stage.feeds]))
            for name in stage.spent:
                del part.values[name]
        return found

    def done(self, device: str, stage: PartStage, results: Sequence[Any]) -> dict[str, Outgoing]:
        """Takes the results of a stage; what goes out, by task."""
        part = self._parts[device]
        part.values.update(zip(stage.fetches, results, strict=True))
        part.place += 1
        part.busy = False
        outgoing: dict[str, Outgoing] = {}
        for edge, name, task in stage.sends:
            if not task:
                self._inbox[edge] = True if name is None else part.values[name]
                continue
            edges, values, signals = outgoing.setdefault(task, ([], [], []))
            if name is None:
                signals.append(edge)
            else:
                edges.append(edge)
                values.append(part.values[name])
        for name in stage.sent:
            del part.values[name]
        return outgoing

    @property
    def ended(self) -> bool:
        """Whether all parts are through."""
        return all(part.place == len(part.stages) for part in self._parts.values())

    def fetched(self) -> list[Any]:
        """What is handed out at the end."""
        return [self._parts[device].values[name] for device, name in self._plan.fetches]

    def awaited(self) -> list[int]:
        """The edges along which something has to come before the next stages can begin."""
        return [
            edge
            for part in self._parts.values()
            if not part.busy and part.place < len(part.stages)
            for edge in part.stages[part.place].receives
            if edge not in self._inbox
        ]
