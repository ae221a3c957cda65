"""Protects the progress line: what it says, and that it and other output do not mangle each other."""

from __future__ import annotations

import io
import logging
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.common.shown.status_line import StatusLine, Waiting, notebook_bar, seconds_text
from graphflow.train.hooks.progress import TrainingProgress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """The lines that a person sees: a carriage return goes to the begin, ESC [ K wipes what follows."""
        lines = [""]
        column = 0
        for part in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]+", self.getvalue()):
            if part == "\r":
                column = 0
            elif part == "\n":
                lines.append("")
                column = 0
            elif part == "\x1b[K":
                lines[-1] = lines[-1][:column]
            else:
                lines[-1] = lines[-1][:column] + part + lines[-1][column + len(part) :]
                column += len(part)
        return lines


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard output and error become a terminal; to be called in the test itself, as pytest captures per phase."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def test_other_output_has_lines_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    handler = logging.StreamHandler(sys.stderr)  # keeps the stream, as every log handler does
    logger = logging.Logger("own")
    logger.addHandler(handler)
    line = StatusLine()
    line.show("one")
    line.show("two")
    assert terminal.screen() == ["two"]
    print("printed")
    assert terminal.screen() == ["printed", "two"]
    logger.warning("logged")
    assert terminal.screen() == ["printed", "logged", "two"]
    print("a half", end="")
    line.show("three")  # not drawn: the program is in the middle of its line
    print(", and the rest")
    line.show("four")
    assert terminal.screen() == ["printed", "logged", "a half, and the rest", "four"]
    line.close()
    print("after")
    assert terminal.screen() == ["printed", "logged", "a half, and the rest", "four", "after", ""]
    assert "write" not in terminal.__dict__


def test_lines_within_lines_are_closed_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    first, second = StatusLine(), StatusLine()
    first.show("first")
    first.close(keep=False)
    second.show("second")
    print("printed")
    second.close()
    assert terminal.screen() == ["printed", "second", ""]
    print("after")
    assert terminal.screen()[-2:] == ["after", ""]


def test_a_long_text_is_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")
    line = StatusLine()
    line.show("x" * 50)
    line.close()
    assert terminal.screen()[0] == "x" * 19


def test_elsewhere_every_text_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    line = StatusLine()
    line.show("one")
    line.show("two")
    line.close()
    assert stream.getvalue() == "one\ntwo\n"


def test_what_the_line_says(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    now = [100.0]
    monkeypatch.setattr("graphflow.train.hooks.progress.time.monotonic", lambda: now[0])
    x = gf.constant(1.0, name="x")
    with gf.name_scope("train"):
        total = gf.identity(x, name="total_loss")
    watched = gf.identity(x, name="watched")
    progress = TrainingProgress(gf.get_default_graph(), [watched], lambda: 1000)
    progress.begin(100)
    assert not progress.due()
    now[0] = 101.0
    assert progress.due()
    progress.update(150, [[x, None], {"w": watched}], [[7.0, None], {"w": 0.25}])
    assert terminal.screen() == ["step 150 of 1000 · 50 steps/s · loss 0.25 · 0:17 left"]
    now[0] = 102.0
    progress.update(400, (total, x), (0.125, 7.0))
    assert terminal.screen() == ["step 400 of 1000 · 150 steps/s · loss 0.125 · 0:04 left"]
    now[0] = 103.0
    progress.update(1000, x, 7.0)
    assert terminal.screen() == ["step 1000 of 1000 · 300 steps/s · loss 0.125"]
    progress.close()
    assert [seconds_text(s) for s in (7, 750.4, 11100)] == ["0:07", "12:30", "3:05:00"]


@pytest.mark.parametrize(("first", "end"), [(0.0, " · loss 2"), (1000.0, "")])
def test_a_training_session_shows_it_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, first: float, end: str
) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr("graphflow.train.hooks.progress.REDRAW_SECONDS", first)
    step = gf.train.get_or_create_global_step()
    loss = gf.identity(2.0, name="loss")
    move = step.assign_add(1)
    with gf.train.MonitoredTrainingSession(hooks=[gf.train.StopAtStepHook(last_step=3)]) as session:
        while not session.should_stop():
            session.run([move, loss])
    assert re.fullmatch(rf"step 3 of 3 · .* steps/s{end}", terminal.screen()[0])
    assert terminal.screen()[1:] == [""]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_it_is_silent_elsewhere_and_where_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    stream = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("graphflow.train.hooks.progress.REDRAW_SECONDS", 0.0)
    monkeypatch.setattr("graphflow.train.hooks.progress.PLAIN_PROGRESS_SECONDS", 0.0)
    move = gf.train.get_or_create_global_step().assign_add(1)
    with gf.train.MonitoredTrainingSession(progress=False if is_terminal else None) as session:
        session.run(move)
    assert stream.getvalue() == ""
    with gf.train.MonitoredTrainingSession(progress=True) as session:
        session.run(move)
    assert "step 1" in stream.getvalue()


@pytest.mark.parametrize("where", ["this process", "a cluster"])
@pytest.mark.parametrize("shown", [True, False])
def test_hooks_know_the_step_whether_or_not_it_is_shown(where: str, shown: bool, tmp_path: Path) -> None:
    """While a progress line was shown on a cluster, each hook that reads the step believed that it stood still."""
    saved: list[int] = []

    class Listener(gf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: int) -> None:
            saved.append(global_step_value)

    server = gf.train.Server.create_local_server() if where == "a cluster" else None
    move, runs = gf.train.get_or_create_global_step().assign_add(1), 0
    saving = gf.train.CheckpointSaverHook(str(tmp_path), save_steps=5, listeners=[Listener()])
    hooks = [
        gf.train.StopAtStepHook(num_steps=20),
        gf.train.StepCounterHook(5, output_dir=str(tmp_path)),
        saving,
    ]
    with gf.train.MonitoredTrainingSession(
        server.target if server else "", progress=shown, hooks=hooks
    ) as session:
        while not session.should_stop() and runs < 100:
            session.run(move)
            runs += 1
    assert runs == 20
    assert saved == [0, 5, 10, 15, 20]
    gf.summary.FileWriterCache.clear()


def test_waiting_says_for_what(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    terminal = on_terminal(monkeypatch)
    waiting = Waiting(600.0)
    waiting.update("the chief")
    assert terminal.screen() == ["waiting for the chief (0:00 of at most 10:00)"]
    waiting.close()
    assert terminal.screen() == [""]
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    now = [0.0]
    monkeypatch.setattr("graphflow.train.hooks.progress.time.monotonic", lambda: now[0])
    waiting = Waiting(float("inf"))
    for now[0] in (1.0, 11.0, 12.0, 25.0):
        waiting.update("the chief")
    waiting.close()
    # Other tests' servers may end meanwhile, and say so.
    told = [r.message for r in caplog.records if "the chief" in r.message]
    assert told == ["Still waiting for the chief (0:11).", "Still waiting for the chief (0:25)."]


def test_a_notebook_has_a_bar_if_tqdm_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[Any] = []

    class Bar:
        def __init__(self, unit: str) -> None:
            self.total, self.n, self.texts, self.closed = None, 0, [unit], False
            bars.append(self)

        def set_postfix_str(self, text: str) -> None:
            self.texts.append(text)

        def close(self) -> None:
            self.closed = True

    shell = SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(auto=None))
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    step = gf.train.get_or_create_global_step()
    loss = gf.cast(gf.assign_add(step, 1), gf.float32, name="loss")
    monkeypatch.setattr("graphflow.train.hooks.progress.REDRAW_SECONDS", 0.0)
    with gf.train.MonitoredTrainingSession(hooks=[gf.train.StopAtStepHook(last_step=5)]) as session:
        while not session.should_stop():
            session.run(loss)
    (bar,) = bars
    assert (bar.total, bar.n, bar.closed) == (5, 5, True) and "loss 5" in bar.texts[-1]
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it was not installed
    assert notebook_bar() is None
    del shell.kernel  # a terminal's IPython
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    assert notebook_bar() is None
