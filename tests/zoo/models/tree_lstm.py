"""A recursive network over parse trees, which are fed as lists of children."""

UNITS, WORDS, CLASSES = 10, 20, 5


def build(tf, data):
    """A Tree-LSTM node by node: while_loop over cond, TensorArrays read at fed places, then joined by concat."""
    words = tf.placeholder(tf.int32, [None], name="words")
    is_leaf = tf.placeholder(tf.bool, [None], name="is_leaf")
    left = tf.placeholder(tf.int32, [None], name="left")
    right = tf.placeholder(tf.int32, [None], name="right")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    xavier = tf.contrib.layers.xavier_initializer()
    uniform = tf.random_uniform_initializer(-0.5, 0.5)
    embedding = tf.get_variable("embedding", [WORDS, UNITS], initializer=uniform)
    with tf.variable_scope("composition"):
        leaf_weights = tf.get_variable("leaf_weights", [UNITS, 3 * UNITS], initializer=xavier)
        leaf_bias = tf.get_variable("leaf_bias", [1, 3 * UNITS], initializer=tf.zeros_initializer())
        node_weights = tf.get_variable("node_weights", [2 * UNITS, 5 * UNITS], initializer=xavier)
        node_bias = tf.get_variable("node_bias", [1, 5 * UNITS], initializer=tf.zeros_initializer())
    with tf.variable_scope("projection"):
        weights = tf.get_variable("weights", [UNITS, CLASSES])
        bias = tf.get_variable("bias", [1, CLASSES], initializer=tf.zeros_initializer())

    def array():
        return tf.TensorArray(
            tf.float32, size=0, dynamic_size=True, clear_after_read=False, infer_shape=False
        )

    def leaf(word):
        x = tf.expand_dims(tf.gather(embedding, word), 0)
        i, o, g = tf.split(tf.matmul(x, leaf_weights) + leaf_bias, 3, 1)
        c = tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    def node(hidden, cells, first, second):
        pair = tf.reshape(hidden.gather([first, second]), [1, 2 * UNITS])
        one, other = (tf.reshape(cells.read(child), [1, UNITS]) for child in (first, second))
        i, keep, keep_other, o, g = tf.split(tf.matmul(pair, node_weights) + node_bias, 5, 1)
        c = tf.sigmoid(i) * tf.tanh(g) + tf.sigmoid(keep + 1.0) * one + tf.sigmoid(keep_other + 1.0) * other
        return tf.sigmoid(o) * tf.tanh(c), c

    def body(k, hidden, cells):
        h, c = tf.cond(is_leaf[k], lambda: leaf(words[k]), lambda: node(hidden, cells, left[k], right[k]))
        return k + 1, hidden.write(k, h), cells.write(k, c)

    start = [tf.constant(0), array(), array()]
    _, hidden, _ = tf.while_loop(lambda k, *_: k < tf.size(words), body, start, parallel_iterations=1)
    states = tf.reshape(hidden.concat(), [-1, UNITS])
    logits = tf.matmul(states, weights) + bias
    root = tf.argmax(logits[-1:], 1)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels)
    decay = 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in (leaf_weights, node_weights, weights)])
    loss = tf.reduce_sum(entropy) + decay
    train = tf.train.AdagradOptimizer(0.05).minimize(loss)

    def tree(leaves):
        nodes = [(data.randint(WORDS), True, -1, -1) for _ in range(leaves)]
        roots = list(range(leaves))
        while len(roots) > 1:
            at = data.randint(len(roots) - 1)
            nodes.append((-1, False, roots[at], roots[at + 1]))
            roots[at : at + 2] = [len(nodes) - 1]
        columns = dict(zip((words, is_leaf, left, right), zip(*nodes)))
        return {**columns, labels: data.randint(0, CLASSES, len(nodes))}

    trees = [tree(leaves) for leaves in (3, 5, 4, 6, 2, 7)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: trees[step % len(trees)],
        outputs={"root": root, "states": states},
    )
