"""Protects what a task and a master know of steps, event by event, without a socket: order, ends, errors, lateness."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from graphflow import errors
from graphflow._core.cluster.server.master_steps import (
    MOST_STEPS,
    AbortStep,
    Answer,
    BeginStep,
    Executable,
    MasterSteps,
    executable,
)
from graphflow._core.cluster.server.task_steps import MOST_EARLY_STEPS, TaskSteps, TellDone, TellFailed
from graphflow._core.runtime.progress import Parts, PartStage, RunStage, SendTensors

KEY = (7, 1)


def _stage(
    feeds: str = "", fetches: str = "", receives: dict[Any, str] | None = None, sends: Any = ()
) -> PartStage:
    return PartStage(None, tuple(feeds), tuple(fetches), receives or {}, list(sends))


def _steps(stages: dict[str, list[PartStage]], feeds: str = "", fetches: Any = ()) -> TaskSteps:
    steps = TaskSteps()
    steps.register((7, 3), Parts(stages, tuple(feeds), list(fetches)))
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
    assert isinstance(to_ps, SendTensors) and (to_ps.to.task, to_ps.to.edges.tolist()) == ("ps", [0, 1])
    assert list(to_ps.values) == [10]
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
    steps.register((8, 3), Parts({"a": [_stage()]}, (), []))
    steps.begin(KEY, 3, [])
    steps.release_master(7)
    assert not steps.active
    with pytest.raises(KeyError):
        steps.begin((7, 2), 3, [])
    assert len(steps.begin((8, 1), 3, [])) == 1


def test_messages_that_come_twice_change_nothing() -> None:
    steps = _steps({"a": [_stage("", "x"), _stage("v", "y", {9: "v"})]}, "", [("a", "y")])
    (first,) = steps.begin(KEY, 3, [])
    assert steps.begin(KEY, 3, []) == [] and steps.arrived(KEY, [9], [1]) == []
    assert steps.arrived(KEY, [9], [1]) == []
    (second,) = steps.stage_done(first, [0])
    assert steps.arrived(KEY, [9], [1]) == []
    assert [type(i) for i in steps.stage_done(second, [0])] == [TellDone]
    for _ in range(3):
        assert steps.begin(KEY, 3, []) == [] and steps.arrived(KEY, [9], [1]) == []
        assert steps.fail(KEY, ValueError()) == []
    assert not steps.active
    for number in range(2, 100_000):  # However long ago it was.
        steps.begin((7, number), 3, [])
        steps.abort((7, number))
    assert steps.begin(KEY, 3, []) == [] and not steps.active


def test_what_waits_for_a_step_that_was_given_up_is_dropped() -> None:
    steps = _steps({"a": [_stage("v", "y", {9: "v"})]})
    assert steps.arrived((7, 4), [9], [1]) == [] and steps.arrived((8, 1), [9], [1]) == []
    steps.begin((7, 5), 3, [])
    assert set(steps.active) == {(8, 1), (7, 5)}
    assert steps.arrived((7, 4), [9], [1]) == [] and steps.begin((7, 4), 3, []) == []
    assert set(steps.active) == {(8, 1), (7, 5)}


def test_what_may_wait_for_its_step_is_limited_in_bytes() -> None:
    steps = TaskSteps(most_early_bytes=100)
    steps.register((7, 3), Parts({"a": [_stage("v", "", {9: "v"})]}, (), []))
    assert steps.arrived((7, 1), [9], [np.zeros(60, np.uint8)]) == []
    (told,) = steps.arrived((7, 2), [9], [np.array([b"x" * 50], object)])
    assert isinstance(told, TellFailed) and "60 bytes, and 50 more came" in str(told.error)
    assert steps.begin((7, 2), 3, []) == [] and list(steps.active) == [(7, 1)]
    assert steps.arrived((7, 2), [9], [1]) == []
    steps.abort((7, 1))
    assert steps.arrived((7, 3), [9], [np.zeros(100, np.uint8)]) == []
    assert len(steps.begin((7, 3), 3, [])) == 1
    assert steps.arrived((7, 4), [9], [np.zeros(100, np.uint8)]) == []


def test_what_may_wait_for_its_step_is_limited_in_steps() -> None:
    steps = TaskSteps()
    told = [i for number in range(1, 10_000) for i in steps.arrived((7, number), [0], [True])]
    assert len(steps.active) == MOST_EARLY_STEPS and len(told) == 9999 - MOST_EARLY_STEPS


def test_a_step_with_a_wrong_count_of_feeds_is_refused_and_leaves_nothing() -> None:
    steps = _steps({"a": [_stage("x")]}, "x")
    for feeds in ([], [1, 2]):
        with pytest.raises(ValueError, match="values are fed"):
            steps.begin(KEY, 3, feeds)
    assert not steps.active and len(steps.begin(KEY, 3, [1])) == 1


@pytest.mark.parametrize(
    "parts",
    [
        Parts({"a": [_stage("x")]}, (), []),
        Parts({"a": [_stage("", "x"), _stage("y")]}, (), []),
        Parts({"a": [_stage("", "x")], "b": [_stage("x")]}, (), []),
        Parts({"a": [_stage("", "x", sends=[(0, "y", "ps")])]}, (), []),
        Parts({"a": [_stage("", "x")]}, (), [("a", "y")]),
        Parts({"a": [_stage("", "x")]}, (), [("b", "x")]),
        Parts({"a": [_stage("", "", {-1: "x"})]}, (), []),
        Parts({"a": [_stage("", "", {2**31: "x"})]}, (), []),
        Parts({"a": [_stage("", "", {1: "x"}), _stage("", "", {1: "y"})]}, (), []),
        Parts({"a": [_stage("", "", {1.5: "x"})]}, (), []),
    ],
)
def test_parts_that_do_not_fit_together_are_not_registered(parts: Parts) -> None:
    steps = TaskSteps()
    with pytest.raises(ValueError):
        steps.register((7, 3), parts)
    with pytest.raises(KeyError):
        steps.begin(KEY, 3, [])


def _master() -> MasterSteps:
    master = MasterSteps()
    master.register(
        1, Executable("session", {"ps": [0], "worker": [0, 1]}, [("worker", 1), ("ps", 0), ("worker", 0)])
    )
    return master


def _number(begun: Sequence[Any]) -> int:
    """The number of a step that has begun."""
    assert isinstance(begun[0], BeginStep)
    return begun[0].step


def test_a_step_is_one_message_a_task_and_one_answer() -> None:
    master = _master()
    begun = master.begin(b"client", 9, "session", 1, ["x", "y"])
    assert [(i.task, list(i.feeds)) for i in begun if isinstance(i, BeginStep)] == [
        ("ps", ["x"]),
        ("worker", ["x", "y"]),
    ]
    step = _number(begun)
    assert master.done("worker", step, ["a", "b"]) == []
    (answer,) = master.done("ps", step, ["c"])
    assert isinstance(answer, Answer) and (answer.client, answer.request) == (b"client", 9)
    assert list(answer.values) == ["b", "c", "a"] and answer.error is None


def test_the_first_error_is_the_answer_and_the_others_are_told_to_drop_the_step() -> None:
    master = _master()
    step = _number(master.begin(b"client", 9, "session", 1, ["x", "y"]))
    abort, answer = master.failed("worker", step, {"message": "no"})
    assert isinstance(abort, AbortStep) and (abort.task, abort.step) == ("ps", step)
    assert isinstance(answer, Answer) and answer.error == {"message": "no"}
    assert master.failed("ps", step, {"message": "later"}) == [] and master.done("ps", step, []) == []


def test_a_lost_task_ends_its_steps_and_no_others() -> None:
    master = _master()
    master.register(2, Executable("session", {"other": []}, []))
    master.begin(b"client", 1, "session", 1, ["x", "y"])
    elsewhere = _number(master.begin(b"client", 2, "session", 2, []))
    found = master.lost("ps", {"message": "gone"})
    assert [i.request for i in found if isinstance(i, Answer)] == [1]
    assert [i.task for i in found if isinstance(i, AbortStep)] == ["worker"]
    assert len(master.done("other", elsewhere, [])) == 1
    assert list(master.of_task("ps")) == [1] and list(master.release(1)) == ["ps", "worker"]
    with pytest.raises(KeyError):
        master.begin(b"client", 3, "session", 1, [])


def test_a_task_that_hands_over_too_little_or_too_much_fails_the_step() -> None:
    for values in ([], [1], [1, 2, 3]):
        master = _master()
        step = _number(master.begin(b"client", 9, "session", 1, ["x", "y"]))
        abort, answer = master.done("worker", step, values)
        assert isinstance(abort, AbortStep) and isinstance(answer, Answer) and answer.error
        assert f"with {len(values)} values instead of 2" in answer.error["message"]
        assert master.in_flight == 0 and master.done("ps", step, [1]) == []


def test_a_run_of_another_session_or_with_too_few_feeds_begins_nothing() -> None:
    master = _master()
    with pytest.raises(KeyError):
        master.begin(b"client", 1, "another", 1, ["x", "y"])
    with pytest.raises(errors.InvalidArgumentError, match="brings 1 fed values, and its plan takes 2"):
        master.begin(b"client", 1, "session", 1, ["x"])
    assert master.in_flight == 0 and master.failed("stranger", 1, {}) == []


def test_steps_of_a_session_on_their_way_are_limited() -> None:
    master = _master()
    master.register(2, Executable("another", {"ps": []}, []))
    for request in range(MOST_STEPS):
        master.begin(b"client", request, "session", 1, ["x", "y"])
    with pytest.raises(errors.ResourceExhaustedError, match="which is the most"):
        master.begin(b"client", 0, "session", 1, ["x", "y"])
    assert master.begin(b"other", 1, "another", 2, [])
    master.cancel(b"client", 7, {})
    assert master.begin(b"client", 0, "session", 1, ["x", "y"])


PART = {"positions": [0], "feeds": ["x"], "fetches": [["cpu", "y"]]}


@pytest.mark.parametrize(
    ("tasks", "fetches"),
    [
        ({"ps": PART}, []),
        ({"ps": PART}, [["ps", 1]]),
        ({"ps": PART}, [["ps", 0], ["ps", 0]]),
        ({"ps": PART}, [["worker", 0]]),
        ({"ps": PART}, [["ps", "0"]]),
        ({"ps": PART}, [["ps"]]),
        ({"ps": PART}, 7),
        ({"ps": PART | {"positions": []}}, [["ps", 0]]),
        ({"ps": PART | {"positions": [-1]}}, [["ps", 0]]),
        ({"ps": PART | {"positions": [True]}}, [["ps", 0]]),
        ({"ps": {}}, []),
        ({"ps": None}, []),
        (None, []),
    ],
)
def test_what_is_no_registration_is_refused(tasks: Any, fetches: Any) -> None:
    assert executable("session", {"ps": PART}, [["ps", 0]]).feeds == {"ps": (0,)}
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        executable("session", tasks, fetches)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_order_of_messages_the_result_is_the_same(seed: int) -> None:
    """Two tasks whose messages take any time on the way, and may be overtaken by those of the other.

    Those of one sender to one receiver stay in order, as on a connection.
    """
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
        handle("", master.begin(b"client", request, "session", 3, [request]))
    while wire:
        place = chance.randrange(len(wire))
        if isinstance(wire[place][1], BeginStep):
            to = wire[place][1].task
            place = next(n for n, (_, i) in enumerate(wire) if isinstance(i, BeginStep) and i.task == to)
        task, i = wire.pop(place)
        if isinstance(i, BeginStep):
            handle(i.task, tasks[i.task].begin((7, i.step), i.executable, i.feeds))
        elif isinstance(i, SendTensors):
            handle(i.to.task, tasks[i.to.task].arrived(i.key, i.to.edges.tolist(), i.values))
        elif isinstance(i, RunStage):
            results = computed["".join(i.stage.feeds)] or [sum(i.values) + 1]
            handle(task, tasks[task].stage_done(i, results))
        elif isinstance(i, TellDone):
            handle("", master.done(task, i.key[1], i.values))
        else:
            answers.append((i.request, list(i.values)))
    assert sorted(answers) == [(n, [102 + n]) for n in range(4)]
