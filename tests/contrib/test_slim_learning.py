"""Protects the training loop of slim in what TensorFlow's recordings do not show: logs, traces, ends, retries."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf

slim = gf.contrib.slim


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as graph:
        yield graph


def train_op_of(optimizer: Any = None, x: Any = None) -> Any:
    w = gf.get_variable("w", initializer=0.0)
    x = gf.constant(1.0) if x is None else x
    loss = gf.square(w * x - 3.0)
    return slim.learning.create_train_op(loss, optimizer or gf.train.GradientDescentOptimizer(0.1))


def test_every_second_step_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "graphflow"):
        slim.learning.train(train_op_of(), None, number_of_steps=4, log_every_n_steps=2)
    lines = [
        record.getMessage() for record in caplog.records if record.name.startswith("graphflow.contrib.slim")
    ]
    steps = [line for line in lines if line.startswith("global step")]
    assert [line.split(":")[0] for line in steps] == ["global step 2", "global step 4"]
    assert steps[0].startswith("global step 2: loss = 5.7600 (")


def test_timelines_are_written(tmp_path: Path) -> None:
    slim.learning.train(train_op_of(), str(tmp_path), number_of_steps=3, trace_every_n_steps=2)
    # Whether to trace is asked for before the step: at steps 0 and 2, whose runs reach 1 and 3.
    assert sorted(path.name for path in tmp_path.glob("tf_trace-*.json")) == [
        "tf_trace-1.json",
        "tf_trace-3.json",
    ]


def test_the_loop_ends_with_its_input() -> None:
    number = gf.train.limit_epochs(gf.constant(1.0), num_epochs=5)
    queue = gf.FIFOQueue(2, gf.float32, shapes=())
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue(number)]))
    steps = []

    def step(*args: Any) -> Any:
        result = slim.learning.train_step(*args)
        steps.append(result[0])
        return result

    last = slim.learning.train(train_op_of(x=queue.dequeue()), None, train_step_fn=step)
    assert len(steps) == 5 and last == steps[-1]


def test_it_begins_again_after_a_server_was_lost(tmp_path: Path) -> None:
    calls = []

    def step(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise gf.errors.AbortedError(None, None, "the server was started anew")
        return slim.learning.train_step(*args)

    slim.learning.train(train_op_of(), str(tmp_path), train_step_fn=step, number_of_steps=4)
    latest = gf.train.latest_checkpoint(str(tmp_path))
    assert latest is not None and latest.endswith("model.ckpt-4") and len(calls) >= 5


def test_an_error_of_a_step_comes_out(tmp_path: Path) -> None:
    def step(*args: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        slim.learning.train(train_op_of(), str(tmp_path), train_step_fn=step)


def test_synchronous_replicas_and_a_wrapped_session() -> None:
    optimizer = gf.train.SyncReplicasOptimizer(gf.train.GradientDescentOptimizer(0.1), 1)
    wrapped = []

    def wrap(session: Any) -> Any:
        wrapped.append(session)
        return session

    loss = slim.learning.train(
        train_op_of(optimizer), None, number_of_steps=2, sync_optimizer=optimizer, session_wrapper=wrap
    )
    assert loss == pytest.approx(5.76, abs=1e-4) and len(wrapped) == 1
    with gf.Graph().as_default(), pytest.raises(ValueError, match="startup_delay_steps must be zero"):
        slim.learning.train(train_op_of(), None, sync_optimizer=[optimizer], startup_delay_steps=1)


def test_a_thread_that_fails_ends_a_block_of_queue_runners() -> None:
    queue = gf.FIFOQueue(2, gf.int32, shapes=())
    broken = gf.constant(1) // gf.placeholder_with_default(gf.constant(0), [])
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue(broken)]))
    taken = queue.dequeue()
    with (
        gf.Session() as session,
        pytest.raises(gf.errors.InvalidArgumentError),
        slim.queues.QueueRunners(session),
    ):
        session.run(taken)


def test_sizes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    gf.get_variable("a", [3, 4])
    assert slim.model_analyzer.analyze_vars(gf.global_variables(), print_info=True) == (12, 48)
    assert "a:0 (float32 3x4) [12, bytes: 48]" in capsys.readouterr().out
    with gf.Graph().as_default() as graph:
        gf.constant([1.0, 2.0], name="c")
        assert slim.model_analyzer.analyze_ops(graph, print_info=True) == 2
    assert "c \t-> (float32 2) [2]" in capsys.readouterr().out
