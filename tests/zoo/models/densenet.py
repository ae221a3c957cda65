def build(tf, data):
    """DenseNet: each layer sees the concat of all before it; transitions, Nesterov's momentum, dropout by fed noise."""
    images = tf.placeholder(tf.float32, [None, 8, 8, 3], name="images")
    labels = tf.placeholder(tf.float32, [None, 5], name="labels")
    kept = tf.placeholder(tf.float32, [None, 1, 1, 4], name="kept")

    def normed(net, scope):
        with tf.variable_scope(scope):
            channels = net.get_shape().as_list()[-1]
            beta = tf.get_variable("beta", [channels], initializer=tf.zeros_initializer())
            gamma = tf.get_variable("gamma", [channels], initializer=tf.ones_initializer())
            mean, variance = tf.nn.moments(net, [0, 1, 2])
            return tf.nn.elu(tf.nn.batch_normalization(net, mean, variance, beta, gamma, 1e-3))

    def layer(net, scope):
        with tf.variable_scope(scope):
            net = normed(net, "bn1")
            net = tf.layers.conv2d(net, 8, 1, use_bias=False, name="bottleneck")
            net = normed(net, "bn2")
            return tf.layers.conv2d(net, 4, 3, padding="same", use_bias=False, name="conv") * kept / 0.8

    with tf.variable_scope("DenseNet"):
        net = tf.layers.conv2d(images, 6, 3, padding="same", use_bias=False, name="stem")
        for number in range(2):
            with tf.variable_scope("block%d" % number):
                features = [net]
                for depth in range(3):
                    features.append(layer(tf.concat(features, axis=-1), "layer%d" % depth))
                net = tf.concat(features, axis=-1)
            if number == 0:
                with tf.variable_scope("transition"):
                    net = tf.layers.conv2d(normed(net, "bn"), 8, 1, use_bias=False)
                    net = tf.layers.average_pooling2d(net, 2, 2)
        net = tf.reduce_mean(normed(net, "last"), axis=[1, 2])
        logits = tf.layers.dense(net, 5, name="classes")
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    xs = data.normal(size=(2, 8, 8, 8, 3)).astype("float32")
    ys = data.dirichlet([0.3] * 5, (2, 8)).astype("float32")
    masks = (data.uniform(size=(20, 8, 1, 1, 4)) < 0.8).astype("float32")
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {images: xs[step % 2], labels: ys[step % 2], kept: masks[step]},
        outputs={"logits": logits},
    )
