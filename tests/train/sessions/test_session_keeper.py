"""Protects a monitored session that several threads share: one is made anew once, and nobody sees the lost one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import graphflow as gf
from graphflow import errors

THREADS = 24
GRACE_SECONDS = 30.0
"""For how long a session waits for its threads: far longer than anything else here lasts."""


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with gf.Graph().as_default() as made:
        yield made


class Creator(gf.train.SessionCreator):
    """Makes sessions of this process, which share nothing; the making may be held up, or fail."""

    def __init__(self) -> None:
        self.made = 0
        self.go = threading.Event()
        self.go.set()
        self.errors: list[Exception] = []
        self.abandoned = threading.Event()

    def create_session(self) -> Any:
        gf.get_default_graph().finalize()
        while not self.go.wait(0.01):
            if self.abandoned.is_set():
                raise errors.CancelledError(None, None, "It is not wanted any more.")
        if self.made and self.errors:
            raise self.errors.pop(0)
        self.made += 1
        return gf.Session()

    def abandon(self) -> None:
        self.abandoned.set()


class Program:
    """A session that is lost when told so: then all its runs fail, those that wait, too."""

    def __init__(self, **arguments: Any) -> None:
        self.lost = threading.Event()
        self.creator = Creator()
        self.looks = gf.py_func(self.look, [], gf.float64)
        self.queue = gf.FIFOQueue(1, ["float32"], [[]])
        self.waits = self.queue.dequeue()
        self.session = gf.train.MonitoredSession(
            self.creator, stop_grace_period_secs=GRACE_SECONDS, **arguments
        )

    def look(self) -> float:
        if self.lost.is_set() and self.creator.made == 1:
            raise errors.UnavailableError(None, None, "the ps is gone")
        return 0.0

    def threads(
        self, act: Callable[[int], Any], count: int = THREADS
    ) -> tuple[list[Any], Callable[[], None]]:
        """Threads that do something, what they have come to, and what waits for all of them."""
        found: list[Any] = []

        def run(number: int) -> None:
            try:
                found.append(act(number))
            except BaseException as error:
                found.append(error)

        started = [threading.Thread(target=run, args=[n], daemon=True) for n in range(count)]
        for thread in started:
            thread.start()

        def join() -> None:
            for thread in started:
                thread.join(100)
            assert len(found) == count

        return found, join


@pytest.fixture
def program() -> Iterator[Program]:
    found = Program()
    yield found
    found.creator.go.set()
    if not found.session._keeper.closing:
        found.session.close()


def test_threads_share_one_recovery(program: Program) -> None:
    stop = threading.Event()

    runs = [0] * THREADS

    def work(number: int) -> int:
        while not stop.is_set():
            assert not program.session.should_stop()
            program.session.run(program.looks)
            runs[number] += 1
        return runs[number]

    def all_run() -> None:
        before = list(runs)
        while not all(now > then for now, then in zip(runs, before, strict=True)):
            time.sleep(0.005)

    found, join = program.threads(work)
    all_run()
    program.creator.go.clear()
    program.lost.set()
    while program.session._session is not None:
        time.sleep(0.005)
    program.creator.go.set()
    all_run()
    stop.set()
    join()
    assert all(isinstance(runs, int) and runs > 0 for runs in found), found
    assert len(program.session.recoveries) == 1 and program.creator.made == 2


def test_what_waits_in_the_lost_session_goes_on_in_the_next(program: Program) -> None:
    found, join = program.threads(lambda n: program.session.run(program.waits), 3)
    while len(program.session._session.store.waiting()) < 3:
        time.sleep(0.005)
    program.lost.set()
    program.session.run(program.looks)
    while len(program.session._session.store.waiting()) < 3:
        time.sleep(0.005)
    assert not found and len(program.session.recoveries) == 1
    program.session.close()
    join()
    assert all(isinstance(error, errors.CancelledError) for error in found), found


def test_what_makes_a_recovery_impossible_is_told_to_all_who_wait(program: Program) -> None:
    program.creator.errors = [errors.DataLossError(None, None, "all is lost")]
    program.lost.set()
    program.creator.go.clear()
    found, join = program.threads(lambda n: program.session.run(program.looks))
    time.sleep(0.2)
    program.creator.go.set()
    join()
    assert {type(error) for error in found if not isinstance(error, float)} == {errors.DataLossError}
    assert sum(isinstance(error, errors.DataLossError) for error in found) >= 1
    assert program.session.run(program.looks) == 0.0  # A program that goes on nevertheless has another try.


def test_recoveries_that_are_used_up_are_so_for_all_threads() -> None:
    program = Program(max_recoveries=0)
    program.lost.set()
    found, join = program.threads(lambda n: program.session.run(program.looks))
    join()
    assert all(
        isinstance(error, errors.UnavailableError | errors.CancelledError) for error in found if error
    ), found
    program.session.close()


def test_a_call_inside_of_a_step_function_is_a_part_of_it(program: Program) -> None:
    calls: list[int] = []

    def step(context: Any) -> float:
        calls.append(len(calls))
        program.session.run(program.looks)
        if len(calls) == 1:
            program.lost.set()
        return float(program.session.run(program.looks))

    assert program.session.run_step_fn(step) == 0.0
    assert calls == [0, 1] and len(program.session.recoveries) == 1


def test_a_hook_that_runs_something_in_the_shared_session_waits_for_nobody() -> None:
    class Runs(gf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            if program:
                program[0].session.run(program[0].looks)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            assert not program[0].session.should_stop()

    program: list[Program] = []
    program.append(Program(hooks=[Runs()]))
    program[0].lost.set()
    found, join = program[0].threads(lambda n: program[0].session.run(program[0].looks))
    join()
    assert found == [0.0] * THREADS and len(program[0].session.recoveries) == 1
    program[0].session.close()


def test_a_thread_of_the_coordinator_ends_with_its_session_and_does_not_hold_the_next_one_up() -> None:
    class Loops(gf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            if program:
                gf.train.LooperThread.loop(coord, 0.01, program[0].session.run, [program[0].looks])

    program: list[Program] = []
    program.append(Program(hooks=[Loops()]))
    session = program[0].session
    live = session._keeper.now()
    assert live is not None
    gf.train.LooperThread.loop(live.coordinator, 0.01, session.run, [program[0].looks])
    begun = time.monotonic()
    program[0].lost.set()
    while not session.recoveries:
        session.run(program[0].looks)
        time.sleep(0.005)
    assert time.monotonic() - begun < 0.9 * GRACE_SECONDS, (
        "the recovery waited for a thread that waited for it"
    )
    session.close()


def test_an_error_of_the_block_ends_a_recovery_that_waits() -> None:
    program = Program()
    program.creator.go.clear()
    found: list[Any] = []
    begun = time.monotonic()
    with pytest.raises(ValueError, match="of the block"), program.session:
        program.lost.set()
        found, join = program.threads(lambda n: program.session.run(program.looks))
        while program.session._session is not None:
            time.sleep(0.005)
        raise ValueError("of the block")
    join()
    assert time.monotonic() - begun < 0.9 * GRACE_SECONDS
    assert all(isinstance(error, RuntimeError | errors.CancelledError) for error in found), found
    with pytest.raises(RuntimeError, match="already closed"):
        program.session.run(program.looks)


def test_a_session_closed_while_others_run_ends_them(program: Program) -> None:
    def work(number: int) -> None:
        while True:
            program.session.run(program.looks)

    found, join = program.threads(work)
    time.sleep(0.05)
    program.session.close()
    with pytest.raises(RuntimeError, match="already closed"):
        program.session.close()
    join()
    assert all(isinstance(error, RuntimeError | errors.CancelledError) for error in found), found
    assert program.session.should_stop() and not program.session.recoveries


def test_hooks_that_act_now_and_then_are_told_the_right_thread_s_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    step = gf.train.get_or_create_global_step()
    more = gf.assign_add(step, 1)
    told: list[int] = []
    hook = gf.train.LoggingTensorHook(
        {"step": step}, every_n_iter=7, formatter=lambda v: str(told.append(v["step"]))
    )
    with gf.train.MonitoredSession(hooks=[hook, gf.train.StopAtStepHook(last_step=100_000)]) as session:

        def work(number: int) -> None:
            for _ in range(50):
                session.run(more)

        threads = [threading.Thread(target=work, args=[n]) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert session.run(step) == 400
    assert told
    assert "went back" not in caplog.text
