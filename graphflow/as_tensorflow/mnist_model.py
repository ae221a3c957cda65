"""The model of the tutorial on digits: two hidden layers (tensorflow.examples.tutorials.mnist.mnist)."""

from __future__ import annotations

import math
from typing import Final

import graphflow.losses as losses
import graphflow.nn as nn
import graphflow.summary as summary
import graphflow.train as train
from graphflow._core.graph.dtypes import int32, int64
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.ops.array.creation import zeros
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.random import truncated_normal
from graphflow._core.ops.state.scopes import name_scope
from graphflow._core.ops.state.variable import Variable

NUM_CLASSES: Final = 10
IMAGE_SIZE: Final = 28
IMAGE_PIXELS: Final = IMAGE_SIZE * IMAGE_SIZE


def _linear(x: Tensor, sizes: tuple[int, int]) -> Tensor:
    """x times weights, and biases, two variables of the scope."""
    weights = Variable(truncated_normal(sizes, stddev=1.0 / math.sqrt(sizes[0])), name="weights")
    biases = Variable(zeros([sizes[1]]), name="biases")
    return matmul(x, weights) + biases


def inference(images: Tensor, hidden1_units: int, hidden2_units: int) -> Tensor:
    """The logits of images of [count, 784], a row of ten each."""
    with name_scope("hidden1"):
        hidden1 = nn.relu(_linear(images, (IMAGE_PIXELS, hidden1_units)))
    with name_scope("hidden2"):
        hidden2 = nn.relu(_linear(hidden1, (hidden1_units, hidden2_units)))
    with name_scope("softmax_linear"):
        return _linear(hidden2, (hidden2_units, NUM_CLASSES))


def loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean cross entropy; labels are class numbers."""
    return losses.sparse_softmax_cross_entropy(labels=cast(labels, int64), logits=logits)


def training(loss: Tensor, learning_rate: float) -> Operation:
    """A step of gradient descent, which counts global_step and writes a summary of the loss."""
    summary.scalar("loss", loss)
    global_step = Variable(0, name="global_step", trainable=False)
    return train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits: Tensor, labels: Tensor) -> Tensor:
    """How many of the images have their label as the largest logit, int32."""
    return reduce_sum(cast(nn.in_top_k(logits, labels, 1), int32))
