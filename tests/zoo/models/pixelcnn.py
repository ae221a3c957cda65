import numpy as np


def build(tf, data):
    """PixelCNN: masked convolutions of two kinds, gated by tanh and sigmoid, clipped gradients, a softmax a pixel."""
    levels, channels = 4, 6
    pixels = tf.placeholder(tf.int32, [None, 8, 8], name="pixels")
    images = tf.expand_dims(tf.to_float(pixels) / (levels - 1) - 0.5, -1)

    def conv(net, filters, size, kind, scope):
        with tf.variable_scope(scope):
            shape = [size, size, net.get_shape()[-1].value, filters]
            weights = tf.get_variable("weights", shape, tf.float32, tf.contrib.layers.xavier_initializer())
            if kind is not None:
                mask = np.ones(shape, dtype=np.float32)
                centre = size // 2
                mask[centre, centre + 1 :] = 0.0
                mask[centre + 1 :] = 0.0
                if kind == "a":
                    mask[centre, centre] = 0.0
                weights *= tf.constant(mask, dtype=tf.float32)
            biases = tf.get_variable("biases", [filters], tf.float32, tf.zeros_initializer())
            return tf.nn.bias_add(tf.nn.conv2d(net, weights, [1, 1, 1, 1], padding="SAME"), biases)

    net = conv(images, channels, 5, "a", "input")
    skips = []
    for number in range(3):
        with tf.variable_scope("gated%d" % number):
            both = conv(net, 2 * channels, 3, "b", "masked")
            one, gate = tf.split(both, 2, axis=3)
            out = tf.tanh(one) * tf.sigmoid(gate)
            skips.append(conv(out, channels, 1, None, "skip"))
            if number < 2:
                net = net + conv(out, channels, 1, None, "residual")
    net = tf.nn.relu(tf.add_n(skips))
    net = tf.nn.relu(conv(net, channels, 1, None, "output0"))
    logits = conv(net, levels, 1, None, "output1")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=pixels, logits=logits))
    optimizer = tf.train.RMSPropOptimizer(1e-2, epsilon=1e-2)
    grads_and_vars = optimizer.compute_gradients(loss)
    clipped = [(tf.clip_by_value(gradient, -0.02, 0.02), variable) for gradient, variable in grads_and_vars]
    train_op = optimizer.apply_gradients(clipped)
    xs = data.randint(0, levels, (4, 4, 8, 8))
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {pixels: xs[step % 4]},
        outputs={"logits": logits},
    )
