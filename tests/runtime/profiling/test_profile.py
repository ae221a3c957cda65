"""Protects gf.profile and its page: what it says of a step, and that the page is whole by itself and runs nothing."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.common.shown import html
from graphflow._core.runtime.profiling.page import page
from graphflow._core.runtime.profiling.summary import PlanProfile
from graphflow.config import DeviceStats, NodeStats, OutputStats, StepStats
from tests.checked_page import HOSTILE, Checked
from tests.cluster.serving import serve_all, spec_of


def always() -> Any:
    return gf.Session(config=gf.ConfigProto(compiled="always"))


def step_with_unique() -> tuple[Any, Any, Any, Any]:
    x = gf.placeholder(gf.float32, [None, 3], name="x")
    w = gf.Variable(gf.ones([3]), name="w")
    error = gf.tanh(x * w, name="error")
    found, _ = gf.unique(gf.cast(gf.reshape(error * 9.0, [-1]), gf.int32), name="found")
    return x, w, found, w.assign_sub(gf.reduce_sum(error, 0), name="step").op


def test_a_profile_says_what_is_compiled_what_is_not_and_why(tmp_path: Path) -> None:
    with gf.Graph().as_default(), always() as session:
        x, w, found, step = step_with_unique()
        session.run(w.initializer)
        seen = gf.profile(session, [found, step], {x: np.ones((4, 3))}, warm_up=3)
        again = gf.profile(session, w)
    assert seen.runs == 6 and len(seen.steps) == 3 and seen.arena_bytes > 0
    rows = seen.rows()
    (on_numpy,) = [row for row in rows if row.kind == "numpy"]
    assert (on_numpy.op, on_numpy.operations) == ("Unique", ("found",))
    assert on_numpy.reason == "no native form: the shape of the result depends on values"
    assert {"mul", "error", "step"} <= {
        name for row in rows for name in row.operations if row.kind == "fused"
    }
    assert all(row.microseconds > 0 for row in rows) and any(row.read and row.written for row in rows)
    told = str(seen)
    assert told.startswith("found:0, step: compiled: ") and "on NumPy: Unique found: no native form" in told
    assert "arena of" in told and "Mul" in told
    seen.save(str(tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>")
    checked = Checked(text)
    assert checked.counts["svg"] >= 2 + len(rows) and checked.counts["table"] == 1
    assert "no native form" in checked.text and "Timeline of a step" in checked.text
    assert sum("us" in title for title in checked.titles) == len(rows)
    assert 'class="gf"' in seen._repr_html_() and Checked(seen._repr_html_())
    assert "computed" in str(again) and repr(again).startswith("<gf profile of 'w:0'")


def test_a_profile_runs_as_many_steps_as_it_says_and_gives_their_bits() -> None:
    with gf.Graph().as_default(), always() as session, always() as other:
        x, w, found, step = step_with_unique()
        feed = {x: np.linspace(-1, 1, 12).reshape(4, 3)}
        for one in (session, other):
            one.run(w.initializer)
        seen = gf.profile(session, [found, step], feed, steps=2, warm_up=4)
        for _ in range(seen.runs):
            expected = other.run([found, step], feed)
        assert seen.values[0].tolist() == expected[0].tolist() and seen.values[1] is None
        assert session.run(w).tobytes() == other.run(w).tobytes()


def test_a_profile_of_a_step_on_numpy_says_so() -> None:
    with gf.Graph().as_default():
        text = gf.string_join([gf.as_string(gf.placeholder_with_default(1.0, [])), "!"])
        with gf.Session() as session:
            told = str(gf.profile(session, text))
        assert "on NumPy: " in told and "stays on NumPy: no operation of it has a native form" in told
        with gf.Session() as session, pytest.raises(ValueError, match="at least 1 step"):
            gf.profile(session, text, steps=0)


def test_a_profile_on_a_cluster_says_what_goes_between_tasks() -> None:
    with ExitStack() as stack:
        target = serve_all(stack, spec_of(stack, ps=1, worker=1))[1].target
        with gf.Graph().as_default(), gf.Session(target, config=gf.ConfigProto(compiled="always")) as session:
            with gf.device("/job:ps/task:0"):
                w = gf.Variable(gf.ones([25]), name="w")
            with gf.device("/job:worker/task:0"):
                y = gf.exp(w * 2.0)
            with gf.device("/job:ps/task:0"):
                step = w.assign_sub(y * 0.001).op
            session.run(w.initializer)
            seen = gf.profile(session, step, warm_up=4)
    ps, worker = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
    sent = {(one.source, one.target): (one.values, one.bytes) for one in seen.transfers()}
    assert sent == {(ps, worker): (1, 100), (worker, ps): (1, 100)}
    assert {row.kind for row in seen.rows()} == {"fused"}
    assert f"{ps} -> {worker}: 1 value, 100 bytes" in str(seen)
    checked = Checked(seen._repr_html_())
    assert "What a step sends" in checked.text and checked.counts["circle"] == 2


def test_names_on_a_page_are_text_whatever_they_are() -> None:
    out = OutputStats("float32", (2,), 8)
    node = NodeStats(HOSTILE, HOSTILE, HOSTILE, 0.0, 1.0, 1, (out,), "fused", (HOSTILE,) * 6, 1, 2, HOSTILE)
    sent = NodeStats(f"{HOSTILE}->b/device:CPU:0/send", "Send", "a/device:CPU:0", 0.0, 0.0, 1, (out,))
    step = StepStats([DeviceStats(HOSTILE, [node]), DeviceStats("a/device:CPU:0", [sent])])
    checked = Checked(page(HOSTILE, [PlanProfile(HOSTILE, (step,), notes=(HOSTILE,))]))
    assert "<script>" in checked.text and "\x1b" not in checked.text
    assert html.text("x" * 5000) == "x" * 1997 + "..."


def test_a_long_step_makes_a_bounded_page() -> None:
    nodes = [NodeStats(f"n{k}", "Mul", "/cpu:0", float(k), 0.5 + k % 7, 1) for k in range(20_000)]
    text = page("long", [PlanProfile("long", (StepStats([DeviceStats("/cpu:0", nodes)]),))])
    assert "short ones are left out" in Checked(text).text and len(text) < 3_000_000
