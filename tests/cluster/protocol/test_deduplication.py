"""Protects the machine of repeated runs: one attempt changes at a time, the latest counts, each change is made once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graphflow import errors
from graphflow._core.cluster.protocol.deduplication import (
    AttemptBegun,
    AwaitChange,
    ChangeAsked,
    ChangeEnded,
    Deduplication,
    EndEarlier,
    MakeChange,
    RefuseAttempt,
    VariableRestored,
)
from graphflow._core.common.last_runs import LastRuns
from graphflow._core.common.machine import BrokenInvariant, StepEvent
from graphflow._core.common.request_ids import RequestId, RunId

LATER = "A later attempt of this run has begun."


class Told:
    """A machine that is checked after each event."""

    def __init__(self, machine: Deduplication | None = None) -> None:
        self.machine = machine or Deduplication()

    def __call__(self, event: StepEvent) -> list[Any]:
        found = self.machine.handlers[type(event)](event)
        self.machine.check()
        return found

    def begin(self, attempt: int, step: Any, line: str = "t", call: int = 1) -> RequestId:
        request = RequestId(line, call, 0, attempt)
        self(AttemptBegun(0.0, request, step))
        return request

    def ask(self, request: RequestId, versions: Any = None, names: str = "ab") -> Any:
        (found,) = self(ChangeAsked(0.0, request, tuple(names), versions or {}))
        return found

    def end(self, request: RequestId, versions: Any) -> None:
        assert self(ChangeEnded(0.0, request, versions)) == []


@pytest.fixture
def tell() -> Told:
    return Told()


def test_a_change_that_is_there_is_left_out_and_one_that_failed_or_was_overwritten_is_made(
    tell: Told,
) -> None:
    first = tell.begin(0, "first")
    assert tell.ask(first) == MakeChange(()) and tell.machine.is_busy(first)
    tell.end(first, None)
    assert tell.ask(first) == MakeChange(()) and not tell.machine.changed(first)
    tell.end(first, {"a": 1, "b": 1})
    again = tell.begin(1, "again")
    assert dict(tell.machine.changed(again)) == {"a": 1, "b": 1}
    assert tell.ask(again, {"a": 1, "b": 2}) == MakeChange(("a",)) and tell.machine.repeated == 1
    tell.end(again, {"a": 1, "b": 2})
    assert tell.ask(again, {"a": 1, "b": 2}) == MakeChange(("a", "b"))


def test_a_later_attempt_ends_the_step_of_the_earlier_one_and_waits_for_its_change(tell: Told) -> None:
    first = tell.begin(0, "first")
    tell.ask(first)
    second = RequestId("t", 1, 0, 1)
    assert tell(AttemptBegun(0.0, second, "second")) == [EndEarlier("first")]
    assert tell.ask(second) == AwaitChange()
    tell.end(first, {"a": 1})
    assert tell.ask(first) == RefuseAttempt(errors.CANCELLED, LATER)
    assert tell.ask(second, {"a": 1}, "ab") == MakeChange(("a",))


def test_an_earlier_attempt_that_comes_late_is_refused_and_one_that_comes_twice_is_not(tell: Told) -> None:
    tell.begin(2, "second")
    assert tell(AttemptBegun(0.0, RequestId("t", 1, 0, 1), "late")) == [RefuseAttempt(errors.ABORTED, LATER)]
    assert tell(AttemptBegun(0.0, RequestId("t", 1, 0, 2), "second")) == []
    tell.begin(0, "next", call=2)
    (refused,) = tell(AttemptBegun(0.0, RequestId("t", 1, 0, 3), "old"))
    assert refused.code == errors.ABORTED and "A later run of this program has begun" in refused.message


def test_two_stages_of_one_attempt_change_one_after_the_other(tell: Told) -> None:
    request = tell.begin(0, "step")
    assert tell.ask(request, names="a") == MakeChange(()) and tell.ask(request, names="b") == AwaitChange()
    tell.end(request, {"a": 1})
    assert tell.ask(request, {"a": 1}, "b") == MakeChange(())


def test_a_repetition_of_what_was_forgotten_is_refused() -> None:
    tell = Told(Deduplication(LastRuns(most_lines=2)))
    for line in "abc":
        tell.begin(0, "step", line)
    (refused,) = tell(AttemptBegun(0.0, RequestId("a", 1, 0, 1), "again"))
    assert refused.code == errors.DATA_LOSS and "has forgotten" in refused.message


class World:
    """A task with variables, programs that repeat their runs, and stages that fail, end late, or never begin."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tell = Told()
        self.variables = {"a": 0, "b": 0}
        self.assigned = {"a": 0, "b": 0}
        self.counted: set[tuple[str, int, str]] = set()
        """The changes, by line, call and name, that are in the variables."""
        self.calls = {"x": [1, 0], "y": [1, 0]}
        """The call and the next attempt of each program."""
        self.saved: tuple[dict[str, int], set[tuple[str, int, str]]] = dict(self.variables), set()
        self.saved_changes: dict[str, list[tuple[RunId, str]]] = {"a": [], "b": []}
        self.repeated = 0
        """How many changes were left out by machines of tasks that were started again since."""
        self.open: list[RequestId] = []
        self.busy: list[tuple[RequestId, tuple[str, ...], tuple[str, ...]]] = []

    def step(self) -> None:
        doings = [self._begin, self._ask, self._ask, self._end, self._end, self._set, self._next, self._save]
        self.random.choice(doings)()

    def _begin(self) -> None:
        line = self.random.choice("xy")
        call, attempt = self.calls[line]
        self.calls[line][1] += 1
        request = RequestId(line, call, 0, attempt)
        found = self.tell(AttemptBegun(0.0, request, (line, call, attempt)))
        assert all(isinstance(i, EndEarlier) for i in found)
        self.open.append(request)

    def _ask(self) -> None:
        if not self.open:
            return
        request = self.random.choice(self.open)
        names = self.random.choice([("a",), ("b",), ("a", "b")])
        versions = {name: (self.assigned[name], name) for name in self.tell.machine.changed(request)}
        found = self.tell.ask(request, versions, "".join(names))
        if isinstance(found, MakeChange):
            key = request.line, request.call
            assert not any((r.line, r.call) == key for r, *_ in self.busy)
            assert found.leave_out == tuple(n for n in names if (*key, n) in self.counted)
            self.busy.append((request, names, found.leave_out))
        elif isinstance(found, RefuseAttempt):
            assert (
                request.attempt < self.calls[request.line][1] - 1
                or request.call < self.calls[request.line][0]
            )
            self.open.remove(request)

    def _end(self) -> None:
        if not self.busy:
            return
        request, names, leave_out = self.busy.pop(self.random.randrange(len(self.busy)))
        if self.random.random() < 0.2:  # It fails before it changes anything.
            self.tell.end(request, None)
            return
        for name in names:
            self.counted.add((request.line, request.call, name))
            self.variables[name] += name not in leave_out
        self.tell.end(request, {name: (self.assigned[name], name) for name in names})

    def _set(self) -> None:
        """A checkpoint is restored: no change is in the variable any more, if none is being made."""
        name = self.random.choice("ab")
        if not self.busy and self.random.random() < 0.2:
            if self.random.random() < 0.3:  # The task was started again.
                self.repeated += self.tell.machine.repeated
                self.tell = Told()
                self.open.clear()
                self.assigned = dict.fromkeys(self.assigned, 0)
                self._restore("a")
                name = "b"
            self._restore(name)

    def _save(self) -> None:
        """A checkpoint is written, with the changes that its values have."""
        if not self.busy:
            found = self.tell.machine.present(lambda version: bool(version[0] == self.assigned[version[1]]))
            self.saved = dict(self.variables), set(self.counted)
            self.saved_changes = {
                name: [(run, name) for run, changed in found if name in changed] for name in self.variables
            }

    def _restore(self, name: str) -> None:
        variables, counted = self.saved
        self.assigned[name] += 1
        self.variables[name] = variables[name]
        self.counted = {key for key in self.counted if key[2] != name} | {
            key for key in counted if key[2] == name
        }
        version = self.assigned[name], name
        self.tell(VariableRestored(0.0, self.saved_changes[name], version))

    def _next(self) -> None:
        line = self.random.choice("xy")
        if self.random.random() < 0.2 and not any(r.line == line for r, *_ in self.busy):
            self.calls[line][0] += 1
            self.calls[line][1] = 0
            self.open = [r for r in self.open if r.line != line]


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_repeated_whenever_each_change_is_made_once(seed: int) -> None:
    world = World(seed)
    for _ in range(400):
        world.step()
    for name, value in world.variables.items():
        assert value == sum(changed == name for _, _, changed in world.counted)
    assert world.repeated + world.tell.machine.repeated > 0


def test_a_run_that_nobody_changes_and_is_said_to_be_changed_is_found(tell: Told) -> None:
    request = tell.begin(0, "step")
    tell.ask(request)
    request.record.changing = None
    with pytest.raises(BrokenInvariant, match="Nobody changes"):
        tell.machine.check()
