"""Protects the evaluation of one checkpoint after the other, in one graph, with summaries of each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf

slim, training = gf.contrib.slim, gf.contrib.training


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as graph:
        yield graph


def train_to(folder: Path, steps: int) -> None:
    with gf.Graph().as_default():
        w = gf.get_variable("w", initializer=0.0)
        train_op = slim.learning.create_train_op(gf.square(w - 1.0), gf.train.GradientDescentOptimizer(0.25))
        slim.learning.train(train_op, str(folder), number_of_steps=steps)


class TrainsOn(gf.train.SessionRunHook):
    """Trains on where an evaluation has ended, so that there is another checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = 1

    def end(self, session: Any) -> None:
        self.steps += 1
        if self.steps <= 3:
            train_to(self.folder, self.steps)


def tags_of(folder: Path) -> list[tuple[int, str, float]]:
    (file,) = folder.glob("events*")
    return [
        (event.step, value.tag, value.simple_value)
        for event in gf.train.summary_iterator(str(file))
        for value in event.summary.value
    ]


@pytest.mark.parametrize("summary", ["all", "given", "none"])
def test_each_checkpoint_is_evaluated(tmp_path: Path, summary: str) -> None:
    train_to(tmp_path / "train", 1)
    w = gf.get_variable("w", initializer=0.0)
    gf.train.get_or_create_global_step()
    value, update = gf.contrib.metrics.streaming_mean(w)
    shown = gf.summary.scalar("seen", w) if summary != "none" else None
    arguments = {"summary_op": shown} if summary == "given" else {}
    last = slim.evaluation.evaluation_loop(
        "",
        str(tmp_path / "train"),
        str(tmp_path / "eval"),
        num_evals=2,
        eval_op=update,
        final_op=[value, training.get_or_create_eval_step()],
        eval_interval_secs=0,
        timeout=0.05,
        hooks=[TrainsOn(tmp_path / "train")],
        **arguments,
    )
    # 0.5 of the way that is left at each step; the measure and the count begin anew with each checkpoint.
    assert last[0] == pytest.approx(0.875) and last[1] == 2
    if shown is not None:
        assert tags_of(tmp_path / "eval") == [(1, "seen", 0.5), (2, "seen", 0.75), (3, "seen", 0.875)]
    else:
        assert not (tmp_path / "eval").exists()


def test_summaries_are_found_when_the_session_begins(tmp_path: Path) -> None:
    train_to(tmp_path / "train", 1)
    w = gf.get_variable("w", initializer=0.0)
    gf.summary.scalar("seen", w)
    path = training.wait_for_new_checkpoint(str(tmp_path / "train"), timeout=1)
    assert path is not None
    hooks = [training.SummaryAtEndHook(str(tmp_path / "eval")), training.StopAfterNEvalsHook(1)]
    assert training.evaluate_once(path, eval_ops={"w": w}, hooks=hooks, final_ops=w) == 0.5
    assert tags_of(tmp_path / "eval") == [(1, "seen", 0.5)]
    with pytest.raises(ValueError, match="One of log_dir or summary_writer"):
        training.SummaryAtEndHook()


def test_a_timeout_asks_whether_more_may_come(tmp_path: Path) -> None:
    asked: list[bool] = []

    def done() -> bool:
        asked.append(True)
        return len(asked) == 2

    assert list(training.checkpoints_iterator(str(tmp_path), timeout=0, timeout_fn=done)) == []
    assert len(asked) == 2
