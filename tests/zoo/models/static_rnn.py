"""A language model unrolled in the graph: static_rnn of 25 steps."""

VOCABULARY, UNITS, STEPS, BATCH = 18, 8, 25, 3


def build(tf, data):
    """Static RNN of 25 steps over a split embedding, a softmax at each step, gradients clipped by value."""
    ids = tf.placeholder(tf.int32, [BATCH, STEPS], name="inputs")
    targets = tf.placeholder(tf.int32, [BATCH, STEPS], name="targets")
    with tf.variable_scope("lm"):
        embedding = tf.get_variable("embedding", [VOCABULARY, UNITS])
        inputs = tf.split(tf.nn.embedding_lookup(embedding, ids), STEPS, 1)
        inputs = [tf.squeeze(i, [1]) for i in inputs]
        cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS, forget_bias=0.0)
        initial = cell.zero_state(BATCH, tf.float32)
        outputs, final = tf.nn.static_rnn(cell, inputs, initial_state=initial)
        output = tf.reshape(tf.concat(outputs, 1), [-1, UNITS])
        w = tf.get_variable("softmax_w", [UNITS, VOCABULARY])
        b = tf.get_variable("softmax_b", [VOCABULARY])
    logits = tf.matmul(output, w) + b
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=tf.reshape(targets, [-1]))
    loss = tf.reduce_sum(each) / BATCH / STEPS
    optimizer = tf.train.AdagradOptimizer(0.2, initial_accumulator_value=0.1)
    pairs = [(tf.clip_by_value(g, -0.02, 0.02), v) for g, v in optimizer.compute_gradients(loss)]
    train = optimizer.apply_gradients(pairs)
    text = data.randint(0, VOCABULARY, (BATCH, 4 * STEPS + 1))

    def feeds(step):
        """One window of the text after the other."""
        at = step % 4 * STEPS
        return {ids: text[:, at : at + STEPS], targets: text[:, at + 1 : at + STEPS + 1]}

    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=feeds,
        outputs={"logits": logits, "c": final.c, "h": final.h},
    )
