"""Protects what a master knows of steps, event by event: one answer a run, and what was taken is settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from graphflow import errors
from graphflow._core.cluster.protocol.master_steps import (
    MOST_STEPS,
    AbortStep,
    AnswerRun,
    BeginStep,
    Executable,
    ReleasePart,
    RunAsked,
    SettleStep,
    executable,
)
from graphflow._core.cluster.protocol.step_outcomes import MOST_OUTCOMES, lines_of_steps
from graphflow._core.common.machine import BrokenInvariant
from tests.cluster.protocol.step_world import Master


def _master() -> Master:
    master = Master()
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
    assert isinstance(answer, AnswerRun) and (answer.client, answer.request) == (b"client", 9)
    assert list(answer.values) == ["b", "c", "a"] and answer.error is None


def test_the_first_error_is_the_answer_and_the_others_are_told_to_drop_the_step() -> None:
    master = _master()
    step = _number(master.begin(b"client", 9, "session", 1, ["x", "y"]))
    abort, answer = master.failed("worker", step, {"message": "no"})
    assert isinstance(abort, AbortStep) and (abort.task, abort.step) == ("ps", step)
    assert isinstance(answer, AnswerRun) and answer.error == {"message": "no"}
    assert master.failed("ps", step, {"message": "later"}) == [] and master.done("ps", step, []) == []


def test_a_lost_task_ends_its_steps_and_no_others() -> None:
    master = _master()
    master.register(2, Executable("session", {"other": []}, []))
    master.begin(b"client", 1, "session", 1, ["x", "y"])
    elsewhere = _number(master.begin(b"client", 2, "session", 2, []))
    found = master.lost("ps", {"message": "gone"})
    assert [i.request for i in found if isinstance(i, AnswerRun)] == [1]
    assert [i.task for i in found if isinstance(i, AbortStep)] == ["worker"]
    assert len(master.done("other", elsewhere, [])) == 1
    assert [i for i in found if isinstance(i, ReleasePart)] == [
        ReleasePart("ps", 1),
        ReleasePart("worker", 1),
    ]
    assert master.release(1) == [] and master.release(2) == [ReleasePart("other", 2)]
    (answer,) = master.begin(b"client", 3, "session", 1, [])
    assert answer.error["code"] == errors.ABORTED and answer.error["unknown"] is True


def test_a_task_that_hands_over_too_little_or_too_much_fails_the_step() -> None:
    for values in ([], [1], [1, 2, 3]):
        master = _master()
        step = _number(master.begin(b"client", 9, "session", 1, ["x", "y"]))
        abort, answer = master.done("worker", step, values)
        assert isinstance(abort, AbortStep) and isinstance(answer, AnswerRun) and answer.error
        assert f"with {len(values)} values instead of 2" in answer.error["message"]
        assert master.machine.in_flight == 0 and master.done("ps", step, [1]) == []


def test_a_run_of_another_session_or_with_too_few_feeds_begins_nothing() -> None:
    master = _master()
    (answer,) = master.begin(b"client", 1, "another", 1, ["x", "y"])
    assert answer.error["code"] == errors.ABORTED and answer.error["unknown"] is True
    (answer,) = master.begin(b"client", 1, "session", 1, ["x"])
    assert answer.error["code"] == errors.INVALID_ARGUMENT
    assert "brings 1 fed values, and its plan takes 2" in answer.error["message"]
    assert master.machine.in_flight == 0 and master.failed("stranger", 1, {}) == []


def test_steps_of_a_session_on_their_way_are_limited() -> None:
    master = _master()
    master.register(2, Executable("another", {"ps": []}, []))
    handlers = master.machine.handlers
    for request in range(MOST_STEPS):  # Each check looks at all of them.
        handlers[RunAsked](RunAsked(0.0, b"client", request, "session", 1, ["x", "y"], None))
    (answer,) = master.begin(b"client", 0, "session", 1, ["x", "y"])
    assert (
        answer.error["code"] == errors.RESOURCE_EXHAUSTED and "which is the most" in answer.error["message"]
    )
    assert isinstance(master.begin(b"other", 1, "another", 2, [])[0], BeginStep)
    master.cancel(b"client", 7, {})
    assert isinstance(master.begin(b"client", 0, "session", 1, ["x", "y"])[0], BeginStep)


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


def test_what_a_run_has_taken_is_settled_once_by_its_client_or_goes_back() -> None:
    master = _master()
    for request, settle in enumerate([
        lambda: master.settle(b"client", 0, False), lambda: master.cancel(b"client", 1, {}),
        lambda: master.client_gone(b"client", {}),
    ]):  # fmt: skip
        step = _number(master.begin(b"client", request, "session", 1, ["x", "y"]))
        master.done("ps", step, ["c"], took=True)
        (answer,) = master.done("worker", step, ["a", "b"])
        assert answer.holds
        assert settle() == [SettleStep("ps", step, request > 0)]
        assert settle() == [] and not master.machine.unsettled
    assert master.done("ps", step, ["c"], took=True) == [SettleStep("ps", step, True)]


def test_an_executable_that_one_task_has_dropped_ends_its_steps_and_is_released_by_the_others() -> None:
    master = _master()
    step = _number(master.begin(b"client", 9, "session", 1, ["x", "y"]))
    assert master.dropped("stranger", 1, {}) == [] and master.dropped("ps", 2, {}) == []
    found = master.dropped("ps", 1, {"message": "out of reach"})
    assert [i for i in found if isinstance(i, AbortStep)] != [] and not master.machine.steps
    assert all(i.step == step and i.back for i in found if isinstance(i, AbortStep))
    assert found[-2:] == [ReleasePart("ps", 1), ReleasePart("worker", 1)] and not master.machine.executables


def test_outcomes_say_which_steps_run_and_for_whom_and_how_the_last_ones_ended() -> None:
    master = _master()
    for request in range(MOST_OUTCOMES + 3):
        master.now = float(request)
        step = _number(master.begin(b"client", request, "session", 1, ["x", "y"]))
        master.now += 0.5
        if request == 1:
            master.failed("ps", step, {"message": "no"})
        else:
            master.done("ps", step, ["c"])
            master.done("worker", step, ["a", "b"])
    last = _number(master.begin(b"client", 999, "session", 1, ["x", "y"]))
    master.done("ps", last, ["c"])
    data = master.machine.data(master.now + 0.5)
    (running,) = data["running"]
    assert (running["step"], running["awaited"], running["request"]) == (last, ["worker"], 999)
    ended = data["ended"]  # One that failed is kept, though so many have ended well since.
    assert len(ended) == MOST_OUTCOMES + 1 and [e["step"] for e in ended] == sorted(e["step"] for e in ended)
    (failed,) = [e for e in ended if e["error"]]
    assert (failed["step"], failed["task"], failed["error"]) == (2, "ps", "no")
    assert ended[-1]["ended"] - ended[-1]["began"] == 0.5
    lines = lines_of_steps(data)
    assert len(lines) == MOST_OUTCOMES + 2 and "runs for 0.500 s, waits for worker" in lines[-1]
    assert "step 2 of the executable 1 of the session session failed by ps after 0.5000 s: no" in lines[0]
    assert lines[-2].endswith("took 0.5000 s")


def test_states_that_contradict_themselves_are_found() -> None:
    master = _master()
    step = _number(master.begin(b"client", 9, "session", 1, ["x", "y"]))
    master.machine.steps[step].pending.clear()
    with pytest.raises(BrokenInvariant, match="waits for nobody"):
        master.machine.check()
