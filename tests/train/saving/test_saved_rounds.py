"""Protects that a checkpoint of synchronous training has whole rounds, however long it takes to be written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.resources.rounds import machine, sync_rounds


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


class _Failing(gf.train.GradientDescentOptimizer):
    """The change of the second variable fails as long as it is to: half of a round is made then."""

    def __init__(self) -> None:
        super().__init__(1.0)
        self.fails = True

    def _maybe(self, grad: Any) -> Any:
        if self.fails:
            raise ValueError("planted")
        return grad

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        if var.op.name == "pair_1":
            first = gf.get_default_graph().get_tensor_by_name("pair_0:0")
            with gf.control_dependencies([self._first]):
                grad = gf.reshape(gf.py_func(self._maybe, [grad], gf.float32), first.shape)
            return super()._apply_dense(grad, var)
        self._first = super()._apply_dense(grad, var)
        return self._first


def _half_a_round() -> tuple[gf.Session, gf.train.Saver, Any, _Failing]:
    step = gf.train.get_or_create_global_step()
    pair = [gf.Variable(0.0, name=f"pair_{i}") for i in range(2)]
    inner = _Failing()
    together = gf.train.SyncReplicasOptimizer(inner, 1, 1)
    train = together.apply_gradients([(-1.0 * v**0, v) for v in pair], step)
    saver = gf.train.Saver()
    session = gf.Session()
    session.run(gf.global_variables_initializer())
    with pytest.raises(gf.errors.OpError, match="planted"):
        session.run(train)
    assert session.run(pair) == [1.0, 0.0]
    return session, saver, train, inner


def test_none_is_written_of_half_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_rounds, "UNDISTURBED_SECONDS", 0.1)
    with gf.Graph().as_default():
        session, saver, train, inner = _half_a_round()
        with session:
            with pytest.raises(gf.errors.AbortedError, match="in the middle of a round"):
                saver.save(session, str(tmp_path / "model"))
            assert not list(tmp_path.iterdir())
            inner.fails = False
            with pytest.raises(gf.errors.AbortedError, match="too late"):
                session.run(train)  # It ends the round of the run that failed.
            assert _whole(str(saver.save(session, str(tmp_path / "model"))))


def test_one_waits_for_the_end_of_a_round_that_takes_longer_than_a_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sync_rounds, "UNDISTURBED_SECONDS", 0.1)
    with gf.Graph().as_default(), caplog.at_level(logging.WARNING):
        session, saver, train, inner = _half_a_round()

        class Ends(logging.Handler):
            """Ends the round once the saver has said that it tries again."""

            def emit(self, record: logging.LogRecord) -> None:
                if "is written again" in record.getMessage() and inner.fails:
                    inner.fails = False
                    with pytest.raises(gf.errors.AbortedError, match="too late"):
                        session.run(train)

        handler = Ends()
        logging.getLogger("graphflow").addHandler(handler)
        try:
            with session:
                assert _whole(str(saver.save(session, str(tmp_path / "model"))))
        finally:
            logging.getLogger("graphflow").removeHandler(handler)
        assert not inner.fails
