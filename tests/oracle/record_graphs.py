"""Graphs that TensorFlow 1.15 wrote, and what it computes with them; and whether it reads graphflow's.

    oracle/bin/python tests/oracle/record_graphs.py          # writes tests/interop/recorded/
    python -m tests.oracle.write_graphs FOLDER               # graphflow writes its graphs of the same programs
    oracle/bin/python tests/oracle/record_graphs.py FOLDER   # TensorFlow reads those, and compares the numbers

See record.py for where `oracle` comes from.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
RECORDED = os.path.join(HERE, os.pardir, "interop", "recorded")

import graph_programs  # noqa: E402
import numpy as np  # noqa: E402


def save(name: str, feeds: Any, fetched: Any) -> None:
    arrays = {"feed " + key: value for key, value in feeds.items()}
    arrays.update({"fetch " + key: value for key, value in fetched.items()})
    texts = {}
    for key, value in list(arrays.items()):
        array = np.asarray(value)
        if array.dtype == object:
            texts[key] = array
            arrays[key] = np.array([t.hex() for t in array.reshape(-1)]).reshape(array.shape)
    np.savez_compressed(os.path.join(RECORDED, name + ".npz"), **arrays)


def record(tf: Any) -> None:
    for name, program in graph_programs.FROZEN.items():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            feeds, fetches = program(tf)
            session.run(tf.global_variables_initializer())
            results = dict(zip(fetches, session.run(fetches, feeds)))
            outputs = sorted({f.split(":")[0] for f in fetches})
            graph_def = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), outputs)
        with open(os.path.join(RECORDED, name + ".pb"), "wb") as file:
            file.write(graph_def.SerializeToString(deterministic=True))
        save(name, feeds, results)
    for name, program in graph_programs.TRAINED.items():
        with tf.Graph().as_default(), tf.Session() as session:
            feeds, fetches = program(tf)
            session.run(tf.global_variables_initializer())
            results = []
            for _ in range(3):
                results.append(session.run(fetches, feeds))
                session.run("train", feeds)
            saver = tf.train.Saver()
            meta_graph = saver.export_meta_graph()
        with open(os.path.join(RECORDED, name + ".meta"), "wb") as file:
            file.write(meta_graph.SerializeToString(deterministic=True))
        save(name, feeds, {k: np.stack([r[i] for r in results]) for i, k in enumerate(fetches)})


def check(tf: Any, folder: str) -> int:
    """Loads what graphflow wrote of the same programs; the number of failures."""
    failures = 0
    for name in sorted(os.listdir(folder)):
        base, kind = os.path.splitext(name)
        if kind not in (".pb", ".meta"):
            continue
        recorded = np.load(os.path.join(folder, base + ".npz"))
        feeds = {k[5:]: recorded[k] for k in recorded.files if k.startswith("feed ")}
        expected = {k[6:]: recorded[k] for k in recorded.files if k.startswith("fetch ")}
        try:
            with tf.Graph().as_default(), tf.Session() as session:
                if kind == ".pb":
                    graph_def = tf.GraphDef()
                    with open(os.path.join(folder, name), "rb") as file:
                        graph_def.ParseFromString(file.read())
                    tf.import_graph_def(graph_def, name="")
                    got = session.run(list(expected), feeds)
                else:
                    tf.train.import_meta_graph(os.path.join(folder, name))
                    session.run(tf.global_variables_initializer())
                    rounds = []
                    for _ in range(3):
                        rounds.append(session.run(list(expected), feeds))
                        session.run("train", feeds)
                    got = [np.stack([r[i] for r in rounds]) for i in range(len(expected))]
            for (key, value), result in zip(expected.items(), got):
                result = np.asarray(result)
                if result.dtype == object:
                    result = np.array([t.hex() for t in result.reshape(-1)]).reshape(result.shape)
                    np.testing.assert_array_equal(result, value, err_msg=key)
                else:
                    np.testing.assert_allclose(result, value, 1e-5, 1e-6, err_msg=key)
            print("ok", base)
        except Exception as error:
            failures += 1
            print("FAILED", base, type(error).__name__, str(error)[:2000])
    return failures


def main() -> int:
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.FATAL)
    if len(sys.argv) > 1:
        return check(tf, sys.argv[1])
    os.makedirs(RECORDED, exist_ok=True)
    record(tf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
