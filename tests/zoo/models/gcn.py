"""Graph convolutional network over a sparse adjacency and sparse features."""

import numpy as np

NODES, FEATURES, HIDDEN, CLASSES = 10, 9, 6, 3


def build(tf, data):
    """GCN: sparse placeholders and products, dropout of sparse values by sparse_retain with an op seed."""
    features = tf.sparse_placeholder(tf.float32, shape=np.array([NODES, FEATURES], np.int64), name="features")
    support = tf.sparse_placeholder(tf.float32, name="support")
    labels = tf.placeholder(tf.float32, [None, CLASSES], name="labels")
    mask = tf.placeholder(tf.float32, [None], name="mask")
    rate = tf.placeholder_with_default(0.0, [], name="dropout")
    nonzero = tf.placeholder(tf.int32, [], name="num_features_nonzero")

    kept = tf.floor(1 - rate + tf.random_uniform([nonzero], seed=11))
    dropped = tf.sparse_retain(features, tf.cast(kept, tf.bool)) * (1.0 / (1 - rate))
    w1 = tf.get_variable("gc1/weights", [FEATURES, HIDDEN])
    hidden = tf.nn.relu(tf.sparse_tensor_dense_matmul(support, tf.sparse_tensor_dense_matmul(dropped, w1)))
    hidden = tf.nn.dropout(hidden, keep_prob=1 - rate, seed=12)
    w2 = tf.get_variable("gc2/weights", [HIDDEN, CLASSES])
    logits = tf.sparse_tensor_dense_matmul(support, tf.matmul(hidden, w2))
    each = tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=labels)
    loss = tf.reduce_mean(each * mask / tf.reduce_mean(mask)) + 5e-4 * tf.nn.l2_loss(w1)
    train = tf.train.AdamOptimizer(0.01, epsilon=1e-4).minimize(loss)

    adjacency = (data.rand(NODES, NODES) < 0.25).astype("f")
    adjacency = np.maximum(np.maximum(adjacency, adjacency.T), np.eye(NODES, dtype="f"))
    scale = 1 / np.sqrt(adjacency.sum(1))
    adjacency = adjacency * scale[:, None] * scale
    dense = data.rand(NODES, FEATURES) * (data.rand(NODES, FEATURES) < 0.4)

    def sparse(matrix):
        """Indices, values and shape as a feed takes them."""
        where = np.argwhere(matrix)
        return tf.SparseTensorValue(where, matrix[tuple(where.T)].astype("f"), np.array(matrix.shape))

    fed = {
        features: sparse(dense),
        support: sparse(adjacency),
        labels: np.eye(CLASSES, dtype="f")[data.randint(0, CLASSES, NODES)],
        mask: (np.arange(NODES) % 3 > 0).astype("f"),
        nonzero: int((dense != 0).sum()),
    }
    noisy = dict(fed)
    noisy[rate] = 0.3
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: noisy if step % 2 else fed,
        outputs={"logits": logits, "hidden": hidden},
    )
