def build(tf, data):
    """DCGAN: transposed convolutions, batch norm in both networks, the discriminator used twice, two Adams in turn."""
    noise = tf.placeholder(tf.float32, [4, 6], name="noise")
    real = tf.placeholder(tf.float32, [4, 12, 12, 1], name="real")

    def norm(net, name, updates=None):
        return tf.contrib.layers.batch_norm(
            net,
            decay=0.9,
            updates_collections=updates,
            epsilon=1e-5,
            scale=True,
            is_training=True,
            scope=name,
        )

    def deconv(net, shape, name, bias=True):
        with tf.variable_scope(name):
            w = tf.get_variable("w", [4, 4, shape[-1], net.get_shape()[-1]],
                                initializer=tf.random_normal_initializer(stddev=0.02))  # fmt: skip
            net = tf.nn.conv2d_transpose(net, w, output_shape=shape, strides=[1, 2, 2, 1])
            if not bias:
                return net
            b = tf.get_variable("biases", [shape[-1]], initializer=tf.constant_initializer(0.0))
            return tf.reshape(tf.nn.bias_add(net, b), net.get_shape())

    def conv(net, filters, name, bias=True):
        with tf.variable_scope(name):
            w = tf.get_variable("w", [4, 4, net.get_shape()[-1], filters],
                                initializer=tf.truncated_normal_initializer(stddev=0.02))  # fmt: skip
            net = tf.nn.conv2d(net, w, strides=[1, 2, 2, 1], padding="SAME")
            if not bias:
                return net
            b = tf.get_variable("biases", [filters], initializer=tf.constant_initializer(0.0))
            return tf.nn.bias_add(net, b)

    with tf.variable_scope("generator"):
        net = tf.layers.dense(noise, 3 * 3 * 8, use_bias=False, name="project")
        net = tf.nn.relu(norm(tf.reshape(net, [4, 3, 3, 8]), "bn0"))
        net = tf.nn.relu(norm(deconv(net, [4, 6, 6, 4], "h1", bias=False), "bn1"))
        fake = tf.nn.tanh(deconv(net, [4, 12, 12, 1], "h2"))

    def discriminate(images, reuse=False):
        with tf.variable_scope("discriminator") as scope:
            if reuse:
                scope.reuse_variables()
            net = tf.nn.leaky_relu(conv(images, 4, "h0"), 0.2)
            net = tf.nn.leaky_relu(
                norm(conv(net, 8, "h1", bias=False), "bn1", "not run" if reuse else None), 0.2
            )
            return tf.layers.dense(tf.reshape(net, [4, -1]), 1, name="lin")

    true_logits = discriminate(real)
    fake_logits = discriminate(fake, reuse=True)

    def entropy(logits, label):
        labels = tf.ones_like(logits) if label else tf.zeros_like(logits)
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=labels))

    discriminator_loss = entropy(true_logits, 1) + entropy(fake_logits, 0)
    generator_loss = entropy(fake_logits, 1)
    variables = tf.trainable_variables()
    of_discriminator = [v for v in variables if v.name.startswith("discriminator")]
    of_generator = [v for v in variables if v.name.startswith("generator")]
    optimizer = [tf.train.AdamOptimizer(1e-3, beta1=0.5, epsilon=1e-4) for _ in range(2)]
    train = [
        optimizer[0].minimize(discriminator_loss, var_list=of_discriminator),
        optimizer[1].minimize(generator_loss, var_list=of_generator),
    ]
    drawn = data.uniform(-1, 1, (20, 4, 6)).astype("float32")
    images = data.uniform(-1, 1, (4, 4, 12, 12, 1)).astype("float32")
    return dict(
        losses={
            "discriminator": (discriminator_loss, of_discriminator),
            "generator": (generator_loss, of_generator),
        },
        train=train,
        feeds=lambda step: {noise: drawn[step], real: images[step % 4]},
        outputs={"fake": fake},
    )
