"""XLNet: attention of two streams with relative positions and a memory of the segment before."""

import numpy as np

VOCABULARY, WIDTH, HEADS, SIZE, LAYERS = 21, 12, 3, 4, 2
LENGTH, MEMORY, BATCH, PREDICTED = 6, 4, 2, 3


def relative_shift(tf, x, size):
    """Moves each row of the scores by its position: by a reshape and a slice."""
    shape = tf.shape(x)
    x = tf.reshape(x, [shape[1], shape[0], shape[2], shape[3]])
    x = tf.slice(x, [1, 0, 0, 0], [-1, -1, -1, -1])
    x = tf.reshape(x, [shape[0], shape[1] - 1, shape[2], shape[3]])
    return tf.slice(x, [0, 0, 0, 0], [-1, size, -1, -1])


def positional_embedding(tf, start, stop):
    """Sinusoids of the distances from start down to stop, [distance, batch, width]."""
    sequence = tf.range(start, stop, -1.0)
    frequencies = 1 / (10000 ** (tf.range(0, WIDTH, 2.0) / WIDTH))
    angles = tf.einsum("i,d->id", sequence, frequencies)
    embedding = tf.concat([tf.sin(angles), tf.cos(angles)], -1)[:, None, :]
    return tf.tile(embedding, [1, BATCH, 1])


def core(tf, q, k, v, k_position, segments, mask, biases):
    """Content, position and segment scores of relative attention."""
    w_bias, r_bias, s_bias, segment_embedding = biases
    ac = tf.einsum("ibnd,jbnd->ijbn", q + w_bias, k)
    bd = tf.einsum("ibnd,jbnd->ijbn", q + r_bias, k_position)
    bd = relative_shift(tf, bd, tf.shape(ac)[1])
    ef = tf.einsum("ibnd,snd->ibns", q + s_bias, segment_embedding)
    ef = tf.einsum("ijbs,ibns->ijbn", segments, ef)
    score = (ac + bd + ef) * (1 / SIZE**0.5)
    score = score - 1e30 * mask
    return tf.einsum("ijbn,jbnd->ibnd", tf.nn.softmax(score, 1), v)


def head_projection(tf, h, name):
    """[length, batch, width] to [length, batch, heads, size]."""
    kernel = tf.get_variable(f"{name}/kernel", [WIDTH, HEADS, SIZE])
    return tf.einsum("ibh,hnd->ibnd", h, kernel)


def after(tf, h, attended):
    """Projection, residual and normalization, by the same weights for both streams."""
    with tf.variable_scope("rel_attn", reuse=tf.AUTO_REUSE):
        kernel = tf.get_variable("o/kernel", [WIDTH, HEADS, SIZE])
        h = normalize(tf, h + tf.einsum("ibnd,hnd->ibh", attended, kernel))
    with tf.variable_scope("ff", reuse=tf.AUTO_REUSE):
        inner = tf.layers.dense(h, 2 * WIDTH, activation=tf.nn.elu, name="layer_1")
        return normalize(tf, tf.layers.dense(inner, WIDTH, name="layer_2") + h)


def normalize(tf, x):
    """Layer normalization over the last axis."""
    with tf.variable_scope("LayerNorm", reuse=tf.AUTO_REUSE):
        gain = tf.get_variable("gamma", [WIDTH], initializer=tf.ones_initializer())
        bias = tf.get_variable("beta", [WIDTH], initializer=tf.zeros_initializer())
    mean = tf.reduce_mean(x, -1, keepdims=True)
    return gain * (x - mean) * tf.rsqrt(tf.reduce_mean((x - mean) ** 2, -1, keepdims=True) + 1e-6) + bias


def build(tf, data):
    """Permutation language model: einsums of 2 to 4 letters, two streams, relative shift, variables as memory."""
    tokens = tf.placeholder(tf.int32, [LENGTH, BATCH], name="tokens")
    kinds = tf.placeholder(tf.int32, [LENGTH, BATCH], name="kinds")
    permutation = tf.placeholder(tf.float32, [LENGTH, LENGTH, BATCH], name="permutation_mask")
    mapping = tf.placeholder(tf.float32, [PREDICTED, LENGTH, BATCH], name="target_mapping")
    targets = tf.placeholder(tf.int32, [PREDICTED, BATCH], name="targets")

    with tf.variable_scope("transformer"):
        memories = [
            tf.get_variable(
                f"mems_{i}", [MEMORY, BATCH, WIDTH], trainable=False, initializer=tf.zeros_initializer()
            )
            for i in range(LAYERS)
        ]
        biases = [tf.get_variable(n, [LAYERS, HEADS, SIZE]) for n in ("r_w_bias", "r_r_bias", "r_s_bias")]
        segment_embedding = tf.get_variable("seg_embed", [LAYERS, 2, HEADS, SIZE])
        table = tf.get_variable("word_embedding", [VOCABULARY, WIDTH])
        h = tf.nn.embedding_lookup(table, tokens)
        g = tf.tile(tf.get_variable("mask_emb", [1, 1, WIDTH]), [PREDICTED, BATCH, 1])

        past = tf.zeros([LENGTH, MEMORY, BATCH])
        query_mask = tf.concat([past, permutation], 1)[:, :, :, None]
        own = tf.concat([tf.zeros([LENGTH, MEMORY]), -tf.eye(LENGTH)], axis=-1)
        content_mask = tf.cast((query_mask + own[:, :, None, None]) > 0, tf.float32)
        all_kinds = tf.concat([tf.zeros([MEMORY, BATCH], tf.int32), kinds], 0)
        different = tf.cast(tf.logical_not(tf.equal(kinds[:, None], all_kinds[None, :])), tf.int32)
        segments = tf.one_hot(different, 2, dtype=tf.float32)
        distances = positional_embedding(tf, LENGTH + MEMORY, -LENGTH)

        kept = []
        for layer in range(LAYERS):
            kept.append(tf.stop_gradient(h[-MEMORY:]))
            with tf.variable_scope(f"layer_{layer}"):
                own_biases = [b[layer] for b in biases] + [segment_embedding[layer]]
                with tf.variable_scope("rel_attn"):
                    both = tf.concat([memories[layer].read_value(), h], 0)
                    k, v = head_projection(tf, both, "k"), head_projection(tf, both, "v")
                    r = head_projection(tf, distances, "r")
                with tf.variable_scope("rel_attn", reuse=tf.AUTO_REUSE):
                    content = core(
                        tf, head_projection(tf, h, "q"), k, v, r, segments, content_mask, own_biases
                    )
                    q = tf.einsum("mbnd,mlb->lbnd", head_projection(tf, g, "q"), mapping)
                    query = core(tf, q, k, v, r, segments, query_mask, own_biases)
                    query = tf.einsum("lbnd,mlb->mbnd", query, mapping)
                h, g = after(tf, h, content), after(tf, g, query)

    logits = tf.einsum("ibd,nd->ibn", g, table) + tf.get_variable("softmax_b", [VOCABULARY])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits))
    gradients = tf.train.AdamOptimizer(0.005, epsilon=1e-3)
    pairs = gradients.compute_gradients(loss)
    clipped, _ = tf.clip_by_global_norm([p[0] for p in pairs], 0.25)
    update = gradients.apply_gradients(zip(clipped, [p[1] for p in pairs]))
    with tf.control_dependencies([update]):
        train = tf.group(*[tf.assign(memory, last) for memory, last in zip(memories, kept)])

    def batch():
        mask, where = np.zeros((LENGTH, LENGTH, BATCH), "f"), np.zeros((PREDICTED, LENGTH, BATCH), "f")
        for b in range(BATCH):
            order = data.permutation(LENGTH)
            mask[:, :, b] = order[:, None] <= order[None, :]
            for row, place in enumerate(np.sort(np.argsort(order)[-PREDICTED:])):
                where[row, place, b] = 1
        return {
            tokens: data.randint(0, VOCABULARY, (LENGTH, BATCH)),
            kinds: (np.arange(LENGTH)[:, None] >= data.randint(1, LENGTH, BATCH)).astype(np.int32),
            permutation: mask,
            mapping: where,
            targets: data.randint(0, VOCABULARY, (PREDICTED, BATCH)),
        }

    batches = [batch() for _ in range(3)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"logits": logits, "content": h},
    )
