"""Siamese networks: a contrastive loss over pairs, and triplets mined inside the batch."""

import numpy as np

SIDE, CLASSES, UNITS = 6, 3, 5


def embed(tf, x):
    """The shared network; its variables are reused."""
    with tf.variable_scope("embed", reuse=tf.AUTO_REUSE):
        h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu, name="conv1")
        h = tf.layers.max_pooling2d(h, 2, 2)
        h = tf.layers.dense(tf.layers.flatten(h), UNITS, name="fc")
        return tf.nn.l2_normalize(h, axis=1)


def pairwise(tf, v):
    """Squared distances of all pairs, never negative, with a root whose gradient at zero is finite."""
    dot = tf.matmul(v, tf.transpose(v))
    square = tf.diag_part(dot)
    distances = tf.maximum(tf.expand_dims(square, 1) - 2.0 * dot + tf.expand_dims(square, 0), 0.0)
    mask = tf.to_float(tf.equal(distances, 0.0))
    return tf.sqrt(distances + mask * 1e-16) * (1.0 - mask)


def hardest(tf, labels, v, margin):
    """For each anchor the farthest of its class and the nearest of the others."""
    distances = pairwise(tf, v)
    same = tf.equal(tf.expand_dims(labels, 0), tf.expand_dims(labels, 1))
    other = tf.logical_not(tf.cast(tf.eye(tf.shape(labels)[0]), tf.bool))
    positive = tf.reduce_max(tf.to_float(tf.logical_and(same, other)) * distances, axis=1, keepdims=True)
    largest = tf.reduce_max(distances, axis=1, keepdims=True)
    negative = tf.reduce_min(distances + largest * tf.to_float(same), axis=1, keepdims=True)
    return tf.reduce_mean(tf.maximum(positive - negative + margin, 0.0))


def build(tf, data):
    """Siamese towers with shared variables; contrastive loss; hard triplets by masks over all pairs; two steps."""
    left = tf.placeholder(tf.float32, [None, SIDE, SIDE, 1], name="left")
    right = tf.placeholder(tf.float32, [None, SIDE, SIDE, 1], name="right")
    same = tf.placeholder(tf.float32, [None], name="same")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    a, b = embed(tf, left), embed(tf, right)
    distance = tf.sqrt(tf.reduce_sum(tf.square(a - b), 1) + 1e-6)
    contrastive = tf.reduce_mean(
        same * tf.square(distance) + (1 - same) * tf.square(tf.maximum(0.8 - distance, 0))
    )
    triplet = hardest(tf, labels, a, 0.5)
    steps = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(steps, [8, 20], [0.1, 0.05, 0.01])
    first = tf.train.MomentumOptimizer(rate, 0.9).minimize(contrastive, global_step=steps)
    second = tf.train.GradientDescentOptimizer(rate).minimize(triplet, global_step=steps)

    def batch(size):
        return {
            left: data.randn(size, SIDE, SIDE, 1).astype("f"),
            right: data.randn(size, SIDE, SIDE, 1).astype("f"),
            same: data.randint(0, 2, size).astype("f"),
            labels: np.arange(size) % CLASSES,
        }

    batches = [batch(7), batch(6)]
    return dict(
        losses={"contrastive": contrastive, "triplet": triplet},
        train=[first, second],
        feeds=lambda step: batches[step % 2],
        outputs={"embedded": a},
    )
