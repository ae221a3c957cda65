"""The workloads in JAX, as its users write them: pure functions under `jit`, training state donated.

Nothing that another peer computes in a run may be computed at compile time here: what a step works on is an
argument.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from workloads import Workload, after_steps, classes, numbers, registrar

BUILDERS = {}
workload = registrar(BUILDERS)


def cross_entropy(logits, labels):
    """The mean over the batch."""
    return -jnp.mean(jnp.sum(labels * jax.nn.log_softmax(logits), axis=-1))


def descent(rate):
    """Gradient descent: its state's first value, and its update."""

    def update(parameters, gradients, state):
        return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients), state

    return (lambda parameters: ()), update


def adam(rate=1e-3, decay=0.9, square_decay=0.999, epsilon=1e-8):
    """Adam, in the form that the other peers compute."""

    def first(parameters):
        zeros = functools.partial(jax.tree.map, jnp.zeros_like)
        return jnp.zeros(()), zeros(parameters), zeros(parameters)

    def update(parameters, gradients, state):
        count, means, squares = state
        count = count + 1
        means = jax.tree.map(lambda m, g: decay * m + (1 - decay) * g, means, gradients)
        squares = jax.tree.map(lambda s, g: square_decay * s + (1 - square_decay) * g * g, squares, gradients)
        size = rate * jnp.sqrt(1 - square_decay**count) / (1 - decay**count)
        parameters = jax.tree.map(
            lambda p, m, s: p - size * m / (jnp.sqrt(s) + epsilon), parameters, means, squares
        )
        return parameters, (count, means, squares)

    return first, update


def training(loss, parameters, optimizer, feed, calls, fetch):
    """A workload of training steps; `fetch` says whether each step hands its loss to the caller."""
    first, update = optimizer
    parameters = jax.tree.map(jnp.array, parameters)
    state = first(parameters)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def train(parameters, state, *feed):
        value, gradients = jax.value_and_grad(loss)(parameters, *feed)
        return *update(parameters, gradients, state), value

    def step():
        nonlocal parameters, state
        parameters, state, value = train(parameters, state, *feed)
        return float(value) if fetch else jax.block_until_ready(parameters)

    return Workload(step, calls, after_steps(step, lambda: jax.jit(loss)(parameters, *feed)))


@workload
def run_const():
    """A compiled function without arguments, its result handed to the caller as an array."""
    constant = jax.jit(lambda: jnp.float32(1.0))
    return Workload(lambda: np.asarray(constant()), 2000, lambda: float(constant()))


@workload
def chain1000():
    """The chain is traced once, and compiled."""

    @jax.jit
    def chain(y):
        for i in range(1000):
            y = y + float(i % 7)
        return y

    def step():
        return float(chain(1.0))

    return Workload(step, 50, step)


@workload
def elementwise_1m():
    """The values are an argument that lies on the device."""
    values = jnp.array(numbers().rand(1000000).astype(np.float32))

    @jax.jit
    def total(values):
        return jnp.sum(jnp.tanh(values * 2.0 + 1.0) * jax.nn.sigmoid(values) - jnp.exp(-values))

    def step():
        return float(total(values))

    return Workload(step, 30, step)


def perceptron(optimizer, batch=128):
    """A list of (weights, bias)."""
    source = numbers()
    sizes = [784, 256, 256, 10]
    parameters = []
    for i in range(3):
        weights = source.randn(sizes[i], sizes[i + 1]).astype(np.float32) * np.float32(0.1)
        parameters.append((weights, np.zeros(sizes[i + 1], np.float32)))

    def loss(parameters, images, labels):
        hidden = images
        for weights, bias in parameters[:-1]:
            hidden = jax.nn.relu(hidden @ weights + bias)
        weights, bias = parameters[-1]
        return cross_entropy(hidden @ weights + bias, labels)

    feed = source.rand(batch, 784).astype(np.float32), classes(source, batch)
    return training(loss, parameters, optimizer, feed, 50, fetch=True)


@workload
def mlp_sgd():
    """The perceptron with gradient descent."""
    return perceptron(descent(0.1))


@workload
def mlp_adam():
    """The perceptron with Adam."""
    return perceptron(adam())


@workload
def linreg_step():
    """Two scalar parameters."""

    def loss(parameters, x, y):
        slope, offset = parameters
        return jnp.sum((x * slope + offset - y) ** 2) / (2 * 17)

    return training(loss, (0.5, 0.1), descent(0.01), (1.0, 2.0), 500, fetch=False)


@workload
def cnn_step():
    """Lax's convolutions and pooling windows."""
    source = numbers()

    def weights(*shape):
        return source.randn(*shape).astype(np.float32) * np.float32(0.05)

    def layer(inputs, kernel):
        layout = ("NHWC", "HWIO", "NHWC")
        hidden = lax.conv_general_dilated(inputs, kernel, (1, 1), "SAME", dimension_numbers=layout)
        return lax.reduce_window(jax.nn.relu(hidden), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")

    def loss(parameters, images, labels):
        first, second, hidden_weights, last = parameters
        hidden = layer(layer(images, first), second).reshape(-1, 7 * 7 * 64)
        return cross_entropy(jax.nn.relu(hidden @ hidden_weights) @ last, labels)

    parameters = [weights(5, 5, 1, 32), weights(5, 5, 32, 64), weights(7 * 7 * 64, 1024), weights(1024, 10)]
    feed = source.rand(64, 28, 28, 1).astype(np.float32), classes(source, 64)
    return training(loss, parameters, adam(), feed, 5, fetch=False)


@workload
def embedding_step():
    """The table is an ordinary array: its gradient is a scatter into zeros."""
    source = numbers()
    table = source.rand(100000, 64).astype(np.float32)
    ids = source.randint(0, 100000, 1024).astype(np.int32)
    return training(lambda t, ids: jnp.sum(t[ids] ** 2), table, descent(0.01), (ids,), 100, fetch=False)


@workload
def while_1000():
    """lax.while_loop."""

    @jax.jit
    def loop(a):
        return lax.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] * 1.0001), (0, a))[1]

    def step():
        return float(loop(1.0))

    return Workload(step, 10, step)


@workload
def lstm_step():
    """lax.scan over the rows."""
    source = numbers()

    def weights(*shape):
        return source.randn(*shape).astype(np.float32) * np.float32(0.1)

    def loss(parameters, images, labels):
        from_input, from_state, bias, to_logits = parameters

        def cell(carried, row):
            state, memory = carried
            gates = row @ from_input + state @ from_state + bias
            enter, new, forget, leave = jnp.split(gates, 4, axis=1)
            memory = memory * jax.nn.sigmoid(forget + 1.0) + jax.nn.sigmoid(enter) * jnp.tanh(new)
            return (jnp.tanh(memory) * jax.nn.sigmoid(leave), memory), None

        zeros = jnp.zeros((64, 128))
        (state, _), _ = lax.scan(cell, (zeros, zeros), images.transpose(1, 0, 2))
        return cross_entropy(state @ to_logits, labels)

    first = [weights(28, 512), weights(128, 512), np.zeros(512, np.float32), weights(128, 10)]
    feed = source.rand(64, 28, 28).astype(np.float32), classes(source, 64)
    return training(loss, first, descent(0.1), feed, 10, fetch=True)


@workload
def first_run_mlp():
    """Traced and compiled anew every time."""

    def once():
        return perceptron(adam()).step()

    return Workload(once, 1, once)
