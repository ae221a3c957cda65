"""Wide and deep: a linear part over crosses, trained by Ftrl, and a deep one over embeddings, trained by Adagrad."""

import numpy as np

CROSSES, WORDS, WIDTH, NUMBERS = 30, 14, 4, 3


def build(tf, data):
    """Two optimizers of one loss, sparse updates: Ftrl with L1 and L2 for the wide part, Adagrad for the deep one."""
    crosses = tf.sparse_placeholder(tf.int64, name="crosses")
    words = tf.placeholder(tf.int32, [None, 2], name="words")
    numbers = tf.placeholder(tf.float32, [None, NUMBERS], name="numbers")
    labels = tf.placeholder(tf.float32, [None], name="labels")
    weights = tf.placeholder(tf.float32, [None], name="weights")

    with tf.variable_scope("wide"):
        table = tf.get_variable("weights", [CROSSES, 1], initializer=tf.zeros_initializer())
        wide = tf.nn.embedding_lookup_sparse(table, crosses, None, combiner="sum")
        bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    with tf.variable_scope("deep"):
        parts = tf.get_variable("embedding", [WORDS, WIDTH], partitioner=tf.fixed_size_partitioner(2))
        embedded = tf.nn.embedding_lookup(parts, words, partition_strategy="div")
        deep = tf.concat(
            [tf.reshape(embedded, [-1, 2 * WIDTH]), tf.log1p(tf.abs(numbers)), tf.sign(numbers)], 1
        )
        for units in (8, 4):
            deep = tf.contrib.layers.fully_connected(deep, units, activation_fn=tf.nn.relu)
        deep = tf.contrib.layers.fully_connected(deep, 1, activation_fn=None)
    logits = tf.squeeze(wide + deep + bias, [1])
    loss = tf.losses.sigmoid_cross_entropy(labels, logits, weights=weights, label_smoothing=0.1)
    step = tf.train.get_or_create_global_step()
    linear = tf.train.FtrlOptimizer(
        0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02, learning_rate_power=-0.5
    ).minimize(loss, var_list=tf.trainable_variables("wide"))
    dense = tf.train.AdagradOptimizer(0.05).minimize(loss, var_list=tf.trainable_variables("deep"))
    with tf.control_dependencies([tf.group(linear, dense)]):
        train = tf.assign_add(step, 1).op

    def batch(size):
        many = data.randint(1, 4, size)
        where = np.array([[r, c] for r in range(size) for c in range(many[r])])
        return {
            crosses: tf.SparseTensorValue(where, data.randint(0, CROSSES, len(where)), np.array([size, 3])),
            words: data.randint(0, WORDS, (size, 2)),
            numbers: data.randn(size, NUMBERS).astype("f"),
            labels: data.randint(0, 2, size).astype("f"),
            weights: np.array([1, 2, 0.5, 1, 0, 3][:size], "f"),
        }

    batches = [batch(6), batch(5)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % 2],
        outputs={"logits": logits, "wide": wide},
    )
