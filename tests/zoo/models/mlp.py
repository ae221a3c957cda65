def build(tf, data):
    """A multilayer perceptron with tanh, dropout and weight decay: dense layers, softmax cross entropy, Adam."""
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    regularizer = tf.contrib.layers.l2_regularizer(1e-3)
    hidden = tf.layers.dense(x, 32, activation=tf.nn.tanh, kernel_regularizer=regularizer, name="hidden1")
    hidden = tf.nn.dropout(hidden, keep_prob=0.8, seed=7)
    hidden = tf.layers.dense(
        hidden, 16, activation=tf.nn.tanh, kernel_regularizer=regularizer, name="hidden2"
    )
    logits = tf.layers.dense(hidden, 4, name="logits")
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(cross_entropy) + tf.losses.get_regularization_loss()
    train_op = tf.train.AdamOptimizer(1e-2).minimize(loss, tf.train.get_or_create_global_step())
    xs = data.normal(size=(4, 16, 8)).astype("float32")
    ys = data.randint(0, 4, (4, 16))
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {x: xs[step % 4], labels: ys[step % 4]},
        outputs={"logits": logits},
    )
