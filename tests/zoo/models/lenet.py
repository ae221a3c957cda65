def build(tf, data):
    """LeNet on small images: convolutions with raw tf.nn, valid padding, average pooling, momentum with decay."""

    def weights(shape, name):
        return tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=0.1))

    def bias(size, name):
        return tf.get_variable(name, [size], initializer=tf.constant_initializer(0.1))

    images = tf.placeholder(tf.float32, [None, 12, 12, 1], name="images")
    labels = tf.placeholder(tf.float32, [None, 5], name="labels")
    with tf.variable_scope("conv1"):
        net = tf.nn.conv2d(images, weights([3, 3, 1, 6], "w"), [1, 1, 1, 1], "SAME")
        net = tf.nn.sigmoid(net + bias(6, "b"))
        net = tf.nn.avg_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    with tf.variable_scope("conv2"):
        net = tf.nn.conv2d(net, weights([3, 3, 6, 8], "w"), [1, 1, 1, 1], "VALID")
        net = tf.nn.relu(tf.nn.bias_add(net, bias(8, "b")))
        net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    net = tf.reshape(net, [-1, 2 * 2 * 8])
    with tf.variable_scope("fc"):
        net = tf.nn.relu(tf.matmul(net, weights([32, 16], "w")) + bias(16, "b"))
    with tf.variable_scope("softmax"):
        logits = tf.nn.xw_plus_b(net, weights([16, 5], "w"), bias(5, "b"))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 5, 0.9, staircase=True)
    train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1)), tf.float32))
    pictures = data.uniform(size=(4, 8, 12, 12, 1)).astype("float32")
    targets = data.dirichlet([0.5] * 5, (4, 8)).astype("float32")
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {images: pictures[step % 4], labels: targets[step % 4]},
        outputs={"logits": logits, "accuracy": accuracy},
    )
