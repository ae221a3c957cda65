def build(tf, data):
    """WGAN with a gradient penalty: the gradient of a gradient through convolutions, several critic steps, RMSProp."""
    noise = tf.placeholder(tf.float32, [4, 6], name="noise")
    real = tf.placeholder(tf.float32, [4, 8, 8, 1], name="real")
    mixture = tf.placeholder(tf.float32, [4, 1, 1, 1], name="mixture")

    def generator(z):
        with tf.variable_scope("Generator", reuse=tf.AUTO_REUSE):
            net = tf.layers.dense(z, 4 * 4 * 4, activation=tf.nn.relu, name="in")
            net = tf.reshape(net, [-1, 4, 4, 4])
            net = tf.image.resize_nearest_neighbor(net, [8, 8])
            return tf.layers.conv2d(net, 1, 3, padding="same", activation=tf.nn.tanh, name="out")

    def critic(images):
        with tf.variable_scope("Critic", reuse=tf.AUTO_REUSE):
            net = tf.layers.conv2d(images, 4, 3, 2, padding="same", name="conv1")
            net = tf.nn.softplus(net)
            net = tf.layers.conv2d(net, 6, 3, 2, padding="same", name="conv2")
            net = tf.nn.elu(tf.contrib.layers.layer_norm(net, scope="norm", begin_norm_axis=1))
            return tf.reshape(tf.layers.dense(tf.layers.flatten(net), 1, use_bias=False, name="out"), [-1])

    fake = generator(noise)
    generator_loss = -tf.reduce_mean(critic(fake))
    critic_loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real))
    between = real + mixture * (fake - real)
    slopes = tf.gradients(critic(between), [between])[0]
    norm = tf.sqrt(tf.reduce_sum(tf.square(slopes), reduction_indices=[1, 2, 3]))
    penalty = tf.reduce_mean((norm - 1.0) ** 2)
    critic_loss += 10.0 * penalty
    of_generator = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Generator")
    of_critic = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Critic")
    train_critic = tf.train.RMSPropOptimizer(1e-3, epsilon=1e-3, centered=True).minimize(
        critic_loss, var_list=of_critic
    )
    train_generator = tf.train.RMSPropOptimizer(1e-3, epsilon=1e-3).minimize(
        generator_loss, var_list=of_generator
    )
    drawn = data.normal(size=(20, 4, 6)).astype("float32")
    shares = data.uniform(size=(20, 4, 1, 1, 1)).astype("float32")
    images = data.uniform(-1, 1, (4, 4, 8, 8, 1)).astype("float32")
    return dict(
        losses={"critic": (critic_loss, of_critic), "generator": (generator_loss, of_generator)},
        train=[train_critic, train_critic, train_generator],
        feeds=lambda step: {noise: drawn[step], real: images[step % 4], mixture: shares[step]},
        outputs={"penalty": penalty, "fake": fake},
    )
