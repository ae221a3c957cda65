"""Protects the draws that follow from their seeds alone: they are TensorFlow 1.15's."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


def test_draws_are_tensorflows() -> None:
    draw = gf.random
    cases = [
        (
            draw.stateless_uniform([5], [1, 2]),
            np.array([0.8440604, 0.19204533, 0.9962232, 0.1603874, 0.27199018], np.float32),
        ),
        (
            draw.stateless_uniform([3], [1, 2], -1, 2, gf.float64),
            np.array([1.257451262, 1.909357318, -0.472232983]),
        ),
        (
            draw.stateless_uniform([6], [3, 4], -5, 100, gf.int32),
            np.array([98, 32, 7, 94, 22, 64], np.int32),
        ),
        (
            draw.stateless_uniform([4], [3, 4], -5, 10**12, gf.int64),
            np.array([67169244840, 231587492971, 513754551271, 493047703989]),
        ),
        (
            draw.stateless_normal([5], [1, 2], 2.0, 3.0),
            np.array([3.6323304, 2.622141, 2.2206929, 2.1393037, -1.9047694], np.float32),
        ),
        (
            draw.stateless_normal([3], [-1, 2], dtype=gf.float64),
            np.array([1.513803974, 0.241959517, 1.113849217]),
        ),
        (
            draw.stateless_truncated_normal([5], [0, 0]),
            np.array([-1.697034, -0.4813767, -0.6622369, 0.08701119, -0.26579794], np.float32),
        ),
    ]
    with gf.Session() as session:
        for tensor, expected in cases:
            for _ in range(2):
                found = session.run(tensor)
                assert found.dtype == expected.dtype and tensor.shape == found.shape
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(ValueError, match=r"seed must have the shape \[2\]"):
        gf.random.stateless_uniform([3], [1, 2, 3])
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype int32"):
        gf.random.stateless_uniform([3], [1, 2], dtype=gf.int32)
    with pytest.raises(ValueError, match="Invalid dtype bool"):
        gf.random.stateless_uniform([3], [1, 2], dtype=gf.bool)
    with gf.Session() as session, pytest.raises(gf.errors.InvalidArgumentError, match="Need minval < maxval"):
        session.run(gf.random.stateless_uniform([3], [1, 2], 4, 4, gf.int32))


def test_contrib_has_the_older_names() -> None:
    assert gf.contrib.stateless.stateless_random_uniform is gf.random.stateless_uniform
    assert gf.contrib.stateless.stateless_multinomial is gf.random.stateless_multinomial
