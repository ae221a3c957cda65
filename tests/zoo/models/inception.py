def build(tf, data):
    """Inception with slim: argument scopes, parallel branches and their concat, an auxiliary head, smoothed labels."""
    slim = tf.contrib.slim
    images = tf.placeholder(tf.float32, [4, 12, 12, 3], name="images")
    labels = tf.placeholder(tf.int64, [4], name="labels")

    def mixed(net, scope):
        with tf.variable_scope(scope):
            with tf.variable_scope("Branch_0"):
                branch_0 = slim.conv2d(net, 4, [1, 1], scope="Conv2d_0a_1x1")
            with tf.variable_scope("Branch_1"):
                branch_1 = slim.conv2d(net, 3, [1, 1], scope="Conv2d_0a_1x1")
                branch_1 = slim.conv2d(branch_1, 4, [1, 5], scope="Conv2d_0b_1x5")
                branch_1 = slim.conv2d(branch_1, 4, [5, 1], scope="Conv2d_0c_5x1")
            with tf.variable_scope("Branch_2"):
                branch_2 = slim.conv2d(net, 3, [1, 1], scope="Conv2d_0a_1x1")
                branch_2 = tf.concat(
                    [
                        slim.conv2d(branch_2, 2, [1, 3], scope="Conv2d_0b_1x3"),
                        slim.conv2d(branch_2, 2, [3, 1], scope="Conv2d_0c_3x1"),
                    ],
                    3,
                )
            with tf.variable_scope("Branch_3"):
                branch_3 = slim.avg_pool2d(net, [3, 3], scope="AvgPool_0a_3x3")
                branch_3 = slim.conv2d(branch_3, 2, [1, 1], scope="Conv2d_0b_1x1")
            return tf.concat(axis=3, values=[branch_0, branch_1, branch_2, branch_3])

    normalization = {"decay": 0.9, "epsilon": 0.001, "is_training": True, "fused": None}
    with tf.variable_scope("Inception"):
        with slim.arg_scope(
            [slim.conv2d],
            weights_initializer=slim.variance_scaling_initializer(),
            weights_regularizer=slim.l2_regularizer(4e-4),
            activation_fn=tf.nn.relu,
            normalizer_fn=slim.batch_norm,
            normalizer_params=normalization,
        ):
            with slim.arg_scope([slim.conv2d, slim.max_pool2d, slim.avg_pool2d], stride=1, padding="SAME"):
                net = slim.conv2d(images, 6, [3, 3], stride=2, padding="VALID", scope="Conv2d_1a_3x3")
                net = mixed(net, "Mixed_2a")
                auxiliary = slim.avg_pool2d(net, [5, 5], padding="VALID", scope="AuxPool")
                auxiliary = slim.conv2d(
                    auxiliary, 5, [1, 1], normalizer_fn=None, activation_fn=None, scope="Aux"
                )
                auxiliary = tf.squeeze(auxiliary, [1, 2], name="SpatialSqueeze")
                net = slim.max_pool2d(net, [3, 3], stride=2, scope="MaxPool_3a")
                net = mixed(net, "Mixed_3b")
        net = tf.reduce_mean(net, [1, 2], keepdims=True, name="GlobalPool")
        logits = slim.conv2d(net, 5, [1, 1], activation_fn=None, scope="Logits")
        logits = tf.squeeze(logits, [1, 2])
    one_hot = slim.one_hot_encoding(labels, 5)
    tf.losses.softmax_cross_entropy(one_hot, logits, label_smoothing=0.1)
    tf.losses.softmax_cross_entropy(one_hot, auxiliary, label_smoothing=0.1, weights=0.4, scope="aux_loss")
    loss = tf.losses.get_total_loss()
    optimizer = tf.train.RMSPropOptimizer(0.01, decay=0.9, momentum=0.9, epsilon=1.0)
    train_op = slim.learning.create_train_op(loss, optimizer)
    xs = data.uniform(-1, 1, (4, 4, 12, 12, 3)).astype("float32")
    ys = data.randint(0, 5, (4, 4))
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {images: xs[step % 4], labels: ys[step % 4]},
        outputs={"logits": logits, "probabilities": tf.nn.softmax(logits)},
    )
