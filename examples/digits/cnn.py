"""Trains a convolutional network on the handwritten digits, the way a long training is run.

The data come through a pipeline, the session looks after itself, and what is left in --folder is checkpoints, curves
for TensorBoard, and a model that others can load. Stop it at any moment, with Ctrl-C or with kill -9, and start it
again: it goes on from its newest checkpoint and ends with the same weights, bit for bit.
"""

import os
import sys
from typing import Any

import numpy as np
from digits import load

import graphflow as gf

flags = gf.app.flags
flags.DEFINE_string("folder", "digits-cnn", "where checkpoints, curves and the model go")
flags.DEFINE_integer("steps", 600, "training steps in all, those of earlier starts included", lower_bound=1)
flags.DEFINE_integer("batch", 64, "images in a step", lower_bound=1)
flags.DEFINE_integer("save_steps", 100, "steps between two checkpoints", lower_bound=1)
flags.DEFINE_integer("seed", 7, "the seed of weights, order, noise and dropout")
FLAGS = flags.FLAGS


def training_batches(images: Any, labels: Any) -> tuple[gf.Tensor, gf.Tensor]:
    """Batches without end, in another order each time around; every image a little different each time."""

    def vary(image: gf.Tensor, label: gf.Tensor) -> tuple[gf.Tensor, gf.Tensor]:
        noise = gf.random_normal([64], stddev=0.05)
        return gf.cast(image, gf.float32) / 16.0 + noise, label

    dataset = gf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.shuffle(len(images)).repeat().map(vary).batch(FLAGS.batch, drop_remainder=True)
    batch: tuple[gf.Tensor, gf.Tensor] = dataset.prefetch(2).make_one_shot_iterator().get_next()
    return batch


def network(images: gf.Tensor, training: bool) -> gf.Tensor:
    """The logits of rows of 64 values in [0, 1]."""
    regularizer = gf.contrib.layers.l2_regularizer(1e-4)
    hidden = gf.reshape(images, [-1, 8, 8, 1])
    for filters in (16, 32):
        hidden = gf.layers.conv2d(hidden, filters, 3, padding="same", use_bias=False)
        hidden = gf.nn.relu(gf.layers.batch_normalization(hidden, momentum=0.9, training=training))
        hidden = gf.layers.max_pooling2d(hidden, 2, 2)
    hidden = gf.layers.dense(gf.layers.flatten(hidden), 64, gf.nn.relu, kernel_regularizer=regularizer)
    hidden = gf.layers.dropout(hidden, 0.3, training=training)
    logits: gf.Tensor = gf.layers.dense(hidden, 10, name="logits")
    return logits


def train(images: Any, labels: Any) -> None:
    """Trains to --steps, from the newest checkpoint where there is one."""
    with gf.Graph().as_default():
        gf.set_random_seed(FLAGS.seed)
        batch, wanted = training_batches(images, labels)
        logits = network(batch, training=True)
        loss = gf.losses.sparse_softmax_cross_entropy(wanted, logits) + gf.losses.get_regularization_loss()
        step = gf.train.get_or_create_global_step()
        with gf.control_dependencies(gf.get_collection(gf.GraphKeys.UPDATE_OPS)):
            train_op = gf.train.AdamOptimizer(2e-3).minimize(loss, step)
        right = gf.equal(gf.argmax(logits, 1), wanted)
        gf.summary.scalar("loss", loss)
        gf.summary.scalar("accuracy", gf.reduce_mean(gf.cast(right, gf.float32)))
        for variable in gf.trainable_variables():
            gf.summary.histogram(variable.op.name, variable)
        gf.summary.image("digits", gf.reshape(batch, [-1, 8, 8, 1]))
        with gf.train.MonitoredTrainingSession(
            checkpoint_dir=FLAGS.folder,
            hooks=[gf.train.StopAtStepHook(last_step=FLAGS.steps), gf.train.NanTensorHook(loss)],
            save_checkpoint_secs=None,
            save_checkpoint_steps=FLAGS.save_steps,
            save_summaries_steps=20,
        ) as session:
            while not session.should_stop():
                session.run(train_op)


def evaluate_and_export(images: Any, labels: Any) -> float:
    """The accuracy of the newest checkpoint on images it has not seen; leaves the model in --folder/model."""
    with gf.Graph().as_default(), gf.Session() as session:
        pixels = gf.placeholder(gf.float32, [None, 64], name="pixels")
        digit = gf.argmax(network(pixels, training=False), 1, name="digit")
        gf.train.Saver().restore(session, gf.train.latest_checkpoint(FLAGS.folder))
        found = session.run(digit, {pixels: images.astype(np.float32) / 16.0})
        folder = os.path.join(FLAGS.folder, "model")
        if not gf.gfile.Exists(folder):
            gf.saved_model.simple_save(session, folder, {"pixels": pixels}, {"digit": digit})
    return float(np.mean(found == labels))


def main(arguments: list[str]) -> int:
    """Trains, then says how good it is; the exit code is 1 where the accuracy is below 96 %."""
    if arguments[1:]:
        print(f"what is {arguments[1]!r}? See --help", file=sys.stderr)
        return 2
    images, labels, held_out_images, held_out_labels = load()
    images, held_out_images = ((16 * each).astype(np.uint8) for each in (images, held_out_images))
    train(images, labels)
    accuracy = evaluate_and_export(held_out_images, held_out_labels)
    print(f"held-out accuracy {accuracy:.2%}")
    print(f"curves:     tensorboard --logdir {FLAGS.folder}")
    print(f"checkpoint: graphflow checkpoint show {FLAGS.folder}")
    print(f"model:      graphflow saved-model show {os.path.join(FLAGS.folder, 'model')}")
    return 0 if accuracy >= 0.96 else 1


if __name__ == "__main__":
    gf.app.run(main)
