import numpy as np


def build(tf, data):
    """Faster R-CNN: region proposals thinned by non_max_suppression, crops of the features, two heads, two losses."""
    image = tf.placeholder(tf.float32, [1, 16, 16, 3], name="image")
    truth = tf.placeholder(tf.float32, [None, 4], name="truth")
    kinds = tf.placeholder(tf.int32, [None], name="kinds")
    side, classes, proposals = 8, 3, 6

    with tf.variable_scope("backbone"):
        features = tf.layers.conv2d(image, 6, 3, 2, padding="same", activation=tf.nn.relu)
        features = tf.layers.conv2d(features, 8, 3, padding="same", activation=tf.nn.relu)
    with tf.variable_scope("rpn"):
        hidden = tf.layers.conv2d(features, 8, 3, padding="same", activation=tf.nn.relu, name="shared")
        objectness = tf.reshape(tf.layers.conv2d(hidden, 2, 1, name="score"), [-1])
        deltas = tf.reshape(tf.layers.conv2d(hidden, 8, 1, name="delta"), [-1, 4])
    y, x = np.mgrid[0:side, 0:side].astype("float32")
    shapes = [(4.0, 6.0), (7.0, 4.0)]
    anchors = [
        np.stack([2 * y + 1 - h / 2, 2 * x + 1 - w / 2, 2 * y + 1 + h / 2, 2 * x + 1 + w / 2], -1)
        for h, w in shapes
    ]
    anchors = tf.constant(np.stack(anchors, 2).reshape(-1, 4), name="anchors")

    def decode(boxes, deltas):
        size = boxes[:, 2:] - boxes[:, :2]
        centre = boxes[:, :2] + 0.5 * size + deltas[:, :2] * size
        size = size * tf.exp(tf.clip_by_value(deltas[:, 2:], -2.0, 2.0))
        return tf.concat([centre - 0.5 * size, centre + 0.5 * size], 1)

    def encode(boxes, targets):
        size, target_size = boxes[:, 2:] - boxes[:, :2], targets[:, 2:] - targets[:, :2]
        shift = (targets[:, :2] + 0.5 * target_size - boxes[:, :2] - 0.5 * size) / size
        return tf.concat([shift, tf.log(target_size / size)], 1)

    def overlaps(one, other):
        y1, x1, y2, x2 = tf.split(one, 4, axis=1)
        v1, u1, v2, u2 = tf.split(tf.transpose(other), 4, axis=0)
        height = tf.nn.relu(tf.minimum(y2, v2) - tf.maximum(y1, v1))
        width = tf.nn.relu(tf.minimum(x2, u2) - tf.maximum(x1, u1))
        shared = height * width
        return shared / ((y2 - y1) * (x2 - x1) + (v2 - v1) * (u2 - u1) - shared)

    def smooth_l1(values):
        size = tf.abs(values)
        return tf.reduce_sum(tf.where(tf.less(size, 1.0), 0.5 * values**2, size - 0.5), 1)

    with tf.name_scope("rpn_loss"):
        found = overlaps(anchors, truth)
        best, index = tf.reduce_max(found, 1), tf.argmax(found, 1)
        good = tf.reshape(tf.where(best > 0.4), [-1])
        used = tf.concat([good, tf.reshape(tf.where(best < 0.15), [-1])], 0)
        labels = tf.to_float(tf.gather(best, used) > 0.4)
        entropy = tf.nn.weighted_cross_entropy_with_logits(
            labels, tf.gather(objectness, used), pos_weight=3.0
        )
        wanted = encode(tf.gather(anchors, good), tf.gather(truth, tf.gather(index, good)))
        distance = smooth_l1(tf.gather(deltas, good) - wanted)
        rpn_loss = tf.reduce_mean(entropy) + tf.reduce_mean(distance)
    with tf.name_scope("proposals"):
        boxes = tf.stop_gradient(tf.clip_by_value(decode(anchors, deltas), 0.0, 16.0))
        scores = tf.stop_gradient(tf.sigmoid(objectness))
        chosen = tf.image.non_max_suppression(boxes, scores, proposals, iou_threshold=0.5)
        regions = tf.concat([tf.gather(boxes, chosen), truth], 0)
    with tf.variable_scope("head"):
        numbers = tf.zeros([tf.shape(regions)[0]], tf.int32)
        crops = tf.image.crop_and_resize(features, regions / 16.0, numbers, [4, 4])
        crops = tf.nn.max_pool(crops, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        hidden = tf.layers.dense(
            tf.layers.flatten(tf.reshape(crops, [-1, 2, 2, 8])), 16, tf.nn.relu, name="fc"
        )
        class_logits = tf.layers.dense(hidden, classes, name="class")
        refined = tf.reshape(tf.layers.dense(hidden, classes * 4, name="box"), [-1, classes, 4])
    with tf.name_scope("head_loss"):
        found = overlaps(regions, truth)
        index = tf.argmax(found, 1)
        is_object = tf.reduce_max(found, 1) >= 0.5
        kind = tf.where(is_object, tf.gather(kinds, index), tf.zeros_like(index, tf.int32))
        kind_loss = tf.losses.sparse_softmax_cross_entropy(kind, class_logits)
        rows = tf.where(is_object)[:, 0]
        places = tf.stack([tf.cast(rows, tf.int32), tf.gather(kind, rows)], 1)
        targets = encode(tf.gather(regions, rows), tf.gather(truth, tf.gather(index, rows)))
        box_loss = tf.reduce_mean(smooth_l1(tf.gather_nd(refined, places) - targets))
        head_loss = kind_loss + box_loss
    loss = rpn_loss + head_loss
    train_op = tf.train.MomentumOptimizer(0.005, 0.9).minimize(loss, tf.train.get_or_create_global_step())
    pictures = data.uniform(size=(2, 1, 16, 16, 3)).astype("float32")
    low = data.uniform(0.5, 9.0, (2, 3, 2))
    truths = np.concatenate([low, low + data.uniform(4.0, 7.0, low.shape)], -1).astype("float32")
    labels_of = data.randint(1, classes, (2, 3)).astype("int32")
    return dict(
        losses={"rpn": rpn_loss, "head": head_loss},
        train=[train_op],
        feeds=lambda step: {image: pictures[step % 2], truth: truths[step % 2], kinds: labels_of[step % 2]},
        outputs={"chosen": chosen, "regions": regions, "kind": kind},
    )
