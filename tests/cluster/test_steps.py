"""Protects what a task and a master know of steps, event by event, without a socket: order, ends, errors, lateness."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graphflow.cluster.master_steps import AbortStep, Answer, BeginStep, Executable, MasterSteps
from graphflow.cluster.task_steps import (
    RunStage,
    SendTensors,
    TaskParts,
    TaskStage,
    TaskSteps,
    TellDone,
    TellFailed,
)

KEY = (7, 1)


def _stage(
    feeds: str = "", fetches: str = "", receives: dict[int, str] | None = None, sends: Any = ()
) -> TaskStage:
    return TaskStage(None, tuple(feeds), tuple(fetches), receives or {}, list(sends))


def _steps(stages: dict[str, list[TaskStage]], feeds: str = "", fetches: Any = ()) -> TaskSteps:
    steps = TaskSteps()
    steps.register((7, 3), TaskParts(stages, tuple(feeds), list(fetches)))
    return steps


def test_a_task_alone_runs_its_stages_in_order_and_tells_the_master() -> None:
    steps = _steps({"cpu": [_stage("x", "y"), _stage("xy", "z")]}, "x", [("cpu", "z"), ("cpu", "x")])
    (first,) = steps.begin(KEY, 3, [1])
    assert isinstance(first, RunStage) and list(first.values) == [1]
    (second,) = steps.stage_done(first, [2])
    assert isinstance(second, RunStage) and list(second.values) == [1, 2]
    (done,) = steps.stage_done(second, [3])
    assert isinstance(done, TellDone) and list(done.values) == [3, 1]
    assert not steps.active


@pytest.mark.parametrize("early", [True, False])
def test_a_stage_waits_for_what_it_receives_whichever_comes_first(early: bool) -> None:
    steps = _steps({"cpu": [_stage("a", "b", {0: "a", 5: "signal"})]}, "", [("cpu", "b")])
    if early:
        assert steps.arrived(KEY, [0], [4]) == []
        assert steps.arrived(KEY, [5], [True]) == []
        (work,) = steps.begin(KEY, 3, [])
    else:
        assert steps.begin(KEY, 3, []) == []
        assert steps.arrived(KEY, [5], [True]) == []
        (work,) = steps.arrived(KEY, [0], [4])
    assert isinstance(work, RunStage) and list(work.values) == [4]
    assert [type(i) for i in steps.stage_done(work, [5])] == [TellDone]


def test_what_goes_to_one_task_goes_together_and_to_a_device_of_its_own_at_once() -> None:
    sends = [(0, "y", "ps"), (1, None, "ps"), (2, "z", "other"), (3, "y", "")]
    steps = _steps({"a": [_stage("", "yz", sends=sends)], "b": [_stage("k", "", {3: "k"})]})
    (work,) = steps.begin(KEY, 3, [])
    to_ps, to_other, here = steps.stage_done(work, [10, 20])
    assert isinstance(to_ps, SendTensors) and (to_ps.task, list(to_ps.edges), list(to_ps.signals)) == (
        "ps",
        [0],
        [1],
    )
    assert isinstance(to_other, SendTensors) and list(to_other.values) == [20]
    assert isinstance(here, RunStage) and (here.device, list(here.values)) == ("b", [10])


def test_an_error_ends_the_step_once_and_what_comes_late_is_dropped() -> None:
    steps = _steps({"a": [_stage()], "b": [_stage()], "c": [_stage("v", "", {9: "v"})]})
    first, second = steps.begin(KEY, 3, [])
    error = ValueError("no")
    (told,) = steps.stage_failed(first, error)
    assert isinstance(told, TellFailed) and told.error is error
    assert steps.stage_done(second, []) == [] and steps.stage_failed(second, error) == []
    assert steps.arrived(KEY, [9], [1]) == [] and steps.begin(KEY, 3, []) == []
    assert not steps.active


def test_an_aborted_step_leaves_nothing_and_others_go_on() -> None:
    steps = _steps({"a": [_stage("v", "", {9: "v"})]})
    other = (7, 2)
    steps.begin(KEY, 3, [])
    steps.begin(other, 3, [])
    steps.abort(KEY)
    assert list(steps.active) == [other]
    assert steps.arrived(KEY, [9], [1]) == []
    assert len(steps.arrived(other, [9], [1])) == 1


def test_a_master_that_is_gone_takes_its_plans_and_steps_with_it() -> None:
    steps = _steps({"a": [_stage("v", "", {9: "v"})]})
    steps.register((8, 3), TaskParts({"a": [_stage()]}, (), []))
    steps.begin(KEY, 3, [])
    steps.release_master(7)
    assert not steps.active
    with pytest.raises(KeyError):
        steps.begin((7, 2), 3, [])
    assert len(steps.begin((8, 1), 3, [])) == 1


def _master() -> MasterSteps:
    master = MasterSteps()
    master.register(1, Executable("session", {"ps": [0], "worker": [0, 1]}, [("worker", 1), ("ps", 0)]))
    return master


def test_a_step_is_one_message_a_task_and_one_answer() -> None:
    master = _master()
    begun = master.begin(b"client", 9, 1, ["x", "y"])
    assert [(i.task, list(i.feeds)) for i in begun if isinstance(i, BeginStep)] == [
        ("ps", ["x"]),
        ("worker", ["x", "y"]),
    ]
    step = begun[0].step  # type: ignore[union-attr]
    assert master.done("worker", step, ["a", "b"]) == []
    (answer,) = master.done("ps", step, ["c"])
    assert isinstance(answer, Answer) and (answer.client, answer.request) == (b"client", 9)
    assert list(answer.values) == ["b", "c"] and answer.error is None


def test_the_first_error_is_the_answer_and_the_others_are_told_to_drop_the_step() -> None:
    master = _master()
    step = master.begin(b"client", 9, 1, ["x", "y"])[0].step  # type: ignore[union-attr]
    abort, answer = master.failed("worker", step, {"message": "no"})
    assert isinstance(abort, AbortStep) and (abort.task, abort.step) == ("ps", step)
    assert isinstance(answer, Answer) and answer.error == {"message": "no"}
    assert master.failed("ps", step, {"message": "later"}) == [] and master.done("ps", step, []) == []


def test_a_lost_task_ends_its_steps_and_no_others() -> None:
    master = _master()
    master.register(2, Executable("session", {"other": []}, []))
    master.begin(b"client", 1, 1, ["x", "y"])
    elsewhere = master.begin(b"client", 2, 2, [])[0].step  # type: ignore[union-attr]
    found = master.lost("ps", {"message": "gone"})
    assert [i.request for i in found if isinstance(i, Answer)] == [1]
    assert [i.task for i in found if isinstance(i, AbortStep)] == ["worker"]
    assert len(master.done("other", elsewhere, [])) == 1
    assert list(master.of_task("ps")) == [1] and list(master.release(1)) == ["ps", "worker"]
    with pytest.raises(KeyError):
        master.begin(b"client", 3, 1, [])


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_order_of_messages_the_result_is_the_same(seed: int) -> None:
    """Two tasks whose messages take any time on the way, and may be overtaken by those of the other."""
    chance = random.Random(seed)
    tasks = {
        "ps": _steps({"cpu": [_stage("", "v", sends=[(0, "v", "worker")]), _stage("g", "u", {1: "g"})]},
                     "", [("cpu", "u")]),
        "worker": _steps({"cpu": [_stage("xv", "g", {0: "v"}, [(1, "g", "ps")])]}, "x"),
    }  # fmt: skip
    computed = {"": [100], "xv": None, "g": None}
    master = MasterSteps()
    master.register(3, Executable("session", {"ps": [], "worker": [0]}, [("ps", 0)]))
    wire: list[Any] = []
    answers: list[Any] = []

    def handle(task: str, instructions: Any) -> None:
        wire.extend((task, i) for i in instructions)

    for request in range(4):
        handle("", master.begin(b"client", request, 3, [request]))
    while wire:
        task, i = wire.pop(chance.randrange(len(wire)))
        if isinstance(i, BeginStep):
            handle(i.task, tasks[i.task].begin((7, i.step), i.executable, i.feeds))
        elif isinstance(i, SendTensors):
            handle(
                i.task,
                tasks[i.task].arrived(i.key, [*i.edges, *i.signals], [*i.values, *[True] * len(i.signals)]),
            )
        elif isinstance(i, RunStage):
            results = computed["".join(i.stage.feeds)] or [sum(i.values) + 1]
            handle(task, tasks[task].stage_done(i, results))
        elif isinstance(i, TellDone):
            handle("", master.done(task, i.key[1], i.values))
        else:
            answers.append((i.request, list(i.values)))
    assert sorted(answers) == [(n, [102 + n]) for n in range(4)]
