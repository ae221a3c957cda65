"""A tagger: two bidirectional layers of GRU cells over padded sentences."""

import numpy as np

WORDS, TAGS, WIDTH, UNITS = 20, 5, 6, 5


def build(tf, data):
    """Bidirectional GRU with lengths, two layers, time-major between, masked mean; sparse updates of the embedding."""
    words = tf.placeholder(tf.int32, [None, None], name="words")
    tags = tf.placeholder(tf.int32, [None, None], name="tags")
    lengths = tf.placeholder(tf.int64, [None], name="lengths")
    with tf.device("/cpu:0"):
        embedding = tf.get_variable(
            "embedding", [WORDS, WIDTH], initializer=tf.random_uniform_initializer(-1, 1)
        )
        x = tf.transpose(tf.nn.embedding_lookup(embedding, words), [1, 0, 2])
    for layer in range(2):
        with tf.variable_scope(f"bi_{layer}"):
            outputs, states = tf.nn.bidirectional_dynamic_rnn(
                tf.nn.rnn_cell.GRUCell(UNITS, activation=tf.nn.relu if layer else None),
                tf.nn.rnn_cell.GRUCell(UNITS),
                x,
                sequence_length=lengths,
                dtype=tf.float32,
                time_major=True,
            )
            x = tf.concat(outputs, axis=2)
    x = tf.transpose(x, [1, 0, 2])
    logits = tf.layers.dense(tf.layers.dense(x, 8, tf.nn.relu), TAGS)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tags, logits=logits)
    real = tf.sequence_mask(lengths, maxlen=tf.shape(words)[1])
    loss = tf.reduce_mean(tf.boolean_mask(losses, real))
    guess = tf.cast(tf.argmax(logits, -1), tf.int32)
    right = tf.reduce_sum(tf.cast(tf.logical_and(tf.equal(guess, tags), real), tf.int32))
    train = tf.train.AdadeltaOptimizer(1.0, rho=0.9, epsilon=1e-4).minimize(loss)

    def batch(size, longest):
        many = data.randint(2, longest + 1, size)
        many[0] = longest
        return {
            words: data.randint(0, WORDS, (size, longest)) * (np.arange(longest) < many[:, None]),
            tags: data.randint(0, TAGS, (size, longest)),
            lengths: many,
        }

    batches = [batch(3, 6), batch(3, 8), batch(3, 6), batch(2, 5)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"logits": logits, "last": tf.concat(states, 1), "right": right},
    )
