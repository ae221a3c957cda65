def build(tf, data):
    """CycleGAN: four networks, instance norm, reflected borders, least squares and cycle losses, a fed rate."""
    a = tf.placeholder(tf.float32, [2, 8, 8, 2], name="a")
    b = tf.placeholder(tf.float32, [2, 8, 8, 2], name="b")

    def instance_norm(x, name):
        with tf.variable_scope(name):
            depth = x.get_shape()[3]
            scale = tf.get_variable("scale", [depth], initializer=tf.random_normal_initializer(1.0, 0.02))
            offset = tf.get_variable("offset", [depth], initializer=tf.constant_initializer(0.0))
            mean, variance = tf.nn.moments(x, axes=[1, 2], keep_dims=True)
            return scale * (x - mean) * tf.rsqrt(variance + 1e-3) + offset

    def generator(image, name):
        with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
            net = tf.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
            net = tf.layers.conv2d(net, 4, 3, use_bias=False, name="c1")
            net = tf.nn.relu(instance_norm(net, "n1"))
            net = tf.layers.conv2d(net, 6, 3, 2, "same", use_bias=False, name="c2")
            net = tf.nn.relu(instance_norm(net, "n2"))
            block = tf.pad(net, [[0, 0], [1, 1], [1, 1], [0, 0]], "SYMMETRIC")
            block = tf.layers.conv2d(block, 6, 3, use_bias=False, name="r1")
            net = net + instance_norm(block, "n3")
            net = tf.layers.conv2d_transpose(net, 4, 3, 2, "same", use_bias=False, name="d1")
            net = tf.nn.relu(instance_norm(net, "n4"))
            return tf.tanh(tf.layers.conv2d(net, 2, 3, padding="same", name="out"))

    def discriminator(image, name):
        with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
            net = tf.nn.leaky_relu(tf.layers.conv2d(image, 4, 4, 2, "same", name="c1"))
            net = tf.nn.leaky_relu(
                instance_norm(tf.layers.conv2d(net, 6, 4, 2, "same", use_bias=False, name="c2"), "n2")
            )
            return tf.layers.conv2d(net, 1, 1, name="out")

    fake_b, fake_a = generator(a, "generatorA2B"), generator(b, "generatorB2A")
    again_a, again_b = generator(fake_b, "generatorB2A"), generator(fake_a, "generatorA2B")

    def absolute(one, other):
        return tf.reduce_mean(tf.abs(one - other))

    def squares(one, target):
        return tf.reduce_mean((one - target) ** 2)

    cycle = 10.0 * absolute(a, again_a) + 10.0 * absolute(b, again_b)
    judged_a, judged_b = discriminator(fake_a, "discriminatorA"), discriminator(fake_b, "discriminatorB")
    generator_loss = (
        squares(judged_b, tf.ones_like(judged_b)) + squares(judged_a, tf.ones_like(judged_a)) + cycle
    )
    true_a, true_b = discriminator(a, "discriminatorA"), discriminator(b, "discriminatorB")
    discriminator_loss = 0.5 * (
        squares(true_a, 1.0) + squares(judged_a, 0.0) + squares(true_b, 1.0) + squares(judged_b, 0.0)
    )
    of_generators = [v for v in tf.trainable_variables() if "generator" in v.name]
    of_discriminators = [v for v in tf.trainable_variables() if "discriminator" in v.name]
    rate = tf.placeholder(tf.float32, None, name="learning_rate")
    train = [
        tf.train.AdamOptimizer(rate, beta1=0.5, epsilon=1e-4).minimize(
            generator_loss, var_list=of_generators
        ),
        tf.train.AdamOptimizer(rate, beta1=0.5, epsilon=1e-4).minimize(
            discriminator_loss, var_list=of_discriminators
        ),
    ]
    xs = data.uniform(-1, 1, (4, 2, 8, 8, 2)).astype("float32")
    ys = data.uniform(-1, 1, (4, 2, 8, 8, 2)).astype("float32")
    return dict(
        losses={
            "generator": (generator_loss, of_generators),
            "discriminator": (discriminator_loss, of_discriminators),
        },
        train=train,
        feeds=lambda step: {
            a: xs[step % 4],
            b: ys[step % 4],
            rate: 1e-3 if step < 10 else 1e-3 * (20 - step) / 10,
        },
        outputs={"fake_b": fake_b},
    )
