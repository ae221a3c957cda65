"""Protects the model of the tutorial on digits: its variables have the names of checkpoints, and it learns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import graphflow as gf
from graphflow.as_tensorflow import mnist_model as mnist


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as made:
        yield made


def test_it_learns() -> None:
    pytest.importorskip("tensorboard")  # Its summary.
    gf.set_random_seed(1)
    labels = np.arange(10, dtype=np.int32)
    pixels = np.eye(10, mnist.IMAGE_PIXELS, dtype=np.float32)
    images = gf.placeholder(gf.float32, [10, mnist.IMAGE_PIXELS])
    logits = mnist.inference(images, 32, 16)
    loss = mnist.loss(logits, gf.constant(labels))
    train, right = mnist.training(loss, 0.5), mnist.evaluation(logits, gf.constant(labels))
    assert [variable.op.name for variable in gf.trainable_variables()] == [
        f"{scope}/{name}"
        for scope in ("hidden1", "hidden2", "softmax_linear")
        for name in ("weights", "biases")
    ]
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for _ in range(1000):
            session.run(train, {images: pixels})
        assert session.run(right, {images: pixels}) == 10
        assert session.run(gf.global_variables())[-1] == 1000
