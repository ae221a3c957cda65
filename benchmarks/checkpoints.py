"""Measures saving and restoring a large checkpoint, in graphflow and both TensorFlows, in one run.

usage: python benchmarks/checkpoints.py [--megabytes 1000] [--folder /dev/shm] [--peers ...]

The same lines build and save the model in every peer. Each is in a process of its own; they take turns, and a ratio
is the median over the rounds. On tmpfs syncing costs nothing, so all do the same work there; on a disk graphflow
syncs every file before it counts, and the others do not.
"""

import argparse
import importlib
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

WHAT = {
    "save": "save",
    "steps": "save the next step, remove the one before",
    "restore": "restore into a new session",
    "again": "restore over values that are there",
    "checksum": "graphflow's checksums alone",
}
LIMIT = 1.5  # times the bytes per second of the faster TensorFlow


def sizes(total):
    """Numbers of float32 that make so many bytes: a third in two matrices, ever more smaller ones, and 200 vectors."""
    found = [100] * 200
    left, part = total // 4 - sum(found), total // 24
    while left > part:
        found += [part] * min(max(2, 2 * (len(found) - 200)), left // part)
        left = total // 4 - sum(found)
        part = max(part // 3, 50_000)
    return [*found, left]


def work(peer, folder, total):
    """The functions that a worker times, by name, and the bytes they move."""
    gf = importlib.import_module(peer)
    if peer == "tensorflow" and not gf.__version__.startswith("1."):
        gf = gf.compat.v1
        gf.disable_v2_behavior()
    variables = []
    for number, size in enumerate(sizes(total)):
        shape = [size // 100, 100] if size % 100 == 0 else [size]
        variables.append(
            gf.get_variable(f"v{number}", shape, gf.float32, gf.random_uniform_initializer(seed=1))
        )
    saver = gf.train.Saver()
    prefix = os.path.join(folder, "model")
    session = gf.Session()
    session.run(gf.global_variables_initializer())

    def save():
        saver.save(session, prefix, write_meta_graph=False)

    def restore():
        with gf.Session() as other:
            saver.restore(other, prefix)

    numbered = gf.train.Saver(max_to_keep=1)
    steps = itertools.count()

    def save_step():
        numbered.save(session, os.path.join(folder, "step"), next(steps), write_meta_graph=False)

    functions = {
        "save": save,
        "steps": save_step,
        "restore": restore,
        "again": lambda: saver.restore(session, prefix),
    }
    if peer == "graphflow":
        from graphflow._core.checkpoint.reader import open_checkpoint

        functions["checksum"] = lambda: open_checkpoint(prefix).verify()
    return functions, 4 * sum(v.shape.num_elements() for v in variables)


def serve(peer, folder, total):
    """Answers each name of a function that comes in with the seconds it took."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    functions, moved = work(peer, folder, total)

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    answer(bytes=moved, names=list(functions))
    for line in sys.stdin:
        start = time.perf_counter()
        functions[line.strip()]()
        answer(seconds=time.perf_counter() - start)


def touch_memory(total):
    """Takes and frees memory: on a virtual machine the first use of a page that lay idle is slow, whoever does it."""
    del [bytearray(b"\1") * (1 << 20) for _ in range(total >> 20)][:]


def measure(workers, rounds, total):
    """Gigabytes per second, a list with one for each round, by (what, peer). The first round warms up."""
    moved = {}
    for name, worker in workers.items():
        moved[name] = worker.answer()
    speeds = {}
    for number in range(rounds + 1):
        for what in WHAT:
            for name, worker in workers.items():
                if what in moved[name]["names"]:
                    touch_memory(2 * total)
                    taken = worker.ask(what)["seconds"]
                    if number:
                        speeds.setdefault((what, name), []).append(moved[name]["bytes"] / taken / 1e9)
    return speeds


def ratio(speeds, what, tensorflows):
    """Graphflow's speed to that of the faster TensorFlow; None where there is nothing to compare."""
    theirs = [speeds[what, name] for name in tensorflows if (what, name) in speeds]
    ours = speeds.get((what, "graphflow"), [])
    if not ours or not theirs:
        return None
    return statistics.median(mine / max(round_) for mine, *round_ in zip(ours, *theirs))


def main():
    """Prints the table; the exit code is 1 where a limit is broken."""
    from pathlib import Path

    from compare import PEERS, PROJECT, TENSORFLOWS, Worker, prepare

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["graphflow", *TENSORFLOWS]
    parser.add_argument("--peers", nargs="+", choices=names, default=names, help="default: all")
    parser.add_argument("--venv-dir", type=Path, default=PROJECT / ".bench", help="the peers' environments")
    parser.add_argument("--megabytes", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--folder", default="/dev/shm", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    options = parser.parse_args()
    environments = {name: prepare(name, options.venv_dir.absolute()) for name in options.peers}
    folder = tempfile.mkdtemp(dir=options.folder)
    workers = {}
    try:
        for name, python in environments.items():
            if python:
                place = os.path.join(folder, name)
                os.mkdir(place)
                size = str(options.megabytes * 1_000_000)
                command = [__file__, "--serve", PEERS[name].module, place, size]
                workers[name] = Worker(python, PEERS[name].module, command, 600.0)
        speeds = measure(workers, options.rounds, options.megabytes * 1_000_000)
    finally:
        for worker in workers.values():
            worker.close()
        shutil.rmtree(folder)
    titles = [f"{options.megabytes} MB in {options.folder}", *(f"{name} GB/s" for name in workers), "ratio"]
    rows = [titles, ["---"] * len(titles)]
    broken = False
    for what, described in WHAT.items():
        typical = {n: f"{statistics.median(speeds[what, n]):.2f}" for n in workers if (what, n) in speeds}
        found = ratio(speeds, what, TENSORFLOWS)
        broken = broken or (found is not None and found < LIMIT)
        told = "-" if found is None else f"{found:.2f}"
        rows.append([described, *(typical.get(name, "-") for name in workers), told])
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return 1 if broken else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        sys.exit(main())
