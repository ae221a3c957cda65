"""What hooks and summaries add to a training step: the bare step against the monitored one, in turns in one process.

usage: python benchmarks/hooks.py [MODULE]    MODULE: graphflow (the default) or tensorflow

One step only counts, which shows the cost itself; the other is that of the MLP of the workload mlp_sgd, once with the
loss alone as a summary and once with a histogram of each weight. The hooks are those of an ordinary training:
StopAtStepHook, CheckpointSaverHook (which does not get to save in between), SummarySaverHook and LoggingTensorHook
every 100 steps, StepCounterHook. Prints microseconds a step and the ratio; pairs are timed in turns, and medians are
shown. Runs under Python 3.7 too, for TensorFlow 1.15.
"""

import importlib
import os
import statistics
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

SIZES = [784, 256, 256, 10]
BATCH = 128
ROUNDS = 15


def load(name):
    """The module with TensorFlow 1's API."""
    module = importlib.import_module(name)
    if name == "tensorflow" and not module.__version__.startswith("1."):
        module = module.compat.v1
        module.disable_v2_behavior()
    return module


def model(tf, histograms):
    """Placeholders, loss and training operation of the MLP."""
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, SIZES[0]])
    y = tf.placeholder(tf.float32, [None, SIZES[-1]])
    h = x
    for i in range(3):
        w = tf.Variable(random.randn(SIZES[i], SIZES[i + 1]).astype("f") * 0.1)
        b = tf.Variable(tf.zeros([SIZES[i + 1]]))
        h = tf.matmul(h, w) + b
        if i < 2:
            h = tf.nn.relu(h)
        if histograms:
            tf.summary.histogram("weights{}".format(i), w)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=h, labels=y))
    tf.summary.scalar("loss", loss)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
    feeds = {
        x: random.rand(BATCH, SIZES[0]).astype("f"),
        y: np.eye(SIZES[-1], dtype="f")[random.randint(0, SIZES[-1], BATCH)],
    }
    return loss, train, feeds


def count(tf):
    """As `model`, of a step that does nothing else than to count."""
    step = tf.train.get_or_create_global_step()
    loss = tf.constant(1.0)
    tf.summary.scalar("loss", loss)
    return loss, tf.assign_add(step, 1), None


def microseconds(run, fetches, feeds, steps):
    """Mean over one round."""
    start = time.perf_counter()
    for _ in range(steps):
        run(fetches, feeds)
    return (time.perf_counter() - start) / steps * 1e6


def measure(tf, build, steps):
    """Medians over the rounds: bare step, monitored step, their ratio."""
    with tf.Graph().as_default():
        loss, train, feeds = build(tf)
        scaffold = tf.train.Scaffold()
        folder = tempfile.mkdtemp()
        hooks = [
            tf.train.StopAtStepHook(last_step=10**9),
            tf.train.CheckpointSaverHook(folder, save_steps=10**9, scaffold=scaffold),
            tf.train.SummarySaverHook(save_steps=100, output_dir=folder, scaffold=scaffold),
            tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=100),
            tf.train.StepCounterHook(output_dir=folder),
        ]
        with tf.train.SingularMonitoredSession(hooks=hooks, scaffold=scaffold) as session:
            bare = session.raw_session().run
            found = []
            for number in range(ROUNDS + 3):
                pair = [0.0, 0.0]
                for which in (0, 1) if number % 2 else (1, 0):
                    pair[which] = microseconds((bare, session.run)[which], [train, loss], feeds, steps)
                if number >= 3:  # the first ones plan and compile
                    found.append((pair[0], pair[1], pair[1] / pair[0]))
    return [statistics.median(column) for column in zip(*found)]


def main():
    """Prints the table."""
    tf = load(sys.argv[1] if len(sys.argv) > 1 else "graphflow")
    for name, build, steps in (
        ("counting", count, 3000),
        ("MLP", lambda tf: model(tf, False), 400),
        ("MLP, histograms", lambda tf: model(tf, True), 400),
    ):
        bare, monitored, ratio = measure(tf, build, steps)
        print(
            "{:16} bare {:7.1f} us, with hooks {:7.1f} us, ratio {:.3f}, added {:5.1f} us".format(
                name, bare, monitored, ratio, monitored - bare
            )
        )


if __name__ == "__main__":
    main()
