"""Protects what graphflow promises about training sessions: what adds to a finalized graph, and bad values, are named.

31: on a finalized graph nobody knows what tried to add to it; more of that is in
tests/train/sessions/test_monitored_session.py.
32: hunting NaN, prints that are lost.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


# ---- 31: finalized graphs -----------------------------------------------------------------------------------------


def test_promise_31_a_hook_that_adds_to_the_graph_in_a_step_is_named() -> None:
    class Adds(gf.train.SessionRunHook):  # type: ignore[misc]
        def before_run(self, run_context: Any) -> Any:
            return gf.train.SessionRunArgs(gf.constant(1.0))

    step = gf.train.get_or_create_global_step().assign_add(1)
    line = Adds.before_run.__code__.co_firstlineno + 1
    with (
        pytest.raises(RuntimeError, match=rf"finalized.*test_sessions\.py:{line}\b"),
        gf.train.MonitoredTrainingSession(hooks=[Adds()], progress=False) as session,
    ):
        session.run(step)


# ---- 32: NaN, and prints ------------------------------------------------------------------------------------------


def test_promise_32_a_monitored_session_names_the_first_bad_value(tmp_path: Path) -> None:
    x = gf.placeholder(gf.float32, [2], name="x")
    w = gf.get_variable("w", initializer=[1.0, 1.0])
    ratio = gf.divide(x, w, name="ratio")
    loss = gf.reduce_sum(gf.log(ratio), name="loss")
    train = gf.train.GradientDescentOptimizer(1.0).minimize(loss, gf.train.get_or_create_global_step())
    line = test_promise_32_a_monitored_session_names_the_first_bad_value.__code__.co_firstlineno + 3
    config = gf.ConfigProto(check_numerics=True)
    with gf.train.MonitoredTrainingSession(
        config=config, checkpoint_dir=str(tmp_path), progress=False
    ) as session:
        session.run(train, {x: [1.0, 2.0]})  # the gradient of -log w is -1 / w: w becomes [2, 2]
        before = session.run(w).tolist()
        with pytest.raises(gf.errors.InvalidArgumentError) as caught:
            session.run(train, {x: [1.0, np.inf]})
        message = str(caught.value)
        assert caught.value.op is ratio.op, message
        assert "x:0" in message and "w" in message and f"test_sessions.py:{line}" in message
        assert session.run([w, "global_step:0"])[0].tolist() == before  # the step was not taken


def test_promise_32_print_in_a_monitored_session_reaches_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    step = gf.train.get_or_create_global_step().assign_add(1)
    shown = gf.Print(step, [step], "step ")
    with gf.train.MonitoredTrainingSession(progress=False) as session:
        for _ in range(3):
            session.run(shown)
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("step")] == [
        "step [1]", "step [2]", "step [3]",
    ]  # fmt: skip
