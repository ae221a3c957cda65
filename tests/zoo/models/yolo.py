import numpy as np


def build(tf, data):
    """A YOLO head: leaky convolutions, reorganised features, boxes from anchors, overlaps, a masked loss, clipping."""
    grid, anchors, classes = 4, np.array([[1.0, 1.5], [2.0, 1.0]], "float32"), 3
    images = tf.placeholder(tf.float32, [None, 16, 16, 3], name="images")
    truth = tf.placeholder(tf.float32, [None, grid, grid, 2, 5 + classes], name="truth")

    def conv(net, filters, size, name):
        with tf.variable_scope(name):
            net = tf.layers.conv2d(net, filters, size, padding="same", use_bias=False)
            net = tf.layers.batch_normalization(net, training=True, momentum=0.99, epsilon=1e-3)
            return tf.maximum(0.1 * net, net)

    net = tf.nn.max_pool(conv(images, 4, 3, "conv1"), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    passed = conv(net, 6, 3, "conv2")
    net = tf.nn.max_pool(passed, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    net = conv(net, 8, 3, "conv3")
    net = tf.concat([tf.space_to_depth(passed, 2), net], axis=-1)
    net = tf.layers.conv2d(net, 2 * (5 + classes), 1, name="detections")
    net = tf.reshape(net, [-1, grid, grid, 2, 5 + classes])

    cell_x = tf.to_float(tf.reshape(tf.tile(tf.range(grid), [grid]), (1, grid, grid, 1, 1)))
    cell_y = tf.transpose(cell_x, (0, 2, 1, 3, 4))
    cells = tf.concat([cell_x, cell_y], -1)
    centres = tf.sigmoid(net[..., :2]) + cells
    sizes = tf.exp(net[..., 2:4]) * np.reshape(anchors, [1, 1, 1, 2, 2])
    confidence = tf.sigmoid(net[..., 4])
    class_logits = net[..., 5:]

    true_centres, true_sizes = truth[..., 0:2], truth[..., 2:4]
    top = tf.maximum(centres - sizes / 2.0, true_centres - true_sizes / 2.0)
    bottom = tf.minimum(centres + sizes / 2.0, true_centres + true_sizes / 2.0)
    overlap = tf.maximum(bottom - top, 0.0)
    shared = overlap[..., 0] * overlap[..., 1]
    areas = sizes[..., 0] * sizes[..., 1] + true_sizes[..., 0] * true_sizes[..., 1]
    iou = tf.truediv(shared, areas - shared + 1e-6)
    present = truth[..., 4]
    best = tf.reduce_max(iou, axis=[1, 2, 3], keepdims=True)
    absent = tf.to_float(best < 0.6) * (1.0 - present)
    mask = tf.expand_dims(present, axis=-1)
    count = tf.reduce_sum(tf.to_float(mask > 0.0)) + 1e-6
    place = tf.reduce_sum(tf.square(true_centres - centres) * mask) / count
    extent = tf.reduce_sum(tf.square(tf.sqrt(true_sizes) - tf.sqrt(sizes)) * mask) / count
    certain = tf.square(tf.stop_gradient(iou) - confidence) * present * 5.0 + tf.square(confidence) * absent
    kind = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.argmax(truth[..., 5:], -1), logits=class_logits
    )
    loss = place + extent + tf.reduce_sum(certain) / count + tf.reduce_sum(kind * present) / count

    optimizer = tf.train.GradientDescentOptimizer(0.01)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, norm = tf.clip_by_global_norm(gradients, 5.0)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train_op = optimizer.apply_gradients(zip(gradients, variables), tf.train.get_or_create_global_step())
    xs = data.uniform(size=(2, 3, 16, 16, 3)).astype("float32")
    ys = np.zeros((2, 3, grid, grid, 2, 5 + classes), "float32")
    for index in np.ndindex(2, 3):
        for _ in range(2):
            row, column, anchor = data.randint(0, grid), data.randint(0, grid), data.randint(0, 2)
            box = np.concatenate(
                [[column, row] + data.uniform(0.2, 0.8, 2), data.uniform(0.8, 2.5, 2), [1.0]]
            )
            ys[index][row, column, anchor] = np.concatenate([box, np.eye(classes)[data.randint(0, classes)]])
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {images: xs[step % 2], truth: ys[step % 2]},
        outputs={"iou": iou, "sizes": sizes, "norm": norm},
    )
