import numpy as np


def build(tf, data):
    """A variational autoencoder: noise drawn in the graph, Kullback-Leibler divergence, Bernoulli likelihood, Adam."""
    x = tf.placeholder(tf.float32, [None, 24], name="x")
    latent = 4
    with tf.variable_scope("encoder"):
        hidden = tf.layers.dense(x, 16, tf.nn.softplus, name="hidden")
        mean = tf.layers.dense(hidden, latent, name="mean")
        log_variance = tf.layers.dense(hidden, latent, name="log_variance")
    noise = tf.random_normal(tf.shape(mean), seed=11)
    z = mean + tf.exp(0.5 * log_variance) * noise
    with tf.variable_scope("decoder"):
        hidden = tf.layers.dense(z, 16, tf.nn.softplus, name="hidden")
        logits = tf.layers.dense(hidden, 24, name="logits")
    likelihood = -tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), 1)
    divergence = -0.5 * tf.reduce_sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), 1)
    loss = tf.reduce_mean(divergence - likelihood)
    train_op = tf.train.AdamOptimizer(2e-3).minimize(loss, global_step=tf.train.get_or_create_global_step())
    xs = (data.uniform(size=(4, 16, 24)) < np.linspace(0.1, 0.9, 24)).astype("float32")
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {x: xs[step % 4]},
        outputs={"z": z, "reconstruction": tf.nn.sigmoid(logits)},
    )
