"""Weights as distributions: Bayes by backprop."""

import math

INPUTS, UNITS, CLASSES, BATCHES = 5, 8, 3, 3


def gaussian(tf, x, mean, sigma):
    """The logarithm of the density."""
    return -0.5 * math.log(2 * math.pi) - tf.log(sigma) - tf.square(x - mean) / (2 * tf.square(sigma))


def mixture(tf, x):
    """The prior: two Gaussians around zero, a wide one and a narrow one."""
    wide = 0.25 * tf.exp(gaussian(tf, x, 0.0, 1.0))
    narrow = 0.75 * tf.exp(gaussian(tf, x, 0.0, math.exp(-2.0)))
    return tf.log(wide + narrow)


def build(tf, data):
    """Bayes by backprop: weights drawn with op seeds by their mean and scale, a mixture prior, two draws stacked."""
    x = tf.placeholder(tf.float32, [None, INPUTS], name="x")
    y = tf.placeholder(tf.int32, [None], name="y")
    costs = []

    def sampled(name, shape, seed):
        """A weight drawn from its posterior; its cost goes to the list."""
        mu = tf.get_variable(name + "_mu", shape, initializer=tf.random_normal_initializer(0, 0.1))
        rho = tf.get_variable(name + "_rho", shape, initializer=tf.constant_initializer(-3.0))
        sigma = tf.log1p(tf.exp(rho))
        weight = mu + sigma * tf.random_normal(shape, seed=seed)
        posterior = gaussian(tf, weight, tf.stop_gradient(mu), sigma)
        costs.append(tf.reduce_sum(posterior - mixture(tf, weight)))
        return weight

    def network(seed):
        """One draw of the network."""
        h = x
        for layer, (before, after) in enumerate([(INPUTS, UNITS), (UNITS, CLASSES)]):
            with tf.variable_scope(f"layer_{layer}", reuse=tf.AUTO_REUSE):
                w = sampled("w", [before, after], seed + 2 * layer)
                b = sampled("b", [after], seed + 2 * layer + 1)
                h = tf.nn.xw_plus_b(h, w, b)
            if layer == 0:
                h = tf.nn.softplus(h)
        return h

    draws = tf.stack([network(100), network(200)])
    labels = tf.tile(tf.expand_dims(y, 0), [2, 1])
    likelihood = (
        tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=draws)) / 2
    )
    complexity = tf.add_n(costs) / 2
    loss = complexity / (BATCHES * 10) + likelihood
    optimizer = tf.train.AdadeltaOptimizer(0.5, rho=0.9, epsilon=1e-3)
    train = optimizer.minimize(loss)
    batches = [{x: data.randn(6, INPUTS).astype("f"), y: data.randint(0, CLASSES, 6)} for _ in range(BATCHES)]
    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=lambda step: batches[step % BATCHES],
        outputs={"draws": draws, "complexity": complexity},
    )
