"""The Transformer: encoder and decoder of "Attention Is All You Need"."""

import numpy as np

SOURCE, TARGET, WIDTH, HEADS = 19, 17, 16, 2
SIZE = WIDTH // HEADS


def positions(length):
    """Sinusoids, as rows."""
    angle = np.arange(length)[:, None] / np.power(10000.0, 2 * (np.arange(WIDTH) // 2) / WIDTH)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return angle.astype(np.float32)


def attention(tf, queries, memory, lengths, causal, scope):
    """Heads by split and concat along the batch; three dense layers of 3-D activations; masks of keys and future."""
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        q = tf.layers.dense(queries, WIDTH, use_bias=False, name="q")
        k = tf.layers.dense(memory, WIDTH, use_bias=False, name="k")
        v = tf.layers.dense(memory, WIDTH, use_bias=False, name="v")
        q, k, v = [tf.concat(tf.split(t, HEADS, axis=2), axis=0) for t in (q, k, v)]
        scores = tf.matmul(q, tf.transpose(k, [0, 2, 1])) / SIZE**0.5
        mask = tf.sequence_mask(lengths, tf.shape(memory)[1], dtype=tf.float32)
        mask = tf.expand_dims(tf.tile(mask, [HEADS, 1]), 1)
        scores += (1.0 - mask) * -1e9
        if causal:
            ones = tf.ones_like(scores[0, :, :])
            lower = tf.matrix_band_part(ones, -1, 0)
            future = tf.tile(tf.expand_dims(lower, 0), [tf.shape(scores)[0], 1, 1])
            scores = tf.where(tf.equal(future, 0), tf.ones_like(future) * (-(2.0**32) + 1), scores)
        attended = tf.matmul(tf.nn.softmax(scores), v)
        merged = tf.concat(tf.split(attended, HEADS, axis=0), axis=2)
        return normalize(tf, merged + queries, "norm")


def normalize(tf, x, scope):
    """Layer normalization."""
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        beta = tf.get_variable("beta", [WIDTH], initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", [WIDTH], initializer=tf.ones_initializer())
        return gamma * (x - mean) / ((variance + 1e-6) ** 0.5) + beta


def feed_forward(tf, x, scope):
    """Two layers at each position, and a residual."""
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        inner = tf.layers.dense(x, 2 * WIDTH, activation=tf.nn.relu)
        return normalize(tf, tf.layers.dense(inner, WIDTH) + x, "norm")


def build(tf, data):
    """Encoder-decoder: masks from lengths, causal mask, label smoothing, shared target embedding, the Noam schedule."""
    source = tf.placeholder(tf.int32, [None, None], name="source")
    source_lengths = tf.placeholder(tf.int32, [None], name="source_lengths")
    target = tf.placeholder(tf.int32, [None, None], name="target")
    target_lengths = tf.placeholder(tf.int32, [None], name="target_lengths")
    table = tf.constant(positions(12))

    with tf.variable_scope("encoder"):
        embedding = tf.get_variable("embedding", [SOURCE, WIDTH])
        x = tf.nn.embedding_lookup(embedding, source) * WIDTH**0.5
        x += tf.nn.embedding_lookup(
            table, tf.tile(tf.range(tf.shape(source)[1])[None], [tf.shape(source)[0], 1])
        )
        for block in range(2):
            with tf.variable_scope(f"block_{block}"):
                x = attention(tf, x, x, source_lengths, False, "self")
                x = feed_forward(tf, x, "ffn")
        memory = x
    with tf.variable_scope("decoder"):
        embedding = tf.get_variable("embedding", [TARGET, WIDTH])
        embedding = tf.concat([tf.zeros([1, WIDTH]), embedding[1:, :]], 0)  # the row of the padding is zero
        inputs = tf.concat([tf.ones_like(target[:, :1]), target[:, :-1]], 1)
        y = tf.nn.embedding_lookup(embedding, inputs) * WIDTH**0.5
        y += tf.expand_dims(table[: tf.shape(target)[1]], 0)
        for block in range(2):
            with tf.variable_scope(f"block_{block}"):
                y = attention(tf, y, y, target_lengths, True, "self")
                y = attention(tf, y, memory, source_lengths, False, "cross")
                y = feed_forward(tf, y, "ffn")
        logits = tf.einsum("ntd,dk->ntk", y, tf.transpose(embedding))

    smooth = (1 - 0.1) * tf.one_hot(target, TARGET) + 0.1 / TARGET
    cross_entropy = tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=smooth)
    real = tf.sequence_mask(target_lengths, tf.shape(target)[1], dtype=tf.float32)
    loss = tf.reduce_sum(cross_entropy * real) / (tf.reduce_sum(real) + 1e-7)
    right = tf.cast(tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), target), tf.float32)
    accuracy = tf.reduce_sum(right * real) / tf.reduce_sum(real)

    step = tf.train.get_or_create_global_step()
    number = tf.cast(step + 1, tf.float32)
    rate = 0.01 * 4.0**0.5 * tf.minimum(number * 4.0**-1.5, number**-0.5)
    train = tf.train.AdamOptimizer(rate, beta2=0.98, epsilon=1e-3).minimize(loss, global_step=step)

    def batch(size, length):
        lengths, others = data.randint(2, length + 1, size), data.randint(2, length, size)
        lengths[0], others[0] = length, length - 1
        return {
            source: data.randint(1, SOURCE, (size, length)) * (np.arange(length) < lengths[:, None]),
            source_lengths: lengths,
            target: data.randint(1, TARGET, (size, length - 1)) * (np.arange(length - 1) < others[:, None]),
            target_lengths: others,
        }

    batches = [batch(3, 7), batch(3, 5), batch(4, 7)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"logits": logits, "accuracy": accuracy, "memory": memory},
    )
