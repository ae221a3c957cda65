"""Protects that a checkpoint of synchronous training has whole rounds, however long it takes to be written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.resources.rounds import machine


class _Slow(gf.train.SaveableObject):
    """Calls a function while a checkpoint is read, after a variable, and saves the number that it gives."""

    def __init__(self, variable: Any, function: Callable[[], int]) -> None:
        value = gf.py_func(lambda _: np.int64(function()), [variable + 0.0], gf.int64)
        value.set_shape([])
        super().__init__(None, [gf.train.SaveSpec(value, "", "slow")], "slow")  # type: ignore[attr-defined]

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        return gf.no_op()


class _Training:
    """One replica whose steps add one to two variables; `step` makes one, in a session."""

    def __init__(self, saver_first: bool, function: Callable[[gf.Session, Any], int]) -> None:
        self.calls = 0

        def slow() -> int:
            self.calls += 1
            return function(self.session, self.train)

        self.step = gf.train.get_or_create_global_step()
        self.pair = [gf.Variable(0.0, name=f"pair_{i}") for i in range(2)]
        if saver_first:
            self.saver = gf.train.Saver([*self.pair, self.step, _Slow(self.pair[0], slow)])
        inner = gf.train.GradientDescentOptimizer(1.0)
        together = gf.train.SyncReplicasOptimizer(inner, 1, 1)
        self.train = together.apply_gradients([(-1.0 * v**0, v) for v in self.pair], self.step)
        if not saver_first:
            self.saver = gf.train.Saver([*self.pair, self.step, _Slow(self.pair[0], slow)])
        self.session = gf.Session()
        self.session.run(gf.global_variables_initializer())
        self.session.run(self.train)


def _whole(path: str) -> bool:
    reader = gf.train.load_checkpoint(path)
    return {float(reader.get_tensor(name)) for name in ("pair_0", "pair_1", "global_step")} in (
        {1.0}, {2.0}, {3.0}, {4.0},
    )  # fmt: skip


@pytest.mark.parametrize("saver_first", [False, True])
def test_one_that_took_too_long_is_written_again(
    saver_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(machine, "UNDISTURBED_SECONDS", 0.2)

    def function(session: gf.Session, train: Any) -> int:
        if training.calls == 1:
            session.run(train)
        return training.calls

    with gf.Graph().as_default(), caplog.at_level(logging.WARNING):
        training = _Training(saver_first, function)
        with training.session as session:
            path = str(training.saver.save(session, str(tmp_path / "model")))
            assert training.calls == 2 and "is written again" in caplog.text
            assert _whole(path) and gf.train.load_checkpoint(path).get_tensor("slow") == 2
            session.run(training.train)


@pytest.mark.parametrize("saver_first", [False, True])
def test_one_that_takes_too_long_each_time_is_an_error_and_no_file(
    saver_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "UNDISTURBED_SECONDS", 0.2)

    def function(session: gf.Session, train: Any) -> int:
        session.run(train)
        return 0

    with gf.Graph().as_default():
        training = _Training(saver_first, function)
        with training.session as session:
            with pytest.raises(gf.errors.AbortedError, match=r"took .* s to be written"):
                training.saver.save(session, str(tmp_path / "model"))
            assert training.calls == 3 and not list(tmp_path.iterdir())
            session.run(training.train)
