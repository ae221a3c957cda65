"""What is measured, written once for every module with TensorFlow 1's Python API.

The same file runs under TensorFlow 1.15 (which needs Python 3.7: no newer syntax here), under a current
TensorFlow's `compat.v1` and under graphflow. `peers_torch.py` and `peers_jax.py` do the same work in the
terms of their libraries.

A workload's function builds it and returns a Workload. All draw their data and first weights from `numbers`,
in the same order, so `check` can show that every peer does the same work: its value must agree between them.
"""

import collections
import itertools

import numpy as np

# step:   makes one step, the thing that is timed.
# calls:  how many calls of it a timed batch is made of.
# check:  called once, before anything is timed; returns a number that must be the same for every peer.
Workload = collections.namedtuple("Workload", "step calls check")


def registrar(builders):
    """A decorator that puts a workload's function into `builders` under its name."""

    def register(build):
        builders[build.__name__] = build
        return build

    return register


BUILDERS = {}
workload = registrar(BUILDERS)


def numbers():
    """The source of a workload's data: the same for every peer."""
    return np.random.RandomState(0)


def after_steps(step, loss, steps=3):
    """A check: some steps, then the loss."""

    def check():
        for _ in range(steps):
            step()
        return float(loss())

    return check


def classes(source, count):
    """One-hot rows of ten classes."""
    return np.eye(10, dtype=np.float32)[source.randint(0, 10, count)]


def started(gf):
    """A session whose variables have their first values."""
    session = gf.Session()
    session.run(gf.global_variables_initializer())
    return session


@workload
def run_const(gf):
    """A constant fetched: what a run costs that computes nothing."""
    constant = gf.constant(1.0)
    session = gf.Session()
    return Workload(lambda: session.run(constant), 2000, lambda: float(session.run(constant)))


@workload
def chain1000(gf):
    """1,000 additions of scalars, one after the other: what an op costs that computes almost nothing."""
    x = gf.placeholder(gf.float32, [])
    y = x
    for i in range(1000):
        y = y + float(i % 7)
    session = gf.Session()
    return Workload(lambda: session.run(y, {x: 1.0}), 50, lambda: float(session.run(y, {x: 1.0})))


@workload
def elementwise_1m(gf):
    """Arithmetic over a million values and its sum: memory traffic and vectorised functions."""
    values = gf.Variable(numbers().rand(1000000).astype(np.float32))
    total = gf.reduce_sum(gf.tanh(values * 2.0 + 1.0) * gf.sigmoid(values) - gf.exp(-values))
    session = started(gf)
    return Workload(lambda: session.run(total), 30, lambda: float(session.run(total)))


def perceptron(gf, optimizer, batches=(128,)):
    """A training step of a classifier: 784 inputs, two hidden layers of 256. Batches of these sizes come in turn."""
    source = numbers()
    images = gf.placeholder(gf.float32, [None, 784])
    labels = gf.placeholder(gf.float32, [None, 10])
    sizes = [784, 256, 256, 10]
    hidden = images
    for i in range(3):
        weights = gf.Variable(source.randn(sizes[i], sizes[i + 1]).astype(np.float32) * np.float32(0.1))
        bias = gf.Variable(gf.zeros([sizes[i + 1]]))
        hidden = gf.matmul(hidden, weights) + bias
        if i < 2:
            hidden = gf.nn.relu(hidden)
    losses = gf.nn.softmax_cross_entropy_with_logits_v2(logits=hidden, labels=labels)
    loss = gf.reduce_mean(losses)
    train = optimizer.minimize(loss)
    session = started(gf)
    feeds = [
        {images: source.rand(batch, 784).astype(np.float32), labels: classes(source, batch)}
        for batch in batches
    ]
    turn = itertools.cycle(feeds)

    def step():
        return session.run([train, loss], next(turn))

    calls = 50 if len(feeds) == 1 else len(feeds)
    return Workload(step, calls, after_steps(step, lambda: session.run(loss, feeds[0])))


@workload
def mlp_sgd(gf):
    """The perceptron with gradient descent."""
    return perceptron(gf, gf.train.GradientDescentOptimizer(0.1))


@workload
def mlp_adam(gf):
    """The perceptron with Adam: its update touches four arrays of every variable's size."""
    return perceptron(gf, gf.train.AdamOptimizer(1e-3))


@workload
def mlp_batches(gf):
    """The same with 200 batch sizes from 29 to 228, of 128.5 on average, in turn: what sizes cost that vary."""
    sizes = np.random.RandomState(1).permutation(200) + 29
    return perceptron(gf, gf.train.AdamOptimizer(1e-3), [int(size) for size in sizes])


@workload
def linreg_step(gf):
    """A step of a model of two scalars: nothing but overhead."""
    x = gf.placeholder(gf.float32)
    y = gf.placeholder(gf.float32)
    slope, offset = gf.Variable(0.5), gf.Variable(0.1)
    loss = gf.reduce_sum(gf.pow(x * slope + offset - y, 2)) / (2 * 17)
    train = gf.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = started(gf)
    feed = {x: 1.0, y: 2.0}

    def step():
        return session.run(train, feed)

    return Workload(step, 500, after_steps(step, lambda: session.run(loss, feed)))


@workload
def cnn_step(gf):
    """A step of two convolutions, two poolings and two dense layers on batches of 64 images."""
    source = numbers()
    images = gf.placeholder(gf.float32, [None, 28, 28, 1])
    labels = gf.placeholder(gf.float32, [None, 10])

    def weights(*shape):
        return gf.Variable(source.randn(*shape).astype(np.float32) * np.float32(0.05))

    def layer(inputs, kernel):
        hidden = gf.nn.relu(gf.nn.conv2d(inputs, kernel, [1, 1, 1, 1], "SAME"))
        return gf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    hidden = layer(images, weights(5, 5, 1, 32))
    hidden = layer(hidden, weights(5, 5, 32, 64))
    hidden = gf.nn.relu(gf.matmul(gf.reshape(hidden, [-1, 7 * 7 * 64]), weights(7 * 7 * 64, 1024)))
    logits = gf.matmul(hidden, weights(1024, 10))
    loss = gf.reduce_mean(gf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=labels))
    train = gf.train.AdamOptimizer(1e-3).minimize(loss)
    session = started(gf)
    feed = {images: source.rand(64, 28, 28, 1).astype(np.float32), labels: classes(source, 64)}

    def step():
        return session.run(train, feed)

    return Workload(step, 5, after_steps(step, lambda: session.run(loss, feed)))


@workload
def embedding_step(gf):
    """1,024 of 100,000 rows looked up and updated: sparse gradients."""
    source = numbers()
    table = gf.Variable(source.rand(100000, 64).astype(np.float32))
    ids = gf.placeholder(gf.int32, [None])
    loss = gf.reduce_sum(gf.square(gf.nn.embedding_lookup(table, ids)))
    train = gf.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = started(gf)
    feed = {ids: source.randint(0, 100000, 1024).astype(np.int32)}

    def step():
        return session.run(train, feed)

    return Workload(step, 100, after_steps(step, lambda: session.run(loss, feed)))


@workload
def while_1000(gf):
    """A loop of 1,000 turns of two scalar ops."""
    last = gf.while_loop(
        lambda i, a: i < 1000,
        lambda i, a: (i + 1, a * 1.0001),
        [gf.constant(0), gf.constant(1.0)],
    )
    session = gf.Session()
    return Workload(lambda: session.run(last), 10, lambda: float(session.run(last)[1]))


@workload
def lstm_step(gf):
    """A step of an LSTM of 128 units over 28 rows of 28 inputs, batches of 64, unrolled in the graph."""
    source = numbers()
    images = gf.placeholder(gf.float32, [64, 28, 28])
    labels = gf.placeholder(gf.float32, [64, 10])

    def weights(*shape):
        return gf.Variable(source.randn(*shape).astype(np.float32) * np.float32(0.1))

    from_input, from_state = weights(28, 512), weights(128, 512)
    bias = gf.Variable(gf.zeros([512]))
    to_logits = weights(128, 10)
    state = memory = gf.zeros([64, 128])
    for row in range(28):
        gates = gf.matmul(images[:, row, :], from_input) + gf.matmul(state, from_state) + bias
        enter, new, forget, leave = gf.split(gates, 4, axis=1)
        memory = memory * gf.sigmoid(forget + 1.0) + gf.sigmoid(enter) * gf.tanh(new)
        state = gf.tanh(memory) * gf.sigmoid(leave)
    logits = gf.matmul(state, to_logits)
    loss = gf.reduce_mean(gf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=labels))
    train = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session = started(gf)
    feed = {images: source.rand(64, 28, 28).astype(np.float32), labels: classes(source, 64)}

    def step():
        return session.run([train, loss], feed)

    return Workload(step, 10, after_steps(step, lambda: session.run(loss, feed)))


@workload
def first_run_mlp(gf):
    """From nothing to the first finished step of the perceptron with Adam, in a fresh graph every time."""

    def once():
        with gf.Graph().as_default():
            return perceptron(gf, gf.train.AdamOptimizer(1e-3)).step()

    return Workload(once, 1, lambda: float(once()[1]))
