def build(tf, data):
    """Batch norm with moving averages by hand, a fed flag that chooses them, and a moving average of all weights."""
    x = tf.placeholder(tf.float32, [None, 10], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    is_training = tf.placeholder(tf.bool, name="is_training")

    def batch_norm(net, scope):
        with tf.variable_scope(scope):
            size = net.get_shape()[-1]
            beta = tf.Variable(tf.constant(0.0, shape=[size]), name="beta", trainable=True)
            gamma = tf.Variable(tf.constant(1.0, shape=[size]), name="gamma", trainable=True)
            mean, variance = tf.nn.moments(net, [0], name="moments")
            ema = tf.train.ExponentialMovingAverage(decay=0.8)

            def update():
                applied = ema.apply([mean, variance])
                with tf.control_dependencies([applied]):
                    return tf.identity(mean), tf.identity(variance)

            chosen = tf.cond(is_training, update, lambda: (ema.average(mean), ema.average(variance)))
            return tf.nn.batch_normalization(net, chosen[0], chosen[1], beta, gamma, 1e-3)

    net = x
    for number, units in enumerate([16, 16, 8]):
        with tf.variable_scope("layer%d" % number):
            w = tf.get_variable("w", [net.shape[1].value, units], initializer=tf.glorot_normal_initializer())
            net = tf.nn.softplus(batch_norm(tf.matmul(net, w), "bn"))
    with tf.variable_scope("out"):
        prediction = tf.layers.dense(net, 1)
    loss = tf.reduce_mean(tf.squared_difference(prediction, y)) / 2.0
    step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(tf.train.polynomial_decay(0.05, step, 15, 0.01)).minimize(
        loss, step
    )
    averages = tf.train.ExponentialMovingAverage(0.9, num_updates=step)
    with tf.control_dependencies([train_op]):
        train_op = averages.apply(tf.trainable_variables())
    xs = data.normal(size=(4, 16, 10)).astype("float32")
    ys = (xs[:, :, :1] * xs[:, :, 1:2]).astype("float32")
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {x: xs[step % 4], y: ys[step % 4], is_training: step % 5 != 4},
        outputs={"prediction": prediction},
    )
