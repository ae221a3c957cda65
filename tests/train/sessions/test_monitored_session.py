"""Protects sessions that look after themselves: they begin ready, stop in order, and raise what they should.

Promises 6 (what is missing raises at the first run) and 31 (hooks fire once a step, the error names the line that adds
an op) are among what is tested. How they recover is in test_session_recovery.py.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.server.server import Server
from tests.left_over import new_threads


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made
    gf.summary.FileWriterCache.clear()


class Recorder(gf.train.SessionRunHook):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def begin(self) -> None:
        self.calls.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.calls.append("create")

    def before_run(self, run_context: Any) -> None:
        self.calls.append("before")

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls.append("after")

    def end(self, session: Any) -> None:
        self.calls.append("end")

    def on_exception(self, exception: BaseException) -> None:
        self.calls.append(type(exception).__name__)


# ---- the ordinary course ------------------------------------------------------------------------------------------


def test_hooks_are_called_in_order_and_the_session_is_closed() -> None:
    v = gf.Variable(2.0)
    hook = Recorder()
    with gf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.graph is gf.get_default_graph()
        assert session.run({"v": v}) == {"v": 2.0}
        assert session.run([v, (v,)]) == [2.0, (2.0,)]
        assert not session.should_stop()
    assert hook.calls == ["begin", "create", "before", "after", "before", "after", "end"]
    assert session.should_stop()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(v)
    with pytest.raises(RuntimeError, match="closed"):
        session.close()
    gf.constant(1.0)  # the graph can grow again


def test_what_was_finalized_before_stays_finalized(graph: gf.Graph) -> None:
    scaffold = gf.train.Scaffold().finalize()
    assert graph.finalized
    with gf.train.MonitoredSession(gf.train.ChiefSessionCreator(scaffold)):
        pass
    assert graph.finalized


def test_training_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    def train(last: int) -> tuple[int, int]:
        with gf.Graph().as_default():
            step = gf.train.get_or_create_global_step()
            local = gf.Variable(5, collections=[gf.GraphKeys.LOCAL_VARIABLES])
            move = step.assign_add(1)
            with gf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=[gf.train.StopAtStepHook(last_step=last)]
            ) as session:
                begin, value = session.run_step_fn(lambda context: context.session.run([step, local]))
                assert value == 5
                runs = 0
                while not session.should_stop():
                    session.run(move)
                    runs += 1
        return begin, runs

    assert train(3) == (0, 3)
    assert train(5) == (3, 2)


def test_init_fn_and_feeds_and_local_init() -> None:
    x = gf.placeholder(gf.float32, [])
    fed = gf.Variable(x, name="fed")
    by_function = gf.get_variable("by_function", initializer=0.0)
    set_by_function = by_function.assign(4.0)
    local = gf.Variable(fed.read_value() + 1.0, collections=[gf.GraphKeys.LOCAL_VARIABLES])
    seen: list[Any] = []

    def init(scaffold: Any, session: Any) -> None:
        seen.append(scaffold)
        session.run(set_by_function)

    scaffold = gf.train.Scaffold(init_feed_dict={x: 3.0}, init_fn=init)
    copied = gf.train.Scaffold(copy_from_scaffold=scaffold)
    with gf.train.MonitoredSession(gf.train.ChiefSessionCreator(copied)) as session:
        assert session.run([fed, by_function, local]) == [3.0, 4.0, 4.0]
    assert seen == [scaffold]


def test_scaffold_takes_the_only_item_of_a_collection_and_refuses_two() -> None:
    made = gf.train.Scaffold.get_or_default("summary_op", "mine", lambda: "made")
    assert made == "made"
    assert gf.train.Scaffold.get_or_default("summary_op", "mine", lambda: "again") == "made"
    gf.add_to_collection("mine", "second")
    with pytest.raises(RuntimeError, match=r"'mine' has 2 items.*Scaffold\(summary_op"):
        gf.train.Scaffold.get_or_default("summary_op", "mine", lambda: "made")
    with pytest.raises(TypeError, match="not a Scaffold"):
        gf.train.Scaffold(copy_from_scaffold=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error", [StopIteration("done"), gf.errors.OutOfRangeError(None, None, "end of input")]
)
def test_the_end_of_input_ends_the_block_cleanly(error: Exception) -> None:
    hook = Recorder()
    with gf.train.MonitoredSession(hooks=[hook]):
        raise error
    assert hook.calls == ["begin", "create", "end"]


def test_errors_leave_the_block_as_they_are() -> None:
    hook = Recorder()
    with (
        pytest.raises(KeyError, match="from the body") as caught,
        gf.train.MonitoredSession(hooks=[hook]) as session,
    ):
        error = KeyError("from the body")
        raise error
    assert caught.value is error
    assert traceback.extract_tb(error.__traceback__)[-1].line == "raise error"
    assert error.__cause__ is None and error.__context__ is None
    assert hook.calls == ["begin", "create", "KeyError"]
    assert session.should_stop()


def test_ctrl_c_ends_without_the_hooks_end() -> None:
    hook = Recorder()
    before = set(threading.enumerate())  # Some may end meanwhile.
    queue = gf.FIFOQueue(2, gf.float32)
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue(1.0)]))
    taken = queue.dequeue()
    with pytest.raises(KeyboardInterrupt), gf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(taken)
        raise KeyboardInterrupt
    assert hook.calls == ["begin", "create", "before", "after", "KeyboardInterrupt"]
    assert not new_threads(before)


def test_errors_of_hooks_leave_the_block(caplog: pytest.LogCaptureFixture) -> None:
    class Bad(Recorder):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            raise ValueError("from a hook")

        def on_exception(self, exception: BaseException) -> None:
            raise OSError("disk full")

    one, hook = gf.constant(1.0), Recorder()
    with (
        pytest.raises(ValueError, match="from a hook"),
        gf.train.MonitoredSession(hooks=[Bad(), hook]) as session,
    ):
        session.run(one)
    assert hook.calls[-1] == "ValueError"
    assert "disk full" in caplog.text


def test_a_run_after_a_request_to_stop_is_refused() -> None:
    class Stop(gf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            run_context.request_stop()

    one = gf.constant(1.0)
    with gf.train.MonitoredSession(hooks=[Stop()]) as session:
        session.run(one)
        assert session.should_stop()
        with pytest.raises(RuntimeError, match="after should_stop requested"):
            session.run(one)


# ---- promise 31: step functions, finalized graphs -----------------------------------------------------------------


def test_promise_31_hooks_fire_once_a_step_and_not_on_raw_runs() -> None:
    v = gf.Variable(0)
    grow = v.assign_add(1)
    hook = Recorder()

    def step_fn(step_context: Any) -> int:
        for _ in range(5):
            step_context.session.run(grow)
        return int(step_context.run_with_hooks(v))

    with gf.train.MonitoredSession(hooks=[hook]) as session:
        assert [session.run_step_fn(step_fn) for _ in range(3)] == [5, 10, 15]
        assert hook.calls.count("before") == hook.calls.count("after") == 3
        with pytest.raises(ValueError, match="step_fn takes one argument"):
            session.run_step_fn(lambda: None)  # type: ignore[arg-type,misc]
    hook.calls.clear()
    with gf.train.MonitoredSession(hooks=[hook]) as session:
        session.run_step_fn(lambda step_context: step_context.request_stop())
        raise AssertionError("the block has ended")
    assert hook.calls == ["begin", "create", "end"]


def test_promise_31_the_error_names_the_line_that_adds_an_op() -> None:
    x = gf.constant(1.0)
    with pytest.raises(RuntimeError) as caught, gf.train.MonitoredSession() as session:
        while True:
            session.run(x * 2.0)  # this is the line
    line = next(
        f for f in traceback.extract_tb(caught.value.__traceback__) if "this is the line" in (f.line or "")
    )
    assert f"{__file__}:{line.lineno}" in str(caught.value)
    assert "finalized" in str(caught.value)


# ---- promise 6: what is missing raises at the first run -----------------------------------------------------------


def test_promise_6_queue_runners_are_started_and_end() -> None:
    numbers = gf.train.get_or_create_global_step()
    queue = gf.FIFOQueue(3, gf.int64)
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue(numbers.count_up_to(5))]))
    taken = queue.dequeue()
    values = []
    with gf.train.MonitoredSession() as session:
        while not session.should_stop():
            values.append(int(session.run(taken)))
    assert values == [0, 1, 2, 3, 4]


def test_promise_6_variables_that_nothing_initialises_are_named() -> None:
    gf.Variable(1.0, name="forgotten", collections=["mine"])
    gf.Variable(1.0, name="known")
    nothing = gf.no_op()
    with pytest.raises(RuntimeError, match="not initialized: known") as caught:
        gf.train.MonitoredSession(gf.train.ChiefSessionCreator(gf.train.Scaffold(init_op=nothing)))
    assert "forgotten" not in str(caught.value)
    gf.get_default_graph().clear_collection(gf.GraphKeys.INIT_OP)
    with pytest.raises(ValueError, match="both checkpoint_dir and checkpoint_filename_with_path"):
        gf.train.MonitoredSession(
            gf.train.ChiefSessionCreator(checkpoint_dir="a", checkpoint_filename_with_path="b")
        )


def test_promise_6_a_worker_names_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    with gf.device("/cpu:0"):
        gf.Variable(1.0, name="weights")
    begin = time.monotonic()
    with pytest.raises(
        gf.errors.DeadlineExceededError, match=r"after waiting 0.1 secs.*initialized: weights"
    ):
        gf.train.MonitoredTrainingSession(is_chief=False, max_wait_secs=0.1)
    assert time.monotonic() - begin < 100


def test_a_worker_goes_on_soon_after_the_chief(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [b"weights", b"biases"]
    ready = gf.py_func(lambda: np.array(missing, object), [], gf.string, stateful=True)
    slept = []

    class Abandoned(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            slept.append(timeout)
            missing.clear()
            return super().wait(0.001)

    monkeypatch.setattr("graphflow.train.sessions.session_manager.threading.Event", Abandoned)
    hook, chiefs = Recorder(), Recorder()
    scaffold = gf.train.Scaffold(ready_op=ready)
    with gf.train.MonitoredTrainingSession(
        is_chief=False, scaffold=scaffold, hooks=[hook], chief_only_hooks=[chiefs], checkpoint_dir="/nowhere"
    ) as session:
        session.run(gf.get_default_graph().get_operations()[0].outputs[0])
    assert slept == [0.5]
    assert hook.calls == ["begin", "create", "before", "after", "end"]
    assert chiefs.calls == []


def test_session_manager_waits_for_checkpoints_and_recovers(tmp_path: Path) -> None:
    v = gf.Variable(1.0)
    init, grow = gf.global_variables_initializer(), v.assign(8.0)
    saver = gf.train.Saver()
    ready = gf.report_uninitialized_variables()
    manager = gf.train.SessionManager(ready_op=ready)
    session, restored = manager.recover_session("", saver=saver, checkpoint_dir=str(tmp_path))
    assert not restored
    session.close()
    with gf.Session() as other:
        other.run([init])
        other.run(grow)
        thread = threading.Timer(0.1, lambda: saver.save(other, str(tmp_path / "model.ckpt")))
        thread.start()
        session = manager.prepare_session(
            "", init, saver, str(tmp_path), wait_for_checkpoint=True, max_wait_secs=100
        )
        assert session.run(v) == 8.0
        session.close()
        thread.join()
    session, restored = manager.recover_session("", saver=saver, checkpoint_dir=str(tmp_path))
    assert restored
    assert session.run(v) == 8.0
    session.close()
    with pytest.raises(ValueError, match="local_init_op"):
        gf.train.SessionManager(ready_for_local_init_op=ready)
    with pytest.raises(RuntimeError, match="no init_op"):
        manager.prepare_session("")


# ---- defaults of MonitoredTrainingSession -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"StepCounterHook", "SummarySaverHook", "CheckpointSaverHook"}),
        ({"save_checkpoint_secs": None}, {"StepCounterHook", "SummarySaverHook"}),
        (
            {"save_checkpoint_steps": 5, "save_summaries_secs": 3},
            {"StepCounterHook", "SummarySaverHook", "CheckpointSaverHook"},
        ),
        ({"save_summaries_steps": None, "log_step_count_steps": None}, {"CheckpointSaverHook"}),
    ],
)
def test_default_hooks(tmp_path: Path, arguments: dict[str, Any], expected: set[str]) -> None:
    gf.train.get_or_create_global_step()
    with gf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), **arguments) as session:
        assert {type(hook).__name__ for hook in session._hooks} == expected


def test_without_the_extra_checkpoints_are_saved_and_no_summaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "graphflow")
    for module in ("hooks.saving_hooks", "sessions.training_session"):
        monkeypatch.setattr(f"graphflow.train.{module}.events_can_be_written", lambda: False)
    move = gf.train.get_or_create_global_step().assign_add(1)
    with gf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
        session.run(move)
    assert gf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-1")
    assert list(tmp_path.glob("events*")) == []
    assert "graphflow-engine[tensorboard]" in caplog.text


# ---- several clients of one master --------------------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of sockets of threads that ended
def test_a_worker_joins_a_chief_and_both_stop_at_the_step() -> None:
    server = Server.create_local_server()
    waiting = threading.Event()
    found: dict[str, Any] = {}

    def train(is_chief: bool) -> int:
        with gf.Graph().as_default():
            step = gf.train.get_or_create_global_step()
            w = gf.get_variable("w", initializer=5.0)
            move = step.assign_add(1)
            waiting.set()
            with gf.train.MonitoredTrainingSession(
                server.target, is_chief, hooks=[gf.train.StopAtStepHook(last_step=30)], max_wait_secs=100
            ) as session:
                runs = 0
                while not session.should_stop():
                    found[f"chief={is_chief}"] = session.run([move, w])
                    runs += 1
        return runs

    def work() -> None:
        found["runs"] = train(False)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        assert waiting.wait(60)
        runs = train(True)
    finally:
        worker.join(100)
        server.stop()
    assert found["chief=True"][1] == 5.0
    assert found["runs"] >= 1
    assert 30 <= runs + found["runs"] <= 32


def test_a_session_that_is_closed_in_its_own_block_says_so() -> None:
    with (
        gf.Graph().as_default(),
        pytest.raises(RuntimeError, match=r"Session is already closed: .* do not call close"),
        gf.train.MonitoredSession() as session,
    ):
        session.close()
