"""Advantage actor-critic with a recurrent policy."""

import numpy as np

ENVIRONMENTS, STEPS, OBSERVATION, ACTIONS, UNITS = 2, 5, 6, 3, 6


def lstm(tf, inputs, masks, state, scope):
    """An LSTM unrolled in Python, one matrix for all gates, whose state a mask resets where an episode has ended."""
    width = inputs[0].shape[1].value
    with tf.variable_scope(scope):
        wx = tf.get_variable("wx", [width, 4 * UNITS], initializer=tf.orthogonal_initializer(1.0))
        wh = tf.get_variable("wh", [UNITS, 4 * UNITS], initializer=tf.orthogonal_initializer(1.0))
        b = tf.get_variable("b", [4 * UNITS], initializer=tf.constant_initializer(0.0))
    c, h = tf.split(axis=1, num_or_size_splits=2, value=state)
    outputs = []
    for x, mask in zip(inputs, masks):
        c, h = c * (1 - mask), h * (1 - mask)
        z = tf.matmul(x, wx) + tf.matmul(h, wh) + b
        i, f, o, u = tf.split(axis=1, num_or_size_splits=4, value=z)
        c = tf.nn.sigmoid(f) * c + tf.nn.sigmoid(i) * tf.tanh(u)
        h = tf.nn.sigmoid(o) * tf.tanh(c)
        outputs.append(h)
    return outputs, tf.concat(axis=1, values=[c, h])


def build(tf, data):
    """A2C: batches turned to sequences and back, an LSTM with masks, entropy from logits, RMSProp, linear schedule."""
    x = tf.placeholder(tf.float32, [ENVIRONMENTS * STEPS, OBSERVATION], name="observations")
    masks = tf.placeholder(tf.float32, [ENVIRONMENTS * STEPS], name="masks")
    actions = tf.placeholder(tf.int32, [ENVIRONMENTS * STEPS], name="actions")
    advantages = tf.placeholder(tf.float32, [ENVIRONMENTS * STEPS], name="advantages")
    rewards = tf.placeholder(tf.float32, [ENVIRONMENTS * STEPS], name="rewards")
    rate = tf.placeholder(tf.float32, [], name="learning_rate")
    with tf.variable_scope("model"):
        state = tf.get_variable(
            "state", [ENVIRONMENTS, 2 * UNITS], initializer=tf.zeros_initializer(), trainable=False
        )
        h = tf.layers.dense(x, 7, tf.nn.relu, kernel_initializer=tf.orthogonal_initializer(np.sqrt(2)))
        rows = tf.reshape(h, [ENVIRONMENTS, STEPS, -1])
        rows.set_shape([ENVIRONMENTS, STEPS, 7])
        sequence = [tf.squeeze(v, [1]) for v in tf.split(axis=1, num_or_size_splits=STEPS, value=rows)]
        ended = tf.split(axis=1, num_or_size_splits=STEPS, value=tf.reshape(masks, [ENVIRONMENTS, STEPS]))
        outputs, last = lstm(tf, sequence, ended, state, "lstm1")
        flat = tf.reshape(tf.concat(axis=1, values=outputs), [-1, UNITS])
        logits = tf.layers.dense(flat, ACTIONS, name="pi")
        value = tf.layers.dense(flat, 1, name="vf")[:, 0]

    neglogp = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=actions)
    shifted = logits - tf.reduce_max(logits, axis=-1, keepdims=True)
    exponents = tf.exp(shifted)
    total = tf.reduce_sum(exponents, axis=-1, keepdims=True)
    p = exponents / total
    entropy = tf.reduce_mean(tf.reduce_sum(p * (tf.log(total) - shifted), axis=-1))
    policy_loss = tf.reduce_mean(advantages * neglogp)
    value_loss = tf.losses.mean_squared_error(tf.squeeze(value), rewards)
    loss = policy_loss - entropy * 0.01 + value_loss * 0.5
    variables = tf.trainable_variables("model")
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 0.5)
    optimizer = tf.train.RMSPropOptimizer(learning_rate=rate, decay=0.99, epsilon=1e-3)
    train = optimizer.apply_gradients(list(zip(gradients, variables)))
    with tf.control_dependencies([train]):
        keep = state.assign(last)

    count = ENVIRONMENTS * STEPS

    def batch():
        return {
            x: data.randn(count, OBSERVATION).astype("f"),
            masks: (data.rand(count) < 0.25).astype("f"),
            actions: data.randint(0, ACTIONS, count),
            advantages: data.randn(count).astype("f"),
            rewards: data.randn(count).astype("f"),
        }

    batches = [batch() for _ in range(3)]

    def feeds(step):
        """A batch and the rate of a linear schedule."""
        fed = dict(batches[step % len(batches)])
        fed[rate] = 7e-3 * (1 - step / 40.0)
        return fed

    return dict(
        losses={"loss": loss},
        train=[keep.op],
        feeds=feeds,
        outputs={"entropy": entropy, "norm": norm, "value": value},
    )
