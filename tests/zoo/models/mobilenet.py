def build(tf, data):
    """MobileNet: depthwise and pointwise convolutions, relu6, inverted residuals, pictures of bytes, fused norms."""
    slim = tf.contrib.slim
    pictures = tf.placeholder(tf.uint8, [None, 12, 12, 3], name="pictures")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    net = tf.cast(pictures, tf.float32) / 127.5 - 1.0

    def norm(net, scope):
        return slim.batch_norm(
            net, center=True, scale=True, decay=0.95, is_training=True, fused=True, scope=scope
        )

    def bottleneck(net, expansion, filters, stride, scope):
        with tf.variable_scope(scope):
            channels = net.get_shape().as_list()[-1]
            inner = tf.nn.relu6(
                norm(
                    tf.layers.conv2d(net, channels * expansion, 1, use_bias=False, name="expand"), "expand_bn"
                )
            )
            kernel = tf.get_variable("depthwise", [3, 3, channels * expansion, 1])
            inner = tf.nn.depthwise_conv2d(inner, kernel, [1, stride, stride, 1], "SAME")
            inner = tf.nn.relu6(norm(inner, "depthwise_bn"))
            inner = norm(tf.layers.conv2d(inner, filters, 1, use_bias=False, name="project"), "project_bn")
            return net + inner if stride == 1 and channels == filters else inner

    with tf.variable_scope("MobileNet"):
        net = slim.separable_conv2d(
            net,
            4,
            [3, 3],
            depth_multiplier=2,
            stride=2,
            normalizer_fn=None,
            activation_fn=tf.nn.relu6,
            scope="stem",
        )
        net = bottleneck(net, 2, 4, 1, "bottleneck1")
        net = bottleneck(net, 3, 6, 2, "bottleneck2")
        net = slim.avg_pool2d(net, [3, 3], padding="VALID", scope="pool")
        net = slim.flatten(net)
        logits = slim.fully_connected(net, 5, activation_fn=None, scope="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        optimizer = tf.train.RMSPropOptimizer(3e-3, decay=0.9, epsilon=0.1)
        train_op = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    xs = data.randint(0, 256, (2, 8, 12, 12, 3)).astype("uint8")
    ys = data.randint(0, 5, (2, 8))
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {pictures: xs[step % 2], labels: ys[step % 2]},
        outputs={"logits": logits, "classes": tf.argmax(logits, 1)},
    )
