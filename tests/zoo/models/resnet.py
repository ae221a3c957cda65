def build(tf, data):
    """A residual network, pre-activated: padding by hand, strided shortcuts, a fed training flag, weight decay."""
    training = tf.placeholder(tf.bool, [], name="training")
    images = tf.placeholder(tf.float32, [None, 8, 8, 3], name="images")
    labels = tf.placeholder(tf.int32, [None], name="labels")

    def norm_relu(inputs):
        normed = tf.layers.batch_normalization(
            inputs, momentum=0.9, epsilon=1e-5, training=training, fused=False
        )
        return tf.nn.relu(normed)

    def conv(inputs, filters, size, strides):
        if strides > 1:
            before = (size - 1) // 2
            after = size - 1 - before
            inputs = tf.pad(inputs, [[0, 0], [before, after], [before, after], [0, 0]])
        return tf.layers.conv2d(
            inputs, filters, size, strides, "SAME" if strides == 1 else "VALID", use_bias=False,
            kernel_initializer=tf.variance_scaling_initializer(),
        )  # fmt: skip

    def block(inputs, filters, strides):
        net = norm_relu(inputs)
        changes = strides > 1 or inputs.shape[-1].value != filters
        shortcut = conv(net, filters, 1, strides) if changes else inputs
        net = conv(net, filters, 3, strides)
        return conv(norm_relu(net), filters, 3, 1) + shortcut

    net = conv(images, 4, 3, 1)
    for stage, (filters, strides) in enumerate([(4, 1), (8, 2), (8, 1)]):
        with tf.variable_scope("stage%d" % stage):
            net = block(net, filters, strides)
    with tf.variable_scope("head"):
        net = tf.reduce_mean(norm_relu(net), [1, 2])
        logits = tf.layers.dense(net, 5)
    cross_entropy = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    decay = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "batch_norm" not in v.name])
    loss = cross_entropy + 2e-3 * decay
    step = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(step, [6, 12], [0.1, 0.05, 0.01])
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, step)
    xs = data.normal(size=(2, 8, 8, 8, 3)).astype("float32")
    ys = data.randint(0, 5, (2, 8))
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {images: xs[step % 2], labels: ys[step % 2], training: True},
        outputs={"logits": logits, "cross_entropy": cross_entropy},
    )
