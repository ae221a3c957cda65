def build(tf, data):
    """Gradients of three parts of a batch added in variables of their own, then applied together."""
    parts = 3
    x = tf.placeholder(tf.float32, [parts, None, 6, 6, 2], name="x")
    labels = tf.placeholder(tf.int32, [parts, None], name="labels")
    part = tf.get_variable("part", [], tf.int32, tf.zeros_initializer(), trainable=False)
    with tf.variable_scope("model"):
        net = tf.contrib.layers.conv2d(tf.gather(x, part), 4, 3, activation_fn=tf.nn.tanh, scope="conv")
        net = tf.contrib.layers.max_pool2d(net, 2, scope="pool")
        logits = tf.contrib.layers.fully_connected(
            tf.contrib.layers.flatten(net), 4, activation_fn=None, scope="fc"
        )
    loss = tf.losses.sparse_softmax_cross_entropy(tf.gather(labels, part), logits)
    variables = tf.trainable_variables()
    with tf.variable_scope("accumulated"):
        sums = [tf.Variable(tf.zeros(v.get_shape()), trainable=False) for v in variables]
    optimizer = tf.train.ProximalAdagradOptimizer(0.05, l1_regularization_strength=1e-4)
    clear = tf.group(*[tf.assign(s, tf.zeros_like(s)) for s in sums], part.initializer)
    found = optimizer.compute_gradients(loss, variables)
    with tf.control_dependencies([gradient for gradient, _ in found]):
        advance = tf.assign(part, (part + 1) % parts, use_locking=True)
    added = [s.assign_add(gradient / float(parts)) for s, (gradient, _) in zip(sums, found)]
    accumulate = tf.group(advance, *added)
    average, _ = tf.clip_by_global_norm([s.read_value() for s in sums], 1.0)
    step = tf.train.get_or_create_global_step()
    apply = optimizer.apply_gradients(zip(average, variables), global_step=step)
    xs = data.normal(size=(2, parts, 4, 6, 6, 2)).astype("float32")
    ys = data.randint(0, 4, (2, parts, 4))
    return dict(
        losses={"loss": loss},
        train=[clear, accumulate, accumulate, accumulate, apply],
        feeds=lambda step: {x: xs[step % 2], labels: ys[step % 2]},
        outputs={"logits": logits},
    )
