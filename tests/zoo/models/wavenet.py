def build(tf, data):
    """WaveNet: dilated causal convolutions, gated units with residuals and skips, a mu-law softmax over the samples."""
    quantized, residual, skip, length = 8, 4, 6, 24
    audio = tf.placeholder(tf.float32, [2, length], name="audio")

    def mu_law(signal):
        mu = tf.to_float(quantized - 1)
        magnitude = tf.log1p(mu * tf.minimum(tf.abs(signal), 1.0)) / tf.log1p(mu)
        return tf.to_int32((tf.sign(signal) * magnitude + 1) / 2 * mu + 0.5)

    def variable(name, shape):
        return tf.get_variable(name, shape, initializer=tf.contrib.layers.xavier_initializer_conv2d())

    def causal(net, kernel, dilation):
        padded = tf.pad(net, [[0, 0], [(kernel.shape[0].value - 1) * dilation, 0], [0, 0]])
        return tf.nn.convolution(padded, kernel, "VALID", dilation_rate=[dilation])

    codes = mu_law(audio)
    encoded = tf.one_hot(codes, quantized, dtype=tf.float32)
    with tf.variable_scope("wavenet"):
        with tf.variable_scope("causal_layer"):
            net = causal(encoded[:, :-1], variable("filter", [2, quantized, residual]), 1)
        skips = []
        for number, dilation in enumerate([1, 2, 4, 1, 2]):
            with tf.variable_scope("layer%d" % number):
                value = causal(net, variable("filter", [2, residual, residual]), dilation)
                gate = causal(net, variable("gate", [2, residual, residual]), dilation)
                value += tf.get_variable("filter_bias", [residual], initializer=tf.zeros_initializer())
                out = tf.tanh(value) * tf.sigmoid(gate)
                skips.append(
                    tf.nn.conv1d(out, variable("skip", [1, residual, skip]), stride=1, padding="SAME")
                )
                if number < 4:
                    net += tf.nn.conv1d(
                        out, variable("dense", [1, residual, residual]), stride=1, padding="SAME"
                    )
        with tf.variable_scope("postprocessing"):
            total = tf.nn.relu(sum(skips))
            total = tf.nn.relu(tf.nn.conv1d(total, variable("postprocess1", [1, skip, skip]), 1, "SAME"))
            raw = tf.nn.conv1d(total, variable("postprocess2", [1, skip, quantized]), 1, "SAME")
            raw += tf.get_variable("postprocess_bias", [quantized], initializer=tf.zeros_initializer())
    target = tf.reshape(encoded[:, 1:], [-1, quantized])
    prediction = tf.reshape(raw, [-1, quantized])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=prediction, labels=target))
    loss += 1e-3 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "bias" not in v.name])
    train_op = tf.train.AdamOptimizer(learning_rate=3e-3, epsilon=1e-4).minimize(
        loss, var_list=tf.trainable_variables()
    )
    waves = data.uniform(-1, 1, (2, 2, length)).astype("float32")
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {audio: waves[step % 2]},
        outputs={"raw": raw, "codes": codes},
    )
