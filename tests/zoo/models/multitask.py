def build(tf, data):
    """A trunk shared by three tasks with learned uncertainties; a wide part by Ftrl and a deep part by Adagrad."""
    x = tf.placeholder(tf.float32, [None, 12], name="x")
    sparse = tf.placeholder(tf.int64, [None, 3], name="sparse")
    regression = tf.placeholder(tf.float32, [None, 2], name="regression")
    kinds = tf.placeholder(tf.int32, [None], name="kinds")
    flags = tf.placeholder(tf.float32, [None, 3], name="flags")
    with tf.variable_scope("deep"):
        table = tf.get_variable("embedding", [20, 4])
        found = tf.reshape(tf.nn.embedding_lookup(table, sparse), [-1, 12])
        trunk = tf.concat([x, found], 1)
        for number, units in enumerate([16, 8]):
            trunk = tf.layers.dense(trunk, units, tf.nn.crelu, name="trunk%d" % number)
        with tf.variable_scope("regression"):
            predicted = tf.layers.dense(tf.layers.dense(trunk, 6, tf.nn.softsign), 2)
        with tf.variable_scope("kinds"):
            kind_logits = tf.layers.dense(tf.layers.dense(trunk, 6, tf.nn.relu6), 4)
        with tf.variable_scope("flags"):
            flag_logits = tf.layers.dense(trunk, 3)
        uncertainty = tf.get_variable("uncertainty", [3], initializer=tf.zeros_initializer())
    with tf.variable_scope("wide"):
        wide = tf.get_variable("weights", [20, 3], initializer=tf.zeros_initializer())
        flag_logits += tf.reduce_sum(tf.gather(wide, sparse), 1)
    losses = [
        tf.losses.huber_loss(regression, predicted, delta=0.5),
        tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=kinds, logits=kind_logits)),
        tf.losses.sigmoid_cross_entropy(flags, flag_logits, label_smoothing=0.05),
    ]
    loss = tf.add_n([tf.exp(-s) * part + 0.5 * s for part, s in zip(losses, tf.unstack(uncertainty))])
    of_wide = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="wide")
    of_deep = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="deep")
    step = tf.train.get_or_create_global_step()
    ftrl = tf.train.FtrlOptimizer(0.2, l1_regularization_strength=0.001, l2_regularization_strength=0.01)
    adagrad = tf.train.AdagradOptimizer(0.05)
    train_op = tf.group(ftrl.minimize(loss, var_list=of_wide), adagrad.minimize(loss, var_list=of_deep))
    with tf.control_dependencies([train_op]):
        train_op = tf.assign_add(step, 1).op
    xs = data.normal(size=(4, 16, 12)).astype("float32")
    ids = data.randint(0, 20, (4, 16, 3))
    targets = data.normal(size=(4, 16, 2)).astype("float32")
    ys = data.randint(0, 4, (4, 16))
    bits = data.randint(0, 2, (4, 16, 3)).astype("float32")

    def feeds(step):
        k = step % 4
        return {x: xs[k], sparse: ids[k], regression: targets[k], kinds: ys[k], flags: bits[k]}

    names = ("regression", "kinds", "flags")
    return dict(
        losses=dict(zip(names, losses), total=loss),
        train=[train_op],
        feeds=feeds,
        outputs={"flags": flag_logits},
    )
