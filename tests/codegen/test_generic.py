"""Protects that the kernels which are made for no plan are those that programs then ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.cpu.compiler import Compilation, Compiler
from graphflow._core.codegen.cpu.programs.scalar_machine_source import interpreter_source
from graphflow._core.codegen.cpu.regions.region_source import region_source
from graphflow._core.codegen.generic import MOST_WANTED, generic_sources
from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.compiler.nodes import KernelNode, StandIn
from graphflow._core.compiler.prepare import prepare_job
from graphflow._core.runtime.compiled import filling

STEPS = 5
"""A plan asks for its kernels in its fourth run."""


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[CompileJob]]:
    """The compile jobs of programs on a machine that has no kernels; nothing is compiled."""
    made: list[CompileJob] = []

    def noted(*arguments: Any, **options: Any) -> CompileJob:
        made.append(prepare_job(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(Compiler, "holds", lambda self, source: False)
    monkeypatch.setattr(Compiler, "compile_async", lambda self, source: Compilation("", source))
    monkeypatch.setattr(filling, "prepare_job", noted)
    yield made


def run(fetches: Any, feeds: dict[Any, Any]) -> None:
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(fetches, feeds)


def wanted(jobs: list[CompileJob]) -> set[str]:
    """What jobs need to run: what stands in for kernels that are still to be made, and the kernels of all else."""
    found: set[str] = set()
    for job in jobs:
        stood_in_for: set[str] = set()
        for number in job.codes:
            node = job.groups[number].nodes[0]
            own = (
                node.sources if isinstance(node, KernelNode) else [region_source(job.regions[number].region)]
            )
            stood_in_for.update(own)
        assert stood_in_for <= job.sources
        found |= job.sources - stood_in_for
        found.update(source for code in job.codes.values() for source in code.sources)
    return found


def test_a_classifier_needs_nothing_else(jobs: list[CompileJob]) -> None:
    x, y = gf.placeholder(gf.float32, [16, 7]), gf.placeholder(gf.int64, [16])
    hidden = gf.layers.batch_normalization(gf.layers.dense(x, 33, gf.nn.relu), training=True)
    logits = gf.layers.dense(gf.nn.dropout(gf.tanh(hidden), 0.7), 5)
    loss = gf.losses.sparse_softmax_cross_entropy(y, logits)
    rate = gf.train.exponential_decay(0.01, gf.train.get_or_create_global_step(), 10, 0.9, staircase=True)
    train = gf.train.AdamOptimizer(rate).minimize(loss, gf.train.get_global_step())
    right = gf.reduce_mean(gf.cast(gf.equal(gf.argmax(logits, 1), y), gf.float32))
    run([train, loss, right], {x: np.ones([16, 7], "f"), y: np.arange(16) % 5})
    assert len(jobs) == 1 and len(wanted(jobs)) > 5
    assert wanted(jobs) <= set(generic_sources(MOST_WANTED))


def test_pictures_need_nothing_else(jobs: list[CompileJob]) -> None:
    x, y = gf.placeholder(gf.float32, [2, 9, 9, 1]), gf.placeholder(gf.int64, [2])
    hidden = gf.layers.max_pooling2d(gf.layers.conv2d(x, 6, 3, activation=gf.nn.relu), 2, 2)
    hidden = gf.layers.conv2d(hidden, 4, 3, strides=2, padding="same", dilation_rate=1)
    hidden = gf.layers.average_pooling2d(gf.sigmoid(hidden), 2, 1)
    loss = gf.losses.sparse_softmax_cross_entropy(y, gf.layers.dense(gf.layers.flatten(hidden), 5))
    train = gf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    run([train, loss], {x: np.ones([2, 9, 9, 1], "f"), y: np.arange(2)})
    assert len(jobs) == 1 and wanted(jobs) <= set(generic_sources(MOST_WANTED))
    convolutions, pools, their_gradients = 2, 2, 5
    stand_ins = [code for code in jobs[0].codes.values() if isinstance(code, StandIn)]
    assert len(stand_ins) == convolutions + pools + their_gradients


def test_words_and_attention_need_nothing_else(jobs: list[CompileJob]) -> None:
    ids = gf.placeholder(gf.int32, [4, 6])
    table = gf.get_variable("table", [20, 8])
    words = gf.nn.embedding_lookup(table, ids)
    scores = gf.nn.softmax(gf.matmul(words, words, transpose_b=True))
    outputs, _ = gf.nn.static_rnn(
        gf.nn.rnn_cell.LSTMCell(9), gf.unstack(gf.matmul(scores, words), axis=1), dtype=gf.float32
    )
    loss = gf.reduce_mean(gf.square(outputs[-1]))
    train = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
    run([train, loss], {ids: np.arange(24).reshape(4, 6) % 20})
    assert jobs and wanted(jobs) <= set(generic_sources())


def test_the_most_wanted_come_first() -> None:
    everything = generic_sources()
    assert len(set(everything)) == len(everything) > 60
    assert generic_sources(MOST_WANTED) == everything[:MOST_WANTED]


@pytest.mark.parametrize("common", [True, False])
def test_one_interpreter_runs_all_scalars_of_a_plan(jobs: list[CompileJob], common: bool) -> None:
    """The small one, which is soon compiled, if it has all that they need."""
    step = gf.Variable(0, trainable=False)
    rate = gf.train.exponential_decay(0.1, step, 10, 0.9)
    if not common:
        rate *= gf.cos(rate)
    train = gf.train.GradientDescentOptimizer(rate).minimize(gf.square(gf.Variable(1.5)), step)
    run([train, rate], {})
    interpreters = [interpreter_source(common=True), interpreter_source()]
    assert [source in wanted(jobs) for source in interpreters] == [common, not common]
