"""Protects long training on a real GPU: the memory stays as it is, and so do the numbers."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import graphflow as gf

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]
STEPS = 10_000


def free_memory() -> int:
    """Bytes that the GPU has left."""
    return int(import_module("numba.cuda").current_context().get_memory_info().free)


def test_ten_thousand_steps_take_no_memory() -> None:
    rng = np.random.default_rng(0)
    with gf.Graph().as_default(), gf.device("/gpu:0"):
        x, y = gf.placeholder(gf.float32, [None, 64]), gf.placeholder(gf.int32, [None])
        w = gf.Variable(rng.normal(size=(64, 10)).astype("f") * 0.1)
        losses = gf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=gf.matmul(x, w))
        loss = gf.reduce_mean(losses)
        train = gf.train.AdamOptimizer(1e-2).minimize(loss)
        feeds = {x: rng.normal(size=(32, 64)), y: rng.integers(0, 10, 32)}
        with gf.Session(config=gf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(gf.global_variables_initializer())
            for _ in range(100):
                first, _ = session.run([loss, train], feeds)
            before = free_memory()
            for _ in range(STEPS):
                last, _ = session.run([loss, train], feeds)
            assert free_memory() == before
            assert last < first / 10
