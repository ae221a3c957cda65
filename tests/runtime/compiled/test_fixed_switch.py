"""Protects that compiled code takes over at a fixed run wherever the program gives the same numbers every time.

When the kernels are there differs from run to run and from machine to machine, and the tiers agree to rounding only:
whether a program is one whose bits are promised is seen from its graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.runtime.compiled.build import CompiledPlan
from tests.runtime.compiled.tiers import compiled_plans

RUNS = 12
SWITCH = 8


def _step(x: Any) -> Any:
    w = gf.get_variable("w", initializer=np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    loss = gf.reduce_mean(gf.exp(gf.tanh(gf.matmul(x, w))) * gf.sigmoid(x[:, :1]))
    return gf.train.AdamOptimizer(0.01).minimize(loss), w


def op_seeds_only() -> Any:
    return _step(gf.random_normal([5, 3], seed=3) + gf.random_uniform([5, 3], seed=4))


def no_random_op() -> Any:
    return _step(gf.ones([5, 3]) * 0.3)


def graph_seed() -> Any:
    gf.set_random_seed(3)
    return _step(gf.random_normal([5, 3]))


def seeded_shuffle() -> Any:
    rows = np.arange(60, dtype=np.float32).reshape(20, 3) / 60
    data = gf.data.Dataset.from_tensor_slices(rows).shuffle(20, seed=5).repeat().batch(5)
    return _step(gf.ensure_shape(data.make_one_shot_iterator().get_next(), [5, 3]))


def seeded_map() -> Any:
    data = gf.data.Dataset.range(1000).map(lambda _: gf.random_uniform([5, 3], seed=6))
    return _step(data.make_one_shot_iterator().get_next())


def seeded_shuffling_queue() -> Any:
    queue = gf.RandomShuffleQueue(100, 0, [gf.float32], [[3]], seed=7)
    filled = queue.enqueue_many([gf.constant(np.arange(240, dtype=np.float32).reshape(80, 3) / 240)])
    gf.add_to_collection("filled", filled)
    return _step(queue.dequeue_many(5))


def unseeded_op() -> Any:
    return _step(gf.random_normal([5, 3]) * 0.0)


def unseeded_weights() -> Any:
    gf.get_variable("other", [2, 2])
    return no_random_op()


def unseeded_shuffle() -> Any:
    gf.data.Dataset.range(10).shuffle(10).make_one_shot_iterator().get_next()
    return no_random_op()


def unseeded_map() -> Any:
    gf.data.Dataset.range(10).map(lambda _: gf.random_uniform([2])).make_one_shot_iterator().get_next()
    return no_random_op()


def unseeded_shuffling_queue() -> Any:
    gf.RandomShuffleQueue(100, 0, [gf.float32], [[3]])
    return no_random_op()


def unseeded_branch() -> Any:
    gf.cond(gf.placeholder_with_default(True, []), lambda: gf.random_uniform([2]), lambda: gf.zeros([2]))
    return no_random_op()


Program = Callable[[], Any]


def trained(program: Program, monkeypatch: pytest.MonkeyPatch) -> tuple[list[bytes], int | None]:
    """The weights after each step, and the run in which compiled code for the step was put together first."""
    weights, made, make = [], [], CompiledPlan.__init__

    def note(self: CompiledPlan, job: CompileJob, *args: Any, **kwargs: Any) -> None:
        make(self, job, *args, **kwargs)
        if "w/Adam" in str(job.plan):
            made.append(len(weights) + 1)

    monkeypatch.setattr(CompiledPlan, "__init__", note)
    with gf.Graph().as_default():
        train, w = program()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for operation in gf.get_collection("filled"):
                session.run(operation)
            for _ in range(RUNS):
                session.run(train)
                weights.append(w.eval(session).tobytes())
    monkeypatch.setattr(CompiledPlan, "__init__", make)
    return weights, made[0] if made else None


@pytest.mark.parametrize(
    "program", [op_seeds_only, no_random_op, graph_seed, seeded_shuffle, seeded_map, seeded_shuffling_queue]
)
def test_what_is_deterministic_gives_the_same_bits_whenever_kernels_are_there(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for ready in (True, False):
        monkeypatch.setattr(CompileJob, "ready", lambda self, ready=ready: ready)
        found.append(trained(program, monkeypatch))
    assert found[0] == found[1]
    assert found[0][1] == SWITCH


@pytest.mark.parametrize(
    "program",
    [
        unseeded_op,
        unseeded_weights,
        unseeded_shuffle,
        unseeded_map,
        unseeded_shuffling_queue,
        unseeded_branch,
    ],
)
def test_what_draws_without_a_seed_never_waits_for_kernels(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CompileJob, "ready", lambda self: False)
    assert trained(program, monkeypatch)[1] is None


def test_an_unseeded_op_that_is_added_later_counts_for_later_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompileJob, "ready", lambda self: False)
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [4])
        first, second = gf.reduce_sum(gf.tanh(x)), gf.reduce_sum(gf.sigmoid(x))
        feed = {x: np.ones(4, np.float32)}
        for _ in range(RUNS):
            session.run(first, feed)
        assert len(compiled_plans(session)) == 1
        gf.random_uniform([])
        for _ in range(RUNS):
            session.run(second, feed)
        assert len(compiled_plans(session)) == 1
