"""Protects what SIGTERM and Ctrl-C do to a training: it ends between two steps and has saved, and never hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow.train.sessions import interruptions
from tests.left_over import nothing_stays

PROJECT = Path(__file__).resolve().parents[3]
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    """A graph of its own; and what is done with signals is as it was, after every test."""
    found = signal.signal(signal.SIGINT, signal.default_int_handler)  # Whoever runs the tests may ignore it.
    before = [signal.getsignal(number) for number in SIGNALS]
    with gf.Graph().as_default():
        yield
    gf.summary.FileWriterCache.clear()
    after = [signal.getsignal(number) for number in SIGNALS]
    for number, handler in zip(SIGNALS, before, strict=True):
        signal.signal(number, handler)
    signal.signal(signal.SIGINT, found)
    assert after == before
    assert interruptions.SIGNALS.noted is None


def counting(at: int, act: Callable[[], object]) -> gf.Tensor:
    """A step that counts, and does something in the run that follows step `at`."""
    step = gf.train.get_or_create_global_step()

    def inside(reached: Any) -> None:
        if reached == at:
            act()

    with gf.control_dependencies([gf.py_func(inside, [step], [])]):
        return step.assign_add(1)


def saved(folder: Path) -> int:
    """The step of the newest checkpoint."""
    found = gf.train.latest_checkpoint(str(folder))
    assert found is not None
    return int(found.rpartition("-")[2])


def training(folder: Path, *hooks: Any, **options: Any) -> Any:
    """A session that saves at its begin, and after that when it ends or is told to."""
    return gf.train.MonitoredTrainingSession(
        checkpoint_dir=str(folder), hooks=hooks, save_checkpoint_steps=10_000, save_summaries_steps=None,
        log_step_count_steps=None, **options,
    )  # fmt: skip


def interrupt(number: int = signal.SIGINT) -> None:
    signal.raise_signal(number)


# ---- a Ctrl-C ------------------------------------------------------------------------------------------------------


def test_ctrl_c_in_a_run_ends_it_at_its_end_and_saves(tmp_path: Path) -> None:
    step = counting(2, interrupt)
    calls: list[str] = []

    class Told(gf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            calls.append("after")

        def end(self, session: Any) -> None:
            calls.append("end")

        def on_exception(self, exception: BaseException) -> None:
            calls.append(type(exception).__name__)

    with pytest.raises(KeyboardInterrupt), training(tmp_path, Told()) as session:
        while True:
            session.run(step)
    assert saved(tmp_path) == 3
    assert calls == ["after"] * 3 + ["KeyboardInterrupt"]
    with pytest.raises(RuntimeError, match="closed"):
        session.run(step)


def test_ctrl_c_between_two_runs_raises_at_once_and_saves(tmp_path: Path) -> None:
    step = counting(-1, interrupt)
    reached = []
    with pytest.raises(KeyboardInterrupt), training(tmp_path) as session:
        for _ in range(5):
            reached.append(session.run(step))
        interrupt()
        reached.append(session.run(step))
    assert reached == [1, 2, 3, 4, 5]
    assert saved(tmp_path) == 5


def test_ctrl_c_in_a_step_function_waits_for_the_whole_of_it(tmp_path: Path) -> None:
    step = counting(0, interrupt)

    def twice(context: Any) -> None:
        context.run_with_hooks(step)
        context.session.run(step)

    with pytest.raises(KeyboardInterrupt), training(tmp_path) as session:
        session.run_step_fn(twice)
    assert saved(tmp_path) == 2


def test_a_program_may_catch_ctrl_c_and_go_on_and_be_interrupted_again(tmp_path: Path) -> None:
    step = counting(1, interrupt)
    with training(tmp_path) as session:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(5):
                session.run(step)
        assert saved(tmp_path) == 2
        assert session.run(step) == 3
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert session.run(step) == 4
    assert saved(tmp_path) == 4


def test_without_a_block_what_a_run_has_reached_is_saved(tmp_path: Path) -> None:
    step = counting(1, interrupt)
    session = training(tmp_path)
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        while True:
            session.run(step)
    assert saved(tmp_path) == 2
    session.close()


def test_a_second_ctrl_c_ends_a_run_at_once(tmp_path: Path) -> None:
    def wait() -> None:
        interrupt()
        interrupt()
        time.sleep(60)

    step = counting(2, wait)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), training(tmp_path) as session:
        while True:
            session.run(step)
    assert time.monotonic() - began < 50
    assert saved(tmp_path) == 0  # Of a run that was torn nothing is saved.


def test_a_run_that_does_not_end_is_interrupted_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruptions, "INTERRUPTED_RUN_SECONDS", 0.2)
    step = counting(0, interrupt)
    queue = gf.FIFOQueue(1, [gf.int32], shapes=[[]])
    with gf.control_dependencies([step]):
        element = queue.dequeue()
    with pytest.raises(KeyboardInterrupt), training(tmp_path) as session:
        session.run(element)
    assert saved(tmp_path) == 0


def test_hooks_that_save_for_too_long_are_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruptions, "INTERRUPTED_SAVE_SECONDS", 0.2)
    step = counting(1, interrupt)
    began = time.monotonic()

    class Slow(gf.train.SessionRunHook):
        def on_interrupt(self, session: Any) -> None:
            time.sleep(60)

    with pytest.raises(KeyboardInterrupt), training(tmp_path, Slow()) as session:
        while True:
            session.run(step)
    assert time.monotonic() - began < 50


def test_hooks_that_cannot_save_do_not_hide_the_interrupt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    step = counting(1, interrupt)

    class Broken(gf.train.SessionRunHook):
        def on_interrupt(self, session: Any) -> None:
            raise ValueError("the disk is full")

    with pytest.raises(KeyboardInterrupt), training(tmp_path, Broken()) as session:
        while True:
            session.run(step)
    assert "No checkpoint was saved after SIGINT: ValueError: the disk is full" in caplog.text


def test_a_run_that_fails_saves_nothing_and_the_interrupt_comes_after_it(tmp_path: Path) -> None:
    def fail() -> None:
        interrupt()
        raise ValueError("no such digit")

    step = counting(2, fail)
    with pytest.raises(KeyboardInterrupt) as raised, training(tmp_path) as session:
        while True:
            session.run(step)
    assert "no such digit" in str(raised.value.__context__)
    assert saved(tmp_path) == 0


def test_ctrl_c_does_not_tear_the_last_checkpoint(tmp_path: Path) -> None:
    step = counting(-1, interrupt)

    class Late(gf.train.SessionRunHook):
        def end(self, session: Any) -> None:
            interrupt()

    reached = []
    with pytest.raises(KeyboardInterrupt), training(tmp_path, chief_only_hooks=[Late()]) as session:
        reached += [session.run(step) for _ in range(3)]
    assert saved(tmp_path) == 3


def test_an_evaluation_inside_of_a_training_ends_with_it_and_both_save(tmp_path: Path) -> None:
    step = counting(3, interrupt)
    inner: Any = gf.Graph()
    with inner.as_default():
        other = counting(1, interrupt)
    with pytest.raises(KeyboardInterrupt), training(tmp_path / "outer") as session:
        session.run(step)
        with inner.as_default(), training(tmp_path / "inner") as second:
            while True:
                second.run(other)
    assert saved(tmp_path / "inner") == 2
    assert saved(tmp_path / "outer") == 1


def test_a_lost_peer_is_not_waited_for_and_what_it_has_left_is_not_saved(tmp_path: Path) -> None:
    """A step of which a part failed may be half applied."""

    def lose() -> None:
        interrupt()
        raise gf.errors.UnavailableError(None, None, "worker 1 is gone")

    step = counting(2, lose)
    with pytest.raises(KeyboardInterrupt), training(tmp_path) as session:
        while True:
            session.run(step)
    assert session.recoveries == () and saved(tmp_path) == 0


# ---- whose signals they are ----------------------------------------------------------------------------------------


def test_a_handler_of_the_programs_own_stays_and_may_ask_to_stop(tmp_path: Path) -> None:
    step = counting(4, interrupt)
    seen: list[int] = []

    def own(number: int, frame: Any) -> None:
        seen.append(number)
        session.request_stop()

    before = signal.signal(signal.SIGINT, own)
    try:
        with training(tmp_path) as session:
            assert signal.getsignal(signal.SIGINT) is own
            while not session.should_stop():
                session.run(step)
            assert session.run(step) == 6  # What another thread had begun to do is done.
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]
    assert saved(tmp_path) == 6


def test_a_handler_that_is_set_meanwhile_stays(tmp_path: Path) -> None:
    counting(-1, interrupt)
    before = [signal.getsignal(number) for number in SIGNALS]
    with training(tmp_path):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    signal.signal(signal.SIGTERM, before[1])


@pytest.mark.parametrize("what", ["no folder", "another thread"])
def test_who_saves_nothing_leaves_signals_alone(tmp_path: Path, what: str) -> None:
    counting(-1, interrupt)
    before = [signal.getsignal(number) for number in SIGNALS]
    found = []

    def look() -> None:
        if what == "another thread":
            with training(tmp_path):
                found.append([signal.getsignal(number) for number in SIGNALS])
        else:
            with gf.train.MonitoredSession(hooks=[gf.train.StopAtStepHook(last_step=3)]):
                found.append([signal.getsignal(number) for number in SIGNALS])

    if what == "another thread":
        graph = gf.get_default_graph()

        def there() -> None:
            with graph.as_default():
                look()

        thread = threading.Thread(target=there)
        thread.start()
        thread.join()
    else:
        look()
    assert found == [before]


def test_a_session_that_another_thread_closes_or_nobody_leaves_the_default(tmp_path: Path) -> None:
    counting(-1, interrupt)
    session = training(tmp_path)
    thread = threading.Thread(target=session.close)
    thread.start()
    thread.join()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with gf.Graph().as_default():
        counting(-1, interrupt)
        with training(tmp_path / "again"):
            pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_no_thread_is_left(tmp_path: Path) -> None:
    step = counting(1, interrupt)
    turns = count()

    def train() -> None:
        with pytest.raises(KeyboardInterrupt), training(tmp_path / str(next(turns))) as session:
            while True:
                session.run(step)
        gf.summary.FileWriterCache.clear()

    nothing_stays(train)


# ---- programs ------------------------------------------------------------------------------------------------------

PROGRAM = """
import os, signal, sys, time
import graphflow as gf

signal.signal(signal.SIGINT, signal.default_int_handler)  # Whoever runs the tests may ignore it.

step = gf.train.get_or_create_global_step()

def inside(reached):
    if reached == 2 and "inside" in sys.argv:
        open("in the run", "w").close()
        while not os.path.exists("go on"):
            time.sleep(0.01)

with gf.control_dependencies([gf.py_func(inside, [step], [])]):
    count = step.assign_add(1)
try:
    with gf.train.MonitoredTrainingSession(
        checkpoint_dir="model", save_checkpoint_steps=10_000, save_summaries_steps=None, log_step_count_steps=None
    ) as session:
        if "fork" in sys.argv:
            if (child := os.fork()) == 0:
                open("child", "w").close()
                time.sleep(60)
                os._exit(1)
            while not os.path.exists("child"):  # Python forgets signals that come before that.
                time.sleep(0.01)
            os.kill(child, signal.SIGTERM)
            print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        while not session.should_stop():
            reached = session.run(count)
            if reached == 3 and "outside" in sys.argv:
                open("in the run", "w").close()
                time.sleep(60)
finally:
    print("finally", flush=True)
"""


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    (folder / "program.py").write_text(PROGRAM)
    return subprocess.Popen(
        [sys.executable, "program.py", *words], cwd=folder, text=True, stdout=-1, stderr=-1,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )  # fmt: skip


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 100
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize("where", ["inside", "outside"])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_program_that_is_signalled_saves_and_ends_by_the_signal(
    tmp_path: Path, where: str, number: signal.Signals
) -> None:
    process = start(tmp_path, where)
    try:
        wait_for(tmp_path / "in the run", process)
        process.send_signal(number)
        if where == "inside":
            while "once more" not in (said := (process.stderr or sys.stdin).readline().lower()):
                assert said, process.communicate()
            (tmp_path / "go on").touch()
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -number, err
    assert ("finally" in out) == (
        number == signal.SIGINT
    )  # SIGTERM does not unwind what is around the session.
    assert saved(tmp_path / "model") == 3


def test_a_forked_child_ends_by_its_signal_and_the_training_goes_on(tmp_path: Path) -> None:
    process = start(tmp_path, "fork", "outside")
    try:
        wait_for(tmp_path / "in the run", process)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
        process.communicate()
    assert f"child {-signal.SIGTERM}" in out, err
    assert saved(tmp_path / "model") == 3
