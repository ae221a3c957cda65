"""Protects how often sessions, coordinators and hooks look, and how long they wait at most."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import graphflow as gf
from graphflow import errors
from graphflow._core.common.shown import status_line
from graphflow.train.hooks import basic_hooks
from graphflow.train.sessions import session_keeper, session_manager
from tests.common.clock import Clock

WITHIN = 60.0
"""Seconds: more than a loaded machine needs, less than what a time would take that is a thousand times as long."""


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with gf.Graph().as_default() as made:
        yield made


# ---- sessions -----------------------------------------------------------------------------------------------------


class Looks(threading.Event):
    """An event that nothing sets: it notes how long each wait for it would take, and does something at the third."""

    def __init__(self, act: Any) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._act = act

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds.append(timeout)
        if len(self.seconds) == 3:
            self._act()
        return False


def test_a_worker_looks_every_now_and_then_whether_the_model_is_ready() -> None:
    server = gf.train.Server.create_local_server()
    variable = gf.get_variable("v", [])
    with gf.Session(server.target) as chief:
        manager = gf.train.SessionManager(ready_op=gf.report_uninitialized_variables())
        looks = manager.abandoned = Looks(lambda: chief.run(variable.initializer))
        manager.wait_for_session(server.target, max_wait_secs=60).close()
    assert len(looks.seconds) == 3 and all(0.01 <= seconds <= 5 for seconds in looks.seconds)


class NoCluster:
    """Stands for Session: a cluster of which a task is missing, for as long as the options let it be waited for."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.configs: list[gf.ConfigProto] = []

    def __call__(self, target: str, graph: Any, config: gf.ConfigProto) -> Any:
        self.configs.append(config)
        self.clock.now += max(config.connect_timeout_in_ms, 1) / 1000
        raise errors.UnavailableError(None, None, "worker 1 is not there.")


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> NoCluster:
    made = NoCluster()
    monkeypatch.setattr(session_manager, "Session", made)
    monkeypatch.setattr(status_line, "time", made.clock)
    return made


def test_a_cluster_that_is_awaited_is_looked_at_again_every_few_seconds(no_cluster: NoCluster) -> None:
    gf.get_variable("v", [])
    with pytest.raises(errors.DeadlineExceededError, match=r"After waiting 60 s: worker 1"):
        gf.train.SessionManager().wait_for_session("zmq://localhost:1", max_wait_secs=60)
    assert 6 <= len(no_cluster.configs) <= 120


@pytest.mark.parametrize("asked_ms", [0, 7])
def test_a_worker_of_synchronous_training_may_be_gone_for_minutes(
    no_cluster: NoCluster, asked_ms: int
) -> None:
    gf.get_variable("v", [])
    config = gf.ConfigProto(replica_wait_in_ms=asked_ms)
    with pytest.raises(errors.DeadlineExceededError):
        gf.train.SessionManager().wait_for_session("zmq://localhost:1", config, max_wait_secs=1)
    wait = no_cluster.configs[0].replica_wait_in_ms
    assert wait == asked_ms if asked_ms else 60_000 <= wait <= 3_600_000


class Stubborn(gf.train.SessionCreator):
    """Makes the first session at once, and the next one only when it may; being told to stop, it does not."""

    def __init__(self) -> None:
        self.made = 0
        self.asked, self.go = threading.Event(), threading.Event()

    def create_session(self) -> Any:
        gf.get_default_graph().finalize()
        if self.made:
            self.asked.set()
            assert self.go.wait(2 * WITHIN)
        self.made += 1
        return gf.Session()

    def abandon(self) -> None:
        """It is told, and goes on."""


def test_an_end_by_an_error_waits_some_seconds_for_who_makes_a_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(session_keeper, "time", clock)
    monkeypatch.setattr(session_keeper, "SESSION_LOOK_SECONDS", 0.001)
    creator, lost = Stubborn(), threading.Event()
    looks = gf.py_func(lambda: _fail_if(lost.is_set() and creator.made == 1), [], gf.float64)
    session = gf.train.MonitoredSession(creator, stop_grace_period_secs=0)
    waited: list[float] = []
    thread = threading.Thread(target=lambda: _run(session, looks))
    keeper_clock = clock.now

    def tick() -> None:
        while not over.wait(0.001):
            clock.now += 0.1

    over = threading.Event()
    ticking = threading.Thread(target=tick)
    try:
        with pytest.raises(ValueError, match="of the block"), session:
            session.run(looks)
            lost.set()
            thread.start()
            assert creator.asked.wait(WITHIN)
            keeper_clock = clock.now
            ticking.start()
            raise ValueError("of the block")
        waited.append(clock.now - keeper_clock)
    finally:
        over.set()
        creator.go.set()
        thread.join(WITHIN)
        ticking.join(WITHIN)
    assert 0.5 <= waited[0] <= 1500


def _fail_if(lost: bool) -> float:
    if lost:
        raise errors.UnavailableError(None, None, "the ps is gone")
    return 0.0


def _run(session: Any, fetches: Any) -> None:
    with suppress(errors.OpError, RuntimeError):
        session.run(fetches)


def test_a_thread_that_waits_while_another_makes_the_session_notices_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody tells it of the end, and who makes the session does not come to one: it looks."""
    monkeypatch.setattr(session_keeper, "SESSION_ABANDON_SECONDS", 0.1)
    creator, lost = Stubborn(), threading.Event()
    looks = gf.py_func(lambda: _fail_if(lost.is_set() and creator.made == 1), [], gf.float64)
    session = gf.train.MonitoredSession(creator, stop_grace_period_secs=0)
    threads = [threading.Thread(target=_run, args=(session, looks)) for _ in range(3)]
    try:
        with pytest.raises(ValueError, match="of the block"), session:
            session.run(looks)
            lost.set()
            for thread in threads:
                thread.start()
            assert creator.asked.wait(WITHIN)
            raise ValueError("of the block")
        limit = time.monotonic() + WITHIN
        while sum(thread.is_alive() for thread in threads) > 1:
            assert time.monotonic() < limit
            time.sleep(0.01)
    finally:
        creator.go.set()
        for thread in threads:
            thread.join(WITHIN)


# ---- coordinators -------------------------------------------------------------------------------------------------


def test_a_coordinator_notices_soon_that_its_threads_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """They end after a minute, without asking for a stop."""
    ends = threading.Event()
    thread = threading.Thread(target=ends.wait, args=(2 * WITHIN,))
    thread.start()
    coordinator = gf.train.Coordinator()
    pauses: list[float] = []

    def wait_for_stop(timeout: float | None = None) -> bool:
        assert timeout is not None
        pauses.append(timeout)
        if sum(pauses) >= 60 or len(pauses) > 10_000:
            ends.set()
            thread.join(WITHIN)
        return False

    monkeypatch.setattr(coordinator, "wait_for_stop", wait_for_stop)
    coordinator.join([thread])
    assert 60 <= sum(pauses) <= 61.5 and len(pauses) <= 10_000


# ---- hooks --------------------------------------------------------------------------------------------------------


def test_a_worker_that_begins_later_reads_the_step_now_and_then_and_says_so_less_often(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The others take two minutes to come to the step."""
    step = gf.train.get_or_create_global_step()
    reached = step.assign(10)
    hook = gf.train.GlobalStepWaiterHook(10)
    hook.begin()
    with gf.Session() as session:
        session.run(step.initializer)

        def others() -> None:
            if clock.now >= 1120 or clock.sleeps > 5000:
                session.run(reached)

        clock = Clock(others)
        monkeypatch.setattr(basic_hooks, "time", clock)
        hook.before_run(gf.train.SessionRunContext(gf.train.SessionRunArgs(None), session))
    assert 1120 <= clock.now <= 1125 and clock.sleeps <= 5000
    assert 3 <= caplog.text.count("Waiting for global step 10") <= 20
