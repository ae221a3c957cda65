"""Protects validation, early stopping and best checkpoints: the same decisions after a restart as without one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield
    gf.summary.FileWriterCache.clear()


class Program:
    """A training whose validation at step s finds losses[s]; what it was asked and reached."""

    def __init__(self, folder: Path, losses: Sequence[float], every: int = 1, **options: Any) -> None:
        self.folder, self.losses = folder, losses
        self.asked: list[int] = []
        self.step = gf.train.get_or_create_global_step()
        self.count = self.step.assign_add(1)
        options.setdefault("output_dir", str(folder / "eval"))
        self.validation = gf.train.ValidationHook(self.validate, every_n_steps=every, **options)

    def validate(self, session: Any) -> dict[str, Any]:
        step = int(session.run(self.step))
        self.asked.append(step)
        return {"loss": np.float32(self.losses[step]), "accuracy": 1.0 - self.losses[step]}

    def train(self, *hooks: Any, most: int = 100) -> int:
        """Trains until it is asked to stop, or `most` steps; returns the step."""
        reached = 0
        given = list(hooks) if self.validation in hooks else [*hooks, self.validation]
        with gf.train.MonitoredTrainingSession(
            checkpoint_dir=str(self.folder / "model"), hooks=given, save_checkpoint_steps=1,
            save_summaries_steps=None, log_step_count_steps=None,
        ) as session:  # fmt: skip
            while not session.should_stop() and reached < most:
                reached = int(session.run(self.count))
        return reached


def again() -> gf.Graph:
    gf.summary.FileWriterCache.clear()
    return gf.Graph()


FALLING = [9, 8, 7, 6, 5.5, 5.6, 5.7, 5.8, 5.9, 6.0, 6.1, 6.2, 6.3, 6.4]


# ---- validation ----------------------------------------------------------------------------------------------------


def test_it_validates_every_n_steps_and_at_the_end_once(tmp_path: Path) -> None:
    program = Program(tmp_path, range(20), every=3)
    program.train(most=7)
    assert program.asked == [3, 6, 7]
    assert [(v.step, v.metrics["loss"]) for v in program.validation.history] == [(3, 3.0), (6, 6.0), (7, 7.0)]
    with again().as_default():
        program = Program(tmp_path, range(20), every=3)
        program.train(most=9)
    assert program.asked == [9]
    assert [v.step for v in program.validation.history] == [3, 6, 7, 9]


def test_the_metrics_are_summaries(tmp_path: Path) -> None:
    Program(tmp_path, range(20), every=2).train(most=4)
    gf.summary.FileWriterCache.clear()
    (events,) = (tmp_path / "eval").glob("events*")
    found = {
        (event.step, value.tag, value.simple_value)
        for event in gf.train.summary_iterator(str(events))
        for value in event.summary.value
    }
    assert found == {(2, "loss", 2.0), (4, "loss", 4.0), (2, "accuracy", -1.0), (4, "accuracy", -3.0)}


def test_a_training_that_goes_back_forgets_what_lies_after(tmp_path: Path) -> None:
    Program(tmp_path, range(20)).train(most=6)
    for step in (4, 5, 6):
        gf.train.remove_checkpoint(str(tmp_path / f"model/model.ckpt-{step}"))
    with again().as_default():
        program = Program(tmp_path, [0.5] * 20)
        program.train(most=5)
    assert [v.metrics["loss"] for v in program.validation.history] == [1.0, 2.0, 3.0, 0.5, 0.5]


def test_its_runs_trigger_no_hooks(tmp_path: Path) -> None:
    counted = []

    class Counter(gf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            counted.append(1)

    Program(tmp_path, range(20)).train(Counter(), most=5)
    assert len(counted) == 5


@pytest.mark.parametrize("returned", [None, 0.3, {}, {"loss": "small"}, {"loss": [1.0, 2.0]}])
def test_a_function_that_returns_no_metrics_is_told_so(tmp_path: Path, returned: Any) -> None:
    program = Program(tmp_path, range(20))
    program.validation = gf.train.ValidationHook(lambda session: returned, every_n_steps=1)
    with pytest.raises(ValueError, match=r"ValidationHook"):
        program.train()


def test_a_file_that_is_no_history_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "eval/validation.json"
    path.parent.mkdir()
    for text in ('{"mine": 1}', "[[1, 2]]", "[", "7"):
        path.write_text(text)
        with again().as_default(), pytest.raises(ValueError, match="no history of validations"):
            Program(tmp_path, range(20)).train()
        assert path.read_text() == text


@pytest.mark.parametrize("periods", [{}, {"every_n_steps": 1, "every_n_secs": 1.0}, {"every_n_steps": 0}])
def test_exactly_one_period_is_given(periods: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"period|number of steps"):
        gf.train.ValidationHook(lambda session: {"loss": 0.0}, **periods)


# ---- early stopping ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [False, True], ids=["before", "after"])
def test_it_stops_when_there_was_no_improvement_for_some_steps(tmp_path: Path, first: bool) -> None:
    program = Program(tmp_path, FALLING)
    stop = gf.train.EarlyStoppingHook(program.validation, "loss", 3)
    assert program.train(*[stop, program.validation][:: -1 if first else 1]) == 7
    assert stop.best is not None and stop.best.step == 4


def test_mode_delta_and_the_first_steps(tmp_path: Path) -> None:
    def stops(metric: str, **options: Any) -> int:
        with again().as_default():
            folder = tmp_path / repr((metric, sorted(options.items())))
            program = Program(folder, FALLING)
            return program.train(
                gf.train.EarlyStoppingHook(program.validation, metric, 3, **options), most=12
            )

    assert stops("accuracy", mode="max") == 7
    assert stops("loss", min_delta=0.75) == 6  # 5.5 is no improvement of 6.
    assert stops("loss", min_steps=10) == 10
    assert stops("loss", mode="max") == 4


def test_a_program_that_is_started_again_stops_where_it_would_have(tmp_path: Path) -> None:
    Program(tmp_path, FALLING).train(most=6)
    with again().as_default():
        program = Program(tmp_path, FALLING)
        assert program.train(gf.train.EarlyStoppingHook(program.validation, "loss", 3)) == 7
    with again().as_default():  # And once more makes the step that a loop makes before it asks.
        program = Program(tmp_path, FALLING)
        assert program.train(gf.train.EarlyStoppingHook(program.validation, "loss", 3)) == 8


def test_nan_is_never_better(tmp_path: Path) -> None:
    program = Program(tmp_path, [0, math.nan, 5, math.nan, math.nan, math.nan, math.nan, math.nan])
    stop = gf.train.EarlyStoppingHook(program.validation, "loss", 3)
    assert program.train(stop) == 5
    assert stop.best is not None and stop.best.step == 2


def test_a_metric_that_is_not_there_is_named(tmp_path: Path) -> None:
    program = Program(tmp_path, range(20))
    stop = gf.train.EarlyStoppingHook(program.validation, "lose", 3)
    with pytest.raises(
        ValueError, match=r"no metric 'lose' in the validation: it has \['accuracy', 'loss'\]"
    ):
        program.train(stop)


@pytest.mark.parametrize(
    "wrong", [{"mode": "less"}, {"min_delta": -1.0}, {"max_steps_without_improvement": 0}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    validation = gf.train.ValidationHook(lambda session: {"loss": 0.0}, every_n_steps=1)
    with pytest.raises(ValueError, match=str(next(iter(wrong.values())))):
        gf.train.EarlyStoppingHook(validation, "loss", **{"max_steps_without_improvement": 1, **wrong})


# ---- the best ------------------------------------------------------------------------------------------------------


def files(folder: Path) -> list[int]:
    return sorted(int(path.stem.rpartition("-")[2]) for path in folder.glob("*.safetensors"))


def test_the_best_checkpoints_are_kept_and_the_best_is_restored(tmp_path: Path) -> None:
    program = Program(tmp_path, [9, 3, 5, 1, 4, 2, 7])
    best = gf.train.BestCheckpointHook(program.validation, "loss", str(tmp_path / "best"), keep=2)
    assert best.best_checkpoint is None
    program.train(best, most=6)
    assert files(tmp_path / "best") == [3, 5]
    assert best.best_checkpoint == str(tmp_path / "best/best.ckpt-3")
    assert gf.train.latest_checkpoint(str(tmp_path / "best")) == best.best_checkpoint
    with gf.Session() as session:
        gf.train.Saver().restore(session, best.best_checkpoint)
        assert session.run(program.step) == 3


def test_a_program_that_is_started_again_knows_the_best(tmp_path: Path) -> None:
    program = Program(tmp_path, [9, 3, 5, 1, 4, 2, 7])
    program.train(gf.train.BestCheckpointHook(program.validation, "loss", str(tmp_path / "best")), most=4)
    assert files(tmp_path / "best") == [3]
    with again().as_default():
        program = Program(tmp_path, [9, 3, 5, 1, 4, 2, 0.5])
        program.train(gf.train.BestCheckpointHook(program.validation, "loss", str(tmp_path / "best")), most=5)
    assert files(tmp_path / "best") == [3]
    with again().as_default():
        program = Program(tmp_path, [9, 3, 5, 1, 4, 2, 0.5])
        program.train(gf.train.BestCheckpointHook(program.validation, "loss", str(tmp_path / "best")), most=6)
    assert files(tmp_path / "best") == [6]


def test_a_loss_that_becomes_nan_leaves_the_best(tmp_path: Path) -> None:
    program = Program(tmp_path, [9, math.nan, 5, math.nan, math.nan])
    program.train(gf.train.BestCheckpointHook(program.validation, "loss", str(tmp_path / "best")), most=4)
    assert files(tmp_path / "best") == [2]
