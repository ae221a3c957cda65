"""Matrix factorization with biases, of users and items."""

USERS, ITEMS, WIDTH = 12, 15, 5


def build(tf, data):
    """Biased factors with implicit feedback (SVD++): gathers, a ragged mean by segments, momentum of slices."""
    user = tf.placeholder(tf.int32, [None], name="user")
    item = tf.placeholder(tf.int32, [None], name="item")
    rating = tf.placeholder(tf.float32, [None], name="rating")
    seen = tf.placeholder(tf.int32, [None], name="seen_items")
    of = tf.placeholder(tf.int32, [None], name="row_of_seen")

    def factor(name, rows, width):
        """An embedding and its L2 regularizer."""
        regularizer = tf.contrib.layers.l2_regularizer(0.02)
        shape = [rows, width] if width else [rows]
        return tf.get_variable(
            name, shape, initializer=tf.random_normal_initializer(stddev=0.1), regularizer=regularizer
        )

    mean = tf.Variable(3.5, trainable=False, name="mean")
    user_factors, item_factors = factor("user_factors", USERS, WIDTH), factor("item_factors", ITEMS, WIDTH)
    implicit = factor("implicit_factors", ITEMS, WIDTH)
    user_bias, item_bias = factor("user_bias", USERS, 0), factor("item_bias", ITEMS, 0)
    count = tf.shape(user)[0]
    total = tf.unsorted_segment_sum(tf.gather(implicit, seen), of, count)
    many = tf.unsorted_segment_sum(tf.ones_like(of, tf.float32), of, count)
    p = tf.nn.embedding_lookup(user_factors, user) + total * tf.expand_dims(
        tf.rsqrt(tf.maximum(many, 1.0)), 1
    )
    q = tf.nn.embedding_lookup(item_factors, item)
    guess = tf.reduce_sum(p * q, 1) + mean + tf.gather(user_bias, user) + tf.gather(item_bias, item)
    guess = tf.clip_by_value(guess, 1.0, 5.0)
    error = tf.losses.mean_squared_error(rating, guess)
    loss = error + tf.losses.get_regularization_loss()

    # Regularizers make dense gradients; those of the error alone stay slices, which momentum takes row by row.
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    pairs = optimizer.compute_gradients(error)
    clipped = [(tf.clip_by_norm(g, 0.5) if not isinstance(g, tf.IndexedSlices) else g, v) for g, v in pairs]
    sparse = optimizer.apply_gradients(clipped)
    decay = tf.train.GradientDescentOptimizer(0.05).minimize(tf.losses.get_regularization_loss())

    def batch(size):
        lengths = data.randint(0, 4, size)
        return {
            user: data.randint(0, USERS, size),
            item: data.randint(0, ITEMS, size),
            rating: data.randint(1, 6, size).astype("f"),
            seen: data.randint(0, ITEMS, lengths.sum()),
            of: [row for row in range(size) for _ in range(lengths[row])],
        }

    batches = [batch(8), batch(8), batch(5)]
    return dict(
        losses={"loss": loss},
        train=[sparse, decay],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"guess": guess},
    )
