"""One workload of one peer in a process of its own, timed when the driver says so.

usage: python measure.py PEER WORKLOAD    PEER: torch, jax, or a module with TensorFlow 1's API

Reads commands from stdin and answers each with a line of JSON. The peer is built and warmed up once and then
waits, so that the driver can time all peers in turns: what else the machine does then falls on all of them
alike. Runs under Python 3.7 too, for TensorFlow 1.15.

    warm SECONDS   runs it that long: compilers of several tiers need many runs
    time SECONDS   times whole batches for at least that long: microseconds a call
    finish         the process's peak memory in MiB, and its end
"""

import importlib
import json
import os
import resource
import sys
import time


def build(peer, name):
    """The workload, or None where the peer cannot express it."""
    if peer in ("torch", "jax"):
        builder = importlib.import_module("peers_" + peer).BUILDERS.get(name)
        return builder and builder()
    module = importlib.import_module(peer)
    if peer == "tensorflow" and not module.__version__.startswith("1."):
        module = module.compat.v1
        module.disable_v2_behavior()
    from workloads import BUILDERS

    return BUILDERS[name](module)


def warm(work, seconds):
    """Runs it for some time."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        work.step()


def microseconds(work, seconds):
    """Mean over whole batches that take at least so long together."""
    calls, start = 0, time.perf_counter()
    while True:
        for _ in range(work.calls):
            work.step()
        calls += work.calls
        taken = time.perf_counter() - start
        if taken >= seconds:
            return taken / calls * 1e6


def main():
    """Answers the driver's commands until its stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    try:
        work = build(*sys.argv[1:3])
        if work is None:
            answer(missing=True)
            return
        answer(check=work.check())
        for line in sys.stdin:
            command, _, argument = line.strip().partition(" ")
            if command == "warm":
                warm(work, float(argument))
                answer()
            elif command == "time":
                answer(microseconds=microseconds(work, float(argument)))
            else:
                break
        answer(mebibytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    except Exception as error:
        answer(error="{}: {}".format(type(error).__name__, (str(error) or " ").splitlines()[0][:200]))
        raise


if __name__ == "__main__":
    main()
