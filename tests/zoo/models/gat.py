"""Graph attention network over a dense adjacency."""

import numpy as np

NODES, FEATURES, HIDDEN, HEADS, CLASSES = 11, 7, 4, 3, 3


def head(tf, x, bias, units, activation, residual=False):
    """One head: conv1d of width 1 for the features and for both halves of the logits, leaky ReLU, softmax, product."""
    features = tf.layers.conv1d(x, units, 1, use_bias=False)
    left = tf.layers.conv1d(features, 1, 1)
    right = tf.layers.conv1d(features, 1, 1)
    logits = left + tf.transpose(right, [0, 2, 1])
    weights = tf.nn.softmax(tf.nn.leaky_relu(logits) + bias)
    values = tf.contrib.layers.bias_add(tf.matmul(weights, features))
    if residual:
        values = values + (tf.layers.conv1d(x, units, 1) if x.shape[-1] != values.shape[-1] else x)
    return activation(values)


def build(tf, data):
    """GAT: heads over a 3-D activation, concatenated, then averaged; a loss over masked nodes; L2 decay."""
    x = tf.placeholder(tf.float32, [1, NODES, FEATURES], name="features")
    bias = tf.placeholder(tf.float32, [1, NODES, NODES], name="bias")
    labels = tf.placeholder(tf.int32, [NODES, CLASSES], name="labels")
    mask = tf.placeholder(tf.int32, [NODES], name="mask")
    hidden = tf.concat([head(tf, x, bias, HIDDEN, tf.nn.elu) for _ in range(HEADS)], axis=-1)
    hidden = tf.concat(
        [head(tf, hidden, bias, HIDDEN, tf.nn.elu, residual=True) for _ in range(HEADS)], axis=-1
    )
    out = tf.add_n([head(tf, hidden, bias, CLASSES, lambda v: v) for _ in range(2)]) / 2
    logits = tf.reshape(out, [-1, CLASSES])
    each = tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=tf.cast(labels, tf.float32))
    weights = tf.cast(mask, dtype=tf.float32)
    weights /= tf.reduce_mean(weights)
    loss = tf.reduce_mean(each * weights)
    names = ["bias", "gamma", "b", "g", "beta"]
    decay = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if v.name not in names]) * 5e-4
    train = tf.train.AdamOptimizer(learning_rate=0.01, epsilon=1e-3).minimize(loss + decay)
    adjacency = (data.rand(NODES, NODES) < 0.3) | np.eye(NODES, dtype=bool)
    fed = {
        x: data.randn(1, NODES, FEATURES).astype("f"),
        bias: np.where(adjacency | adjacency.T, 0.0, -1e9)[None].astype("f"),
        labels: np.eye(CLASSES, dtype=np.int32)[data.randint(0, CLASSES, NODES)],
        mask: (np.arange(NODES) < 7).astype(np.int32),
    }
    return dict(losses={"loss": loss}, train=[train], feeds=lambda step: fed, outputs={"logits": logits})
