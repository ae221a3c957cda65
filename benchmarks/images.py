"""Milliseconds of operations on images and of input pipelines that distort them, for any module with TF 1's API.

usage: python -m benchmarks.images MODULE [word ...]      MODULE: tensorflow or graphflow; names that hold a word

Prints `name milliseconds` a line: of a run, after compiling, or of an image of a pipeline. Valid under Python 3.7 too,
for TensorFlow 1.15, as benchmarks/images.py.
"""

import importlib
import os
import statistics
import sys
import time

import numpy as np

WARM, ROUNDS, PAUSE = 10, 15, 8.0
BATCH = 32


def load(name):
    """The module, with TensorFlow 1's interface."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    module = importlib.import_module(name)
    if name == "tensorflow" and not module.__version__.startswith("1."):
        module = module.compat.v1
        module.disable_v2_behavior()
    return module


def operations(tf):
    """(name, function of no arguments that gives what to fetch and what to feed)."""
    draw = np.random.RandomState(0)
    small = draw.uniform(size=[BATCH, 224, 224, 3]).astype(np.float32)
    large = draw.uniform(size=[BATCH, 299, 299, 3]).astype(np.float32)
    features = draw.uniform(size=[4, 38, 50, 256]).astype(np.float32)
    boxes = (draw.uniform(size=[128, 4]) * 0.5 + [0, 0, 0.5, 0.5]).astype(np.float32)
    owners = draw.randint(0, 4, 128).astype(np.int32)
    crops = draw.uniform(size=[128, 14, 14, 256]).astype(np.float32)
    corners = draw.uniform(size=[2000, 2]) * 500
    many = np.concatenate([corners, corners + draw.uniform(size=[2000, 2]) * 100], 1).astype(np.float32)
    scores = draw.uniform(size=[2000]).astype(np.float32)

    def forward(function, *arrays):
        def build():
            given = [tf.placeholder(tf.as_dtype(a.dtype), a.shape) for a in arrays]
            made = function(*given)
            return tf.identity(made[(slice(1),) * len(made.shape)]), dict(zip(given, arrays))

        return build

    def gradient(function, array, arriving):
        def build():
            given, back = (tf.placeholder(tf.float32, a.shape) for a in (array, arriving))
            made = tf.gradients(function(given), given, grad_ys=back)[0]
            return tf.identity(made[:1, :1, :1, :1]), {given: array, back: arriving}

        return build

    def bilinear(x):
        return tf.image.resize_bilinear(x, [299, 299])

    def crop(x):
        return tf.image.crop_and_resize(x, boxes, owners, [14, 14])

    return [
        ("resize_bilinear", forward(bilinear, small)),
        ("resize_bilinear gradient", gradient(bilinear, small, large)),
        ("resize_bicubic", forward(lambda x: tf.image.resize_bicubic(x, [299, 299]), small)),
        ("resize_area", forward(lambda x: tf.image.resize_area(x, [100, 100]), small)),
        (
            "resize_nearest_neighbor",
            forward(lambda x: tf.image.resize_nearest_neighbor(x, [299, 299]), small),
        ),
        ("crop_and_resize", forward(crop, features)),
        ("crop_and_resize gradient", gradient(crop, features, crops)),
        ("adjust_hue", forward(lambda x: tf.image.adjust_hue(x, 0.1), small)),
        ("adjust_contrast", forward(lambda x: tf.image.adjust_contrast(x, 1.2), small)),
        ("non_max_suppression", forward(lambda b, s: tf.image.non_max_suppression(b, s, 100), many, scores)),
    ]


def pipelines(tf):
    """(name, dataset without end)."""
    draw = np.random.RandomState(1)

    def distort(image, size, colours):
        image = tf.random_crop(tf.cast(image, tf.float32) / 255.0, [size, size, 3])
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, max_delta=0.25)
        if colours:
            image = tf.image.random_hue(tf.image.random_saturation(image, 0.5, 1.5), 0.2)
        image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
        return tf.image.per_image_standardization(image)

    def dataset(count, side, size, colours):
        images = draw.randint(0, 256, [count, side, side, 3]).astype(np.uint8)
        found = tf.data.Dataset.from_tensor_slices(images).repeat()
        return found.map(lambda image: distort(image, size, colours)).batch(BATCH)

    return [
        ("pipeline 24 x 24", lambda: dataset(64, 32, 24, False)),
        ("pipeline 224 x 224", lambda: dataset(16, 256, 224, True)),
    ]


def milliseconds(tf, fetch, feeds, rounds):
    """The median time of a run, once it is compiled."""
    with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2)) as session:
        for _ in range(WARM):
            session.run(fetch, feeds)
        time.sleep(PAUSE)
        times = []
        for _ in range(rounds + 1):
            begin = time.perf_counter()
            session.run(fetch, feeds)
            times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times[1:])


def main(arguments):
    tf = load(arguments[0])

    def wanted(name):
        return not arguments[1:] or any(word in name for word in arguments[1:])

    for name, build in operations(tf):
        if wanted(name):
            with tf.Graph().as_default():
                print(f"{name:26s} {milliseconds(tf, *build(), ROUNDS):9.2f}", flush=True)
    for name, dataset in pipelines(tf):
        if wanted(name):
            with tf.Graph().as_default():
                tf.set_random_seed(1)
                made = dataset()
                one_shot = getattr(made, "make_one_shot_iterator", None)
                iterator = one_shot() if one_shot else tf.data.make_one_shot_iterator(made)
                fetch = tf.reduce_sum(iterator.get_next())
                print(f"{name:26s} {milliseconds(tf, fetch, {}, ROUNDS) / BATCH:9.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
