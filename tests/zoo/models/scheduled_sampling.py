"""Sequence to sequence with scheduled sampling."""

import numpy as np

WORDS, WIDTH, UNITS, STEPS = 11, 5, 6, 5


def build(tf, data):
    """Seq2seq with Luong's attention; a while_loop whose next input is the target or its own guess, by a drawn coin."""
    source = tf.placeholder(tf.int32, [None, None], name="source")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    target = tf.placeholder(tf.int32, [None, STEPS], name="target")
    own = tf.placeholder(tf.float32, [], name="share_of_own_guesses")
    count = tf.shape(source)[0]

    with tf.variable_scope("seq2seq", initializer=tf.glorot_uniform_initializer()):
        table = tf.get_variable("embedding", [WORDS, WIDTH])
        with tf.variable_scope("encoder"):
            cells = tf.nn.rnn_cell.MultiRNNCell(
                [
                    tf.nn.rnn_cell.BasicLSTMCell(UNITS),
                    tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.BasicLSTMCell(UNITS)),
                ]
            )
            memory, state = tf.nn.dynamic_rnn(
                cells, tf.nn.embedding_lookup(table, source), sequence_length=lengths, dtype=tf.float32
            )
        with tf.variable_scope("decoder"):
            cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
            score = tf.get_variable("luong", [UNITS, UNITS])
            project = tf.layers.Dense(UNITS, tf.tanh, use_bias=False, name="attention")
            output = tf.layers.Dense(WORDS, name="output")
            mask = tf.sequence_mask(lengths, tf.shape(source)[1], dtype=tf.float32)
            # A coin for each example and step; drawn outside of the loop, where the order of draws is plain.
            coins = tf.random_uniform([STEPS, count], seed=5) < own
            words = tf.transpose(target)
            memory_keys = tf.tensordot(memory, score, [[2], [0]])

            def step(time, state, word, logits):
                """Attends with the new state and chooses the next input."""
                h, state = cell(tf.nn.embedding_lookup(table, word), state)
                scores = tf.squeeze(tf.matmul(memory_keys, tf.expand_dims(h, 2)), 2) - (1 - mask) * 1e9
                context = tf.reduce_sum(tf.expand_dims(tf.nn.softmax(scores), 2) * memory, 1)
                found = output(project(tf.concat([h, context], 1)))
                guess = tf.argmax(found, 1, output_type=tf.int32)
                word = tf.where(coins[time], guess, words[time])
                return time + 1, state, word, logits.write(time, found)

            logits = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[None, WORDS])
            first = tf.zeros([count], tf.int32)
            _, final, last, logits = tf.while_loop(
                lambda time, *_: tf.less(time, STEPS), step, (0, state[1], first, logits), swap_memory=True
            )
            logits = tf.transpose(logits.stack(), [1, 0, 2])

    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
    loss = tf.reduce_mean(tf.reduce_sum(each, 1))
    optimizer = tf.train.AdamOptimizer(0.01, epsilon=1e-3)
    pairs = optimizer.compute_gradients(loss)
    capped = [
        (None if g is None else tf.clip_by_value(tf.convert_to_tensor(g), -1.0, 1.0), v) for g, v in pairs
    ]
    train = optimizer.apply_gradients(capped)
    average = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([train]):
        train = average.apply(tf.trainable_variables())

    def batch(size, longest):
        many = data.randint(1, longest + 1, size)
        many[0] = longest
        return {
            source: data.randint(1, WORDS, (size, longest)) * (np.arange(longest) < many[:, None]),
            lengths: many,
            target: data.randint(1, WORDS, (size, STEPS)),
        }

    batches = [batch(3, 6), batch(3, 4)]

    def feeds(step):
        """The share of own guesses grows with the steps."""
        fed = dict(batches[step % 2])
        fed[own] = min(0.05 * step, 0.5)
        return fed

    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=feeds,
        outputs={"logits": logits, "last": last, "c": final.c},
    )
