def build(tf, data):
    """Sub-pixel super-resolution: parametric relus, depth_to_space, a bilinear base, Charbonnier and slope losses."""
    small = tf.placeholder(tf.float32, [None, 6, 6, 3], name="small")
    large = tf.placeholder(tf.float32, [None, 12, 12, 3], name="large")

    def prelu(net, name):
        alpha = tf.get_variable(name, net.get_shape()[-1], initializer=tf.constant_initializer(0.25))
        return tf.nn.relu(net) + alpha * (net - tf.abs(net)) * 0.5

    with tf.variable_scope("espcn"):
        net = prelu(tf.layers.conv2d(small, 8, 5, padding="same", name="features"), "prelu1")
        net = prelu(tf.layers.conv2d(net, 6, 3, padding="same", dilation_rate=2, name="mapping"), "prelu2")
        net = net + prelu(tf.layers.separable_conv2d(net, 6, 3, padding="same", name="separable"), "prelu3")
        net = tf.layers.conv2d(net, 3 * 4, 3, padding="same", name="subpixels")
        net = tf.depth_to_space(net, 2)
        base = tf.image.resize_bilinear(small, [12, 12], align_corners=True)
        result = tf.clip_by_value(net + base, -0.5, 1.5)
    charbonnier = tf.reduce_mean(tf.sqrt(tf.square(large - result) + 1e-6))
    dy, dx = tf.image.image_gradients(result)
    true_dy, true_dx = tf.image.image_gradients(large)
    slopes = tf.reduce_mean(tf.abs(dy - true_dy)) + tf.reduce_mean(tf.abs(dx - true_dx))
    loss = charbonnier + 0.1 * slopes + 1e-4 * tf.image.total_variation(result)[0]
    optimizer = tf.train.ProximalGradientDescentOptimizer(0.02, l2_regularization_strength=1e-3)
    train_op = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    lows = data.uniform(size=(2, 2, 6, 6, 3)).astype("float32")
    highs = data.uniform(size=(2, 2, 12, 12, 3)).astype("float32")
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {small: lows[step % 2], large: highs[step % 2]},
        outputs={"result": result, "psnr": tf.image.psnr(result, large, max_val=1.0)},
    )
