"""Programs as people write them: type checkers take them without a complaint, and they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import graphflow as gf

BATCH = 4
CLASSES = 3


def hidden(x: gf.typing.TensorLike, units: int, name: str) -> gf.Tensor:
    """A dense layer with variables of its own."""
    with gf.variable_scope(name, reuse=gf.AUTO_REUSE):
        rows = gf.convert_to_tensor(x)
        depth = rows.shape[1].value
        regularizer = gf.contrib.layers.l2_regularizer(1e-4)
        w = gf.get_variable(
            "w", [depth, units], initializer=gf.glorot_uniform_initializer(), regularizer=regularizer
        )
        b = gf.get_variable("b", shape=(units,), dtype=gf.float32, initializer=gf.zeros_initializer)
        return gf.nn.relu(gf.matmul(rows, w) + b)


def network(images: gf.Tensor, training: gf.Tensor) -> gf.Tensor:
    """The logits of a small convolutional network."""
    net = gf.reshape(images, [-1, 8, 8, 1])
    net = gf.layers.conv2d(net, 4, 3, padding="same", activation=gf.nn.relu)
    net = gf.layers.max_pooling2d(net, 2, 2)
    net = gf.layers.batch_normalization(net, training=training)
    net = hidden(gf.layers.flatten(net), 8, "hidden")
    net = gf.layers.dropout(net, rate=0.5, training=training)
    return gf.layers.dense(net, CLASSES, kernel_initializer=gf.truncated_normal_initializer(stddev=0.1))


def train(data: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], folder: str, steps: int = 3) -> float:
    """Trains from placeholders in a session of its own; the accuracy."""
    images = gf.placeholder(gf.float32, [None, 64], name="images")
    targets = gf.placeholder("int64", (None,), name="targets")
    training = gf.placeholder_with_default(False, [], name="training")
    logits = network(images, training)
    each = gf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
    loss = gf.reduce_mean(each) + gf.losses.get_regularization_loss()
    accuracy = gf.reduce_mean(gf.cast(gf.equal(gf.argmax(logits, 1), targets), gf.float32))
    step = gf.train.get_or_create_global_step()
    rate = gf.train.exponential_decay(0.1, step, 100, 0.9, staircase=True)
    optimizer = gf.train.MomentumOptimizer(rate, momentum=0.9)
    pairs = optimizer.compute_gradients(loss)
    clipped, norm = gf.clip_by_global_norm([gradient for gradient, _ in pairs], 5.0)
    with gf.control_dependencies(gf.get_collection(gf.GraphKeys.UPDATE_OPS)):
        train_op = optimizer.apply_gradients(zip(clipped, [v for _, v in pairs]), global_step=step)
    gf.summary.scalar("loss", loss)
    gf.summary.histogram("logits", logits)
    merged = gf.summary.merge_all()
    saver = gf.train.Saver(max_to_keep=3)
    dataset = gf.data.Dataset.from_tensor_slices((data, labels)).shuffle(10).repeat().batch(BATCH)
    features, wanted = dataset.make_one_shot_iterator().get_next()
    with gf.Session(config=gf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run([gf.global_variables_initializer(), gf.local_variables_initializer()])
        for _ in range(steps):
            x, y = sess.run([features, wanted])
            feeds = {images: x, targets: y, training: True}
            _, summary, value, length = sess.run([train_op, merged, loss, norm], feed_dict=feeds)
            assert isinstance(summary, bytes) and np.isfinite(value) and np.isfinite(length)
        saver.save(sess, f"{folder}/model", global_step=step)
        result = accuracy.eval({images: data, targets: labels}, sess)
    assert [v.name for v in gf.trainable_variables("hidden")] == ["hidden/w:0", "hidden/b:0"]
    return float(result)


def input_fn(rows: int) -> tuple[gf.Tensor, gf.Tensor]:
    """Features and labels of a generator, as an estimator is given them."""

    def pairs() -> Iterator[tuple[np.ndarray[Any, Any], int]]:
        for number in range(rows):
            yield np.full([2], number, np.float32), number % 2

    dataset = gf.data.Dataset.from_generator(pairs, (gf.float32, gf.int32), ([2], []))
    dataset = (
        dataset.map(lambda x, y: (x / 10.0, y), num_parallel_calls=2).repeat(None).batch(BATCH).prefetch(1)
    )
    features, labels = dataset.make_one_shot_iterator().get_next()
    return features, labels


def model_fn(features: gf.Tensor, labels: gf.Tensor) -> tuple[gf.Tensor, gf.Operation]:
    """Loss and step of a logistic regression with a cell, a loop and a branch in it."""
    cell = gf.nn.rnn_cell.GRUCell(3)
    outputs, _ = gf.nn.dynamic_rnn(cell, gf.expand_dims(features, -1), dtype=gf.float32)
    last = outputs[:, -1, :]
    scale = gf.Variable(1.0, name="scale")
    count = gf.Variable(0, trainable=False, dtype=gf.int32)
    with gf.control_dependencies([count.assign_add(1)]):
        scaled = last * scale + gf.constant([0.1, 0.2, 0.3]) / 2.0 - np.ones(3, np.float32)
    rows = gf.shape(scaled)[0]
    shape = [rows, 3]
    flat = gf.reshape(scaled, shape)
    joined = gf.concat([flat, gf.zeros([rows, 1]), gf.random_normal(gf.shape(flat), stddev=0.1)], axis=-1)
    kept = gf.where(joined > 0, joined, gf.zeros_like(joined))
    _, total = gf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 0.5), [gf.constant(0), kept])
    chosen = gf.cond(gf.reduce_sum(kept) > 3.0, lambda: kept * 2, lambda: kept)
    logits = gf.layers.dense(gf.add_n([chosen, total]), 2, name="logits")
    loss = gf.losses.sparse_softmax_cross_entropy(labels, logits)
    (slope,) = gf.gradients(loss, [scale])
    gf.summary.scalar("slope", slope)
    return loss, gf.train.AdamOptimizer(1e-2).minimize(loss, gf.train.get_or_create_global_step())


class Losses(gf.train.SessionRunHook):
    """Notes the loss of each step."""

    def __init__(self, loss: gf.Tensor) -> None:
        self.loss = loss
        self.seen: list[float] = []

    def before_run(self, run_context: gf.train.SessionRunContext) -> gf.train.SessionRunArgs:
        return gf.train.SessionRunArgs({"loss": self.loss})

    def after_run(
        self, run_context: gf.train.SessionRunContext, run_values: gf.train.SessionRunValues
    ) -> None:
        self.seen.append(float(run_values.results["loss"]))


def estimate(folder: str, steps: int = 3) -> list[float]:
    """A loop as an estimator runs it: the losses."""
    loss, train_op = model_fn(*input_fn(8))
    hook = Losses(loss)
    hooks = [hook, gf.train.StopAtStepHook(last_step=steps)]
    with gf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=hooks, save_summaries_steps=1
    ) as sess:
        while not sess.should_stop():
            sess.run(train_op)
    return hook.seen
