"""Playing a journal again: its events go to a new `TaskProtocol`, which must do at each of them what the journal says.

A replay needs the events from the task's beginning; a journal says how many of them it has forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphflow._core.cluster.protocol.journal import Journal, line_of, read
from graphflow._core.cluster.protocol.task import TaskProtocol


class Incomplete(ValueError):
    """A journal that does not begin where its task does: it cannot be replayed."""


class Differs(AssertionError):
    """A replay does something else than the journal says."""


def replay(
    journal: Journal, protocol: TaskProtocol, after_each: Callable[[], None] | None = None
) -> TaskProtocol:
    """Gives all events of a journal to a new protocol, and returns it in the state in which the task was.

    Args:
        journal: a whole one, from the beginning of its task.
        protocol: made as that of the task was: the same name, incarnation, other tasks and time of beginning.
        after_each: called after each event; by default `protocol.check`.

    Raises:
        Incomplete: events at the beginning are forgotten.
        Differs: an event has other instructions than in the journal.
        BrokenInvariant: an event leaves a state that contradicts itself.
    """
    if journal.forgotten:
        raise Incomplete(f"The first {journal.forgotten} events are not in the journal.")
    for place, entry in enumerate(journal.entries):
        found = tuple(protocol.handle(entry.event))
        if found != entry.instructions:
            expected = ", ".join(map(line_of, entry.instructions)) or "nothing"
            got = ", ".join(map(line_of, found)) or "nothing"
            raise Differs(f"Event {place}, {line_of(entry.event)}: expected {expected}, got {got}.")
        (after_each or protocol.check)()
    return protocol


def replay_data(data: Mapping[str, Any]) -> TaskProtocol:
    """Plays again what `graphflow status --journal --json` says of a task: its "journal". As `replay`."""
    others = {str(task): str(address) for task, address in data["others"].items()}
    protocol = TaskProtocol(str(data["task"]), str(data["incarnation"]), others, float(data["begun"]))
    return replay(read(data), protocol)
