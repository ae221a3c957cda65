"""The journals of a task's synchronous rounds and groups of collectives: as data, as text, and played again.

These machines are no part of the task's own (graphflow/_core/cluster/protocol): sessions without a cluster have them
too. Each has a `MachineJournal` beside it; here the task reads them when it is asked for its journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.protocol.journal import Journal, classes_of, from_data, to_data
from graphflow._core.cluster.protocol.replay import Differs, Incomplete
from graphflow._core.collectives import group_events
from graphflow._core.collectives.group_journal import FIELDS, described, event_of
from graphflow._core.collectives.groups import Group
from graphflow._core.collectives.rounds import Contribution
from graphflow._core.common import request_ids
from graphflow._core.common.machine_journal import MachineJournal
from graphflow._core.resources.rounds import events as round_events
from graphflow._core.resources.rounds.machine import RoundMachine
from graphflow._core.resources.rounds.sync_rounds import SyncRounds
from graphflow._core.resources.store import ResourceStore

_MOST_TEXT: Final = 300
"""Characters of an event or instruction as a line has it."""
_OF_ROUNDS: Final = classes_of((round_events, request_ids))
_OF_GROUPS: Final = {
    name: value
    for name, value in vars(group_events).items()
    if isinstance(value, type) and issubclass(value, group_events.GroupEvent)
}
_CONTRIBUTION: Final = ("terms", "name", "shape", "rows", "fixed")
Block = tuple[float, list[str]]
"""A time, in seconds before now, and lines: an event and what came of it."""


class MachineJournals:
    """The journals of the rounds in a task's store, and of its groups. For any thread."""

    def __init__(self, store: ResourceStore, groups: MachineJournal) -> None:
        self._store = store
        self._groups = groups

    def data(self) -> list[dict[str, Any]]:
        """All of them as JSON has it, each with what its machines were made with."""
        rounds = [r for r in self._store.others().values() if isinstance(r, SyncRounds)]
        return [*(_rounds_data(r) for r in rounds), _groups_data(self._groups)]

    def blocks(self, now: float) -> list[Block]:
        """All of them as text, in the order of time."""
        return machine_blocks(self.data(), now)


def _rounds_data(rounds: SyncRounds) -> dict[str, Any]:
    forgotten, entries = rounds.journal.read()
    found = [[now, rounds.name, to_data(event), *map(to_data, said)] for _, now, event, said in entries]
    return {"machine": "rounds", "made": dict(rounds.made), "forgotten": forgotten, "entries": found}


def _groups_data(journal: MachineJournal) -> dict[str, Any]:
    forgotten, entries = journal.read()
    found = [
        [now, key, _event_data(event_of(kept)), *(_description_data(d) for d in said)]
        for _, now, (key, kept), said in entries
    ]
    return {"machine": "groups", "made": {}, "forgotten": forgotten, "entries": found}


def _event_data(event: group_events.GroupEvent) -> dict[str, Any]:
    own = {name: getattr(event, name) for name in type(event).__dataclass_fields__}
    return {"type": type(event).__name__, **{name: _value_data(value) for name, value in own.items()}}


def _value_data(value: Any) -> Any:
    if isinstance(value, errors.OpError):
        return {"error": type(value).__name__, "message": value.message}
    if isinstance(value, Contribution):
        own = {name: to_data(getattr(value, name)) for name in _CONTRIBUTION}
        return {"type": "Contribution", "dtype": str(value.dtype), **own}
    return to_data(value)


def _description_data(description: Sequence[Any]) -> dict[str, Any]:
    kind, *values = description
    return {"type": kind.__name__, **dict(zip(FIELDS[kind], map(to_data, values), strict=True))}


# ---- as text --------------------------------------------------------------------------------------------------------


def machine_blocks(machines: Iterable[Mapping[str, Any]], now: float) -> list[Block]:
    """The entries of the machines of a task's journal as text, in the order of time."""
    found = []
    for machine in machines:
        what = "group" if machine["machine"] == "groups" else "rounds"
        for then, key, event, *said in machine["entries"]:
            head = f"{then - now:.3f} s: {what} {key!r}: {_line(event)}"
            found.append((then - now, [head, *(f"    -> {_line(instruction)}" for instruction in said)]))
    return sorted(found, key=_age)


def task_blocks(journal: Journal, machines: Iterable[Mapping[str, Any]], now: float) -> list[Block]:
    """The entries of a task's own journal and of its machines as text, in the order of time."""
    own = [(entry.event.now - now, journal.lines_of(entry, now)) for entry in journal.entries]
    return sorted([*own, *machine_blocks(machines, now)], key=_age)


def _age(block: Block) -> float:
    return block[0]


def _line(data: Mapping[str, Any]) -> str:
    text = _text({name: value for name, value in data.items() if name != "now"})
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."


def _text(data: Any) -> str:
    match data:
        case {"type": str(name), **own}:
            return f"{name}({', '.join(f'{key}={_text(value)}' for key, value in own.items())})"
        case {"error": str(name), **own}:
            return f"{name}({own.get('message', '')!r})" if own else name
        case {"tuple": [*values]}:
            return f"({', '.join(map(_text, values))})"
        case {"map": [*pairs]}:
            return f"{{{', '.join(f'{_text(key)}: {_text(value)}' for key, value in pairs)}}}"
        case _:
            return repr(data)


# ---- played again ---------------------------------------------------------------------------------------------------


def replay_machines(data: Mapping[str, Any]) -> list[RoundMachine | Group]:
    """Plays again what `graphflow status --journal --json` says of a task's rounds and groups: its "journal".

    Returns:
        New machines in the state of those of the task, which were checked after each event.

    Raises:
        Incomplete: events at the beginning are forgotten.
        Differs: an event has other instructions than in the journal.
        BrokenInvariant: an event leaves a state that contradicts itself.
    """
    found: list[RoundMachine | Group] = []
    for machine in data["machines"]:
        if machine["forgotten"]:
            raise Incomplete(f"The first {machine['forgotten']} events are not in the journal.")
        of_groups = machine["machine"] == "groups"
        made: dict[Any, RoundMachine | Group] = {}
        if not of_groups:
            made[machine["made"]["name"]] = RoundMachine(**machine["made"])
        for place, (_, key, event, *expected) in enumerate(machine["entries"]):
            if key not in made:
                made[key] = Group(int(key))
            got = _replayed(made[key], event)
            if got != expected:
                told = [", ".join(map(_line, each)) or "nothing" for each in (expected, got)]
                raise Differs(f"Event {place}, {_line(event)}: expected {told[0]}, got {told[1]}.")
            made[key].check()
        found += made.values()
    return found


def _replayed(machine: RoundMachine | Group, event: Mapping[str, Any]) -> Any:
    """What a machine says to an event, as it is in JSON."""
    if isinstance(machine, RoundMachine):
        said = [to_data(i) for i in machine.handle(from_data(event, _OF_ROUNDS))]
    else:
        own = {name: _value(value) for name, value in event.items() if name != "type"}
        said = [_description_data(described(i)) for i in machine.handle(_OF_GROUPS[event["type"]](**own))]
    return json.loads(json.dumps(said))


def _value(data: Any) -> Any:
    match data:
        case {"error": str(name), "message": str(message)}:
            kind = getattr(errors, name)
            if not issubclass(kind, errors.OpError):
                raise TypeError(f"{name} is no error of an operation.")
            return kind(None, None, message)
        case {"type": "Contribution", **own}:
            values = {str(name): from_data(value) for name, value in own.items()}
            return Contribution(whole=None, **values)
        case _:
            return from_data(data)
