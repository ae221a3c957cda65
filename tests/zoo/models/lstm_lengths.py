"""A classifier of sequences: dynamic_rnn over LSTM cells, with lengths."""

import numpy as np

FEATURES, UNITS, CLASSES = 5, 7, 4


def build(tf, data):
    """LSTMCell with peepholes and projection under dynamic_rnn, lengths fed, the last output taken by gather_nd."""
    x = tf.placeholder(tf.float32, [None, None, FEATURES], name="x")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    cell = tf.nn.rnn_cell.LSTMCell(UNITS, use_peepholes=True, num_proj=6, forget_bias=0.5)
    outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    last = tf.gather_nd(outputs, tf.stack([tf.range(tf.shape(x)[0]), lengths - 1], axis=1))
    weights = tf.get_variable("softmax/w", [6, CLASSES])
    bias = tf.get_variable("softmax/b", [CLASSES], initializer=tf.zeros_initializer())
    logits = tf.nn.xw_plus_b(last + state.h, weights, bias, name="logits")
    decay = 1e-3 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "bias" not in v.name])
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits) + decay
    train = tf.train.RMSPropOptimizer(0.01, momentum=0.9, centered=True, epsilon=1e-3).minimize(loss)

    def batch(size, longest):
        many = data.randint(1, longest + 1, size)
        many[0] = longest
        return {
            x: data.randn(size, longest, FEATURES).astype(np.float32),
            lengths: many,
            labels: data.randint(0, CLASSES, size),
        }

    batches = [batch(4, 6), batch(4, 9), batch(3, 4)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"outputs": outputs, "c": state.c, "logits": logits},
    )
