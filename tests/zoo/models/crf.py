"""A tagger by a recurrent network under a linear-chain conditional random field."""

import numpy as np

WORDS, TAGS, WIDTH, UNITS = 17, 4, 5, 5


def path_score(tf, unary, tags, lengths, transitions):
    """The score of the given tags: one-hot for the unary part, flat gathers for the pairs."""
    mask = tf.sequence_mask(lengths, tf.shape(tags)[1], dtype=tf.float32)
    single = tf.reduce_sum(tf.reduce_sum(unary * tf.one_hot(tags, TAGS), 2) * mask, 1)
    pairs = tags[:, :-1] * TAGS + tags[:, 1:]
    scores = tf.gather(tf.reshape(transitions, [-1]), pairs)
    return single + tf.reduce_sum(scores * mask[:, 1:], 1)


def log_norm(tf, unary, lengths, transitions):
    """The forward algorithm by a while_loop over time; states past a sequence's end stay."""
    steps = tf.shape(unary)[1]
    inputs = tf.TensorArray(tf.float32, size=steps, clear_after_read=False).unstack(
        tf.transpose(unary, [1, 0, 2])
    )

    def step(time, alpha):
        """One position: every tag from every tag."""
        extended = tf.reduce_logsumexp(tf.expand_dims(alpha, 2) + tf.expand_dims(transitions, 0), [1])
        after = extended + inputs.read(time)
        return time + 1, tf.where(time < lengths, after, alpha)

    _, alpha = tf.while_loop(lambda time, _: time < steps, step, [tf.constant(1), inputs.read(0)])
    return tf.reduce_logsumexp(alpha, [1])


def viterbi(tf, unary, lengths, transitions):
    """The best score of each sequence, by scan."""
    sequence = tf.transpose(unary, [1, 0, 2])
    times = tf.range(1, tf.shape(unary)[1])

    def step(best, inputs):
        """The largest instead of the sum."""
        scores, time = inputs
        after = scores + tf.reduce_max(tf.expand_dims(best, 2) + transitions, 1)
        return tf.where(time < lengths, after, best)

    each = tf.scan(step, (sequence[1:], times), initializer=sequence[0])
    return tf.reduce_max(each[-1], 1)


def build(tf, data):
    """BiLSTM-CRF: forward algorithm in a while_loop, Viterbi scores by scan, where over lengths, nesterov momentum."""
    words = tf.placeholder(tf.int32, [None, None], name="words")
    tags = tf.placeholder(tf.int32, [None, None], name="tags")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    with tf.variable_scope("words"):
        table = tf.get_variable("embeddings", [WORDS, WIDTH])
        x = tf.nn.embedding_lookup(table, words)
    with tf.variable_scope("bi-lstm"):
        (forward, backward), _ = tf.nn.bidirectional_dynamic_rnn(
            tf.contrib.rnn.LSTMCell(UNITS),
            tf.contrib.rnn.LSTMCell(UNITS),
            x,
            sequence_length=lengths,
            dtype=tf.float32,
        )
        h = tf.concat([forward, backward], axis=-1)
    with tf.variable_scope("proj"):
        w = tf.get_variable("W", [2 * UNITS, TAGS])
        b = tf.get_variable("b", [TAGS], initializer=tf.zeros_initializer())
        flat = tf.matmul(tf.reshape(h, [-1, 2 * UNITS]), w) + b
        unary = tf.reshape(flat, [-1, tf.shape(h)[1], TAGS])
    transitions = tf.get_variable("transitions", [TAGS, TAGS])
    likelihood = path_score(tf, unary, tags, lengths, transitions) - log_norm(tf, unary, lengths, transitions)
    loss = tf.reduce_mean(-likelihood)
    best = viterbi(tf, unary, lengths, transitions)
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    train = optimizer.apply_gradients(zip(gradients, variables))

    def batch(size, longest):
        many = data.randint(1, longest + 1, size)
        many[0] = longest
        inside = np.arange(longest) < many[:, None]
        return {
            words: data.randint(0, WORDS, (size, longest)) * inside,
            tags: data.randint(0, TAGS, (size, longest)) * inside,
            lengths: many,
        }

    batches = [batch(3, 6), batch(3, 4), batch(2, 7)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"unary": unary, "best": best, "likelihood": likelihood},
    )
