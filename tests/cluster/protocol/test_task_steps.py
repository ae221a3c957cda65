"""Protects what a task knows of steps, event by event: order, ends, errors, what comes late, twice or too early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphflow._core.cluster.protocol.task_steps import (
    MOST_EARLY_STEPS,
    TellDone,
    TellFailed,
    TensorsArrived,
)
from graphflow._core.common.machine import BrokenInvariant
from graphflow._core.runtime.progress import Parts, PartStage, RunStage, SendTensors
from tests.cluster.protocol.step_world import KEY, Worker, stage


def _steps(stages: dict[str, list[PartStage]], feeds: str = "", fetches: Any = ()) -> Worker:
    steps = Worker()
    steps.register((7, 3), Parts(stages, tuple(feeds), list(fetches)))
    return steps


def test_a_task_alone_runs_its_stages_in_order_and_tells_the_master() -> None:
    steps = _steps({"cpu": [stage("x", "y"), stage("xy", "z")]}, "x", [("cpu", "z"), ("cpu", "x")])
    (first,) = steps.begin(KEY, 3, [1])
    assert isinstance(first, RunStage) and list(first.values) == [1]
    (second,) = steps.stage_done(first, [2])
    assert isinstance(second, RunStage) and list(second.values) == [1, 2]
    (done,) = steps.stage_done(second, [3])
    assert isinstance(done, TellDone) and list(done.values) == [3, 1]
    assert not steps.active


def _apart(
    needs: Any, receives: Any = None, turn: str = "", patience: float = 0.02, feeds: str = ""
) -> PartStage:
    return PartStage(None, tuple(feeds), (), receives or {}, (), needs, turn, patience)


def test_a_stage_begins_beside_one_that_waits_once_nothing_has_happened_for_a_while() -> None:
    found = [_apart(()), _apart(()), _apart((0, 1), patience=0.0)]
    steps = _steps({"cpu": found})
    (first,) = steps.begin(KEY, 3, [])
    assert steps.still(KEY, 0.01) == []
    (second,) = steps.still(KEY, 0.02)
    assert (first.stage, second.stage) == (found[0], found[1])
    assert steps.still(KEY, 1.0) == []
    assert steps.stage_done(first, []) == []
    (third,) = steps.stage_done(second, [])
    assert third.stage is found[2]
    assert [type(i) for i in steps.stage_done(third, [])] == [TellDone]
    assert steps.still(KEY, 1.0) == []  # It came late: the step is over.


def test_a_stage_that_computes_or_takes_its_turn_is_not_passed() -> None:
    found = [
        _apart((), patience=0.0),
        _apart((), turn="box"),
        _apart((), turn="box"),
        _apart((), turn="other"),
    ]
    steps = _steps({"cpu": found})
    (computes,) = steps.begin(KEY, 3, [])
    assert steps.still(KEY, 9.0) == []
    (second,) = steps.stage_done(computes, [])
    (other,) = steps.still(KEY, 0.05)
    assert (second.stage, other.stage) == (found[1], found[3])
    assert steps.stage_done(second, []) == []  # One at a time, as long as none waits.
    (third,) = steps.stage_done(other, [])
    assert third.stage is found[2]


def test_what_comes_behind_one_that_receives_something_begins_before_it_after_a_while() -> None:
    found = [_apart((), {4: "v"}), _apart(())]
    steps = _steps({"cpu": found})
    assert steps.begin(KEY, 3, []) == []
    assert steps.still(KEY, 0.01) == []
    (later,) = steps.still(KEY, 0.02)
    assert later.stage is found[1]
    assert steps.stage_done(later, []) == []
    (first,) = steps.arrived(KEY, [4], [1])
    assert first.stage is found[0]


@pytest.mark.parametrize(
    "stages",
    [
        [_apart((0,))],
        [_apart((-1,))],
        [_apart(("a",))],
        [_apart(()), _apart(None)],
        [_apart(()), _apart((), feeds="y")],
    ],
)
def test_stages_that_say_that_they_need_what_cannot_be_are_refused(stages: list[PartStage]) -> None:
    with pytest.raises(ValueError, match=r"of a part needs|of those that it needs"):
        Parts({"cpu": stages}, (), []).check()


@pytest.mark.parametrize("early", [True, False])
def test_a_stage_waits_for_what_it_receives_whichever_comes_first(early: bool) -> None:
    steps = _steps({"cpu": [stage("a", "b", {0: "a", 5: "signal"})]}, "", [("cpu", "b")])
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
    steps = _steps({"a": [stage("", "yz", sends=sends)], "b": [stage("k", "", {3: "k"})]})
    (work,) = steps.begin(KEY, 3, [])
    to_ps, to_other, here = steps.stage_done(work, [10, 20])
    assert isinstance(to_ps, SendTensors) and (to_ps.to.task, to_ps.to.edges.tolist()) == ("ps", [0, 1])
    assert list(to_ps.values) == [10]
    assert isinstance(to_other, SendTensors) and list(to_other.values) == [20]
    assert isinstance(here, RunStage) and (here.device, list(here.values)) == ("b", [10])


def test_an_error_ends_the_step_once_and_what_comes_late_is_dropped() -> None:
    steps = _steps({"a": [stage()], "b": [stage()], "c": [stage("v", "", {9: "v"})]})
    first, second = steps.begin(KEY, 3, [])
    error = ValueError("no")
    (told,) = steps.stage_failed(first, error)
    assert isinstance(told, TellFailed) and told.error is error
    assert steps.stage_done(second, []) == [] and steps.stage_failed(second, error) == []
    assert steps.arrived(KEY, [9], [1]) == [] and steps.begin(KEY, 3, []) == []
    assert not steps.active


def test_an_aborted_step_leaves_nothing_and_others_go_on() -> None:
    steps = _steps({"a": [stage("v", "", {9: "v"})]})
    other = (7, 2)
    steps.begin(KEY, 3, [])
    steps.begin(other, 3, [])
    steps.abort(KEY)
    assert list(steps.active) == [other]
    assert steps.arrived(KEY, [9], [1]) == []
    assert len(steps.arrived(other, [9], [1])) == 1


def test_a_master_that_is_gone_takes_its_plans_and_steps_with_it() -> None:
    steps = _steps({"a": [stage("v", "", {9: "v"})]})
    steps.register((8, 3), Parts({"a": [stage()]}, (), []))
    steps.begin(KEY, 3, [])
    steps.release_master(7)
    assert not steps.active
    (told,) = steps.begin((7, 2), 3, [])
    assert isinstance(told, TellFailed) and "the executable 3 is not registered" in str(told.error)
    assert len(steps.begin((8, 1), 3, [])) == 1


def test_messages_that_come_twice_change_nothing() -> None:
    steps = _steps({"a": [stage("", "x"), stage("v", "y", {9: "v"})]}, "", [("a", "y")])
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
    steps = _steps({"a": [stage("v", "y", {9: "v"})]})
    assert steps.arrived((7, 4), [9], [1]) == [] and steps.arrived((8, 1), [9], [1]) == []
    steps.begin((7, 5), 3, [])
    assert set(steps.active) == {(8, 1), (7, 5)}
    assert steps.arrived((7, 4), [9], [1]) == [] and steps.begin((7, 4), 3, []) == []
    assert set(steps.active) == {(8, 1), (7, 5)}


def test_what_may_wait_for_its_step_is_limited_in_bytes() -> None:
    steps = Worker(most_early_bytes=100)
    steps.register((7, 3), Parts({"a": [stage("v", "", {9: "v"})]}, (), []))
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
    steps = Worker()
    arrived = steps.machine.handlers[TensorsArrived]  # Each check looks at all that waits.
    told = [i for n in range(1, 10_000) for i in arrived(TensorsArrived(0.0, (7, n), [0], [True]))]
    steps.machine.check()
    assert len(steps.active) == MOST_EARLY_STEPS and len(told) == 9999 - MOST_EARLY_STEPS


def test_a_step_with_a_wrong_count_of_feeds_is_refused_and_leaves_nothing() -> None:
    steps = _steps({"a": [stage("x")]}, "x")
    for feeds in ([], [1, 2]):
        key = (7, 1 + len(feeds))
        (told,) = steps.begin(key, 3, feeds)
        assert isinstance(told, TellFailed) and "values are fed" in str(told.error)
        assert steps.begin(key, 3, [1]) == [] and steps.arrived(key, [0], [1]) == []
    assert not steps.active and len(steps.begin((7, 4), 3, [1])) == 1


@pytest.mark.parametrize(
    "parts",
    [
        Parts({"a": [stage("x")]}, (), []),
        Parts({"a": [stage("", "x"), stage("y")]}, (), []),
        Parts({"a": [stage("", "x")], "b": [stage("x")]}, (), []),
        Parts({"a": [stage("", "x", sends=[(0, "y", "ps")])]}, (), []),
        Parts({"a": [stage("", "x")]}, (), [("a", "y")]),
        Parts({"a": [stage("", "x")]}, (), [("b", "x")]),
        Parts({"a": [stage("", "", {-1: "x"})]}, (), []),
        Parts({"a": [stage("", "", {2**31: "x"})]}, (), []),
        Parts({"a": [stage("", "", {1: "x"}), stage("", "", {1: "y"})]}, (), []),
        Parts({"a": [stage("", "", {1.5: "x"})]}, (), []),
    ],
)
def test_parts_that_do_not_fit_together_are_not_registered(parts: Parts) -> None:
    steps = Worker()
    with pytest.raises(ValueError):
        steps.register((7, 3), parts)
    assert isinstance(steps.begin(KEY, 3, [])[0], TellFailed)


def test_a_plan_that_is_released_begins_no_step_and_those_that_run_go_on() -> None:
    steps = _steps({"a": [stage("v", "", {9: "v"})]})
    steps.begin(KEY, 3, [])
    steps.release((7, 3))
    assert isinstance(steps.begin((7, 2), 3, [])[0], TellFailed)
    assert [type(i) for i in steps.arrived(KEY, [9], [1])] == [RunStage]


def test_states_that_contradict_themselves_are_found() -> None:
    steps = _steps({"a": [stage("v", "", {9: "v"})]})
    steps.arrived((7, 5), [9], [1])
    steps.machine.latest[7] = 5
    with pytest.raises(BrokenInvariant, match="is over, and something waits for it"):
        steps.machine.check()
