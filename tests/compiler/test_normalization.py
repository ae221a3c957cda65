"""Protects batch normalisation in compiled plans: results and gradients as on NumPy, and nothing left to NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import graphflow as gf


def _run(tier: str, shape: tuple[int, ...], training: bool, dtype: Any, layout: str, everything: bool) -> Any:
    """The results of a step that normalises, differentiates and updates, and what was compiled of it."""
    channels = shape[1] if layout == "NCHW" else shape[3]
    with gf.Graph().as_default():
        rng = np.random.default_rng(0)
        data = (rng.standard_normal(shape) * 2 + 1).astype(dtype.as_numpy_dtype)
        weights = rng.standard_normal(shape).astype(data.dtype)
        scale, offset, mean, variance = (
            gf.Variable((rng.random(channels) + 0.5).astype(data.dtype), name=name, trainable=False)
            for name in ("scale", "offset", "mean", "variance")
        )
        x = gf.placeholder(dtype, [None, *shape[1:]])
        statistics = () if training else (mean, variance)
        y, batch_mean, _ = gf.nn.fused_batch_norm(
            x * 1.5, scale, offset, *statistics, is_training=training, data_format=layout
        )
        found = gf.reduce_sum(gf.nn.relu(y) * weights)
        fetches = [found, *gf.gradients(found, [x, scale, offset])]
        fetches += y.op.outputs if everything else []
        step = [mean.assign(batch_mean).op if training else mean.assign_add(scale).op]
        config = gf.ConfigProto(compiled=tier)
        with gf.Session(config=config) as session:
            session.run(gf.global_variables_initializer())
            values = [session.run(fetches + step, {x: data})[: len(fetches)] for _ in range(3)][-1]
            return [*values, session.run(mean), session.run(variance)]


SHAPES = [(4, 5, 6, 3), (1, 1, 1, 4)]
COMBINATIONS = [
    pytest.param(
        SHAPES[small],
        training,
        everything,
        "NCHW" if channels_first else "NHWC",
        marks=pytest.mark.slow if (small + training + everything + channels_first) % 2 else (),
    )
    for small, training, everything, channels_first in itertools.product([False, True], repeat=4)
]
"""CI takes half of them, in which each two values of two parameters meet; `--everything` all."""


@pytest.mark.parametrize(("shape", "training", "everything", "layout"), COMBINATIONS)
def test_both_tiers_agree(shape: tuple[int, ...], training: bool, everything: bool, layout: str) -> None:
    for dtype, tolerance in ((gf.float32, 1e-4), (gf.float64, 1e-10)):
        expected, got = (_run(t, shape, training, dtype, layout, everything) for t in ("never", "always"))
        for one, other in zip(expected, got, strict=True):
            np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("training", [True, False])
def test_each_result_alone(training: bool) -> None:
    found: dict[str, list[Any]] = {}
    for tier in ("never", "always"):
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            x = gf.placeholder(gf.float32, [2, 3, 4, 3])
            scale, offset = gf.Variable([1.0, 2.0, 0.5]), gf.Variable([0.5, 0.0, -1.0])
            statistics = () if training else (gf.constant([0.1, 0.2, 0.3]), gf.constant([1.0, 2.0, 3.0]))
            y, _, _ = gf.nn.fused_batch_norm(x, scale, offset, *statistics, is_training=training)
            results = [*y.op.outputs[:5], *gf.gradients(y * y * y, [x, scale, offset])]
            session.run(gf.global_variables_initializer())
            data = np.random.default_rng(0).standard_normal((2, 3, 4, 3), dtype=np.float32)
            found[tier] = [[session.run(r, {x: data}) for _ in range(2)][1] for r in results]
    for one, other in zip(found["never"], found["always"], strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)
