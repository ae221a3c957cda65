"""Sparse variational Gaussian process regression."""

import math

import numpy as np

INPUTS, INDUCING, DATA = 2, 5, 30


def square_distance(tf, a, b):
    """Of all rows of a to all rows of b."""
    squares_a, squares_b = tf.reduce_sum(tf.square(a), 1), tf.reduce_sum(tf.square(b), 1)
    return (
        -2 * tf.matmul(a, b, transpose_b=True)
        + tf.reshape(squares_a, (-1, 1))
        + tf.reshape(squares_b, (1, -1))
    )


def build(tf, data):
    """SVGP in float64: Cholesky, triangular solves, log determinants by diagonals, matrix_band_part."""
    x = tf.placeholder(tf.float64, [None, INPUTS], name="x")
    y = tf.placeholder(tf.float64, [None, 1], name="y")

    def constant(value):
        """An initializer."""
        return tf.constant_initializer(value, tf.float64)

    def positive(name, shape, value):
        """A positive parameter: softplus of a free one."""
        free = tf.get_variable(name, shape, tf.float64, initializer=constant(math.log(math.expm1(value))))
        return tf.nn.softplus(free) + 1e-6

    lengths = positive("lengthscales", [INPUTS], 0.8)
    variance, noise = positive("variance", [], 1.0), positive("noise", [], 0.3)
    z = tf.get_variable("inducing", [INDUCING, INPUTS], tf.float64, initializer=constant(0.0))
    q_mu = tf.get_variable("q_mu", [INDUCING, 1], tf.float64, initializer=tf.zeros_initializer())
    q_free = tf.get_variable("q_sqrt", [INDUCING, INDUCING], tf.float64, initializer=tf.zeros_initializer())
    q_sqrt = tf.matrix_band_part(q_free, -1, 0) + tf.eye(INDUCING, dtype=tf.float64)

    def kernel(a, b):
        """Squared exponential."""
        return variance * tf.exp(-square_distance(tf, a / lengths, b / lengths) / 2)

    # Points that the free ones move from, so that the matrix is well conditioned from any weights.
    spread = tf.constant(np.stack([np.linspace(-2, 2, INDUCING), np.cos(np.arange(INDUCING))], 1))
    points = spread + 0.2 * z
    kuu = kernel(points, points) + 1e-3 * tf.eye(INDUCING, dtype=tf.float64)
    chol = tf.cholesky(kuu)
    a = tf.matrix_triangular_solve(chol, kernel(points, x), lower=True)
    mean = tf.matmul(a, q_mu, transpose_a=True)
    projected = tf.matmul(q_sqrt, a, transpose_a=True)
    spread_f = variance - tf.reduce_sum(tf.square(a), 0) + tf.reduce_sum(tf.square(projected), 0)
    spread_f = tf.expand_dims(spread_f, 1)
    expectations = (
        -0.5 * math.log(2 * math.pi) - 0.5 * tf.log(noise) - 0.5 * (tf.square(y - mean) + spread_f) / noise
    )
    divergence = 0.5 * (
        tf.reduce_sum(tf.square(q_mu))
        + tf.reduce_sum(tf.square(q_sqrt))
        - INDUCING
        - tf.reduce_sum(tf.log(tf.square(tf.matrix_diag_part(q_sqrt))))
    )
    scale = tf.cast(DATA, tf.float64) / tf.cast(tf.shape(x)[0], tf.float64)
    bound = tf.reduce_sum(expectations) * scale - divergence
    loss = tf.negative(bound, name="loss")
    # The exact marginal likelihood of the batch beside it, through a determinant and a solve.
    covariance = kernel(x, x) + noise * tf.eye(tf.shape(x)[0], dtype=tf.float64)
    exact_chol = tf.cholesky(covariance)
    alpha = tf.cholesky_solve(exact_chol, y)
    exact = 0.5 * tf.reduce_sum(y * alpha) + tf.reduce_sum(tf.log(tf.matrix_diag_part(exact_chol)))
    train = tf.train.AdamOptimizer(0.02).minimize(loss)

    def batch(size):
        points = data.uniform(-2, 2, (size, INPUTS))
        return {x: points, y: np.sin(2 * points[:, :1]) * np.cos(points[:, 1:]) + 0.1 * data.randn(size, 1)}

    batches = [batch(8), batch(8), batch(6)]
    return dict(
        losses={
            "bound": loss,
            "exact": (exact, [v for v in tf.trainable_variables() if v.op.name in KERNEL]),
        },
        train=[train],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"mean": mean, "variance": spread_f},
    )


KERNEL = ("lengthscales", "variance", "noise")
