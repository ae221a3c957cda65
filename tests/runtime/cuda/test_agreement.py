"""Protects the rule that a plan on a GPU is not used until it has agreed with NumPy on a run that is done by both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.runtime.agreement import trial, verification
from graphflow.runtime.compiled import lower
from tests.runtime.cuda.both_devices import needs_two_gpus, session

pytestmark = [pytest.mark.device, pytest.mark.verified_plans]
RNG = np.random.RandomState


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The outcomes of all verified runs on GPUs."""
    found: list[str] = []

    def watched(*arguments: Any) -> Any:
        outcome = verification.verified_run(*arguments)
        found.append(outcome.verdict.name)
        return outcome

    monkeypatch.setattr(trial, "verified_run", watched)
    return found


def _dense() -> tuple[Any, dict[Any, Any]]:
    x = gf.placeholder(gf.float32, [6, 4])
    w = gf.Variable(RNG(0).randn(4, 3).astype("f"))
    hidden = gf.tanh(gf.matmul(x, w), name="hidden")
    loss = gf.reduce_mean(gf.square(hidden))
    return [loss, hidden, gf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)], {x: RNG(1).randn(6, 4)}


def _random() -> tuple[Any, dict[Any, Any]]:
    gf.set_random_seed(2)
    x = gf.random_normal([4, 3])
    return [x, gf.nn.dropout(x, 0.5), gf.random_uniform([5])], {}


def _unseeded() -> tuple[Any, dict[Any, Any]]:
    x = gf.random_uniform([8])
    return [gf.reduce_sum(gf.square(x) - x * x), gf.cast(gf.floor(x), gf.int32)], {}


def _loop() -> tuple[Any, dict[Any, Any]]:
    x, steps = gf.placeholder(gf.float32, [4]), gf.placeholder(gf.int32, [])
    end = gf.while_loop(lambda i, _: i < steps, lambda i, v: (i + 1, gf.tanh(v) * 1.5), [0, x])[1]
    return [end, gf.gradients(end, x)[0]], {x: RNG(3).randn(4), steps: 3}


def _runs(build: Callable[[], Any], count: int = 4, **options: Any) -> list[Any]:
    with gf.Graph().as_default():
        with gf.device("/gpu:0"):
            fetches, feeds = build()
        with session(**options) as one:
            one.run(gf.global_variables_initializer())
            return [one.run(fetches, feeds) for _ in range(count)]


@pytest.mark.parametrize("build", [_dense, _random, _unseeded, _loop])
def test_a_right_plan_is_trusted_and_its_run_shows_nowhere(
    build: Callable[[], Any], verdicts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    got = _runs(build)
    assert verdicts and set(verdicts) == {"AGREED"}
    verdicts.clear()
    expected = _runs(build, verify_compiled=False)
    assert verdicts == []
    for mine, theirs in zip(got, expected, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if a is not None:
                np.testing.assert_array_equal(a, b)


@pytest.mark.faulty_compiler
def test_a_wrong_kernel_is_never_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, verdicts: list[str]
) -> None:
    right = lower.scalar_text

    def wrong(i: Any, text: str, names: Any) -> str:
        found = right(i, text, names)
        return f"({found}) * 1.01" if i.type == "Tanh" else found

    monkeypatch.setattr(lower, "scalar_text", wrong)
    got = _runs(_dense)
    monkeypatch.setattr(lower, "scalar_text", right)
    assert "APART" in verdicts
    for mine, theirs in zip(got, _runs(_dense), strict=True):
        np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-5, atol=1e-6)
    lines = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert [line for line in lines if "stays on NumPy: compiled code disagrees with NumPy in" in line]


def test_a_plan_that_declines_run_after_run_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It has never agreed, so that it must not be trusted."""

    def declining(*arguments: Any) -> Any:
        verdict = verification.Verdict.LATER
        return replace(verification.verified_run(*arguments), verdict=verdict, apart=None)

    monkeypatch.setattr(trial, "verified_run", declining)
    with caplog.at_level(logging.INFO, "graphflow"):
        got = _runs(_dense, 8)
    monkeypatch.undo()
    for mine, theirs in zip(got, _runs(_dense, 8), strict=True):
        np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-5, atol=1e-6)
    assert "stays on NumPy: its compiled form could not take the runs" in caplog.text


@needs_two_gpus
def test_parts_on_two_gpus_are_judged_each(verdicts: list[str]) -> None:
    x = gf.placeholder(gf.float32, [3])
    with gf.device("/gpu:0"):
        a = gf.sqrt(x) * 2.0
    with gf.device("/gpu:1"):
        b = gf.reduce_sum(a * a)
    with gf.device("/gpu:0"):
        c = a + b
    data = np.array([1.0, 4.0, 9.0], "f")
    with session(device_count={"GPU": 2}) as one:
        for _ in range(4):
            np.testing.assert_allclose(one.run(c, {x: data}), 2 * np.sqrt(data) + 56.0, rtol=1e-6)
    assert len(verdicts) >= 3 and set(verdicts) == {"AGREED"}
