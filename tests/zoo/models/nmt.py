"""Neural machine translation with attention, the decoder a while_loop written by hand."""

SOURCE, TARGET, WIDTH, UNITS = 15, 13, 6, 8


def build(tf, data):
    """Bidirectional encoder with lengths; a decoder in a while_loop with TensorArrays and Bahdanau's attention."""
    source = tf.placeholder(tf.int32, [None, None], name="source")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    target = tf.placeholder(tf.int32, [None, None], name="target")
    target_lengths = tf.placeholder(tf.int32, [None], name="target_lengths")
    batch_size, steps = tf.shape(target)[0], tf.shape(target)[1]

    with tf.variable_scope("encoder"):
        table = tf.get_variable("embedding", [SOURCE, WIDTH])
        embedded = tf.nn.embedding_lookup(table, source)
        (forward, backward), (last_forward, last_backward) = tf.nn.bidirectional_dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(UNITS),
            tf.nn.rnn_cell.GRUCell(UNITS),
            embedded,
            sequence_length=lengths,
            dtype=tf.float32,
        )
        memory = tf.concat([forward, backward], 2)
        state = tf.layers.dense(
            tf.concat([last_forward, last_backward], 1), UNITS, activation=tf.tanh, name="bridge"
        )

    with tf.variable_scope("decoder"):
        out_table = tf.get_variable("embedding", [TARGET, WIDTH])
        shifted = tf.concat([tf.zeros_like(target[:, :1]), target[:, :-1]], 1)
        inputs = tf.TensorArray(tf.float32, size=steps).unstack(
            tf.transpose(tf.nn.embedding_lookup(out_table, shifted), [1, 0, 2])
        )
        keys = tf.layers.dense(memory, UNITS, use_bias=False, name="memory_layer")
        query_layer = tf.layers.Dense(UNITS, use_bias=False, name="query_layer")
        score_vector = tf.get_variable("attention_v", [UNITS])
        score_scale = tf.get_variable("attention_g", [], initializer=tf.constant_initializer(UNITS**-0.5))
        score_bias = tf.get_variable("attention_b", [UNITS], initializer=tf.zeros_initializer())
        cell = tf.nn.rnn_cell.GRUCell(UNITS)
        mask = tf.sequence_mask(lengths, tf.shape(source)[1])

        def step(time, state, context, states, contexts):
            """Feeds the context of the step before, looks at the memory with the new state."""
            _, state = cell(tf.concat([inputs.read(time), context], 1), state)
            normed = score_scale * score_vector * tf.rsqrt(tf.reduce_sum(tf.square(score_vector)))
            scores = tf.reduce_sum(
                normed * tf.tanh(keys + tf.expand_dims(query_layer(state), 1) + score_bias), [2]
            )
            scores = tf.where(mask, scores, -1e9 * tf.ones_like(scores))
            alignment = tf.expand_dims(tf.nn.softmax(scores), 1)
            context = tf.squeeze(tf.matmul(alignment, memory), [1])
            return time + 1, state, context, states.write(time, state), contexts.write(time, context)

        first = tf.zeros([batch_size, 2 * UNITS])
        first.set_shape([None, 2 * UNITS])
        _, _, _, states, contexts = tf.while_loop(
            lambda time, *_: time < steps,
            step,
            [
                tf.constant(0),
                state,
                first,
                tf.TensorArray(tf.float32, size=steps, element_shape=[None, UNITS]),
                tf.TensorArray(tf.float32, size=steps, element_shape=[None, 2 * UNITS]),
            ],
            parallel_iterations=4,
        )
        seen = tf.transpose(tf.concat([states.stack(), contexts.stack()], 2), [1, 0, 2])
        seen.set_shape([None, None, 3 * UNITS])
        hidden = tf.layers.dense(seen, UNITS, activation=tf.tanh, use_bias=False, name="attention_layer")
        logits = tf.layers.dense(hidden, TARGET, use_bias=False, name="output_projection")

    weights = tf.sequence_mask(target_lengths, steps, dtype=tf.float32)
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
    loss = tf.reduce_sum(each * weights) / tf.cast(batch_size, tf.float32)
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    step_count = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step_count, 5, 0.5, staircase=True)
    train = tf.train.GradientDescentOptimizer(rate).apply_gradients(
        zip(gradients, variables), global_step=step_count
    )

    def batch(size, longest):
        many, others = data.randint(1, longest + 1, size), data.randint(1, longest, size)
        many[-1], others[0] = longest, longest - 1
        return {
            source: data.randint(0, SOURCE, (size, longest)),
            lengths: many,
            target: data.randint(1, TARGET, (size, longest - 1)),
            target_lengths: others,
        }

    batches = [batch(3, 6), batch(3, 5), batch(2, 7)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"logits": logits, "norm": norm},
    )
