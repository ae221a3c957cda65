"""A model of the zoo trained by one peer in a process of its own, from its first line on, as the driver asks.

usage: python measure_zoo.py MODULE MODEL    MODULE: one with TensorFlow 1's API; MODEL: a file of tests/zoo/models

Reads commands from stdin and answers each with a line of JSON, as `measure.py` does. Runs under Python 3.7 too.

    start         builds the model, initializes it and makes 100 steps: seconds from the beginning to the 10th and the
                  100th step, and seconds of processor time for all of it
    warm SECONDS  steps for that long
    time SECONDS  steps for at least that long: microseconds and microseconds of processor time a step
    check         builds and initializes it and makes 48 steps: how many numbers are trained, and the means of the
                  losses over the first eight steps and over the last
    finish        peak memory in MiB, and the end
"""

import json
import os
import resource
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import numpy as np  # noqa: E402
from measure_ops import load  # noqa: E402

from tests.zoo import programs  # noqa: E402

FEW, STEPS = 10, 100
DIFFERENT, CHECKED = 8, 48
"""So many batches are made beforehand and fed in turn: drawing them is not what is measured."""


def processor_seconds():
    """User and system time of this process and of those that it has ended."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


class Training:
    """A model, built and initialized in a session of its own."""

    def __init__(self, tf, name):
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(programs.GRAPH_SEED)
            built = programs.architecture(name).build(tf, np.random.RandomState(1))
            losses = [loss[0] if isinstance(loss, tuple) else loss for loss in built["losses"].values()]
            self.first = [losses, built["train"][0]]
            self.others = built["train"][1:]
            shapes = [variable.shape.as_list() for variable in tf.trainable_variables()]
            self.session = tf.Session()
            self.session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        self.feeds = [built["feeds"](step) for step in range(DIFFERENT)]
        self.steps, self.losses = 0, []
        self.parameters = int(sum(np.prod(shape) for shape in shapes))

    def step(self):
        """One step: the losses with the first operation, then the others."""
        feeds = self.feeds[self.steps % DIFFERENT]
        self.steps += 1
        self.losses = self.session.run(self.first, feeds)[0]
        for operation in self.others:
            self.session.run(operation, feeds)


def several(training, seconds):
    """Steps for at least that long; the steps and the seconds that they took."""
    count, start = 0, time.perf_counter()
    while True:
        training.step()
        count += 1
        taken = time.perf_counter() - start
        if taken >= seconds:
            return count, taken


def checked(training):
    """What `check` answers."""
    losses = []
    for _ in range(CHECKED):
        training.step()
        losses.append([float(loss) for loss in training.losses])
    first, last = np.mean(losses[:DIFFERENT], 0).tolist(), np.mean(losses[-DIFFERENT:], 0).tolist()
    return {"parameters": training.parameters, "first": first, "last": last}


def serve(build):
    """Answers the driver's commands until its stdin ends, with a training that a function builds."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    training = None
    answer(ready=True)
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        try:
            if command == "start":
                begun, spent = time.perf_counter(), processor_seconds()
                training = build()
                for _ in range(FEW):
                    training.step()
                few = time.perf_counter() - begun
                for _ in range(STEPS - FEW):
                    training.step()
                whole = time.perf_counter() - begun
                answer(few=few, whole=whole, processor=processor_seconds() - spent)
            elif command == "warm":
                several(training, float(rest))
                answer(warm=True)
            elif command == "time":
                spent = processor_seconds()
                count, taken = several(training, float(rest))
                used = (processor_seconds() - spent) / count
                answer(microseconds=taken / count * 1e6, processor=used * 1e6)
            elif command == "check":
                answer(**checked(build()))
            else:
                answer(mebibytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
                break
        except Exception as error:  # a model that a peer cannot do must not end the driver
            answer(error=f"{type(error).__name__}: {str(error).splitlines()[:1]}")


def main():
    """Serves a model of the zoo."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    module = load(sys.argv[1])
    serve(lambda: Training(module, sys.argv[2]))


if __name__ == "__main__":
    main()
