"""Colours of tf.contrib.image: TensorFlow 1.15.5 gave the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


def test_colours_are_turned_and_scaled() -> None:
    pure = np.eye(3, dtype=np.float32).reshape(1, 3, 3)
    with gf.Graph().as_default(), gf.Session() as session:
        turned = gf.contrib.image.adjust_hsv_in_yiq(pure, 0.7, 1.5, 2.0)
        same = gf.contrib.image.adjust_hsv_in_yiq(np.array([[[9, 200, 31]]], np.uint8))
        assert turned.shape.as_list() == [1, 3, 3] and same.dtype is gf.uint8
        found, unchanged = session.run([turned, same])
    expected = [
        [2.5323505, -0.7219029, 2.3209136],
        [0.46451116, 2.18853, -2.1890862],
        [-0.9968615, 0.53337294, 1.8681728],
    ]
    np.testing.assert_allclose(found, [expected], rtol=1e-5)
    np.testing.assert_array_equal(unchanged, [[[9, 200, 31]]])


def test_drawn_changes_stay_within_their_bounds() -> None:
    grey = np.full((1, 1, 3), 0.5, np.float32)
    with gf.Graph().as_default(), gf.Session() as session:
        drawn = gf.contrib.image.random_hsv_in_yiq(grey, 0.1, 0.5, 1.5, 0.5, 1.5, seed=3)
        found = np.array([session.run(drawn) for _ in range(20)])
        assert found.min() >= 0.25 and found.max() < 0.75 and np.ptp(found) > 0.1
        for wrong in (
            {"max_delta_hue": -1},
            {"lower_saturation": 2},
            {"lower_value": -1},
            {"lower_value": 2},
        ):
            with pytest.raises(ValueError, match="must be"):
                gf.contrib.image.random_hsv_in_yiq(grey, **wrong)
