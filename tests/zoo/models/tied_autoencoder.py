def build(tf, data):
    """A denoising autoencoder of tied weights in float64: transposed uses of one matrix, sparsity, Adadelta."""
    x = tf.placeholder(tf.float64, [None, 20], name="x")
    noise = tf.placeholder_with_default(tf.zeros([1, 20], tf.float64), [None, 20], name="noise")
    sizes = [20, 12, 6]
    with tf.variable_scope("autoencoder", dtype=tf.float64):
        weights = [tf.get_variable("w%d" % i, sizes[i : i + 2]) for i in range(2)]
        biases = [
            tf.get_variable("b%d" % i, [n], initializer=tf.zeros_initializer())
            for i, n in enumerate(sizes[1:])
        ]
        visible = [
            tf.get_variable("c%d" % i, [n], initializer=tf.zeros_initializer())
            for i, n in enumerate(sizes[:-1])
        ]
    hidden = x * noise
    sparsity = 0.0
    for w, b in zip(weights, biases):
        hidden = tf.nn.sigmoid(tf.matmul(hidden, w) + b)
        mean = tf.reduce_mean(hidden, 0)
        target = tf.constant(0.2, tf.float64)
        sparsity += tf.reduce_sum(
            target * tf.log(target / mean) + (1 - target) * tf.log((1 - target) / (1 - mean))
        )
    code = hidden
    for w, c in zip(reversed(weights), reversed(visible)):
        hidden = tf.nn.tanh(tf.matmul(hidden, w, transpose_b=True) + c)
    loss = tf.reduce_mean(tf.squared_difference(hidden, x)) + 0.1 * sparsity
    loss += 1e-3 * tf.add_n([tf.norm(w, ord=1) for w in weights])
    train_op = tf.train.AdadeltaOptimizer(0.5, rho=0.9, epsilon=1e-4).minimize(loss)
    xs = data.normal(size=(4, 12, 20)).clip(-0.9, 0.9)
    masks = (data.uniform(size=(20, 12, 20)) < 0.7).astype("float64")
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {x: xs[step % 4], noise: masks[step]},
        outputs={"code": code, "decoded": hidden},
    )
