"""Plays random worlds of steps: a master, tasks and clients as machines, with messages that take any time."""

from __future__ import annotations

import json
import random
from collections import Counter, deque
from dataclasses import fields
from typing import Any

import pytest

from graphflow._core.cluster.protocol.master_steps import (
    AbortStep,
    AnswerRun,
    BeginStep,
    Executable,
    ExecutableAdmitted,
    PartDone,
    PartFailed,
    ReleasePart,
    RunAsked,
    RunCancelled,
    RunSettled,
    SettleStep,
    TaskGone,
)
from graphflow._core.cluster.protocol.step_journal import StepJournal, replay_step_data, step_lines
from graphflow._core.cluster.protocol.step_record import StepRecord, replay_steps
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.protocol.task_steps import (
    MasterGone,
    PlanRegistered,
    PlanReleased,
    StageDone,
    StageFailed,
    StepAborted,
    StepBegun,
    TellDone,
    TellFailed,
    TensorsArrived,
)
from graphflow._core.common.machine import StepEvent
from graphflow._core.runtime.progress import Parts, Progress, RunStage, SendTensors
from tests.cluster.protocol.step_world import stage

MASTER = 7
TASKS = ("ps", "worker")
COMPUTED = {"": [100], "xv": None, "g": None}


def _parts(task: str) -> Parts:
    if task == "ps":
        stages = {
            "cpu": [stage("", "v", sends=[(0, "v", "worker")]), stage("g", "u", {1: "g"})],
        }
        return Parts(stages, (), [("cpu", "u")])
    return Parts({"cpu": [stage("xv", "g", {0: "v"}, [(1, "g", "ps")])]}, ("x",), [])


class World:
    """A master and two tasks, whose messages stay in order on each way, and take any time.

    trouble: how often a stage fails, a client cancels, or a task is lost and there again.
    """

    def __init__(self, seed: int, trouble: float) -> None:
        self.random = random.Random(seed)
        self.trouble = trouble
        self.nodes: dict[str, TaskProtocol] = {}
        self.parts: dict[str, Parts] = {}
        self.ways: dict[tuple[str, str], deque[StepEvent]] = {}
        self.work: list[tuple[str, RunStage]] = []
        self.taken: dict[str, set[int]] = {task: set() for task in TASKS}
        """The steps for which each task keeps in mind what it has taken."""
        self.back: Counter[int] = Counter()
        self.answers: dict[int, AnswerRun] = {}
        self.master = self._node("master")
        self.now = 0.0
        self.number = 0
        for task in TASKS:
            self._node(task)
        self.register()

    def _node(self, name: str) -> TaskProtocol:
        found = self.nodes[name] = TaskProtocol(name, "1", {}, 0.0, begin=Progress)
        found.step_record = StepRecord()
        found.step_journal = StepJournal(None)
        return found

    def register(self) -> None:
        self.number += 1
        for task in TASKS:
            self.parts[task] = _parts(task)
            self.send("master", task, PlanRegistered(self.now, (MASTER, self.number), self.parts[task]))
        plan = Executable("session", {"ps": [], "worker": [0]}, [("ps", 0)])
        self.tell("master", ExecutableAdmitted(self.now, self.number, plan))

    def send(self, sender: str, to: str, event: StepEvent) -> None:
        self.ways.setdefault((sender, to), deque()).append(event)

    def tell(self, node: str, event: StepEvent) -> None:
        found = self.nodes[node].handle_step(event)
        self.nodes[node].check_steps()
        for i in found:
            self.obey(node, i)

    def obey(self, node: str, i: Any) -> None:
        if isinstance(i, BeginStep):
            self.send(node, i.task, StepBegun(self.now, (MASTER, i.step), i.executable, i.feeds))
        elif isinstance(i, AbortStep):
            self.send(node, i.task, StepAborted(self.now, (MASTER, i.step)))
        elif isinstance(i, SettleStep):
            self.taken[i.task].discard(i.step)
            self.back[i.step] += i.back
        elif isinstance(i, ReleasePart):
            self.send(node, i.task, PlanReleased(self.now, (MASTER, i.number)))
        elif isinstance(i, AnswerRun):
            assert i.request not in self.answers
            self.answers[i.request] = i
            if i.holds and self.random.random() < 0.9:
                self.tell(
                    "master", RunSettled(self.now, i.client, i.request, self.random.random() < self.trouble)
                )
        elif isinstance(i, SendTensors):
            self.send(node, i.to.task, TensorsArrived(self.now, i.key, i.to.edges.tolist(), i.values))
        elif isinstance(i, RunStage):
            self.work.append((node, i))
        elif isinstance(i, TellDone):
            took = self.random.random() < self.trouble
            if took:
                self.taken[node].add(i.key[1])
            self.send(node, "master", PartDone(self.now, node, i.key[1], i.values, took))
        else:
            assert isinstance(i, TellFailed)
            self.send(node, "master", PartFailed(self.now, node, i.key[1], {"message": str(i.error)}))

    def ask(self, request: int) -> None:
        self.tell("master", RunAsked(self.now, b"c", request, "session", self.number, [request], None))

    def lose(self, task: str) -> None:
        """A task is gone for the master and the other task, and there again: what was on its way is lost."""
        for way in [w for w in self.ways if task in w]:
            self.ways[way].clear()
        self.taken[task].clear()
        self.tell(task, MasterGone(self.now, MASTER))
        self.work = [(node, i) for node, i in self.work if node != task]
        self.tell("master", TaskGone(self.now, task, {"message": "gone"}))
        self.register()

    def step(self) -> bool:
        self.now += 0.25
        ways = [way for way, queue in self.ways.items() if queue]
        place = self.random.randrange(len(ways) + len(self.work)) if ways or self.work else -1
        if place < 0:
            return False
        if self.random.random() < self.trouble / 10:
            self.lose(self.random.choice(TASKS))
        elif place < len(ways):
            way = ways[place]
            self.tell(way[1], self.ways[way].popleft())
        else:
            node, i = self.work.pop(place - len(ways))
            if self.random.random() < self.trouble:
                self.tell(node, StageFailed(self.now, i, ValueError("no")))
            else:
                results = COMPUTED["".join(i.stage.feeds)] or [sum(i.values) + 1]
                self.tell(node, StageDone(self.now, i, results))
        return True


@pytest.mark.parametrize("trouble", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(25))
def test_each_run_is_answered_once_and_nothing_is_left_and_a_replay_does_the_same(
    seed: int, trouble: float
) -> None:
    world = World(seed, trouble)
    for request in range(12):
        world.ask(request)
        if world.random.random() < trouble:
            cancelled = world.random.randrange(request + 1)
            world.tell("master", RunCancelled(world.now, b"c", cancelled, {"message": "cancelled"}))
        for _ in range(world.random.randrange(12)):
            world.step()
    while world.step():
        pass
    assert sorted(world.answers) == list(range(12))
    good = {r: list(a.values) for r, a in world.answers.items() if a.error is None}
    assert good == {request: [102 + request] for request in good}
    assert trouble or len(good) == 12
    master = world.master.master
    assert not master.steps and not master.of_sessions
    for request in list(world.answers):
        world.tell("master", RunSettled(world.now, b"c", request, False))
    assert not master.unsettled
    for task in TASKS:
        worker = world.nodes[task].worker
        assert not worker.steps and (trouble or not worker.early)
        # What waits for its step may be of one that was lost: it ends with the next step, or with its master.
        world.tell(task, MasterGone(world.now, MASTER))
        assert not worker.active and not worker.parts
    for name, node in world.nodes.items():
        again = TaskProtocol(name, "1", {}, 0.0, begin=Progress)
        assert node.step_record is not None
        replay_steps(node.step_record, again)
        assert again.master.begun == node.master.begun and again.worker.begun == node.worker.begun


@pytest.mark.parametrize("trouble", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(10))
def test_the_journal_of_steps_holds_no_values_and_is_played_again_from_a_file(
    seed: int, trouble: float
) -> None:
    world = World(seed, trouble)
    for request in range(12):
        world.ask(request)
        for _ in range(world.random.randrange(12)):
            world.step()
    for name, node in world.nodes.items():
        for event in node.step_journal.events:
            own = {field.name: getattr(event, field.name) for field in fields(event)}
            assert not any(isinstance(value, Parts | BaseException) for value in own.values())
            assert isinstance(own.get("values", 0), int)
            if isinstance(event, StageDone | StageFailed):
                work: Any = event.work
                assert work.stage is work.turn is None and work.values == ()
        data = json.loads(json.dumps(node.step_journal.data()))
        again = TaskProtocol(name, "1", {}, 0.0, begin=Progress)
        parts = {(MASTER, n): _parts(name) for n in range(world.number + 1)} if name in TASKS else {}
        replay_step_data(data, again, parts)
        assert again.master.outcomes.data(0.0) == node.master.outcomes.data(0.0)
        assert again.master.data(0.0) == node.master.data(0.0) and list(again.worker.active) == list(
            node.worker.active
        )
        assert again.worker.begun == node.worker.begun
        assert len(step_lines(data, 0.0)) == len(node.step_journal.events) > 0


def test_a_journal_of_steps_keeps_the_last_events_and_says_how_many_are_forgotten() -> None:
    world = World(1, 0.0)
    node = world.nodes["ps"]
    node.step_journal = StepJournal(4)
    world.ask(0)
    while world.step():
        pass
    assert len(node.step_journal.events) == 4 and node.step_journal.data()["forgotten"] > 0
    assert step_lines(node.step_journal.data(), 0.0)[-1][1].partition(": ")[2].startswith("StageDone(")
    with pytest.raises(ValueError, match="are not in the journal"):
        replay_step_data(node.step_journal.data(), node, {})


def test_a_replay_says_at_which_event_something_else_happens() -> None:
    world = World(1, 0.0)
    world.ask(0)
    while world.step():
        pass
    record = world.nodes["ps"].step_record
    assert record is not None
    place = next(n for n, (event, _) in enumerate(record.entries) if isinstance(event, StepBegun))
    del record.entries[place]
    with pytest.raises(AssertionError, match=r"^Event \d+ of steps, Stage.* was not to be"):
        replay_steps(record, TaskProtocol("ps", "1", {}, 0.0, begin=Progress))
