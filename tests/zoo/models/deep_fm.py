"""DeepFM: a factorization machine and a deep network over the same sparse features."""

import numpy as np

FEATURES, FIELDS, WIDTH = 25, 5, 4


def build(tf, data):
    """DeepFM: embedding_lookup_sparse of every combiner, second order terms, batch normalization, sparse Adam."""
    ids = tf.sparse_placeholder(tf.int64, name="ids")
    values = tf.sparse_placeholder(tf.float32, name="values")
    index = tf.placeholder(tf.int32, [None, FIELDS], name="feature_index")
    value = tf.placeholder(tf.float32, [None, FIELDS], name="feature_value")
    labels = tf.placeholder(tf.float32, [None, 1], name="labels")
    training = tf.placeholder(tf.bool, [], name="training")

    with tf.variable_scope("fm"):
        first = tf.get_variable(
            "feature_bias", [FEATURES, 1], initializer=tf.random_uniform_initializer(0.0, 1.0)
        )
        factors = tf.get_variable(
            "feature_embeddings", [FEATURES, WIDTH], initializer=tf.random_normal_initializer(0, 0.01)
        )
        linear = tf.nn.embedding_lookup_sparse(first, ids, values, combiner="sum")
        embedded = tf.nn.embedding_lookup(factors, index) * tf.reshape(value, [-1, FIELDS, 1])
        squared_sum = tf.square(tf.reduce_sum(embedded, 1))
        sum_squared = tf.reduce_sum(tf.square(embedded), 1)
        pairwise = 0.5 * tf.subtract(squared_sum, sum_squared)
    with tf.variable_scope("deep"):
        y = tf.reshape(embedded, [-1, FIELDS * WIDTH])
        for layer, units in enumerate([8, 6]):
            y = tf.layers.dense(y, units, use_bias=False, name=f"dense_{layer}")
            y = tf.layers.batch_normalization(y, momentum=0.9, training=training, name=f"norm_{layer}")
            y = tf.nn.relu(y)
        mean = tf.nn.embedding_lookup_sparse(factors, ids, values, combiner="mean")
        root = tf.nn.embedding_lookup_sparse(factors, ids, None, combiner="sqrtn")
    logits = tf.layers.dense(tf.concat([linear, pairwise, y, mean, root], 1), 1, name="concat_projection")
    loss = tf.losses.log_loss(labels, tf.nn.sigmoid(logits))
    loss += 1e-3 * (tf.nn.l2_loss(factors) + tf.nn.l2_loss(first))
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        train = tf.train.AdamOptimizer(0.02, epsilon=1e-3).minimize(loss)

    def batch(size):
        where, which, amount = [], [], []
        for row in range(size):
            for column in range(data.randint(1, 5)):
                where.append([row, column])
                which.append(data.randint(FEATURES))
                amount.append(data.rand() + 0.1)
        shape = np.array([size, 5])
        return {
            ids: tf.SparseTensorValue(np.array(where), np.array(which), shape),
            values: tf.SparseTensorValue(np.array(where), np.array(amount, "f"), shape),
            index: data.randint(0, FEATURES, (size, FIELDS)),
            value: data.rand(size, FIELDS).astype("f"),
            labels: data.randint(0, 2, (size, 1)).astype("f"),
            training: True,
        }

    batches = [batch(6), batch(6), batch(4)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"logits": logits, "mean": mean, "root": root},
    )
