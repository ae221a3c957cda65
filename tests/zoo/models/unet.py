def build(tf, data):
    """U-Net: a contracting and an expanding path, transposed convolutions, cropped skips, cross entropy and Dice."""
    images = tf.placeholder(tf.float32, [None, 16, 16, 1], name="images")
    masks = tf.placeholder(tf.float32, [None, 8, 8, 1], name="masks")

    def conv_conv_pool(net, filters, name, pool=True):
        with tf.variable_scope(name):
            for i, size in enumerate(filters):
                net = tf.layers.conv2d(net, size, 3, padding="same" if i else "valid", name="conv%d" % i)
                net = tf.nn.leaky_relu(net, alpha=0.1)
            return (net, tf.layers.max_pooling2d(net, 2, 2)) if pool else net

    def crop_and_concat(one, other):
        height, width = tf.shape(other)[1], tf.shape(other)[2]
        top = (tf.shape(one)[1] - height) // 2
        left = (tf.shape(one)[2] - width) // 2
        cropped = tf.slice(one, [0, top, left, 0], [-1, height, width, -1])
        cropped.set_shape([None, None, None, one.get_shape()[3]])
        joined = tf.concat([cropped, other], 3)
        joined.set_shape([None, None, None, one.shape[3].value + other.shape[3].value])
        return joined

    net = tf.pad(images, [[0, 0], [3, 3], [3, 3], [0, 0]], mode="REFLECT")
    skip1, net = conv_conv_pool(net, [4, 4], "down1")
    skip2, net = conv_conv_pool(net, [6, 6], "down2")
    net = conv_conv_pool(net, [8], "bottom", pool=False)
    with tf.variable_scope("up2"):
        net = tf.layers.conv2d_transpose(net, 6, 2, 2, activation=tf.nn.relu, name="transpose")
        net = crop_and_concat(skip2, net)
        net = tf.layers.conv2d(net, 6, 3, padding="same", activation=tf.nn.relu, name="conv")
    with tf.variable_scope("up1"):
        net = tf.layers.conv2d_transpose(net, 4, 2, 2, activation=tf.nn.relu, name="transpose")
        net = crop_and_concat(skip1, net)
        net = tf.layers.conv2d(net, 4, 3, padding="same", activation=tf.nn.relu, name="conv")
    logits = tf.layers.conv2d(net, 1, 1, name="mask")
    probabilities = tf.nn.sigmoid(logits)
    entropy = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=masks, logits=logits))
    intersection = tf.reduce_sum(probabilities * masks, axis=[1, 2, 3])
    union = tf.reduce_sum(probabilities, axis=[1, 2, 3]) + tf.reduce_sum(masks, axis=[1, 2, 3])
    dice = 1.0 - tf.reduce_mean((2.0 * intersection + 1.0) / (union + 1.0))
    loss = entropy + dice
    train_op = tf.train.AdamOptimizer(3e-3).minimize(loss, tf.train.get_or_create_global_step())
    pictures = data.uniform(size=(2, 4, 16, 16, 1)).astype("float32")
    targets = (data.uniform(size=(2, 4, 8, 8, 1)) < 0.4).astype("float32")
    return dict(
        losses={"loss": loss, "dice": dice},
        train=[train_op],
        feeds=lambda step: {images: pictures[step % 2], masks: targets[step % 2]},
        outputs={"probabilities": probabilities},
    )
