"""A character model: stacked LSTM cells with dropout, the state carried from run to run."""

CHARACTERS, UNITS, STEPS, BATCH = 16, 8, 7, 4


def build(tf, data):
    """MultiRNNCell of dropout-wrapped cells with op seeds; variables carry the state; nesterov momentum."""
    inputs = tf.placeholder(tf.int32, [BATCH, STEPS], name="inputs")
    targets = tf.placeholder(tf.int32, [BATCH, STEPS], name="targets")
    keep = tf.placeholder_with_default(1.0, [], name="keep_prob")
    onehot = tf.one_hot(inputs, CHARACTERS)

    def cell(number):
        """One layer; the keep probability is a tensor."""
        inner = tf.nn.rnn_cell.LSTMCell(UNITS, name=f"layer_{number}")
        return tf.nn.rnn_cell.DropoutWrapper(inner, output_keep_prob=keep, seed=7 + number)

    stacked = tf.nn.rnn_cell.MultiRNNCell([cell(0), cell(1)])
    zero = stacked.zero_state(BATCH, tf.float32)
    carried = tuple(
        tf.nn.rnn_cell.LSTMStateTuple(
            tf.get_variable(
                f"carried/c_{i}", [BATCH, UNITS], trainable=False, initializer=tf.zeros_initializer()
            ),
            tf.get_variable(
                f"carried/h_{i}", [BATCH, UNITS], trainable=False, initializer=tf.zeros_initializer()
            ),
        )
        for i in range(len(zero))
    )
    outputs, final = tf.nn.dynamic_rnn(stacked, onehot, initial_state=carried)
    rows = tf.reshape(outputs, [-1, UNITS])
    logits = tf.layers.dense(rows, CHARACTERS, name="softmax")
    each = tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=tf.reshape(tf.one_hot(targets, CHARACTERS), [-1, CHARACTERS]), logits=logits
    )
    loss = tf.reduce_mean(each)
    optimizer = tf.train.MomentumOptimizer(0.3, 0.9, use_nesterov=True)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, _ = tf.clip_by_global_norm(gradients, 5.0)
    update = optimizer.apply_gradients(zip(clipped, variables))
    with tf.control_dependencies([update]):
        kept = [tf.assign(v, t) for old, new in zip(carried, final) for v, t in zip(old, new)]
    train = tf.group(*kept)
    text = data.randint(0, CHARACTERS, (BATCH, 5 * STEPS + 1))

    def feeds(step):
        """The next window of the text; every third step without dropout."""
        at = step % 5 * STEPS
        fed = {inputs: text[:, at : at + STEPS], targets: text[:, at + 1 : at + STEPS + 1]}
        if step % 3:
            fed[keep] = 0.75
        return fed

    return dict(
        losses={"loss": loss}, train=[train], feeds=feeds, outputs={"logits": logits, "final": final[1].h}
    )
