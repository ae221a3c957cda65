"""Has TensorFlow 1.15 read the checkpoints that graphflow writes in its format.

python tests/checkpoint/read_bundle.py write FOLDER    by an interpreter that has graphflow
python tests/checkpoint/read_bundle.py read FOLDER     by one that has TensorFlow, which says what differs
"""

import os
import sys

import numpy as np

DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64",
    "complex128",
)  # fmt: skip
KEYS, TEXTS = np.array([3, 1 << 40, -7], np.int64), np.array([b"three", b"", b"a\0b"], object)


def values():
    random = np.random.RandomState(4)
    found = {"of/" + name: (random.standard_normal([2, 3]) * 50).astype(name) for name in DTYPES}
    found["strings"] = np.array([[b"", b"a\0b"], [b"\xff" * 300, b"\xc3\xa4"]], object)
    found["empty"] = np.zeros([0, 3], np.float32)
    found["scalar"] = np.array(7.5)
    found["long"] = random.standard_normal([700, 1000]).astype(np.float32)
    found["rows"] = random.standard_normal([200, 2]).astype(np.float32)
    return found


def graph(tf):
    """Variables, a partitioned one, and a table, saved by one Saver of everything."""
    found = values()
    variables = {
        name: tf.get_variable(name, initializer=tf.constant(value), trainable=False)
        for name, value in found.items()
        if name != "rows"
    }
    parts = tf.get_variable(
        "rows",
        [200, 2],
        initializer=tf.constant_initializer(0.0),
        partitioner=tf.fixed_size_partitioner(3),
    )
    pieces = np.array_split(found["rows"], 3)
    fill = [part.assign(piece) for part, piece in zip(parts, pieces)]
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.string, "?", name="table")
    variables["rows"] = tf.convert_to_tensor(parts)
    return variables, fill, table


def write(folder):
    from graphflow import as_tensorflow

    as_tensorflow.install()
    import tensorflow as tf

    _, fill, table = graph(tf)
    noise = tf.random_uniform([2], seed=1)
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([*fill, table.insert(KEYS, TEXTS), noise])
        for step in (1, 2, 3):
            saver.save(session, os.path.join(folder, "model.ckpt"), global_step=step)
    print(sorted(os.listdir(folder)))


def text(path):
    with open(path) as file:
        return file.read()


def read(folder):
    import tensorflow as tf

    wrong = []
    prefix = os.path.join(folder, "model.ckpt-3")
    state = text(os.path.join(folder, "checkpoint"))
    tf.train.update_checkpoint_state(folder, prefix, [os.path.join(folder, "model.ckpt-2"), prefix], "again")
    if state != text(os.path.join(folder, "again")):
        wrong.append("the text of `checkpoint`: " + state)
    if tf.train.latest_checkpoint(folder) != prefix:
        wrong.append("latest_checkpoint")
    expected = values()
    names = set(expected) | {"table-keys", "table-values"}
    if {name for name, _ in tf.train.list_variables(folder)} != names:
        wrong.append("list_variables: " + repr(tf.train.list_variables(folder)))
    reader = tf.train.NewCheckpointReader(prefix)
    variables, _, table = graph(tf)
    with tf.Session() as session:
        tf.train.Saver().restore(session, prefix)
        restored = session.run(variables)
        found = session.run(table.lookup(tf.constant(KEYS)))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(prefix + ".meta").restore(session, prefix)
        if not np.array_equal(session.run("long:0"), expected["long"]):
            wrong.append("restored by the meta graph")
    if found.tolist() != TEXTS.tolist():
        wrong.append("the table: " + repr(found))
    for name, value in expected.items():
        for way, given in (("reader", reader.get_tensor(name)), ("restored", restored[name])):
            given = np.asarray(given)
            same = (
                given.tolist() == value.tolist()
                if value.dtype == object
                else given.tobytes() == value.tobytes()
            )
            if not same or given.shape != value.shape or given.dtype != value.dtype:
                wrong.append(f"{name} by {way}: {given!r}")
    print(f"TensorFlow {tf.__version__} reads all of it" if not wrong else "\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](sys.argv[2])
