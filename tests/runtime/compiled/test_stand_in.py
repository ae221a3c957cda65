"""Protects that the array machine stands in for kernels that are not there yet, and gives way to them unnoticed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.cpu.compiler import Compiler, KernelCompileError
from graphflow._core.codegen.cpu.programs import array_check
from graphflow._core.codegen.cpu.regions.region_source import region_steps
from graphflow._core.compiler.compile_job import CompileJob
from tests.runtime.compiled.tiers import compiled_plans

STEPS = 14
SWITCH = 8


class Late:
    """Region's own kernels are not there while `held`; what the array machine needs comes as ever."""

    def __init__(self) -> None:
        self.held = True


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[Late]:
    control, there, done = Late(), CompileJob.are_there, CompileJob.are_done

    def own(job: CompileJob, sources: Iterable[str]) -> bool:
        return control.held and any(job._sources[number][0] in sources for number in job.codes)

    monkeypatch.setattr(Compiler, "holds", lambda self, source: False)
    monkeypatch.setattr(CompileJob, "are_there", lambda self, s: not own(self, s) and there(self, s))
    monkeypatch.setattr(CompileJob, "are_done", lambda self, s: not own(self, s) and done(self, s))
    yield control


def mlp() -> tuple[Any, Any, dict[Any, Any]]:
    gf.set_random_seed(3)
    x = gf.placeholder(gf.float32, [16, 7])
    hidden = gf.nn.relu(gf.layers.dense(x, 33))
    logits = gf.layers.dense(gf.layers.batch_normalization(hidden, training=True), 5)
    loss = gf.losses.softmax_cross_entropy(gf.one_hot(gf.argmax(x[:, :5], 1), 5), logits)
    loss += 0.01 * gf.reduce_sum(gf.sqrt(gf.square(logits) + 1.0)) + gf.reduce_max(gf.tanh(logits) // 0.1)
    train = gf.train.AdamOptimizer(0.01).minimize(loss)
    return train, loss, {x: np.random.RandomState(0).randn(16, 7).astype(np.float32)}


def recurrent() -> tuple[Any, Any, dict[Any, Any]]:
    gf.set_random_seed(3)
    x = gf.placeholder(gf.float32, [4, 6, 5])
    outputs, _ = gf.nn.dynamic_rnn(gf.nn.rnn_cell.LSTMCell(9), x, dtype=gf.float32)
    loss = gf.reduce_mean(gf.square(outputs[:, -1] - gf.reduce_mean(outputs, axis=1)))
    train = gf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return train, loss, {x: np.random.RandomState(0).randn(4, 6, 5).astype(np.float32)}


def pictures() -> tuple[Any, Any, dict[Any, Any]]:
    gf.set_random_seed(3)
    x, labels = gf.placeholder(gf.float32, [None, 9, 11, 3]), gf.placeholder(gf.int64, [None])
    hidden = gf.layers.conv2d(x, 18, 3, padding="same", activation=gf.nn.relu)
    hidden = gf.layers.max_pooling2d(hidden, 3, 2, padding="same")
    hidden = gf.layers.conv2d(hidden, 5, [2, 3], strides=2, use_bias=False)
    hidden = gf.layers.conv2d_transpose(hidden, 4, 3, strides=2, padding="same")
    hidden = gf.layers.average_pooling2d(gf.tanh(hidden), 2, 1)
    logits = gf.layers.dense(gf.layers.flatten(hidden), 4)
    loss = gf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = gf.train.AdamOptimizer(0.01).minimize(loss)
    return train, loss, {x: np.random.RandomState(0).randn(6, 9, 11, 3).astype("f"), labels: np.arange(6) % 4}


def trained(model: Callable[[], Any], release: Callable[[int], None]) -> tuple[list[bytes], list[int], str]:
    """After each step all weights, and how many groups the array machine runs; what explain says in the end."""
    weights, interpreted = [], []
    with gf.Graph().as_default():
        train, loss, feed = model()
        variables = gf.global_variables()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for step in range(STEPS):
                release(step)
                session.run([train, loss], feed)
                plans = [p for p in compiled_plans(session) if p._writes]
                interpreted.append(sum(len(plan.interpreted) for plan in plans) if plans else -1)
                weights.append(b"".join(session.run(v).tobytes() for v in variables))
            told = session.explain([train, loss], feed, compiled=True)
    return weights, interpreted, str(told)


@pytest.mark.parametrize("model", [mlp, recurrent, pictures])
def test_the_machine_stands_in_until_kernels_come_and_no_bit_shows_it(
    model: Callable[[], Any], late: Late, monkeypatch: pytest.MonkeyPatch
) -> None:
    def release(step: int) -> None:
        late.held = step < SWITCH + 2

    weights, interpreted, _ = trained(model, release)
    assert interpreted[: SWITCH - 1] == [-1] * (SWITCH - 1)
    assert interpreted[SWITCH - 1] > 0 and interpreted[SWITCH] > 0
    late.held = True
    others, always, told = trained(model, lambda step: None)
    assert always[-1] > 0
    assert "on the array machine" in told
    late.held, wait = False, CompileJob.wait
    monkeypatch.setattr(CompileJob, "wait", lambda self, seconds, whole=False: wait(self, seconds, True))
    own, none, told = trained(model, lambda step: None)
    assert own == weights == others
    assert set(none[SWITCH - 1 :]) == {0}
    assert "on the array machine" not in told


def test_it_stands_in_for_good_if_a_kernel_cannot_be_compiled(
    monkeypatch: pytest.MonkeyPatch, late: Late, caplog: pytest.LogCaptureFixture
) -> None:
    done = CompileJob.are_done

    def done_or_held(job: CompileJob, sources: Iterable[str]) -> bool:
        """What is held is done, and was no success; the machine's blocks are done when they are."""
        own = {source for number in job.codes for source in job._sources[number]}
        return done(job, [source for source in sources if not (late.held and source in own)])

    monkeypatch.setattr(CompileJob, "are_done", done_or_held)

    def fail(self: CompileJob, number: int) -> list[int]:
        if number in self.codes:
            raise KernelCompileError("not to be had")
        return kernels(self, number)

    kernels = CompileJob.kernels
    monkeypatch.setattr(CompileJob, "kernels", fail)
    with caplog.at_level(logging.WARNING, "graphflow"):
        _, interpreted, _ = trained(mlp, lambda step: None)
    assert interpreted[-1] > 0
    assert "stays on NumPy" not in caplog.text


def test_a_kernel_that_is_wrong_does_not_replace_the_machine(
    monkeypatch: pytest.MonkeyPatch, late: Late, caplog: pytest.LogCaptureFixture
) -> None:
    """Its last step is left out; the bits are those of the machine all the same."""
    with caplog.at_level(logging.WARNING, "graphflow"):
        weights, always, _ = trained(mlp, lambda step: None)
    assert not caplog.text
    monkeypatch.setattr(array_check, "verdicts", {})
    monkeypatch.setattr(array_check, "region_steps", lambda *args: region_steps(*args)[:-1])

    def release(step: int) -> None:
        late.held = step < SWITCH + 2

    with caplog.at_level(logging.WARNING, "graphflow"):
        others, interpreted, _ = trained(mlp, release)
    assert interpreted[-1] > 0 and always[-1] > 0 and "are wrong, and are not used" in caplog.text
    assert others == weights
