"""Hierarchical attention network for documents."""

import numpy as np

WORDS, WIDTH, UNITS, CLASSES = 18, 5, 4, 3


def attend(tf, h, mask, scope):
    """A weighted mean over the second axis, by similarity to a context vector that is learned."""
    with tf.variable_scope(scope):
        context = tf.get_variable("context", [2 * UNITS])
        projected = tf.contrib.layers.fully_connected(h, 2 * UNITS, activation_fn=tf.tanh)
        scores = tf.reduce_sum(tf.multiply(projected, context), axis=2, keepdims=True)
        scores += tf.expand_dims((1.0 - mask) * -1e4, 2)
        weights = tf.nn.softmax(scores, axis=1)
        return tf.reduce_sum(tf.multiply(h, weights), axis=1), weights


def encode(tf, x, lengths, scope):
    """Both directions of a GRU."""
    with tf.variable_scope(scope):
        forward, backward = tf.nn.rnn_cell.GRUCell(UNITS), tf.nn.rnn_cell.GRUCell(UNITS)
        outputs, _ = tf.nn.bidirectional_dynamic_rnn(
            forward, backward, x, sequence_length=lengths, dtype=tf.float32
        )
        return tf.concat(outputs, 2)


def build(tf, data):
    """HAN: 4-D documents folded to rows and back, masks and lengths at two levels (also of zero), attention twice."""
    documents = tf.placeholder(tf.int32, [None, None, None], name="documents")
    sentence_lengths = tf.placeholder(tf.int32, [None], name="sentence_lengths")
    word_lengths = tf.placeholder(tf.int32, [None, None], name="word_lengths")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    count, sentences, words = tf.unstack(tf.shape(documents))

    table = tf.get_variable("embedding", [WORDS, WIDTH])
    embedded = tf.nn.embedding_lookup(table, documents)
    rows = tf.reshape(embedded, [count * sentences, words, WIDTH])
    many = tf.reshape(word_lengths, [count * sentences])
    h = encode(tf, rows, many, "word")
    vectors, word_weights = attend(tf, h, tf.sequence_mask(many, words, tf.float32), "word_attention")
    inputs = tf.reshape(vectors, [count, sentences, 2 * UNITS])
    h = encode(tf, inputs, sentence_lengths, "sentence")
    mask = tf.sequence_mask(sentence_lengths, sentences, tf.float32)
    vector, sentence_weights = attend(tf, h, mask, "sentence_attention")
    logits = tf.contrib.layers.fully_connected(vector, CLASSES, activation_fn=None)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    step = tf.Variable(0, name="global_step", trainable=False)
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 0.5)
    train = tf.train.AdamOptimizer(5e-3, epsilon=1e-3).apply_gradients(
        zip(gradients, variables), global_step=step
    )

    def batch(size, longest, widest):
        many = data.randint(1, longest + 1, size)
        many[0] = longest
        each = data.randint(1, widest + 1, (size, longest)) * (np.arange(longest) < many[:, None])
        each[0, 0] = widest
        inside = np.arange(widest) < each[:, :, None]
        return {
            documents: data.randint(0, WORDS, (size, longest, widest)) * inside,
            sentence_lengths: many,
            word_lengths: each,
            labels: data.randint(0, CLASSES, size),
        }

    batches = [batch(3, 3, 5), batch(2, 4, 4)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % 2],
        outputs={"logits": logits, "words": word_weights, "sentences": sentence_weights, "norm": norm},
    )
