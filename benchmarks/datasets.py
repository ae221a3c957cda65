"""Elements a second of input pipelines as programs write them (dataset_programs.py), and the processor's time.

usage: python benchmarks/datasets.py PYTHON=MODULE ... [program ...]     MODULE: tensorflow or graphflow

Each PYTHON runs MODULE in a process of its own; the processes are timed in turns, so that what else the machine does
falls on all alike. Printed are, for each, elements a second and CPU microseconds an element, and the ratio of the last
one's time to the fastest other's, for instance

    python benchmarks/datasets.py tf115/bin/python=tensorflow python=graphflow

The python that runs this needs graphflow and Pillow, to write the files. Valid under Python 3.7 too, for TensorFlow
1.15, which answers with it.
"""

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROUNDS = 5
WARM_SECONDS = 4.0
SECONDS = 0.6


# ---- the files ------------------------------------------------------------------------------------------------------


def write_files(folder, scale=1.0):
    """The files that the programs read; scale: how many elements they have, beside the usual number."""
    from PIL import Image

    import graphflow as gf

    draw = np.random.RandomState(0)

    def write(name, count, make):
        with gf.python_io.TFRecordWriter(os.path.join(folder, name)) as writer:
            for number in range(max(2, int(count * scale))):
                writer.write(make(number).SerializeToString())

    def numbers(values):
        return gf.train.Feature(int64_list=gf.train.Int64List(value=values))

    def floats(values):
        return gf.train.Feature(float_list=gf.train.FloatList(value=values))

    def strings(*values):
        return gf.train.Feature(bytes_list=gf.train.BytesList(value=values))

    def message(**features):
        return gf.train.Example(features=gf.train.Features(feature=features))

    def picture(height, width):
        rough = Image.fromarray(draw.randint(0, 256, (height // 8, width // 8, 3)).astype(np.uint8))
        return rough.resize((width, height), Image.BICUBIC)

    def jpeg(number):
        path = os.path.join(folder, "one.jpg")
        picture(128, 160).save(path, quality=90)
        with open(path, "rb") as file:
            return message(image=strings(file.read()), label=numbers([number % 10]))

    def digit(number):
        return message(image_raw=strings(draw.bytes(784)), label=numbers([number % 10]))

    def row(number):
        features = {"x%d" % n: floats([draw.uniform()]) for n in range(13)}
        features.update({"c%d" % n: strings(b"%08x" % draw.randint(1 << 20)) for n in range(8)})
        ids = draw.randint(0, 100000, draw.randint(1, 12)).tolist()
        return message(
            ids=numbers(ids), embedding=floats(draw.uniform(size=16)), label=numbers([number % 2]), **features
        )

    def sequence(number):
        length = int(draw.randint(5, 60))
        tokens = [numbers([int(n)]) for n in draw.randint(0, 10000, length)]
        return gf.train.SequenceExample(
            context=gf.train.Features(feature={"length": numbers([length])}),
            feature_lists=gf.train.FeatureLists(
                feature_list={"tokens": gf.train.FeatureList(feature=tokens)}
            ),
        )

    for part in range(2):
        write("jpeg%d.tfrecord" % part, 64, jpeg)
        write("table%d.tfrecord" % part, 1000, row)
    write("mnist.tfrecord", 2000, digit)
    write("sequences.tfrecord", 1000, sequence)
    for number in range(max(2, int(32 * scale))):
        picture(96, 96).save(os.path.join(folder, "%d.png" % number))
    with open(os.path.join(folder, "table.csv"), "w") as file:
        file.write(",".join("x%d" % n for n in range(10)) + ",label\n")
        for number in range(max(2, int(2000 * scale))):
            file.write(",".join("%.6f" % x for x in draw.normal(size=10)) + ",%d\n" % (number % 2))
    with open(os.path.join(folder, "words.txt"), "w") as file:
        for _ in range(max(2, int(1000 * scale))):
            file.write(" ".join("%d" % n for n in draw.randint(0, 5000, draw.randint(3, 30))) + "\n")


# ---- measuring ------------------------------------------------------------------------------------------------------


def load(name):
    """The module, with TensorFlow 1's interface."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    module = importlib.import_module(name)
    if name == "tensorflow" and not module.__version__.startswith("1."):
        module = module.compat.v1
        module.disable_v2_behavior()
    return module


def round_of(module, name, folder):
    """A function (seconds) that reads for so long; elements and CPU seconds, each a second of wall time."""
    from dataset_programs import PROGRAMS

    tf = load(module)
    tf.set_random_seed(1)
    found = PROGRAMS[name](tf, folder)
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    session = tf.Session()
    tf.train.start_queue_runners(session, tf.train.Coordinator())

    def measure(seconds):
        elements, start, cpu = 0, time.perf_counter(), time.process_time()
        while True:
            session.run(found)
            elements += 1
            took = time.perf_counter() - start
            if took > seconds:
                break
        size = np.shape(session.run(found[0]))
        each = size[0] if size else 1
        return elements * each / took, (time.process_time() - cpu) / (elements * each)

    return measure


def answer(module, name, folder):
    """Measures once for each line of stdin, and prints elements a second and CPU seconds an element."""
    measure = round_of(module, name, folder)
    measure(WARM_SECONDS)
    print("ready", flush=True)
    for _ in sys.stdin:
        print("%.3f %.9f" % measure(SECONDS), flush=True)


def started(peer, name, folder):
    """A process that answers for PYTHON=MODULE."""
    python, _, module = peer.partition("=")
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [".", here] + os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return subprocess.Popen(
        [python, os.path.abspath(__file__), "--answer", module, name, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("VERBOSE") else subprocess.DEVNULL,
        universal_newlines=True,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(paths)),
    )


def compare(peers, name, folder):
    """Times all peers in turns, and prints a line."""
    workers = []
    try:
        for peer in peers:
            workers.append(started(peer, name, folder))
            while workers[-1].stdout.readline().strip() != "ready":
                if workers[-1].poll() is not None:
                    print("%-18s %s failed" % (name, peer), flush=True)
                    return
        found = [[] for _ in workers]
        for _ in range(ROUNDS):
            for worker, rows in zip(workers, found):
                worker.stdin.write("\n")
                worker.stdin.flush()
                rows.append(tuple(map(float, worker.stdout.readline().split())))
    finally:
        for worker in workers:
            worker.stdin.close()
            worker.wait()
    rates = [statistics.median(rate for rate, _ in rows) for rows in found]
    cpu = [statistics.median(seconds for _, seconds in rows) for rows in found]
    text = "  ".join("%9.0f %8.1f" % (rate, 1e6 * seconds) for rate, seconds in zip(rates, cpu))
    last = (
        " | time %5.2f  cpu %5.2f" % (max(rates[:-1]) / rates[-1], cpu[-1] / min(cpu[:-1]))
        if rates[1:]
        else ""
    )
    print("%-18s %s%s" % (name, text, last), flush=True)


def main(arguments):
    """Runs what the command line says."""
    from dataset_programs import PROGRAMS

    if arguments[:1] == ["--answer"]:
        answer(*arguments[1:])
        return
    peers = [a for a in arguments if "=" in a]
    names = [a for a in arguments if "=" not in a] or list(PROGRAMS)
    print("%-18s %s" % ("", "  ".join("%-18s" % peer[-18:] for peer in peers)))
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder)
        for name in names:
            compare(peers, name, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
