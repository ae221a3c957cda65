"""Proximal policy optimization with a Gaussian policy."""

import math

import numpy as np

OBSERVATION, ACTION, BATCH = 5, 2, 8


def mlp(tf, x, sizes, activation, last=None):
    """Dense layers."""
    for size in sizes[:-1]:
        x = tf.layers.dense(x, units=size, activation=activation)
    return tf.layers.dense(x, units=sizes[-1], activation=last)


def log_probability(tf, x, mean, log_std):
    """Of a Gaussian with a diagonal covariance."""
    each = -0.5 * (((x - mean) / (tf.exp(log_std) + 1e-8)) ** 2 + 2 * log_std + math.log(2 * math.pi))
    return tf.reduce_sum(each, axis=1)


def build(tf, data):
    """PPO: actor and critic, clipped ratio, clipped value, entropy, gradients clipped by their global norm."""
    x = tf.placeholder(tf.float32, [None, OBSERVATION], name="obs")
    a = tf.placeholder(tf.float32, [None, ACTION], name="actions")
    advantage = tf.placeholder(tf.float32, [None], name="advantages")
    returns = tf.placeholder(tf.float32, [None], name="returns")
    old_logp = tf.placeholder(tf.float32, [None], name="old_logp")
    old_value = tf.placeholder(tf.float32, [None], name="old_value")
    clip = tf.placeholder(tf.float32, [], name="clip")

    with tf.variable_scope("pi"):
        mean = mlp(tf, x, [8, 8, ACTION], tf.tanh)
        log_std = tf.get_variable("log_std", initializer=-0.5 * np.ones(ACTION, dtype=np.float32))
        pi = tf.distributions.Normal(mean, tf.exp(log_std) + tf.zeros_like(mean))
        logp = log_probability(tf, a, mean, log_std)
        entropy = tf.reduce_mean(tf.reduce_sum(pi.entropy(), -1))
    with tf.variable_scope("v"):
        value = tf.squeeze(mlp(tf, x, [8, 8, 1], tf.nn.relu), axis=1)

    centered, variance = tf.nn.moments(advantage, [0])
    normed = (advantage - centered) / (tf.sqrt(variance) + 1e-8)
    ratio = tf.exp(logp - old_logp)
    low = tf.where(normed > 0, (1 + clip) * normed, (1 - clip) * normed)
    actor = -tf.reduce_mean(tf.minimum(ratio * normed, low)) - 0.01 * entropy
    clipped = old_value + tf.clip_by_value(value - old_value, -clip, clip)
    critic = 0.5 * tf.reduce_mean(tf.maximum(tf.square(value - returns), tf.square(clipped - returns)))
    divergence = 0.5 * tf.reduce_mean(tf.square(old_logp - logp))

    actor_variables, critic_variables = tf.trainable_variables("pi"), tf.trainable_variables("v")
    train = []
    for loss, variables in ((actor, actor_variables), (critic, critic_variables)):
        optimizer = tf.train.AdamOptimizer(learning_rate=3e-3, epsilon=1e-4)
        gradients, _ = tf.clip_by_global_norm(
            [g for g, _ in optimizer.compute_gradients(loss, variables)], 0.5
        )
        train.append(optimizer.apply_gradients(list(zip(gradients, variables))))

    def batch(size):
        return {
            x: data.randn(size, OBSERVATION).astype("f"),
            a: data.randn(size, ACTION).astype("f"),
            advantage: data.randn(size).astype("f"),
            returns: data.randn(size).astype("f"),
            old_logp: (-2 + data.randn(size)).astype("f"),
            old_value: data.randn(size).astype("f") * 0.3,
            clip: 0.2,
        }

    batches = [batch(BATCH), batch(BATCH), batch(BATCH - 3)]
    return dict(
        losses={"actor": (actor, actor_variables), "critic": (critic, critic_variables)},
        train=train,
        feeds=lambda step: batches[step % len(batches)],
        outputs={"ratio": ratio, "divergence": divergence, "entropy": entropy},
    )
