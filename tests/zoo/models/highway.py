"""Highway network over character features."""

CHARACTERS, WIDTH, LENGTH, CLASSES = 15, 4, 9, 5


def highway(tf, x, layers, bias=-2.0):
    """Layers that a gate lets past."""
    size = x.get_shape().as_list()[1]
    with tf.variable_scope("highway"):
        for layer in range(layers):
            g = tf.nn.relu(linear(tf, x, size, f"lin_{layer}"))
            t = tf.sigmoid(linear(tf, x, size, f"gate_{layer}") + bias)
            x = t * g + (1.0 - t) * x
    return x


def linear(tf, x, size, scope):
    """A product with a matrix that is kept transposed."""
    with tf.variable_scope(scope):
        matrix = tf.get_variable("Matrix", [size, x.get_shape().as_list()[1]], dtype=x.dtype)
        return tf.matmul(x, tf.transpose(matrix)) + tf.get_variable("Bias", [size], dtype=x.dtype)


def build(tf, data):
    """Character CNN and highway layers: convolutions of several widths, max over time, proximal steps with decay."""
    ids = tf.placeholder(tf.int32, [None, LENGTH], name="ids")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    table = tf.get_variable("char_embedding", [CHARACTERS, WIDTH])
    clear = tf.scatter_update(table, [0], tf.zeros([1, WIDTH]))  # the padding
    x = tf.expand_dims(tf.nn.embedding_lookup(table, ids), 1)
    layers = []
    for width, count in zip([1, 2, 3], [3, 4, 5]):
        with tf.variable_scope(f"TDNN/kernel_{width}"):
            w = tf.get_variable("w", [1, width, WIDTH, count])
            b = tf.get_variable("b", [count])
            convolved = tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="VALID") + b
            pooled = tf.nn.max_pool(tf.tanh(convolved), [1, 1, LENGTH - width + 1, 1], [1, 1, 1, 1], "VALID")
            layers.append(tf.squeeze(pooled, [1, 2]))
    h = highway(tf, tf.concat(layers, 1), 3)
    logits = linear(tf, h, CLASSES, "softmax")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.ProximalAdagradOptimizer(
        0.2, l2_regularization_strength=0.01, l1_regularization_strength=1e-3
    )
    batches = [
        {ids: data.randint(0, CHARACTERS, (size, LENGTH)), labels: data.randint(0, CLASSES, size)}
        for size in (5, 5, 3)
    ]
    return dict(
        losses={"loss": loss},
        train=[train.minimize(loss), clear.op],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"h": h},
    )
