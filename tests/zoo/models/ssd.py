import numpy as np


def build(tf, data):
    """SSD: prior boxes, matching to the truth by overlap in map_fn, hard negatives by top_k, smooth L1, two maps."""
    batch, objects, classes = 2, 3, 4
    images = tf.placeholder(tf.float32, [batch, 16, 16, 3], name="images")
    boxes = tf.placeholder(tf.float32, [batch, objects, 4], name="boxes")
    kinds = tf.placeholder(tf.int32, [batch, objects], name="kinds")
    sides = [(8, 0.25), (4, 0.5)]

    net = tf.layers.conv2d(images, 6, 3, 2, padding="same", activation=tf.nn.relu, name="conv1")
    net = tf.layers.conv2d(net, 8, 3, 1, padding="same", activation=tf.nn.relu, name="conv2")
    scale = tf.get_variable("scale", [8], initializer=tf.constant_initializer(2.0))
    maps = [tf.nn.l2_normalize(net, -1) * scale]
    maps.append(tf.layers.conv2d(net, 8, 3, 2, padding="same", activation=tf.nn.relu, name="conv3"))
    localisations, logits, priors = [], [], []
    for (side, size), features in zip(sides, maps):
        with tf.variable_scope("box%d" % side):
            place = tf.layers.conv2d(features, 2 * 4, 3, padding="same", name="loc")
            kind = tf.layers.conv2d(features, 2 * classes, 3, padding="same", name="conf")
        localisations.append(tf.reshape(place, [batch, -1, 4]))
        logits.append(tf.reshape(kind, [batch, -1, classes]))
        y, x = np.mgrid[0:side, 0:side]
        for_each = [
            np.stack([(y + 0.5) / side, (x + 0.5) / side, 0 * y + size * h, 0 * x + size / h], -1)
            for h in (1.0, 1.5)
        ]
        priors.append(np.stack(for_each, 2).reshape(-1, 4))
    places, scores = tf.concat(localisations, 1), tf.concat(logits, 1)
    prior = tf.constant(np.concatenate(priors), tf.float32)
    centre, extent = prior[:, :2], prior[:, 2:]

    def corners(centre, extent):
        return tf.concat([centre - extent / 2.0, centre + extent / 2.0], -1)

    def overlaps(one, other):
        low = tf.maximum(one[:, None, :2], other[None, :, :2])
        high = tf.minimum(one[:, None, 2:], other[None, :, 2:])
        shared = tf.reduce_prod(tf.maximum(high - low, 0.0), -1)
        areas = [tf.reduce_prod(b[:, 2:] - b[:, :2], -1) for b in (one, other)]
        return shared / (areas[0][:, None] + areas[1][None, :] - shared)

    def match(arguments):
        truth, kind = arguments
        found = overlaps(corners(centre, extent), truth)
        best_truth, best_overlap = tf.argmax(found, 1), tf.reduce_max(found, 1)
        best_prior = tf.argmax(found, 0)
        forced = tf.one_hot(best_prior, tf.shape(prior)[0], axis=0)
        is_forced = tf.reduce_max(forced, 1) > 0
        index = tf.where(is_forced, tf.argmax(forced, 1), best_truth)
        positive = tf.logical_or(is_forced, best_overlap > 0.4)
        matched = tf.gather(truth, index)
        target_centre = ((matched[:, :2] + matched[:, 2:]) / 2.0 - centre) / (0.1 * extent)
        target_extent = tf.log((matched[:, 2:] - matched[:, :2]) / extent) / 0.2
        label = tf.where(positive, tf.gather(kind, index), tf.zeros_like(index, tf.int32))
        return tf.concat([target_centre, target_extent], -1), label

    with tf.name_scope("match"):
        targets, labels = tf.map_fn(match, (boxes, kinds), dtype=(tf.float32, tf.int32))
        targets, labels = tf.stop_gradient(targets), tf.stop_gradient(labels)
    with tf.name_scope("loss"):
        positive = labels > 0
        count = tf.reduce_sum(tf.cast(positive, tf.float32))
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
        negative_loss = tf.reshape(tf.where(positive, tf.zeros_like(entropy), entropy), [-1])
        hardest, _ = tf.nn.top_k(negative_loss, tf.cast(2.0 * count, tf.int32))
        kind_loss = tf.reduce_sum(tf.boolean_mask(entropy, positive)) + tf.reduce_sum(hardest)
        difference = tf.abs(places - targets)
        smooth = tf.where(difference < 1.0, 0.5 * tf.square(difference), difference - 0.5)
        place_loss = tf.reduce_sum(tf.reduce_sum(smooth, -1) * tf.to_float(positive))
        loss = (kind_loss + place_loss) / tf.maximum(count, 1.0)
    optimizer = tf.train.AdagradOptimizer(0.01, initial_accumulator_value=0.1)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    xs = data.uniform(size=(2, batch, 16, 16, 3)).astype("float32")
    low = data.uniform(0.05, 0.5, (2, batch, objects, 2))
    truths = np.concatenate([low, low + data.uniform(0.2, 0.45, low.shape)], -1).astype("float32")
    ys = data.randint(1, classes, (2, batch, objects)).astype("int32")
    return dict(
        losses={"loss": loss},
        train=[train_op],
        feeds=lambda step: {images: xs[step % 2], boxes: truths[step % 2], kinds: ys[step % 2]},
        outputs={"labels": labels, "targets": targets},
    )
