"""Writes the SavedModel of TensorFlow 1.15 that the tests load: run by an interpreter that has it.

python tests/saved_model/record.py
"""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "tensorflow")


def counted(shape, dtype=None, partition_info=None):
    """0, 0.25, 0.5 and so on over the whole variable."""
    begin = partition_info.var_offset[0] * shape[1]
    return tf.constant(np.arange(begin, begin + np.prod(shape)).reshape(shape) / 4.0, dtype)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.chdir(tempfile.mkdtemp())
    with open("words.txt", "w") as file:
        file.write("one two")
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    hidden = tf.layers.dense(
        x, 4, tf.nn.relu, kernel_initializer=tf.constant_initializer(np.arange(12) / 8.0 - 0.5)
    )
    partitioned = tf.get_variable(
        "parts", [4, 2], initializer=counted, partitioner=tf.fixed_size_partitioner(2)
    )
    scores = tf.add(tf.matmul(hidden, partitioned), [0.5, -0.5], name="scores")
    step = tf.train.get_or_create_global_step()
    path = tf.constant("words.txt", name="path")
    text = tf.Variable("", collections=[tf.GraphKeys.LOCAL_VARIABLES], name="text")
    read = tf.group(text.assign(tf.read_file(path)), name="read")
    answer = tf.string_join([text, " three"], name="answer")
    signature = tf.saved_model.predict_signature_def({"x": x}, {"scores": scores, "answer": answer})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step.assign(1234))
        builder = tf.saved_model.Builder(FOLDER)
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, assets_collection=[path], main_op=read
        )
        builder.save()
        value = session.run(scores, {x: [[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]]})
    np.save(os.path.join(FOLDER, "scores.npy"), value)
    print(value, sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(FOLDER) for f in fs))


if __name__ == "__main__":
    main()
