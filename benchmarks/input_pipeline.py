"""Examples per second of input pipelines, the same source for every module with TensorFlow 1's API.

usage: python input_pipeline.py MODULE [pipeline ...]                   MODULE: tensorflow or graphflow
       python input_pipeline.py --compare PYTHON=MODULE ... [pipeline ...]

Prints `pipeline examples-per-second` a line. With --compare each PYTHON runs MODULE in a process of its own, and they
are timed in turns, so that what else the machine does falls on all alike; printed are the median of each and the
ratio of the last one to the fastest of the others, for instance

    python input_pipeline.py --compare tf115/bin/python=tensorflow tf2/bin/python=tensorflow python=graphflow

Every pipeline reads 60,000 images of 28 by 28 bytes and their labels in batches of 128, all through
session.run(get_next). Valid under Python 3.7 too, for TensorFlow 1.15.
"""

import importlib
import os
import statistics
import subprocess
import sys
import time

import numpy as np

EXAMPLES = 60000
BATCH = 128
ROUNDS = 7


def load(name):
    """The module, with TensorFlow 1's interface."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    module = importlib.import_module(name)
    if name == "tensorflow" and not module.__version__.startswith("1."):
        module = module.compat.v1
        module.disable_v2_behavior()
    return module


def images():
    """Images and labels, the same for every module."""
    random = np.random.RandomState(0)
    return random.randint(0, 256, (EXAMPLES, 28, 28)).astype("u1"), random.randint(0, 10, EXAMPLES).astype(
        "i4"
    )


def normalized(tf):
    """The function of an example: floats in [0, 1], and a vector for the label."""
    return lambda image, label: (tf.cast(image, tf.float32) / 255.0, tf.one_hot(label, 10))


def noisy(tf):
    """The same, flipped at random and with noise."""
    plain = normalized(tf)

    def augment(image, label):
        image, label = plain(image, label)
        flip = tf.random_uniform([], seed=1) < 0.5
        image = tf.where(flip, tf.reverse(image, [1]), image)
        return image + tf.random_uniform([28, 28], 0.0, 0.1, seed=2), label

    return augment


def standard(tf, data):
    """slices, shuffle, map, batch, prefetch."""
    return data.shuffle(10000, seed=1).map(normalized(tf)).batch(BATCH).prefetch(2)


def parallel(tf, data):
    """The same with two calls of the function at a time."""
    return data.shuffle(10000, seed=1).map(normalized(tf), num_parallel_calls=2).batch(BATCH).prefetch(2)


def augmented(tf, data):
    """With a random flip and noise in the function."""
    return data.shuffle(10000, seed=1).map(noisy(tf), num_parallel_calls=2).batch(BATCH).prefetch(2)


def map_first(tf, data):
    """The function before the shuffle."""
    return data.map(normalized(tf)).shuffle(10000, seed=1).batch(BATCH).prefetch(2)


def filtered(tf, data):
    """Some labels only."""
    kept = data.shuffle(10000, seed=1).filter(lambda image, label: tf.less(label, 5))
    return kept.map(normalized(tf)).batch(BATCH).prefetch(2)


def unshuffled(tf, data):
    """slices, map, batch, without prefetch."""
    return data.map(normalized(tf)).batch(BATCH)


PIPELINES = {f.__name__: f for f in (standard, parallel, augmented, map_first, filtered, unshuffled)}


def epochs(module, name):
    """A function that reads all data once and returns the examples per second."""
    tf = load(module)
    dataset = PIPELINES[name](tf, tf.data.Dataset.from_tensor_slices(images()))
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    session = tf.Session()

    def epoch():
        session.run(iterator.initializer)
        count, start = 0, time.perf_counter()
        while True:
            try:
                count += len(session.run(following)[1])
            except tf.errors.OutOfRangeError:
                return count / (time.perf_counter() - start)

    return epoch


def answer(module, name):
    """Runs an epoch for each line of stdin and prints its rate."""
    epoch = epochs(module, name)
    epoch()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(f"{epoch():.1f}", flush=True)


def compare(peers, names):
    """Times all peers in turns and prints a table."""
    paths = [".", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    for name in names:
        workers = []
        for peer in peers:
            python, _, module = peer.partition("=")
            command = [python, os.path.abspath(__file__), "--answer", module, name]
            workers.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    universal_newlines=True,
                    env=environment,
                )
            )
        for worker in workers:
            while worker.stdout.readline().strip() != "ready":
                if worker.poll() is not None:
                    raise SystemExit(f"{worker.args[0]} failed at {name}, status {worker.returncode}")
        rates = [[] for _ in workers]
        for _ in range(ROUNDS):
            for worker, found in zip(workers, rates):
                worker.stdin.write("\n")
                worker.stdin.flush()
                found.append(float(worker.stdout.readline()))
        for worker in workers:
            worker.stdin.close()
            worker.wait()
        middle = [statistics.median(found) for found in rates]
        ratio = statistics.median(last / max(others) for *others, last in zip(*rates))
        rates_text = "  ".join(f"{rate:9.0f}" for rate in middle)
        print(f"{name:<12} {rates_text}   ratio {ratio:.2f}", flush=True)


def main(arguments):
    """Runs what the command line says."""
    if arguments[:1] == ["--compare"]:
        peers = [a for a in arguments[1:] if "=" in a]
        compare(peers, [a for a in arguments[1:] if "=" not in a] or list(PIPELINES))
    elif arguments[:1] == ["--answer"]:
        answer(*arguments[1:])
    else:
        for name in arguments[1:] or list(PIPELINES):
            epoch = epochs(arguments[0], name)
            epoch()
            rate = statistics.median(epoch() for _ in range(3))
            print(f"{name:<12} {rate:9.0f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
