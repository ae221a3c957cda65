import numpy as np


def build(tf, data):
    """MAML: two gradient steps on each task inside the graph, and the gradient through those steps."""
    inputs_a = tf.placeholder(tf.float32, [3, 5, 1], name="inputs_a")
    labels_a = tf.placeholder(tf.float32, [3, 5, 1], name="labels_a")
    inputs_b = tf.placeholder(tf.float32, [3, 5, 1], name="inputs_b")
    labels_b = tf.placeholder(tf.float32, [3, 5, 1], name="labels_b")
    with tf.variable_scope("model"):
        weights = {
            "w1": tf.Variable(tf.truncated_normal([1, 8], stddev=0.1), name="w1"),
            "b1": tf.Variable(tf.zeros([8]), name="b1"),
            "w2": tf.Variable(tf.truncated_normal([8, 8], stddev=0.1), name="w2"),
            "b2": tf.Variable(tf.zeros([8]), name="b2"),
            "w3": tf.Variable(tf.truncated_normal([8, 1], stddev=0.1), name="w3"),
            "b3": tf.Variable(tf.zeros([1]), name="b3"),
        }

    def forward(x, w):
        hidden = tf.nn.softplus(tf.matmul(x, w["w1"]) + w["b1"])
        hidden = tf.tanh(tf.matmul(hidden, w["w2"]) + w["b2"])
        return tf.matmul(hidden, w["w3"]) + w["b3"]

    def mean_squares(prediction, label):
        return tf.reduce_mean(tf.square(tf.reshape(prediction, [-1]) - tf.reshape(label, [-1])))

    def task_metalearn(arguments):
        x_a, y_a, x_b, y_b = arguments
        losses = []
        fast = dict(weights)
        for _ in range(2):
            inner = mean_squares(forward(x_a, fast), y_a)
            slopes = dict(zip(fast.keys(), tf.gradients(inner, list(fast.values()))))
            fast = dict(zip(fast.keys(), [fast[key] - 0.05 * slopes[key] for key in fast]))
            losses.append(mean_squares(forward(x_b, fast), y_b))
        return losses

    tasks = [task_metalearn([t[i] for t in (inputs_a, labels_a, inputs_b, labels_b)]) for i in range(3)]
    first, last = (tf.reduce_mean(tf.stack([losses[k] for losses in tasks])) for k in (0, 1))
    optimizer = tf.train.AdamOptimizer(1e-3, epsilon=1e-2)
    found = optimizer.compute_gradients(last, list(weights.values()))
    train_op = optimizer.apply_gradients([(tf.clip_by_value(g, -10, 10), v) for g, v in found])
    phase, height = data.uniform(0, np.pi, (4, 3, 1, 1)), data.uniform(0.5, 2.0, (4, 3, 1, 1))
    xs = data.uniform(-3, 3, (2, 4, 3, 5, 1)).astype("float32")
    ys = (height * np.sin(xs + phase)).astype("float32")

    def feeds(step):
        k = step % 4
        return {inputs_a: xs[0, k], labels_a: ys[0, k], inputs_b: xs[1, k], labels_b: ys[1, k]}

    return dict(losses={"last": last, "first": first}, train=[train_op], feeds=feeds)
