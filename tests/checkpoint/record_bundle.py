"""Writes the checkpoints of TensorFlow 1.15 that the tests read: run by an interpreter that has it.

python tests/checkpoint/record_bundle.py
"""

import os
import shutil

import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
FOLDER = os.path.join(DATA, "tensorflow")
FIRST = os.path.join(DATA, "first_version")
DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64",
    "complex128",
)  # fmt: skip


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    random = np.random.RandomState(4)
    values = {"of/" + name: (random.standard_normal([2, 3]) * 50).astype(name) for name in DTYPES}
    values["strings"] = np.array([[b"", b"a\0b"], [b"\xff" * 300, "ä".encode()]], object)
    values["empty"] = np.zeros([0, 3], np.float32)
    values["scalar"] = np.array(7.5)
    variables = []
    for number, (name, value) in enumerate(sorted(values.items())):
        with tf.device(f"/cpu:{number % 2}"):
            variables.append(tf.Variable(value, name=name))
    for name, shape, axis, count in (
        ("rows", [200, 2], 0, 3),
        ("columns", [2, 3, 70], 2, 2),
        ("größe", [5], 0, 2),
    ):
        values[name] = random.standard_normal(shape).astype(np.float32)
        pieces = np.array_split(values[name], count, axis)
        for number, piece in enumerate(pieces):
            part = tf.Variable(piece, name=f"part{len(variables)}")
            offsets = [0] * len(shape)
            offsets[axis] = sum(p.shape[axis] for p in pieces[:number])
            part._set_save_slice_info(tf.Variable.SaveSliceInfo(name, shape, offsets, list(piece.shape)))
            variables.append(part)
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver(sharded=True, save_relative_paths=True).save(
            session, os.path.join(FOLDER, "model"), 12, write_meta_graph=False
        )
    np.savez_compressed(
        os.path.join(FOLDER, "values.npz"), **{n: v for n, v in values.items() if n != "strings"}
    )
    print(os.listdir(FOLDER), sum(os.path.getsize(os.path.join(FOLDER, f)) for f in os.listdir(FOLDER)))


def first_version():
    """One file, as TensorFlow's first version wrote it."""
    shutil.rmtree(FIRST, ignore_errors=True)
    os.makedirs(FIRST)
    random = np.random.RandomState(4)
    values = {"of/" + name: (random.standard_normal([2, 3]) * 50).astype(name) for name in DTYPES}
    values["strings"] = np.array([[b"", b"a\0b"], [b"\xff" * 300, "ä".encode()]], object)
    values["empty"] = np.zeros([0, 3], np.float32)
    values["scalar"] = np.array(7.5)
    values["numbers"] = np.array([-1, 0, 1 << 31, -(1 << 63), (1 << 63) - 1], np.int64)
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in sorted(values.items()):
            tf.get_variable(name, initializer=tf.constant(value))
        rows = tf.get_variable(
            "rows",
            [20, 2],
            initializer=tf.random_normal_initializer(seed=1),
            partitioner=tf.fixed_size_partitioner(3),
        )
        session.run(tf.global_variables_initializer())
        values["rows"] = session.run(tf.convert_to_tensor(rows))
        tf.train.Saver(write_version=tf.train.SaverDef.V1, save_relative_paths=True).save(
            session, os.path.join(FIRST, "model.ckpt"), write_meta_graph=False
        )
    np.savez_compressed(
        os.path.join(FIRST, "values.npz"), **{n: v for n, v in values.items() if n != "strings"}
    )


if __name__ == "__main__":
    main()
    first_version()
