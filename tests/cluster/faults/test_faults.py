"""Protects training from what happens to its processes: promises 1, 2, 4, 5, 7 and 8, with real signals.

A sample of the matrix of faults and moments; `--everything` goes through all of it, as `make faults` does.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from tests.cluster.faults import cells
from tests.cluster.faults.lab import Lab
from tests.cluster.faults.table import all_cells
from tests.cluster.serving import serve, spec_of
from tests.machine_clock import MachineClock
from tests.overdue import overdue

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lab needs Linux")

CELL_SECONDS = 400
"""A cell waits a dozen times, one after the other, each time with a limit of its own that says what did not come."""
_SAMPLE = [("SIGKILL", "ps", "step")]


def _params() -> list[Any]:
    rest = [cell for cell in all_cells() if cell not in _SAMPLE and cell != ("SIGSTOP", "ps", "step")]
    return [*_SAMPLE, *(pytest.param(*cell, marks=pytest.mark.slow) for cell in rest)]


@pytest.mark.timeout(CELL_SECONDS)
@pytest.mark.parametrize(("fault", "victim", "moment"), _params())
def test_promises_5_7_8_a_fault_at_a_moment(fault: str, victim: str, moment: str) -> None:
    cells.run(fault, victim, moment)


@pytest.mark.timeout(CELL_SECONDS)
def test_promise_5_a_stopped_ps_is_noticed_and_named() -> None:
    begun = time.monotonic()
    with MachineClock() as clock:
        outcome = cells.run("SIGSTOP", "ps", "step")
        share = clock.seconds / (time.monotonic() - begun)
    assert outcome.noticed is not None and outcome.noticed * share <= 5  # The promise is a time.
    assert not outcome.lost


@pytest.mark.parametrize(
    "order", [("chief", "worker"), pytest.param(("worker", "chief"), marks=pytest.mark.slow)]
)
def test_promise_4_any_order_of_the_ends_is_clean(order: tuple[str, str]) -> None:
    with Lab() as lab:
        for role in ("ps", "chief", "worker"):
            lab.start(role)
        lab.wait(lambda: all(lab.latest[r].acknowledged for r in order), "both to train")
        for role in order:
            before = len(lab.latest[order[1]].acknowledged)
            lab.tell(lab.latest[role], "finish")
            assert lab.ended(lab.latest[role]) == 0
            if role != order[1]:
                lab.wait(
                    lambda b=before: len(lab.latest[order[1]].acknowledged) > b + 5, "the other to go on"
                )
        # Those that have ended do not answer.
        assert gf.train.stop_cluster(f"zmq://{lab.cluster['ps'][0]}", 8.0)
        assert lab.ended(lab.latest["ps"]) == 0


def test_promise_4_one_that_comes_back_does_not_wait_for_one_that_has_finished() -> None:
    with Lab() as lab:
        for role in ("ps", "chief", "worker"):
            lab.start(role)
        lab.wait(lambda: all(lab.latest[r].acknowledged for r in ("chief", "worker")), "both to train")
        lab.tell(lab.latest["worker"], "finish")
        assert lab.ended(lab.latest["worker"]) == 0
        os.kill(lab.latest["chief"].pid, signal.SIGKILL)
        lab.ended(lab.latest["chief"])
        again = lab.start("chief")
        lab.wait(lambda: again.acknowledged, "the chief to train")


# ---- in this process ------------------------------------------------------------------------------------------------


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found, gf.Graph().as_default():
        yield found


def test_promise_1_a_bare_session_names_every_missing_task(stack: ExitStack) -> None:
    cluster = spec_of(stack, ps=2, worker=1)
    target = serve(stack, cluster, "worker").target
    with pytest.raises(gf.errors.UnavailableError) as caught:
        gf.Session(target, config=gf.ConfigProto(connect_timeout_in_ms=4000))
    for index, address in enumerate(cluster["ps"]):
        assert f"/job:ps/replica:0/task:{index} at {address}" in str(caught.value)
    assert gf.ConfigProto().connect_timeout_in_ms == 10_000


def test_promise_1_an_absent_target_is_named(stack: ExitStack) -> None:
    address = spec_of(stack, ps=2, worker=1)["ps"][0]
    with pytest.raises(gf.errors.UnavailableError, match=f"No server answers at {address}"):
        gf.Session(f"zmq://{address}", config=gf.ConfigProto(connect_timeout_in_ms=100))


def test_promise_1_a_training_session_waits_for_absent_tasks(
    stack: ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = spec_of(stack, ps=2, worker=1)
    target = serve(stack, cluster, "worker").target
    with gf.device("/job:ps/task:0"):
        step = gf.train.get_or_create_global_step()

    def waits() -> list[str]:
        texts = [record.getMessage() for record in caplog.records]
        return [text for text in texts if "waiting for the cluster" in text]

    def come() -> None:
        """Once it has said for whom it waits."""
        limit = time.monotonic() + 60
        while not waits() and time.monotonic() < limit:
            time.sleep(0.01)
        for index in (0, 1):
            serve(stack, cluster, "ps", index)

    comes = threading.Thread(target=come)
    comes.start()
    stack.callback(comes.join)
    with (
        caplog.at_level(logging.INFO, "graphflow"),
        gf.train.MonitoredTrainingSession(target, progress=False, max_wait_secs=60) as session,
    ):
        assert session.run(step) == 0
    assert all(f"/job:ps/replica:0/task:{i} at {cluster['ps'][i]}" in waits()[0] for i in (0, 1))


def test_promise_1_a_wait_has_an_end(stack: ExitStack) -> None:
    cluster = spec_of(stack, ps=2, worker=1)
    target = serve(stack, cluster, "worker").target
    gf.train.get_or_create_global_step()
    with pytest.raises(
        gf.errors.DeadlineExceededError, match=f"/job:ps/replica:0/task:1 at {cluster['ps'][1]}"
    ):
        gf.train.MonitoredTrainingSession(target, progress=False, max_wait_secs=0.5)


def test_promise_2_a_deadline_names_what_is_awaited_and_the_next_run_works(stack: ExitStack) -> None:
    cluster = spec_of(stack, ps=1, worker=1)
    target = serve(stack, cluster, "worker").target
    serve(stack, cluster, "ps")
    with gf.device("/job:ps/task:0"):
        queue = gf.FIFOQueue(2, [gf.float32], [[]], name="queue")
        taken = queue.dequeue(name="taken")
        put = queue.enqueue([3.0])
    with gf.device("/job:worker/task:0"):
        more = taken + 1.0
    with gf.Session(target) as session:
        said = r"\A(?=.*/job:ps/replica:0/task:0)(?=.*taken)"
        overdue(lambda options: session.run(more, options=options), said, 300)
        session.run(put)
        assert session.run(more) == 4.0


def test_promise_7_a_session_is_told_that_a_task_lost_its_variables(stack: ExitStack) -> None:
    cluster = spec_of(stack, ps=1, worker=1)
    target = serve(stack, cluster, "worker").target
    ps = serve(stack, cluster, "ps")
    with gf.device("/job:ps/task:0"):
        value = gf.get_variable("value", initializer=1.0)
    session = gf.Session(target)
    stack.callback(session.close)
    session.run(value.initializer)
    ps.stop()
    with pytest.raises(gf.errors.UnavailableError, match="/job:ps/replica:0/task:0 at "):
        session.run(value)
    serve(stack, cluster, "ps")
    with gf.Session(target) as other, pytest.raises(gf.errors.FailedPreconditionError):
        other.run(value)
    with pytest.raises(gf.errors.AbortedError, match="/job:ps/replica:0/task:0 was started again"):
        session.run(value)


def test_the_last_checkpoint_has_what_others_trained_after_the_chiefs_last_step(
    stack: ExitStack, tmp_path: Path
) -> None:
    cluster = spec_of(stack, ps=1, worker=1)
    target = serve(stack, cluster, "worker").target
    serve(stack, cluster, "ps")
    with gf.device("/job:ps/task:0"):
        step = gf.train.get_or_create_global_step()
        more = step.assign_add(1)
    with gf.train.MonitoredTrainingSession(
        target,
        checkpoint_dir=str(tmp_path),
        save_checkpoint_steps=2,
        save_summaries_steps=None,
        progress=False,
    ) as chief:
        chief.run(more)
        assert chief.run(more) == 2  # It saves.
        with gf.train.MonitoredTrainingSession(target, is_chief=False, progress=False) as worker:
            assert worker.run(more) == 3
    assert gf.train.load_variable(str(tmp_path), "global_step") == 3
