"""Protects the benchmark of two devices: its step is the same on one device and mirrored on two."""

from __future__ import annotations

import devices
import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize("name", ["mlp"])
def test_mirrored_towers_train_like_one_device(name: str) -> None:
    losses = []
    for count in (1, 2):
        with gf.Graph().as_default():
            step, loss, feed = devices.mirrored(name, count)
            config = gf.ConfigProto(device_count={"CPU": count}, compiled="never")
            with gf.Session(config=config) as session:
                session.run(gf.global_variables_initializer())
                for _ in range(3):
                    session.run(step, feed)
                losses.append(session.run(loss, feed))
                towers = np.array_split(np.array(session.run(gf.trainable_variables()), dtype=object), count)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for one, other in zip(*towers, strict=True):
        np.testing.assert_array_equal(one, other)
