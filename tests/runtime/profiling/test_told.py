"""Protects what is said of the tier of a plan without being asked for: two lines of the log, and those of explain."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.common.shown import html


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


def told_of(
    fetches: Any, feed: Any, runs: int = 4, mode: str = "always", **explained: Any
) -> tuple[str, gf.Profile]:
    with gf.Session(config=gf.ConfigProto(compiled=mode)) as session:
        for _ in range(runs):
            session.run(fetches, feed)
        return session.explain(fetches, feed, **explained), gf.profile(session, fetches, feed, warm_up=4)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("PyFunc", "no native form: what Python does, or is asked"),
        ("StringToNumber", "no native form: strings, numbers in texts, examples, tables of words"),
        ("Svd", "no native form: NumPy calls LAPACK, as a kernel would"),
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_whatever_numpy_computes_has_its_reason_in_text_and_page(
    kind: str, reason: str, beside: bool
) -> None:
    x = gf.placeholder(gf.float32, [3, 3], name="x")
    made = {
        "PyFunc": lambda: gf.py_func(lambda a: a * 2, [x], gf.float32),
        "StringToNumber": lambda: gf.string_to_number(gf.as_string(x)),
        "Svd": lambda: gf.svd(x, compute_uv=False),
    }[kind]()
    fetches = [made, gf.reduce_sum(gf.tanh(x * 1.5) - 0.25)] if beside else [made]
    _, seen = told_of(fetches, {x: np.eye(3, dtype=np.float32)})
    (row,) = [row for row in seen.rows() if row.op == kind]
    assert row.kind == "numpy" and row.reason.startswith(reason)
    assert f"on NumPy: {kind} {row.operations[0]}: {row.reason}" in str(seen)
    assert html.text(row.reason) in seen._repr_html_()


def test_a_plan_that_is_not_compiled_says_why_whatever_the_cause() -> None:
    x = gf.placeholder(gf.float32, [3], name="x")
    y = gf.tanh(x * 1.75, name="y")
    feed = {x: np.ones(3, np.float32)}
    assert (
        "stays on NumPy: compiled='never' in the session's gf.ConfigProto"
        in told_of(y, feed, mode="never")[0]
    )
    assert "on NumPy so far: it ran 1 times" in told_of(y, feed, 1, "auto")[0]
    waits = gf.py_func(lambda a: a, [y], gf.float32, name="waits")
    told, seen = told_of([y, waits], feed)
    assert "stays on NumPy: PyFunc may wait; it runs with the short work beside it" in told
    assert "PyFunc may wait" in str(seen) and "PyFunc may wait" in seen._repr_html_()
    with gf.Session() as session:
        assert "not run yet with these feeds" in session.explain(y, [x], compiled=True)
        assert "not run yet" not in session.explain(y, [x])
        session.run(y, feed)
        assert "not run yet with these feeds" in session.explain(y, compiled=True)
        assert "on NumPy so far" not in session.explain(y, [x], compiled=False)


def test_explain_finds_what_ran_under_other_names_and_in_another_order() -> None:
    x, z = (gf.placeholder(gf.float32, [3], name=name) for name in "xz")
    gf.reduce_sum(gf.tanh(x * 1.7352) - z, name="total")
    ones = np.ones(3, np.float32)
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        for _ in range(4):
            session.run("total:0", {"x:0": ones, z: ones})
        assert "compiled for" in session.explain("total:0", {z: None, x: None})
        assert "compiled for" in session.explain("total:0", {"z:0": None, "x:0": None})
        assert "arena of" in str(gf.profile(session, "total:0", {z: ones, "x:0": ones}, warm_up=4))
