"""GPT: a decoder-only Transformer with tied embeddings."""

import numpy as np

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 23, 16, 4, 2, 8


def normalize(tf, x, scope):
    """Layer normalization over the last axis, written by hand."""
    with tf.variable_scope(scope):
        gain = tf.get_variable("g", [WIDTH], initializer=tf.constant_initializer(1))
        bias = tf.get_variable("b", [WIDTH], initializer=tf.constant_initializer(0))
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
        return (x - mean) * tf.rsqrt(variance + 1e-5) * gain + bias


def dense(tf, x, scope, units):
    """A product with a matrix over the last axis of a 3-D activation, seen as rows."""
    with tf.variable_scope(scope):
        depth = x.shape[-1].value
        shape = tf.shape(x)
        w = tf.get_variable("w", [1, depth, units], initializer=tf.random_normal_initializer(stddev=0.02))
        b = tf.get_variable("b", [units], initializer=tf.constant_initializer(0))
        rows = tf.matmul(tf.reshape(x, [-1, depth]), tf.reshape(w, [-1, units])) + b
        return tf.reshape(rows, [shape[0], shape[1], units])


def attention_mask(tf, size):
    """Ones where a position may look: at itself and before."""
    i, j = tf.range(size)[:, None], tf.range(size)
    return tf.cast(i >= j, tf.float32)


def attend(tf, x, scope):
    """Causal attention of several heads."""
    with tf.variable_scope(scope):
        shape = tf.shape(x)
        c = dense(tf, x, "c_attn", 3 * WIDTH)
        q, k, v = [
            tf.transpose(tf.reshape(part, [shape[0], shape[1], HEADS, WIDTH // HEADS]), [0, 2, 1, 3])
            for part in tf.split(c, 3, axis=2)
        ]
        weights = tf.matmul(q, k, transpose_b=True) * (1.0 / np.sqrt(WIDTH // HEADS))
        mask = attention_mask(tf, shape[1])[None, None]
        weights = tf.nn.softmax(weights * mask - 1e10 * (1 - mask))
        merged = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [shape[0], shape[1], WIDTH])
        return dense(tf, merged, "c_proj", WIDTH)


def gelu(tf, x):
    """The approximation by tanh."""
    return 0.5 * x * (1 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))


def build(tf, data):
    """GPT-2 in small: joint projection of Q, K and V, causal mask by range, the embedding tied to the head."""
    tokens = tf.placeholder(tf.int32, [None, None], name="tokens")
    with tf.variable_scope("model"):
        wpe = tf.get_variable("wpe", [LENGTH, WIDTH], initializer=tf.random_normal_initializer(stddev=0.01))
        wte = tf.get_variable(
            "wte", [VOCABULARY, WIDTH], initializer=tf.random_normal_initializer(stddev=0.02)
        )
        length = tf.shape(tokens)[1] - 1
        h = tf.gather(wte, tokens[:, :-1]) + tf.gather(wpe, tf.range(length))
        for layer in range(LAYERS):
            with tf.variable_scope(f"h{layer}"):
                h = h + attend(tf, normalize(tf, h, "ln_1"), "attn")
                m = gelu(tf, dense(tf, normalize(tf, h, "ln_2"), "c_fc", 4 * WIDTH))
                h = h + dense(tf, m, "c_proj", WIDTH)
        h = normalize(tf, h, "ln_f")
        logits = tf.matmul(tf.reshape(h, [-1, WIDTH]), wte, transpose_b=True)
        logits = tf.reshape(logits, [tf.shape(tokens)[0], length, VOCABULARY])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tokens[:, 1:], logits=logits))
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
    train = tf.train.AdamOptimizer(1e-3, beta2=0.98, epsilon=1e-4).apply_gradients(zip(gradients, variables))
    batches = [data.randint(0, VOCABULARY, (3, size)) for size in (9, 9, 7)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: {tokens: batches[step % len(batches)]},
        outputs={"logits": logits},
    )
