"""Programs whose graphs travel between graphflow and TensorFlow 1.15: each builds a graph with either module.

A program returns what to feed, {name of a tensor: value}, and the names of the tensors to fetch. The first two are the
forward part of the MLP and the CNN that the benchmarks train, with fewer units so that the files stay small.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import numpy as np

Program = Callable[[Any], Tuple[Dict[str, Any], List[str]]]
FROZEN: Dict[str, Program] = {}
"""Programs whose variables become constants before the graph is written."""
TRAINED: Dict[str, Program] = {}
"""Programs that are written as meta graphs, with their variables."""


def random() -> Any:
    return np.random.RandomState(0)


def frozen(program: Program) -> Program:
    FROZEN[program.__name__] = program
    return program


def trained(program: Program) -> Program:
    TRAINED[program.__name__] = program
    return program


@frozen
def mlp(tf: Any) -> Any:
    draw = random()
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    h, dims = x, [784, 32, 16, 10]
    for i in range(3):
        w = tf.Variable(draw.randn(dims[i], dims[i + 1]).astype("f") * 0.1)
        b = tf.Variable(tf.zeros([dims[i + 1]]) + 0.1)
        h = tf.matmul(h, w) + b
        if i < 2:
            h = tf.nn.relu(h)
    tf.nn.softmax(h, name="probabilities")
    tf.argmax(h, 1, name="classes")
    return {"x:0": draw.rand(4, 784).astype("f")}, ["probabilities:0", "classes:0"]


@frozen
def cnn(tf: Any) -> Any:
    draw = random()

    def weights(*shape: int) -> Any:
        return tf.Variable(draw.randn(*shape).astype("f") * 0.2)

    x = tf.placeholder(tf.float32, [None, 28, 28, 1], name="x")
    h = tf.nn.relu(tf.nn.conv2d(x, weights(5, 5, 1, 4), [1, 1, 1, 1], "SAME"))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.nn.relu(tf.nn.conv2d(h, weights(5, 5, 4, 8), [1, 1, 1, 1], "SAME"))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.nn.relu(tf.matmul(tf.reshape(h, [-1, 7 * 7 * 8]), weights(7 * 7 * 8, 16)))
    tf.matmul(h, weights(16, 10), name="logits")
    return {"x:0": draw.rand(3, 28, 28, 1).astype("f")}, ["logits:0"]


@frozen
def branches(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(3.0, name="v")
    y = tf.cond(
        x > 0.0,
        lambda: tf.cond(x > 5.0, lambda: x * v, lambda: tf.constant(7.0)),
        lambda: tf.sin(x) + tf.constant(2.0),
    )
    tf.identity(y + 1.0, name="y")
    tf.identity(tf.gradients(y, [x])[0], name="dx")
    return {"x:0": np.float32(-1.5)}, ["y:0", "dx:0"]


@frozen
def loops(tf: Any) -> Any:
    n = tf.placeholder(tf.int32, [], name="n")
    x = tf.placeholder(tf.float32, [3], name="x")
    v = tf.Variable([0.5, 0.25, 2.0], name="v")

    def body(i: Any, total: Any) -> Any:
        step = tf.cond(i % 2 > 0, lambda: tf.sin(total * v), lambda: total * x)
        return i + 1, step + 0.1

    _, total = tf.while_loop(lambda i, total: i < n, body, [tf.constant(0), x])
    _, grown = tf.while_loop(
        lambda i, rows: i < n,
        lambda i, rows: (i + 1, tf.concat([rows, rows[:1] * 2.0], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    mapped = tf.map_fn(lambda row: tf.reduce_sum(row * row), tf.reshape(grown, [-1, 1]))
    tf.identity(total, name="total")
    tf.identity(grown, name="grown")
    tf.identity(mapped, name="mapped")
    tf.identity(tf.gradients(total, [x])[0], name="dx")
    return {"n:0": np.int32(4), "x:0": np.float32([0.5, 1.0, -1.0])}, [
        "total:0",
        "grown:0",
        "mapped:0",
        "dx:0",
    ]


@frozen
def kinds(tf: Any) -> Any:
    """Constants of every dtype, strings, empty and large ones, and attributes of every kind."""
    draw = random()
    made = []
    for dtype in (
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "bool",
    ):
        made.append(tf.constant(draw.randint(0, 3, [2, 3]).astype(dtype), name=dtype))
        made.append(tf.constant(np.asarray(1, dtype), name=dtype + "_scalar"))
    made.append(tf.constant((draw.randn(3) + 1j * draw.randn(3)).astype("complex64"), name="complex64"))
    made.append(tf.constant(1 - 2j, tf.complex128, name="complex128"))
    made.append(tf.constant([[b"a", b"\xff\x00"], [b"", b"long" * 20]], name="texts"))
    made.append(tf.constant([], tf.float32, shape=[0, 3], name="empty"))
    made.append(tf.split(tf.constant(np.arange(6), tf.int64), 3, name="split")[1])
    made.append(tf.stack([made[1], made[1]], axis=0, name="stacked"))
    made.append(tf.strings.join(["x", made[-4]], separator="-", name="joined"))
    made.append(tf.nn.top_k(tf.constant([1.0, 3.0, 2.0]), 2, name="top").indices)
    return {}, [t.name for t in made]


@frozen
def pipeline(tf: Any) -> Any:
    """A dataset, whose functions lie in the library of the graph."""
    dataset = tf.data.Dataset.range(8).map(lambda i: (i * 3, tf.cast(i, tf.float32) + 0.5))
    dataset = dataset.filter(lambda a, b: tf.equal(a % 2, 0))
    dataset = dataset.flat_map(lambda a, b: tf.data.Dataset.range(a).map(lambda c: (c, b)))
    a, b = dataset.batch(100).make_one_shot_iterator().get_next()
    return {}, [tf.identity(a, name="a").name, tf.identity(b, name="b").name]


@trained
def momentum(tf: Any) -> Any:
    draw = random()
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    y = tf.placeholder(tf.float32, [None, 3], name="y")
    w = tf.get_variable("w", initializer=tf.constant(draw.randn(8, 3).astype("f")))
    b = tf.get_variable("b", initializer=tf.zeros([3]))
    loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) + b) - y), name="loss")
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 2, 0.5, name="rate")
    tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step, name="train")
    tf.add_to_collection("results", loss)
    feeds = {"x:0": draw.rand(5, 8).astype("f"), "y:0": draw.rand(5, 3).astype("f")}
    return feeds, ["loss:0", "w:0", "global_step:0", "rate:0"]


@trained
def resource(tf: Any) -> Any:
    """The same kind of program with what TensorFlow calls resource variables."""
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.variable_scope("scope", use_resource=True):
        w = tf.get_variable("w", initializer=tf.constant([1.0, -2.0]))
        rows = tf.get_variable("rows", initializer=tf.constant([[1.0], [2.0], [3.0]]))
    picked = tf.nn.embedding_lookup(rows, [2, 0])
    loss = tf.reduce_sum(tf.square(w * x) + tf.square(picked), name="loss")
    tf.train.AdamOptimizer(0.1).minimize(loss, name="train")
    tf.add_to_collection("results", loss)
    return {"x:0": np.float32([0.5, 2.0])}, ["loss:0", "scope/w/Read/ReadVariableOp:0"]
