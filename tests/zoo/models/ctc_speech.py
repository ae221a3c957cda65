"""A recognizer of speech: bidirectional LSTMs under connectionist temporal classification."""

import numpy as np

FEATURES, UNITS, OUTPUTS, CLASSES, BATCH, MOST_LABELS = 6, 10, 8, 7, 4, 3


def build(tf, data):
    """A bidirectional dynamic LSTM with peepholes and projection, sparse labels, ctc_loss, greedy decoding, edits."""
    inputs = tf.placeholder(tf.float32, [None, None, FEATURES], name="inputs")
    targets = tf.sparse_placeholder(tf.int32, name="targets")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    size = tf.shape(inputs)[0]

    def cell():
        return tf.nn.rnn_cell.LSTMCell(UNITS, use_peepholes=True, num_proj=OUTPUTS, cell_clip=10.0)

    both, _ = tf.nn.bidirectional_dynamic_rnn(cell(), cell(), inputs, lengths, dtype=tf.float32)
    frames = tf.reshape(tf.concat(both, 2), [-1, 2 * OUTPUTS])
    weights = tf.Variable(tf.truncated_normal([2 * OUTPUTS, CLASSES], stddev=0.1), name="weights")
    bias = tf.Variable(tf.zeros([CLASSES]), name="bias")
    logits = tf.transpose(tf.reshape(tf.matmul(frames, weights) + bias, [size, -1, CLASSES]), [1, 0, 2])
    losses = tf.nn.ctc_loss(targets, logits, lengths, ignore_longer_outputs_than_inputs=True)
    cost = tf.reduce_mean(losses)
    train = tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True).minimize(cost)
    decoded, score = tf.nn.ctc_greedy_decoder(logits, lengths)
    errors = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), targets))

    def batch(longest):
        many = data.randint(longest - 3, longest + 1, BATCH)
        many[0] = longest
        said = [data.randint(0, CLASSES - 1, data.randint(1, MOST_LABELS + 1)) for _ in range(BATCH)]
        indices = [[row, place] for row, labels in enumerate(said) for place in range(len(labels))]
        return {
            inputs: data.randn(BATCH, longest, FEATURES).astype(np.float32),
            lengths: many,
            targets: tf.SparseTensorValue(
                np.array(indices, np.int64),
                np.concatenate(said).astype(np.int32),
                np.array([BATCH, MOST_LABELS], np.int64),
            ),
        }

    batches = [batch(longest) for longest in (9, 12, 10, 9)]
    return dict(
        losses={"cost": cost, "errors": (errors, [])},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"score": score, "logits": logits},
    )
