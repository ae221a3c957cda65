"""Neural Turing machine on the copy task."""

import numpy as np

SLOTS, WIDTH, UNITS, BITS, BATCH, STEPS = 5, 4, 6, 3, 2, 2


def circular(tf, weights, shift):
    """Convolution of an address with a distribution over the shifts -1, 0 and 1, around the memory."""
    ahead = tf.concat([weights[:, 1:], weights[:, :1]], 1)
    behind = tf.concat([weights[:, -1:], weights[:, :-1]], 1)
    turned = [ahead, weights, behind]
    return tf.add_n([shift[:, i : i + 1] * turned[i] for i in range(3)])


def address(tf, parameters, memory, before):
    """Content, gate, shift and sharpening."""
    key, rest = tf.tanh(parameters[:, :WIDTH]), parameters[:, WIDTH:]
    beta, gate = tf.nn.softplus(rest[:, 0:1]) + 1, tf.sigmoid(rest[:, 1:2])
    shift, gamma = tf.nn.softmax(rest[:, 2:5]), tf.nn.softplus(rest[:, 5:6]) + 1
    norms = tf.norm(memory, axis=2) * tf.norm(key, axis=1, keepdims=True)
    similar = tf.squeeze(tf.matmul(memory, tf.expand_dims(key, 2)), 2) / (norms + 1e-6)
    content = tf.nn.softmax(beta * similar)
    gated = gate * content + (1 - gate) * before
    sharp = tf.pow(circular(tf, gated, shift) + 1e-6, gamma)
    return sharp / tf.reduce_sum(sharp, 1, keepdims=True)


class MachineCell:
    """The controller and its heads as an RNN cell written by hand."""

    def __init__(self, tf):
        self.tf = tf
        self.controller = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
        self.heads = tf.layers.Dense(2 * (WIDTH + 6) + 2 * WIDTH, name="heads")
        self.output = tf.layers.Dense(BITS, name="output")

    def start(self, batch):
        """The state before the first step: all but the memory, which is a variable, zero or even."""
        tf = self.tf
        memory = tf.tile(tf.get_variable("memory", [1, SLOTS, WIDTH]), [batch, 1, 1])
        even = tf.fill([batch, SLOTS], 1.0 / SLOTS)
        return self.controller.zero_state(batch, tf.float32), memory, even, even, tf.zeros([batch, WIDTH])

    def __call__(self, x, state):
        tf = self.tf
        inner, memory, read, write, found = state
        hidden, inner = self.controller(tf.concat([x, found], 1), inner)
        parameters = tf.clip_by_value(self.heads(hidden), -20, 20)
        at = WIDTH + 6
        read = address(tf, parameters[:, :at], memory, read)
        write = address(tf, parameters[:, at : 2 * at], memory, write)
        erase, add = tf.split(parameters[:, 2 * at :], 2, axis=1)
        where = tf.expand_dims(write, 2)
        memory = memory * (1 - tf.matmul(where, tf.expand_dims(tf.sigmoid(erase), 1)))
        memory = memory + tf.matmul(where, tf.expand_dims(tf.tanh(add), 1))
        found = tf.squeeze(tf.matmul(tf.expand_dims(read, 1), memory), 1)
        logits = self.output(tf.concat([hidden, found], 1))
        return logits, (inner, memory, read, write, found)


def build(tf, data):
    """NTM: reads and writes by content and by shift, unrolled; centered RMSProp with clipped values."""
    x = tf.placeholder(tf.float32, [BATCH, 2 * STEPS + 1, BITS + 1], name="x")
    y = tf.placeholder(tf.float32, [BATCH, STEPS, BITS], name="y")
    with tf.variable_scope("ntm"):
        cell = MachineCell(tf)
        state = cell.start(BATCH)
        outputs = []
        for step, inputs in enumerate(tf.unstack(x, axis=1)):
            with tf.variable_scope("cell", reuse=step > 0):
                logits, state = cell(inputs, state)
                outputs.append(logits)
    logits = tf.stack(outputs[STEPS + 1 :], axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    optimizer = tf.train.RMSPropOptimizer(1e-2, decay=0.95, momentum=0.9, epsilon=1e-3, centered=True)
    pairs = [(tf.clip_by_value(g, -10, 10), v) for g, v in optimizer.compute_gradients(loss)]
    train = optimizer.apply_gradients(pairs)

    def batch():
        bits = data.randint(0, 2, (BATCH, STEPS, BITS)).astype("f")
        shown = np.zeros((BATCH, 2 * STEPS + 1, BITS + 1), "f")
        shown[:, :STEPS, :BITS] = bits
        shown[:, STEPS, BITS] = 1
        return {x: shown, y: bits}

    batches = [batch() for _ in range(2)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % 2],
        outputs={"logits": logits, "memory": state[1], "read": state[2]},
    )
