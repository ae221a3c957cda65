"""GraphSAGE over an edge list."""

import numpy as np

NODES, EDGES, FEATURES, HIDDEN, CLASSES = 12, 30, 6, 8, 4


def aggregate(tf, h, edges, units, kind, name):
    """The neighbours of each node by gather and an unsorted segment op, beside the node itself."""
    with tf.variable_scope(name):
        sources, targets = edges[:, 0], edges[:, 1]
        count = tf.shape(h)[0]
        if kind == "mean":
            near = tf.math.unsorted_segment_mean(tf.gather(h, sources), targets, count)
        elif kind == "pool":
            pooled = tf.layers.dense(h, units, activation=tf.nn.relu, name="pool")
            near = tf.math.unsorted_segment_max(tf.gather(pooled, sources), targets, count)
            near = tf.where(near < -1e30, tf.zeros_like(near), near)  # nodes without neighbours
        else:
            total = tf.math.unsorted_segment_sum(tf.gather(h, sources), targets, count)
            degree = tf.math.unsorted_segment_sum(tf.ones_like(targets, tf.float32), targets, count)
            near = total * tf.rsqrt(tf.maximum(degree, 1.0))[:, None]
        own = tf.layers.dense(h, units, use_bias=False, name="self")
        other = tf.layers.dense(near, units, use_bias=False, name="neighbour")
        bias = tf.get_variable("bias", [2 * units], initializer=tf.zeros_initializer())
        return tf.nn.l2_normalize(tf.nn.relu(tf.concat([own, other], 1) + bias), 1, epsilon=1e-6)


def build(tf, data):
    """GraphSAGE: mean, pool and sum of neighbours by gathers and unsorted segments, a readout by sorted segments."""
    identities = tf.placeholder(tf.int32, [None], name="identities")
    x = tf.placeholder(tf.float32, [None, FEATURES], name="features")
    edges = tf.placeholder(tf.int32, [None, 2], name="edges")
    graphs = tf.placeholder(tf.int32, [None], name="graphs")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    table = tf.get_variable("identity", [NODES, 3])
    h = tf.concat([x, tf.nn.embedding_lookup(table, identities)], 1)
    for layer, kind in enumerate(["mean", "pool", "sum"]):
        h = aggregate(tf, h, edges, HIDDEN, kind, f"layer_{layer}_{kind}")
    readout = tf.concat([tf.segment_mean(h, graphs), tf.segment_max(h, graphs), tf.segment_sum(h, graphs)], 1)
    logits = tf.layers.dense(readout, CLASSES, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)

    def batch(nodes, count):
        return {
            identities: data.permutation(NODES)[:nodes],
            x: data.randn(nodes, FEATURES).astype("f"),
            edges: data.randint(0, nodes, (count, 2)),
            graphs: np.sort(np.r_[0, 1, 2, data.randint(0, 3, nodes - 3)]),
            labels: data.randint(0, CLASSES, 3),
        }

    batches = [batch(NODES, EDGES), batch(NODES - 2, EDGES), batch(NODES, EDGES - 9)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"nodes": h, "logits": logits},
    )
