"""Protects sessions that lose a peer: what they go on from, how often, what is raised instead, and whose curves.

Promise 39 (curves do not overlap after a recovery) is among what is tested.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow.protos import event_pb2
from graphflow.train.sessions.recovery import RecoveryBudget
from tests.train.sessions.test_monitored_session import Recorder


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made
    gf.summary.FileWriterCache.clear()


class Failing:
    """A step of training that raises chosen errors: {number of the call: error}."""

    def __init__(self, errors: dict[int, Exception]) -> None:
        self.calls = 0
        self.step = gf.train.get_or_create_global_step()

        def look() -> float:
            self.calls += 1
            if self.calls in errors:
                raise errors[self.calls]
            return 0.0

        looked = gf.py_func(look, [], gf.float64)
        with gf.control_dependencies([looked]):
            self.train = gf.assign_add(self.step, 1)


def aborted(text: str = "lost") -> Exception:
    return gf.errors.AbortedError(None, None, text)


def unavailable(text: str = "away") -> Exception:
    return gf.errors.UnavailableError(None, None, text)


@pytest.mark.parametrize("error", [aborted(), unavailable()])
def test_a_lost_peer_is_survived_from_the_newest_checkpoint(
    tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    program = Failing({6: error})
    hook = Recorder()
    steps = []
    with gf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        save_checkpoint_steps=3,
        hooks=[hook, gf.train.StopAtStepHook(last_step=7)],
    ) as session:
        while not session.should_stop():
            steps.append(int(session.run(program.train)))
    assert steps == [1, 2, 3, 4, 5, 4, 5, 6, 7]
    assert hook.calls.count("create") == 2
    (recovery,) = session.recoveries
    assert (type(recovery.reason), recovery.from_step, recovery.to_step) == (type(error), 5, 3)
    told = [r.message for r in caplog.records if "Recovery" in r.message]
    assert len(told) == 1
    assert f"Recovery 1 (at most 10 in 600 s) after {type(error).__name__}: PyFunc" in told[0]
    assert str(error) in told[0]
    assert "back from step 5 to step 3" in told[0]


def test_without_checkpoints_training_begins_again(caplog: pytest.LogCaptureFixture) -> None:
    program = Failing({3: aborted()})
    with gf.train.MonitoredSession() as session:
        assert [int(session.run(program.train)) for _ in range(3)] == [1, 2, 1]
    assert session.recoveries[0].to_step == 0
    assert "back from step 2 to step 0" in caplog.text


def test_recoveries_are_bounded() -> None:
    program = Failing(dict.fromkeys(range(2, 50), aborted("again")))
    with (
        pytest.raises(gf.errors.AbortedError, match="again") as caught,
        gf.train.MonitoredSession(max_recoveries=2) as session,
    ):
        session.run(program.train)
        session.run(program.train)
    assert program.calls == 4
    assert len(session.recoveries) == 2
    assert any("no recovery is left (at most 2 in 600 s)" in note for note in caught.value.__notes__)
    with pytest.raises(ValueError, match="max_recoveries"):
        gf.train.MonitoredSession(max_recoveries=-1)


def test_the_budget_of_recoveries_is_of_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("graphflow.train.sessions.recovery.time.monotonic", lambda: now[0])
    budget = RecoveryBudget(3, 60.0)
    assert [budget.take() for _ in range(4)] == [0.0, 0.1, 0.2, None]
    now[0] = 61.0
    assert budget.take() == pytest.approx(0.4)
    budget.succeeded()
    assert budget.take() == 0.0


def test_a_hook_a_step_function_and_a_session_may_lose_a_peer() -> None:
    class Losing(gf.train.SessionRunHook):
        def __init__(self) -> None:
            self.created = 0
            self.runs = 0

        def after_create_session(self, session: Any, coord: Any) -> None:
            self.created += 1
            if self.created == 2:
                raise unavailable("while it is made")

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.runs += 1
            if self.runs == 1:
                raise aborted("after a run")

    v = gf.Variable(0)
    grow = v.assign_add(1)
    hook = Losing()
    calls = []

    def step_fn(step_context: Any) -> int:
        calls.append(1)
        if len(calls) == 1:
            raise aborted("in a step function")
        return int(step_context.run_with_hooks(grow))

    with gf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(grow) == 1
        assert session.run_step_fn(step_fn) == 1
    assert hook.created == 4
    assert [str(r.reason) for r in session.recoveries] == ["after a run", "in a step function"]


def test_a_thread_may_lose_a_peer() -> None:
    class Thread(gf.train.SessionRunHook):
        first = True

        def after_create_session(self, session: Any, coord: Any) -> None:
            if self.first:
                Thread.first = False
                coord.request_stop(unavailable("in a thread"))

    one = gf.constant(1.0)
    with gf.train.MonitoredSession(hooks=[Thread()]) as session:
        assert not session.should_stop()
        assert len(session.recoveries) == 1
        assert session.run(one) == 1.0


def test_other_errors_of_threads_are_raised() -> None:
    class Thread(gf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            coord.request_stop(ZeroDivisionError("in a thread"))

    one = gf.constant(1.0)
    for act in (lambda session: session.should_stop(), lambda session: session.run(one)):
        with (
            pytest.raises(ZeroDivisionError, match="in a thread"),
            gf.train.MonitoredSession(hooks=[Thread()]) as session,
        ):
            act(session)


def test_the_cause_of_a_closed_queue_is_what_is_raised() -> None:
    def fill() -> float:
        raise ValueError("bad file")

    queue = gf.FIFOQueue(2, gf.float64)
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue(gf.py_func(fill, [], gf.float64))]))
    taken = queue.dequeue()
    with pytest.raises(gf.errors.OpError, match="bad file"), gf.train.MonitoredSession() as session:
        session.run(taken)


def test_singular_sessions_do_not_recover() -> None:
    program = Failing({1: aborted()})
    with pytest.raises(gf.errors.AbortedError), gf.train.SingularMonitoredSession() as session:
        assert isinstance(session.raw_session(), gf.Session)
        session.run(program.train)
    assert session.raw_session() is None


# ---- promise 39: curves after a recovery --------------------------------------------------------------------------


def read(folder: Path) -> list[list[Any]]:
    """The events of each file, in the order of the files."""
    gf.summary.FileWriterCache.clear()
    paths = sorted(folder.glob("events*"), key=lambda p: int(p.name.split(".")[3]) * 10**6 + p.stat().st_ino)
    return [list(gf.train.summary_iterator(path)) for path in paths]


def train_with_curve(folder: Path, last: int, fail_at: int | None = None) -> None:
    with gf.Graph().as_default():
        step = gf.train.get_or_create_global_step()
        gf.summary.scalar("curve", step)
        move = step.assign_add(1)
        with gf.train.MonitoredTrainingSession(
            checkpoint_dir=str(folder),
            save_checkpoint_steps=4,
            save_summaries_steps=1,
            hooks=[gf.train.StopAtStepHook(last_step=last)],
        ) as session:
            while not session.should_stop():
                if session.run(move) == fail_at:
                    raise ValueError("killed")


def test_promise_39_a_restart_begins_its_events_with_the_step_it_goes_on_from(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with pytest.raises(ValueError, match="killed"):
        train_with_curve(tmp_path, 20, fail_at=7)  # saved at 4
    written = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0}).Reload().Scalars("curve")
    assert [e.step for e in written] == [1, 2, 3, 4, 5, 6, 7]  # flushed although it crashed
    gf.summary.FileWriterCache.clear()
    time.sleep(1.01)  # event files are read in the order of their second
    train_with_curve(tmp_path, 9)
    second = read(tmp_path)[1]
    logs = [(e.step, e.session_log.status) for e in second if e.WhichOneof("what") == "session_log"]
    assert logs[0] == (5, event_pb2.SessionLog.START)
    kinds = [e.WhichOneof("what") for e in second]
    assert kinds.index("session_log") < kinds.index("summary")
    scalars = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0}).Reload().Scalars("curve")
    assert [(e.step, e.value) for e in scalars] == [(n, n - 1.0) for n in range(1, 10)]


def test_promise_39_a_recovery_in_one_process_does_so_too(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    program = Failing({7: aborted()})
    gf.summary.scalar("curve", program.step)
    with gf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        save_checkpoint_steps=4,
        save_summaries_steps=1,
        hooks=[gf.train.StopAtStepHook(last_step=8)],
    ) as session:
        while not session.should_stop():
            session.run(program.train)
    (events,) = read(tmp_path)
    begins = [e.step for e in events if e.session_log.status == event_pb2.SessionLog.START]
    assert begins == [1, 5]
    scalars = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0}).Reload().Scalars("curve")
    assert [e.step for e in scalars] == list(range(1, 9))


def test_promise_39_the_chief_alone_writes(tmp_path: Path) -> None:
    ready = gf.constant([], gf.string)
    gf.train.get_or_create_global_step()
    with gf.train.MonitoredTrainingSession(
        is_chief=False,
        checkpoint_dir=str(tmp_path),
        scaffold=gf.train.Scaffold(ready_op=ready, ready_for_local_init_op=ready),
    ) as session:
        session.run(ready)
    assert list(tmp_path.iterdir()) == []
