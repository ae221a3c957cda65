import numpy as np


def build(tf, data):
    """PointNet in float64: learned transforms of the points, 1x1 convolutions, max over points, orthogonality."""
    batch, points, classes = 3, 16, 4
    clouds = tf.placeholder(tf.float64, [batch, points, 3], name="clouds")
    labels = tf.placeholder(tf.int32, [batch], name="labels")

    def conv(net, filters, size, scope):
        with tf.variable_scope(scope):
            shape = [1, size, net.get_shape()[-1].value, filters]
            kernel = tf.get_variable(
                "weights", shape, tf.float64, tf.contrib.layers.xavier_initializer(dtype=tf.float64)
            )
            biases = tf.get_variable("biases", [filters], tf.float64, tf.zeros_initializer(dtype=tf.float64))
            net = tf.nn.bias_add(tf.nn.conv2d(net, kernel, [1, 1, 1, 1], padding="VALID"), biases)
            return tf.nn.selu(net)

    def dense(net, units, scope, activation=tf.nn.selu):
        with tf.variable_scope(scope):
            weights = tf.get_variable("weights", [net.shape[-1].value, units], tf.float64)
            biases = tf.get_variable("biases", [units], tf.float64, tf.zeros_initializer())
            net = tf.nn.xw_plus_b(net, weights, biases)
            return net if activation is None else activation(net)

    def transform(net, width, size, scope):
        with tf.variable_scope(scope):
            net = conv(net, 8, width, "tconv1")
            net = conv(net, 12, 1, "tconv2")
            net = tf.nn.max_pool(net, [1, points, 1, 1], [1, 2, 2, 1], padding="VALID")
            net = dense(tf.reshape(net, [batch, -1]), 8, "tfc1")
            with tf.variable_scope("transform"):
                weights = tf.get_variable("weights", [8, size * size], dtype=tf.float64)
                biases = tf.get_variable("biases", [size * size], tf.float64, tf.constant_initializer(0.1))
                biases += tf.constant(np.eye(size).flatten())
                net = tf.nn.bias_add(tf.matmul(net, weights), biases)
            return tf.reshape(net, [batch, size, size])

    net = tf.matmul(clouds, transform(tf.expand_dims(clouds, -1), 3, 3, "transform_net1"))
    net = conv(tf.expand_dims(net, -1), 6, 3, "conv1")
    matrix = transform(net, 1, 6, "transform_net2")
    net = tf.matmul(tf.squeeze(net, axis=[2]), matrix)
    net = conv(tf.expand_dims(net, [2]), 12, 1, "conv2")
    features = tf.reduce_max(net, axis=[1, 2])
    net = dense(features, 8, "fc1")
    logits = dense(net, classes, "fc2", None)
    kind = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels))
    difference = tf.matmul(matrix, tf.transpose(matrix, perm=[0, 2, 1])) - tf.constant(np.eye(6))
    loss = kind + tf.nn.l2_loss(difference) * 0.001
    count = tf.Variable(0, trainable=False, name="batch")
    rate = tf.maximum(tf.train.exponential_decay(0.002, count * 3, 10, 0.7, staircase=True), 0.0005)
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=count)
    xs = data.normal(size=(4, batch, points, 3))
    ys = data.randint(0, classes, (4, batch))
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {clouds: xs[step % 4], labels: ys[step % 4]},
        outputs={"features": features, "matrix": matrix},
    )
