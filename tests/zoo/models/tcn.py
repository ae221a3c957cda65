"""Temporal convolutional network."""

import numpy as np

CHANNELS, LENGTH, FEATURES, KERNEL = 6, 12, 3, 3


def weight_normed(tf, x, filters, dilation, name):
    """A causal dilated convolution whose kernel is a direction and a length."""
    with tf.variable_scope(name):
        before = x.shape[-1].value
        v = tf.get_variable("v", [KERNEL, before, filters], initializer=tf.random_normal_initializer(0, 0.05))
        g = tf.get_variable("g", [filters], initializer=tf.constant_initializer(1.0))
        b = tf.get_variable("b", [filters], initializer=tf.constant_initializer(0.0))
        kernel = tf.reshape(g, [1, 1, filters]) * tf.nn.l2_normalize(v, [0, 1])
        padded = tf.pad(x, [[0, 0], [(KERNEL - 1) * dilation, 0], [0, 0]])
        return tf.nn.bias_add(tf.nn.convolution(padded, kernel, "VALID", dilation_rate=[dilation]), b)


def build(tf, data):
    """TCN: causal dilated convolutions with weight normalization, spatial dropout with op seeds, residuals."""
    x = tf.placeholder(tf.float32, [None, LENGTH, FEATURES], name="x")
    y = tf.placeholder(tf.float32, [None, LENGTH], name="y")
    training = tf.placeholder_with_default(False, [], name="training")
    h = x
    for level in range(3):
        with tf.variable_scope(f"block_{level}"):
            skip = h
            for i in range(2):
                h = tf.nn.relu(weight_normed(tf, h, CHANNELS, 2**level, f"conv_{i}"))
                h = tf.layers.dropout(
                    h, 0.2, noise_shape=[tf.shape(h)[0], 1, CHANNELS], seed=10 * level + i, training=training
                )
            if skip.shape[-1].value != CHANNELS:
                skip = tf.layers.conv1d(skip, CHANNELS, 1, name="down")
            h = tf.nn.relu(h + skip)
    guess = tf.squeeze(tf.layers.dense(h, 1, name="readout"), [2])
    loss = tf.reduce_mean(tf.squared_difference(guess[:, 2:], y[:, 2:]))
    train = tf.train.RMSPropOptimizer(5e-3, decay=0.9, momentum=0.5, epsilon=1e-3).minimize(loss)

    def batch(size):
        inputs = data.randn(size, LENGTH, FEATURES).astype("f")
        return {x: inputs, y: np.roll(inputs[:, :, 0], 2, axis=1), training: True}

    batches = [batch(4), batch(4), batch(3)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"guess": guess},
    )
