"""Protects the switch to compiled code while several threads run: one combination of shapes leaves others alone."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.context import RunContext
from graphflow._core.session import executables

_SECONDS = 60


def test_an_error_in_one_observed_run_is_told_though_another_ended_meanwhile() -> None:
    inside, ended = threading.Event(), threading.Event()

    def look(value: Any) -> Any:
        if value.size == 2:
            inside.set()
            assert ended.wait(_SECONDS)
            raise ValueError("refused")
        return value

    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None])
        y = gf.py_func(look, [x * 2.0], gf.float32)
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            caught: list[Exception] = []

            def fail() -> None:
                try:
                    session.run(y, {x: np.ones(2, np.float32)})
                except Exception as error:
                    caught.append(error)

            thread = threading.Thread(target=fail)
            thread.start()
            assert inside.wait(_SECONDS)
            assert session.run(y, {x: np.ones(3, np.float32)}).tolist() == [2.0, 2.0, 2.0]
            ended.set()
            thread.join(_SECONDS)
    assert [type(error) for error in caught] == [gf.errors.InvalidArgumentError]
    assert "refused" in str(caught[0])


def test_a_run_that_waited_for_the_switch_does_not_switch_again(caplog: pytest.LogCaptureFixture) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None])
        y = gf.reduce_sum(gf.square(x))
        feed = np.ones(4, np.float32)
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            for _ in range(2):
                assert session.run(y, {x: feed}) == 4.0
            executable: Any
            (executable,) = executables(session)
            (state,) = executable.whole._states.values()
            compiled = state.compiled
            assert compiled is not None
            assert executable.whole._advance(state, RunContext(session.store, None), [feed]) is None
            assert state.compiled is compiled and state.reason is None
    assert "stays on NumPy" not in caplog.text
