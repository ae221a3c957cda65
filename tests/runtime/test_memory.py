"""Protects the steady state: a training step, once warm, allocates nothing that grows, in either tier."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import graphflow as gf

_STATM = Path("/proc/self/statm")
_PAGE = 4096


def _resident() -> int:
    gc.collect()
    return int(_STATM.read_text().split()[1]) * _PAGE


@pytest.mark.skipif(not _STATM.exists(), reason="reads the resident memory from /proc")
@pytest.mark.parametrize("tier", ["never", "always"])
def test_a_training_step_allocates_nothing_that_grows(tier: str) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, 50])
        y = gf.placeholder(gf.int32, [None])
        weights = gf.Variable(np.full((50, 4), 0.01, np.float32))
        hidden = gf.matmul(x, weights)
        loss = gf.reduce_mean(gf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=hidden))
        step = gf.train.AdamOptimizer(0.01).minimize(loss)
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            session.run(gf.global_variables_initializer())
            feed = {x: np.ones((64, 50), np.float32), y: np.zeros(64, np.int32)}
            for _ in range(300):
                session.run([loss, step], feed)
            before = _resident()
            for _ in range(3000):
                session.run([loss, step], feed)
            assert _resident() - before < 4 << 20
