"""Sparsely gated mixture of experts."""

import numpy as np

INPUTS, UNITS, EXPERTS, CHOSEN, OUTPUTS = 6, 8, 4, 2, 3


def squared_variation(tf, x):
    """Squared coefficient of variation, which balances the load."""
    mean, variance = tf.nn.moments(x, [0])
    return variance / (tf.square(mean) + 1e-6)


def build(tf, data):
    """Mixture of experts: top_k gates, dynamic_partition and dynamic_stitch, experts that may get nothing."""
    x = tf.placeholder(tf.float32, [None, INPUTS], name="x")
    y = tf.placeholder(tf.float32, [None, OUTPUTS], name="y")
    count = tf.shape(x)[0]
    with tf.variable_scope("gating"):
        w_gate = tf.get_variable("w_gate", [INPUTS, EXPERTS])
        logits = tf.matmul(x, w_gate)
        top, indices = tf.nn.top_k(logits, CHOSEN)
        gates = tf.nn.softmax(top)
    # Each example appears once for each expert chosen; parts of the experts, and where they came from.
    rows = tf.reshape(tf.tile(tf.expand_dims(tf.range(count), 1), [1, CHOSEN]), [-1])
    experts = tf.reshape(indices, [-1])
    copies = tf.gather(x, rows)
    parts = tf.dynamic_partition(copies, experts, EXPERTS)
    places = tf.dynamic_partition(tf.range(tf.size(experts)), experts, EXPERTS)
    outputs = []
    for expert in range(EXPERTS):
        with tf.variable_scope(f"expert_{expert}"):
            hidden = tf.layers.dense(parts[expert], UNITS, activation=tf.nn.relu)
            outputs.append(tf.layers.dense(hidden, OUTPUTS))
    stitched = tf.dynamic_stitch(places, outputs)
    weighted = stitched * tf.reshape(gates, [-1, 1])
    combined = tf.unsorted_segment_sum(weighted, rows, count)
    combined.set_shape([None, OUTPUTS])
    # The load of each expert: what the gates give it, scattered.
    flat = tf.stack([rows, experts], 1)
    dense_gates = tf.scatter_nd(flat, tf.reshape(gates, [-1]), tf.stack([count, EXPERTS]))
    importance = tf.reduce_sum(dense_gates, 0)
    load = tf.reduce_sum(tf.cast(dense_gates > 0, tf.float32), 0)
    error = tf.losses.mean_squared_error(y, combined)
    loss = error + 0.1 * squared_variation(tf, importance)
    train = tf.train.AdamOptimizer(0.01, epsilon=1e-3).minimize(loss)
    batches = [
        {x: data.randn(size, INPUTS).astype(np.float32), y: data.randn(size, OUTPUTS).astype(np.float32)}
        for size in (10, 10, 3)
    ]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"combined": combined, "load": load, "chosen": indices},
    )
