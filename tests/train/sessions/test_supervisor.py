"""Protects Supervisor: sessions that begin ready, its threads, and which of them are the chief's alone."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.protos import event_pb2
from tests.left_over import new_threads


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def wait_for(condition: Any) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_its_threads_save_and_summarise(tmp_path: Path) -> None:
    step = gf.train.get_or_create_global_step()
    move = step.assign_add(1)
    gf.summary.scalar("curve", step)
    before = set(threading.enumerate())
    supervisor = gf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0.05, save_summaries_secs=0.05)
    assert gf.get_default_graph().finalized
    assert supervisor.save_path == str(tmp_path / "model.ckpt")
    with supervisor.managed_session() as session:
        session.run(move)

        def saved() -> bool:
            session.run(move)
            newest = gf.train.latest_checkpoint(str(tmp_path))
            return newest is not None and int(newest.split("-")[-1]) > 2

        wait_for(saved)
    assert not any(isinstance(thread, gf.train.LooperThread) for thread in new_threads(before))
    with pytest.raises(RuntimeError, match="closed"):
        session.run(move)
    (path,) = tmp_path.glob("events*")
    events = list(gf.train.summary_iterator(path))
    logs = [event.session_log.status for event in events if event.HasField("session_log")]
    assert logs[0] == event_pb2.SessionLog.START
    assert logs[-1] == event_pb2.SessionLog.STOP
    assert event_pb2.SessionLog.CHECKPOINT in logs
    tags = {value.tag for event in events for value in event.summary.value}
    assert {"curve", "global_step/sec"} <= tags
    assert any(event.HasField("graph_def") for event in events)

    newest = gf.train.latest_checkpoint(str(tmp_path))
    assert newest is not None
    with supervisor.managed_session(start_standard_services=False) as session:
        assert session.run(step) == int(newest.split("-")[-1])


def test_errors_leave_the_block_and_the_end_of_input_ends_it() -> None:
    gf.Variable(1.0)
    supervisor = gf.train.Supervisor()
    error = KeyError("body")
    with pytest.raises(KeyError) as caught, supervisor.managed_session():
        raise error
    assert caught.value is error
    with supervisor.managed_session():
        raise gf.errors.OutOfRangeError(None, None, "end")
    with pytest.raises(KeyboardInterrupt), supervisor.managed_session() as session:
        raise KeyboardInterrupt
    with pytest.raises(RuntimeError, match="closed"):
        session.run("Variable:0")


def test_loops_and_their_errors() -> None:
    gf.Variable(1.0)
    supervisor = gf.train.Supervisor()
    calls: list[Any] = []
    with supervisor.managed_session():
        thread = supervisor.loop(0.001, lambda *args, **kwargs: calls.append((args, kwargs)), (1,), {"a": 2})
        wait_for(lambda: len(calls) > 2)
        supervisor.request_stop()
        assert supervisor.should_stop()
        supervisor.wait_for_stop()
    assert not thread.is_alive()
    assert calls[0] == ((1,), {"a": 2})

    def fail() -> None:
        raise ZeroDivisionError("in a loop")

    with pytest.raises(ZeroDivisionError, match="in a loop"), supervisor.managed_session():
        supervisor.loop(None, fail)
        wait_for(supervisor.should_stop)


def test_without_a_logdir_nothing_is_written(caplog: pytest.LogCaptureFixture) -> None:
    gf.Variable(1.0)
    supervisor = gf.train.Supervisor()
    assert supervisor.save_path is None
    assert supervisor.summary_writer is None
    assert supervisor.save_model_secs is None
    with supervisor.managed_session() as session, pytest.raises(RuntimeError, match="summary writer"):
        supervisor.summary_computed(session, b"")
    assert "need a logdir" in caplog.text


def test_queue_runners_are_started() -> None:
    count = gf.Variable(0, name="count")
    queue = gf.FIFOQueue(3, gf.int32)
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue(count.count_up_to(4))]))
    taken = queue.dequeue()
    values = []
    with gf.train.Supervisor().managed_session() as session:
        while True:
            values.append(int(session.run(taken)))
    assert values == [0, 1, 2, 3]


def test_what_is_given_or_left_out_is_used() -> None:
    v = gf.Variable(1.0)
    x = gf.placeholder(gf.float32, [])
    init = v.assign(x)
    set_by_function = v.assign_add(1.0)
    supervisor = gf.train.Supervisor(
        init_op=init.op,
        init_feed_dict={x: 4.0},
        init_fn=lambda session: session.run(set_by_function),
        saver=None,
    )
    assert supervisor.saver is None
    assert supervisor.init_op is init.op
    assert gf.get_default_graph().get_collection(gf.GraphKeys.SAVERS) == []
    with supervisor.managed_session() as session:
        assert session.run(v) == 5.0


def test_what_init_op_leaves_out_is_named() -> None:
    gf.Variable(1.0, name="left_out")
    supervisor = gf.train.Supervisor(init_op=gf.no_op())
    with pytest.raises(RuntimeError, match="not initialized: left_out"):
        supervisor.prepare_or_wait_for_session()


def counting_in_floats() -> tuple[gf.Variable, gf.Operation]:
    """A global step as programs make it with an initializer alone, float32, and a step of training."""
    step = gf.get_variable("global_step", [], initializer=gf.zeros_initializer(), trainable=False)
    weight = gf.get_variable("weight", [])
    return step, gf.train.GradientDescentOptimizer(0.1).minimize(gf.square(weight), global_step=step)


def test_a_step_that_counts_in_floats_is_taken_where_it_is_given(caplog: pytest.LogCaptureFixture) -> None:
    server = gf.train.Server.create_local_server()
    step, train = counting_in_floats()
    given, default = gf.train.Supervisor(global_step=step), gf.train.Supervisor()
    assert given.global_step is step
    assert default.global_step is None
    assert "global_step is float32 and no integer" in caplog.text
    with given.managed_session(server.target) as session:
        session.run(train)
        assert session.run(step) == 1.0


def test_a_step_that_counts_in_floats_is_no_hindrance_to_a_monitored_session() -> None:
    step, train = counting_in_floats()
    with gf.train.MonitoredSession() as session:
        session.run(train)
        assert session.run(step) == 1.0


def test_others_than_the_chief_wait_and_write_nothing(tmp_path: Path) -> None:
    missing = [b"weights"]
    with gf.device("/cpu:0"):
        gf.Variable(1.0, name="weights")
        ready = gf.py_func(lambda: np.array(missing, object), [], gf.string)
    supervisor = gf.train.Supervisor(
        is_chief=False, logdir=str(tmp_path), ready_op=ready, recovery_wait_secs=0.01
    )
    assert supervisor.save_path is None
    assert supervisor.summary_writer is None
    with pytest.raises(gf.errors.DeadlineExceededError, match="Variables not initialized: weights"):
        supervisor.prepare_or_wait_for_session(max_wait_secs=0.05)
    threading.Timer(0.05, missing.clear).start()
    session = supervisor.PrepareSession(max_wait_secs=100)
    with pytest.raises(RuntimeError, match="Only chief"):
        supervisor.StartStandardServices(session)
    supervisor.Stop()
    session.close()
    assert os.listdir(tmp_path) == []


def test_replicas_need_devices_and_all_variables_without_one_are_named() -> None:
    gf.Variable(1.0, name="first")
    gf.Variable(1.0, name="second")
    with gf.device("/job:ps/task:0"):
        gf.Variable(1.0, name="placed")
    with pytest.raises(
        ValueError, match="When using replicas, all Variables must have their device set: first, second have"
    ):
        gf.train.Supervisor(is_chief=False)


def test_names_in_the_older_style() -> None:
    names = (
        "PrepareSession StartQueueRunners StartStandardServices Stop RequestStop ShouldStop StopOnException "
    )
    names += "Loop SummaryComputed WaitForStop"
    supervisor = gf.train.Supervisor()
    assert all(callable(getattr(supervisor, name)) for name in names.split())
    assert gf.train.Supervisor.USE_DEFAULT == 0
    with supervisor.StopOnException():
        raise ValueError("reported")
    assert supervisor.ShouldStop()
    with pytest.raises(ValueError, match="reported"):
        supervisor.Stop()


def test_a_function_is_called_until_the_supervisor_stops(tmp_path: Path) -> None:
    """A new session is made if a task was begun anew; other errors end it."""
    calls: list[int] = []
    with gf.Graph().as_default():
        supervisor = gf.train.Supervisor(logdir=str(tmp_path))

        def step(session: gf.Session, more: int, last: int) -> None:
            calls.append(more)
            if len(calls) == 2:
                raise gf.errors.AbortedError(None, None, "a task was begun anew")
            if len(calls) == last:
                supervisor.request_stop()

        gf.train.basic_train_loop(supervisor, step, [7], {"last": 4})
    assert calls == [7] * 4
