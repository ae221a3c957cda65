"""The models whose steps are simulated and measured: a network of dense layers, one of convolutions, and embeddings."""

from typing import Any

import numpy as np

BATCH = 64


def dense(gf: Any, images: Any, labels: Any) -> Any:
    """784, 512, 512, 10: 670,000 parameters."""
    hidden = images
    for size in (512, 512):
        hidden = gf.layers.dense(hidden, size, gf.nn.relu)
    return _trained(gf, gf.layers.dense(hidden, 10), labels)


def convolutions(gf: Any, images: Any, labels: Any) -> Any:
    """Two convolutions and two dense layers: 420,000 parameters, and more to compute for each."""
    hidden = gf.reshape(images, [-1, 28, 28, 1])
    for filters in (16, 32):
        hidden = gf.layers.conv2d(hidden, filters, 5, padding="same", activation=gf.nn.relu)
        hidden = gf.layers.max_pooling2d(hidden, 2, 2)
    hidden = gf.layers.dense(gf.layers.flatten(hidden), 256, gf.nn.relu)
    return _trained(gf, gf.layers.dense(hidden, 10), labels)


def embeddings(gf: Any, words: Any, labels: Any) -> Any:
    """Means of 20 of 50,000 embeddings of 64 numbers, of which a step takes and changes some rows."""
    table = gf.get_variable("table", [50_000, 64], gf.float32, gf.random_uniform_initializer(-0.1, 0.1))
    mean = gf.reduce_mean(gf.nn.embedding_lookup(table, words), 1)
    hidden = gf.layers.dense(mean, 128, gf.nn.relu)
    return _trained(gf, gf.layers.dense(hidden, 10), labels)


def nothing(gf: Any) -> Any:
    """A counter on a parameter server: what a step costs in which nothing is computed."""
    return gf.assign_add(gf.train.get_or_create_global_step(), 1)


def _trained(gf: Any, logits: Any, labels: Any) -> Any:
    loss = gf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = gf.train.get_or_create_global_step()
    return gf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)


def batch(name: str) -> tuple[Any, ...] | None:
    """A batch for a model."""
    random = np.random.RandomState(1)
    labels = random.randint(0, 10, BATCH).astype(np.int32)
    if name == "nothing":
        return None
    if name == "embeddings":
        return random.randint(0, 50_000, (BATCH, 20)).astype(np.int32), labels
    return random.rand(BATCH, 784).astype(np.float32), labels


MODELS = {"dense": dense, "convolutions": convolutions, "embeddings": embeddings, "nothing": nothing}


def strategy(gf: Any, kind: str, *task: Any) -> Any:
    """A strategy by its name in the table."""
    if kind == "ring":
        return gf.distribute.CollectiveAllReduceStrategy(*task)
    return gf.distribute.ParameterServerStrategy(*task, synchronous=kind == "sync")
