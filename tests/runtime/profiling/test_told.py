"""Protects what is said of the tier of a plan without being asked for: two lines of the log, and those of explain."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import graphflow as gf


def test_the_log_says_once_that_a_plan_runs_compiled(caplog: pytest.LogCaptureFixture) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        x = gf.placeholder(gf.float32, [None], name="x")
        # Constants that no other test has, so that the kernel is not there yet; the shapes differ in the sizes alone.
        y = gf.identity(gf.unique(gf.cast(gf.tanh(x * 1.7351) - 0.8153, gf.int32))[0], name="y")
        with caplog.at_level(logging.INFO, "graphflow"):
            for rows in (3, 3, 3, 4, 4, 4):
                session.run(y, {x: np.ones(rows)})
    told = [record.getMessage() for record in caplog.records]
    compiled = [line for line in told if "runs compiled from now on" in line]
    assert compiled == ["The plan of y:0 runs compiled from now on: 3 pieces, of which NumPy computes 2."]
    assert sum("runs on NumPy while" in line for line in told) <= 1
    assert all(record.levelno == logging.INFO for record in caplog.records)


def test_explain_says_why_a_whole_plan_stays_on_numpy() -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        x = gf.placeholder(gf.float32, [], name="x")
        text = gf.as_string(x)
        assert "stays on NumPy" not in session.explain(text, [x])
        for _ in range(2):
            session.run(text, {x: 1.0})
        told = session.explain(text, [x])
    assert told.endswith("stays on NumPy: no operation of it has a native form\n")
