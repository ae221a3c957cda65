import numpy as np


def build(tf, data):
    """A capsule network: squashing, votes by tiled matmul, three rounds of routing, margin loss, a masked decoder."""
    batch, capsules, outs, classes = 3, 4 * 4 * 2, 6, 3
    images = tf.placeholder(tf.float32, [batch, 8, 8, 1], name="images")
    labels = tf.placeholder(tf.int32, [batch], name="labels")

    def squash(vectors, axis):
        squared = tf.reduce_sum(tf.square(vectors), axis, keep_dims=True)
        return squared / (1.0 + squared) / tf.sqrt(squared + 1e-7) * vectors

    with tf.variable_scope("PrimaryCaps"):
        net = tf.contrib.layers.conv2d(images, 8, 3, 1, "SAME", activation_fn=tf.nn.relu)
        net = tf.contrib.layers.conv2d(net, 2 * 4, 3, 2, "SAME", activation_fn=None)
        primary = squash(tf.reshape(net, [batch, capsules, 4]), -1)
    with tf.variable_scope("DigitCaps"):
        weights = tf.get_variable(
            "W", [1, capsules, classes, outs, 4], initializer=tf.random_normal_initializer(stddev=0.1)
        )
        tiled = tf.tile(weights, [batch, 1, 1, 1, 1])
        inputs = tf.tile(tf.reshape(primary, [batch, capsules, 1, 4, 1]), [1, 1, classes, 1, 1])
        votes = tf.matmul(tiled, inputs, name="votes")
        stopped = tf.stop_gradient(votes)
        agreement = tf.constant(np.zeros([batch, capsules, classes, 1, 1], dtype=np.float32))
        for round_ in range(3):
            with tf.variable_scope("iter_%d" % round_):
                coupling = tf.nn.softmax(agreement, dim=2)
                if round_ == 2:
                    digits = squash(tf.reduce_sum(coupling * votes, axis=1, keep_dims=True), -2)
                else:
                    found = squash(tf.reduce_sum(coupling * stopped, axis=1, keep_dims=True), -2)
                    found = tf.tile(found, [1, capsules, 1, 1, 1])
                    agreement += tf.matmul(stopped, found, transpose_a=True)
    with tf.variable_scope("Masking"):
        one_hot = tf.one_hot(labels, depth=classes, axis=1, dtype=tf.float32)
        lengths = tf.sqrt(tf.reduce_sum(tf.square(digits), axis=3, keep_dims=True) + 1e-9)
        lengths = tf.reshape(lengths, [batch, classes])
        masked = tf.multiply(tf.squeeze(digits, [1, 4]), tf.reshape(one_hot, (-1, classes, 1)))
    with tf.variable_scope("Decoder"):
        flat = tf.reshape(masked, [batch, -1])
        hidden = tf.contrib.layers.fully_connected(flat, num_outputs=16)
        decoded = tf.contrib.layers.fully_connected(hidden, num_outputs=64, activation_fn=tf.sigmoid)
    present = tf.square(tf.maximum(0.0, 0.9 - lengths))
    absent = tf.square(tf.maximum(0.0, lengths - 0.1))
    margin = tf.reduce_mean(tf.reduce_sum(one_hot * present + 0.5 * (1.0 - one_hot) * absent, axis=1))
    reconstruction = tf.reduce_mean(tf.square(decoded - tf.reshape(images, [batch, -1])))
    loss = margin + 0.392 * reconstruction
    train_op = tf.train.AdamOptimizer(1e-3).minimize(loss, global_step=tf.train.get_or_create_global_step())
    xs = data.uniform(size=(4, batch, 8, 8, 1)).astype("float32")
    ys = data.randint(0, classes, (4, batch))
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {images: xs[step % 4], labels: ys[step % 4]},
        outputs={"lengths": lengths, "decoded": decoded},
    )
