"""BERT: a bidirectional encoder with a masked language model and a sentence head."""

import math

import numpy as np

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH, MASKED = 29, 12, 3, 2, 10, 4, 3


def layer_norm(tf, x, name):
    """Layer normalization by nn.moments and nn.batch_normalization."""
    with tf.variable_scope(name):
        beta = tf.get_variable("beta", [WIDTH], initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", [WIDTH], initializer=tf.ones_initializer())
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12)


def gelu_erf(tf, x):
    """Exact, by the error function."""
    return x * 0.5 * (1.0 + tf.erf(x / tf.sqrt(2.0)))


def gelu_tanh(tf, x):
    """Approximate."""
    return x * 0.5 * (1.0 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * tf.pow(x, 3))))


def attention_layer(tf, x, mask, dtype_bias):
    """Attention of 2-D rows, as BERT keeps them, with an additive mask of the padding."""
    size = WIDTH // HEADS
    initializer = tf.truncated_normal_initializer(stddev=0.02)

    def heads(name, use_bias):
        rows = tf.layers.dense(x, WIDTH, name=name, use_bias=use_bias, kernel_initializer=initializer)
        return tf.transpose(tf.reshape(rows, [BATCH, LENGTH, HEADS, size]), [0, 2, 1, 3])

    query, key, value = heads("query", True), heads("key", False), heads("value", True)
    scores = tf.multiply(tf.matmul(query, key, transpose_b=True), 1.0 / math.sqrt(float(size)))
    adder = (1.0 - tf.cast(tf.expand_dims(mask, axis=[1]), tf.float32)) * dtype_bias
    probabilities = tf.nn.softmax(scores + adder)
    context = tf.transpose(tf.matmul(probabilities, value), [0, 2, 1, 3])
    return tf.reshape(context, [BATCH * LENGTH, WIDTH])


def gather_indexes(tf, sequence, positions):
    """The vectors at the positions of each sequence, as rows."""
    offsets = tf.reshape(tf.range(0, BATCH, dtype=tf.int32) * LENGTH, [-1, 1])
    flat = tf.reshape(positions + offsets, [-1])
    return tf.gather(tf.reshape(sequence, [BATCH * LENGTH, WIDTH]), flat)


def build(tf, data):
    """BERT in small: three embeddings, masks from lengths, masked tokens by gather, a pooled head, AdamW by hand."""
    ids = tf.placeholder(tf.int32, [BATCH, LENGTH], name="input_ids")
    lengths = tf.placeholder(tf.int32, [BATCH], name="lengths")
    segments = tf.placeholder(tf.int32, [BATCH, LENGTH], name="segment_ids")
    positions = tf.placeholder(tf.int32, [BATCH, MASKED], name="masked_lm_positions")
    labels = tf.placeholder(tf.int32, [BATCH, MASKED], name="masked_lm_ids")
    weights = tf.placeholder(tf.float32, [BATCH, MASKED], name="masked_lm_weights")
    follows = tf.placeholder(tf.int32, [BATCH], name="next_sentence_labels")
    initializer = tf.truncated_normal_initializer(stddev=0.02)

    with tf.variable_scope("bert"):
        with tf.variable_scope("embeddings"):
            words = tf.get_variable("word_embeddings", [VOCABULARY, WIDTH], initializer=initializer)
            x = tf.reshape(tf.gather(words, tf.reshape(ids, [-1])), [BATCH, LENGTH, WIDTH])
            kinds = tf.get_variable("token_type_embeddings", [2, WIDTH], initializer=initializer)
            one_hot = tf.one_hot(tf.reshape(segments, [-1]), depth=2)
            x += tf.reshape(tf.matmul(one_hot, kinds), [BATCH, LENGTH, WIDTH])
            places = tf.get_variable("position_embeddings", [16, WIDTH], initializer=initializer)
            x += tf.reshape(tf.slice(places, [0, 0], [LENGTH, -1]), [1, LENGTH, WIDTH])
            x = layer_norm(tf, x, "LayerNorm")
        mask = tf.cast(tf.sequence_mask(lengths, LENGTH), tf.int32)
        broadcast = tf.ones([BATCH, LENGTH, 1]) * tf.cast(tf.reshape(mask, [BATCH, 1, LENGTH]), tf.float32)
        x = tf.reshape(x, [-1, WIDTH])
        for layer in range(LAYERS):
            with tf.variable_scope(f"layer_{layer}"):
                with tf.variable_scope("attention"):
                    attended = attention_layer(tf, x, broadcast, -10000.0)
                    attended = tf.layers.dense(attended, WIDTH, kernel_initializer=initializer, name="output")
                    attended = layer_norm(tf, attended + x, "LayerNorm")
                activation = gelu_erf if layer % 2 == 0 else gelu_tanh
                middle = tf.layers.dense(
                    attended, 2 * WIDTH, activation=lambda v, f=activation: f(tf, v), name="intermediate"
                )
                x = layer_norm(tf, tf.layers.dense(middle, WIDTH, name="output") + attended, "LayerNorm")
        sequence = tf.reshape(x, [BATCH, LENGTH, WIDTH])
        with tf.variable_scope("pooler"):
            pooled = tf.layers.dense(tf.squeeze(sequence[:, 0:1, :], axis=1), WIDTH, activation=tf.tanh)

    with tf.variable_scope("cls/predictions"):
        picked = gather_indexes(tf, sequence, positions)
        with tf.variable_scope("transform"):
            picked = tf.layers.dense(picked, WIDTH, activation=lambda v: gelu_erf(tf, v))
            picked = layer_norm(tf, picked, "LayerNorm")
        bias = tf.get_variable("output_bias", [VOCABULARY], initializer=tf.zeros_initializer())
        log_probabilities = tf.nn.log_softmax(
            tf.nn.bias_add(tf.matmul(picked, words, transpose_b=True), bias), axis=-1
        )
        chosen = tf.one_hot(tf.reshape(labels, [-1]), depth=VOCABULARY, dtype=tf.float32)
        each = -tf.reduce_sum(log_probabilities * chosen, axis=[-1])
        flat = tf.reshape(weights, [-1])
        masked_loss = tf.reduce_sum(flat * each) / (tf.reduce_sum(flat) + 1e-5)

    with tf.variable_scope("cls/seq_relationship"):
        w = tf.get_variable("output_weights", [2, WIDTH], initializer=initializer)
        b = tf.get_variable("output_bias", [2], initializer=tf.zeros_initializer())
        sentence = tf.nn.log_softmax(tf.nn.bias_add(tf.matmul(pooled, w, transpose_b=True), b), axis=-1)
        sentence_loss = -tf.reduce_mean(tf.reduce_sum(tf.one_hot(follows, 2) * sentence, axis=-1))

    loss = masked_loss + sentence_loss
    # Adam with decoupled weight decay, slots by hand.
    updates = []
    rate = tf.train.polynomial_decay(0.02, tf.train.get_or_create_global_step(), 30, end_learning_rate=0.0)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), clip_norm=1.0)
    for gradient, variable in zip(gradients, variables):
        name = variable.name[:-2]
        m = tf.get_variable(
            name + "/adam_m", variable.shape, trainable=False, initializer=tf.zeros_initializer()
        )
        v = tf.get_variable(
            name + "/adam_v", variable.shape, trainable=False, initializer=tf.zeros_initializer()
        )
        next_m = tf.multiply(0.9, m) + tf.multiply(1.0 - 0.9, gradient)
        next_v = tf.multiply(0.999, v) + tf.multiply(1.0 - 0.999, tf.square(gradient))
        update = next_m / (tf.sqrt(next_v) + 1e-3)
        if "LayerNorm" not in name and "bias" not in name:
            update += 0.01 * variable
        updates.extend([variable.assign(variable - rate * update), m.assign(next_m), v.assign(next_v)])
    with tf.control_dependencies(updates):
        train = tf.train.get_global_step().assign_add(1)

    def batch():
        size = data.randint(5, LENGTH + 1, BATCH)
        return {
            ids: data.randint(0, VOCABULARY, (BATCH, LENGTH)),
            lengths: size,
            segments: (np.arange(LENGTH) >= size[:, None] // 2).astype(np.int32),
            positions: np.stack([np.sort(data.permutation(s)[:MASKED]) for s in size]),
            labels: data.randint(0, VOCABULARY, (BATCH, MASKED)),
            weights: np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 1]], np.float32),
            follows: data.randint(0, 2, BATCH),
        }

    batches = [batch() for _ in range(3)]
    return dict(
        losses={"loss": loss, "masked": (masked_loss, [v for v in variables if "seq_rel" not in v.name])},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"sentence": sentence, "pooled": pooled, "sequence": sequence},
    )
