"""The cases of `op_cases.py` in one peer's process, built and timed when the driver says so.

usage: python measure_ops.py MODULE    MODULE: one with TensorFlow 1's API

Reads commands from stdin and answers each with a line of JSON, as `measure.py` does. Runs under Python 3.7 too.

    case NAME SIZE DTYPE GRADIENT SECONDS   builds it in place of the one before, and runs it that long
    time SECONDS                            times whole batches for at least that long: microseconds a run
    finish                                  its end
"""

import importlib
import json
import os
import sys
import time

from op_cases import built

LEAST_RUNS = 30
"""So many runs at least before anything is timed: what is hot may be compiled then."""


def load(name):
    """The module; TensorFlow 2 as its compat.v1."""
    module = importlib.import_module(name)
    if name == "tensorflow" and not module.__version__.startswith("1."):
        module = module.compat.v1
        module.disable_v2_behavior()
    return module


def microseconds(run, seconds):
    """Mean over batches that take at least so long together."""
    calls, batch, start = 0, 1, time.perf_counter()
    while True:
        for _ in range(batch):
            run()
        calls += batch
        taken = time.perf_counter() - start
        if taken >= seconds:
            return taken / calls * 1e6
        batch = min(2 * batch, 100)


def warm(run, seconds):
    """Runs it for some time; a run that takes very long is not repeated for the sake of a number."""
    start, runs = time.perf_counter(), 0
    while True:
        run()
        runs += 1
        taken = time.perf_counter() - start
        if (taken >= seconds and runs >= LEAST_RUNS) or taken >= 20 * seconds:
            return


def main():
    """Answers the driver's commands until its stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    module = load(sys.argv[1])
    session = run = None

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    answer(ready=True)
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        try:
            if command == "case":
                name, size, dtype, gradient, seconds = rest.split()
                if session is not None:
                    session.close()
                session = run = None
                found = built(module, name, size, dtype, gradient == "yes")
                if found is None:
                    answer(missing=True)
                    continue
                run, session = found
                warm(run, float(seconds))
                answer(built=True)
            elif command == "time":
                answer(microseconds=microseconds(run, float(rest)))
            else:
                break
        except Exception as error:  # one case that a peer cannot do must not end the others
            answer(error="{}: {}".format(type(error).__name__, str(error).splitlines()[:1]))


if __name__ == "__main__":
    main()
