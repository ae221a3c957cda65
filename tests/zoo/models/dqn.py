"""Deep Q-network: double, dueling, with a target network."""

import numpy as np

STATE, ACTIONS, BATCH = (6, 6, 2), 4, 5


def network(tf, x, scope):
    """Convolutions and two streams: the value, and advantages less their mean."""
    with tf.variable_scope(scope):
        h = tf.contrib.layers.conv2d(x, 4, 3, stride=2, activation_fn=tf.nn.relu, scope="conv1")
        h = tf.contrib.layers.conv2d(h, 6, 2, padding="VALID", activation_fn=tf.nn.relu, scope="conv2")
        h = tf.contrib.layers.flatten(h)
        with tf.variable_scope("value"):
            value = tf.layers.dense(tf.layers.dense(h, 8, tf.nn.relu), 1)
        with tf.variable_scope("advantage"):
            advantage = tf.layers.dense(tf.layers.dense(h, 8, tf.nn.relu), ACTIONS)
        return value + (advantage - tf.reduce_mean(advantage, 1, keepdims=True))


def huber(tf, x, delta=1.0):
    """Square where small, linear where large."""
    return tf.where(tf.abs(x) < delta, tf.square(x) * 0.5, delta * (tf.abs(x) - 0.5 * delta))


def build(tf, data):
    """DQN: actions by one_hot, double Q targets, huber loss, gradients clipped by norm, soft target updates."""
    shape = (None,) + STATE
    before = tf.placeholder(tf.uint8, shape, name="obs")
    after = tf.placeholder(tf.uint8, shape, name="next_obs")
    action = tf.placeholder(tf.int32, [None], name="action")
    reward = tf.placeholder(tf.float32, [None], name="reward")
    done = tf.placeholder(tf.float32, [None], name="done")
    importance = tf.placeholder(tf.float32, [None], name="weight")

    q = network(tf, tf.cast(before, tf.float32) / 255.0, "q_func")
    target = network(tf, tf.cast(after, tf.float32) / 255.0, "target_q_func")
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        online = network(tf, tf.cast(after, tf.float32) / 255.0, "q_func")
    own = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="q_func")
    others = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="target_q_func")

    selected = tf.reduce_sum(q * tf.one_hot(action, ACTIONS), 1)
    best = tf.reduce_sum(target * tf.one_hot(tf.argmax(online, 1), ACTIONS), 1)
    error = selected - tf.stop_gradient(reward + 0.99 * (1.0 - done) * best)
    loss = tf.reduce_mean(importance * huber(tf, error))
    optimizer = tf.train.AdamOptimizer(1e-3, epsilon=1e-4)
    pairs = optimizer.compute_gradients(loss, var_list=own)
    for i, (gradient, variable) in enumerate(pairs):
        if gradient is not None:
            pairs[i] = (tf.clip_by_norm(gradient, 0.1), variable)
    train = optimizer.apply_gradients(pairs)
    update = tf.group(
        *[
            b.assign(0.9 * b + 0.1 * a)
            for a, b in zip(sorted(own, key=lambda v: v.name), sorted(others, key=lambda v: v.name))
        ]
    )

    def batch():
        return {
            before: data.randint(0, 256, (BATCH,) + STATE).astype(np.uint8),
            after: data.randint(0, 256, (BATCH,) + STATE).astype(np.uint8),
            action: data.randint(0, ACTIONS, BATCH),
            reward: np.array([0, 1, -1, 3, 0], "f"),
            done: np.array([0, 0, 1, 0, 0], "f"),
            importance: data.uniform(0.5, 1, BATCH).astype("f"),
        }

    batches = [batch() for _ in range(3)]
    return dict(
        losses={"td": (loss, own)},
        train=[train, update],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"q": q, "error": error},
    )
