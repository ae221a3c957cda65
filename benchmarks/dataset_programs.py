"""Input pipelines as programs write them, the same source for every module with TensorFlow 1's API.

Each is a function of the module and of a folder with files (datasets.py writes them), and gives the tensors of a
batch, or of an element; all go on for ever. Valid under Python 3.7 too, for TensorFlow 1.15.
"""

import glob
import os

import numpy as np

BATCH = 64


def _files(folder, pattern):
    return sorted(glob.glob(os.path.join(folder, pattern)))


def _following(tf, dataset):
    return dataset.make_one_shot_iterator().get_next()


# ---- pictures -------------------------------------------------------------------------------------------------------


def _distorted(tf, image, size):
    image = tf.random_crop(image, [size, size, 3])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, max_delta=0.25)
    image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
    return tf.image.per_image_standardization(image)


def jpeg_training(tf, folder):
    """Examples with JPEG files: decoded, resized, cropped, distorted, four at a time."""

    def example(serialized):
        features = {
            "image": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        }
        parsed = tf.parse_single_example(serialized, features)
        image = tf.image.convert_image_dtype(tf.image.decode_jpeg(parsed["image"], channels=3), tf.float32)
        image = tf.image.resize_images(image, [112, 112])
        return _distorted(tf, image, 96), tf.one_hot(parsed["label"], 10)

    records = tf.data.TFRecordDataset(_files(folder, "jpeg*.tfrecord"))
    return _following(
        tf, records.shuffle(256).repeat().map(example, num_parallel_calls=4).batch(16).prefetch(2)
    )


def jpeg_evaluation(tf, folder):
    """The same without anything random."""

    def example(serialized):
        features = {
            "image": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        }
        parsed = tf.parse_single_example(serialized, features)
        image = tf.image.decode_jpeg(parsed["image"], channels=3)
        image = tf.image.resize_image_with_crop_or_pad(image, 120, 120)
        image = tf.image.resize_images(image, [96, 96])
        return tf.image.per_image_standardization(image), parsed["label"]

    records = tf.data.TFRecordDataset(_files(folder, "jpeg*.tfrecord"))
    return _following(tf, records.repeat().map(example, num_parallel_calls=4).batch(16).prefetch(2))


def png_files(tf, folder):
    """PNG files by name: read, decoded, resized."""

    def picture(name, label):
        image = tf.image.decode_png(tf.read_file(name), channels=3)
        image = tf.image.resize_images(tf.cast(image, tf.float32), [64, 64])
        return image / 127.5 - 1.0, label

    names = _files(folder, "*.png")
    named = tf.data.Dataset.from_tensor_slices((names, np.arange(len(names))))
    return _following(tf, named.shuffle(len(names)).repeat().map(picture).batch(16).prefetch(1))


def cifar(tf, folder):
    """Small pictures in memory, distorted at random."""
    draw = np.random.RandomState(0)
    images = draw.randint(0, 256, [2000, 32, 32, 3]).astype(np.uint8)
    labels = draw.randint(0, 10, 2000).astype(np.int32)

    def example(image, label):
        return _distorted(tf, tf.cast(image, tf.float32), 24), label

    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1000).repeat()
    return _following(tf, data.map(example, num_parallel_calls=2).batch(BATCH).prefetch(2))


def colours(tf, folder):
    """Pictures in memory: another size, hue and saturation."""
    images = np.random.RandomState(0).randint(0, 256, [100, 96, 96, 3]).astype(np.uint8)

    def example(image):
        image = tf.image.convert_image_dtype(image, tf.float32)
        image = tf.image.resize_images(image, [64, 64])
        image = tf.image.random_hue(tf.image.random_saturation(image, 0.5, 1.5), 0.1)
        return tf.clip_by_value(image, 0.0, 1.0)

    data = tf.data.Dataset.from_tensor_slices(images).repeat().map(example)
    return _following(tf, data.batch(16).prefetch(1))


def standardized(tf, folder):
    """Small pictures in memory, standardized one by one without anything random."""
    images = np.random.RandomState(0).randint(0, 256, [2000, 28, 28, 1]).astype(np.uint8)
    data = tf.data.Dataset.from_tensor_slices(images).shuffle(500).repeat()
    return _following(tf, data.map(tf.image.per_image_standardization).batch(BATCH).prefetch(1))


# ---- examples -------------------------------------------------------------------------------------------------------


def mnist_records(tf, folder):
    """Examples with raw bytes, as convert_to_records writes them."""

    def example(serialized):
        features = {
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        }
        parsed = tf.parse_single_example(serialized, features)
        image = tf.decode_raw(parsed["image_raw"], tf.uint8)
        image.set_shape([784])
        return tf.cast(image, tf.float32) * (1.0 / 255) - 0.5, tf.cast(parsed["label"], tf.int32)

    records = tf.data.TFRecordDataset(_files(folder, "mnist.tfrecord"))
    return _following(tf, records.map(example).shuffle(1000).repeat().batch(BATCH).prefetch(1))


def _columns(tf):
    features = {"x%d" % n: tf.FixedLenFeature([], tf.float32, 0.0) for n in range(13)}
    features.update({"c%d" % n: tf.FixedLenFeature([], tf.string, "") for n in range(8)})
    features["ids"] = tf.VarLenFeature(tf.int64)
    features["embedding"] = tf.FixedLenFeature([16], tf.float32)
    features["label"] = tf.FixedLenFeature([], tf.int64)
    return features


def _dense_columns(tf):
    return {name: feature for name, feature in _columns(tf).items() if name != "ids"}


def table_one_by_one(tf, folder):
    """A table of 23 columns, an example at a time."""

    def example(serialized):
        parsed = tf.parse_single_example(serialized, _dense_columns(tf))
        return parsed, parsed.pop("label")

    records = tf.data.TFRecordDataset(_files(folder, "table*.tfrecord"))
    data = records.map(example, num_parallel_calls=2).shuffle(1000).repeat().batch(BATCH).prefetch(1)
    features, label = _following(tf, data)
    return [label] + [features[name] for name in sorted(features)]


def table_in_batches(tf, folder):
    """The same, a batch at a time, with a column of any length."""
    records = tf.data.TFRecordDataset(_files(folder, "table*.tfrecord")).shuffle(1000).repeat().batch(BATCH)
    parsed = tf.parse_example(_following(tf, records.prefetch(1)), _columns(tf))
    return [parsed["label"], parsed["ids"].values] + [
        parsed[name] for name in sorted(parsed) if name not in ("label", "ids")
    ]


def interleaved(tf, folder):
    """Records of several files in turns."""
    names = tf.data.Dataset.from_tensor_slices(_files(folder, "table*.tfrecord")).repeat()
    records = names.interleave(tf.data.TFRecordDataset, cycle_length=2, block_length=4)
    few = {"x0": tf.FixedLenFeature([], tf.float32), "label": tf.FixedLenFeature([], tf.int64)}
    data = records.map(lambda s: tf.parse_single_example(s, few)).batch(BATCH).prefetch(1)
    parsed = _following(tf, data)
    return [parsed["label"], parsed["x0"]]


def sequences(tf, folder):
    """Sequences of words' numbers, padded."""

    def example(serialized):
        context, lists = tf.parse_single_sequence_example(
            serialized,
            {"length": tf.FixedLenFeature([], tf.int64)},
            {"tokens": tf.FixedLenSequenceFeature([], tf.int64)},
        )
        return lists["tokens"], context["length"]

    records = tf.data.TFRecordDataset(_files(folder, "sequences.tfrecord"))
    data = records.map(example).repeat().padded_batch(32, ([None], [])).prefetch(1)
    return _following(tf, data)


# ---- text -----------------------------------------------------------------------------------------------------------


def csv_lines(tf, folder):
    """Lines of numbers, separated by commas."""

    def row(line):
        fields = tf.decode_csv(line, [[0.0]] * 10 + [[0]])
        return tf.stack(fields[:-1]), fields[-1]

    lines = tf.data.TextLineDataset(_files(folder, "table.csv")).skip(1)
    return _following(tf, lines.map(row).shuffle(1000).repeat().batch(BATCH).prefetch(1))


def words(tf, folder):
    """Lines of numbers of words: split, padded."""

    def numbers(line):
        split = tf.string_split([line]).values
        return tf.string_to_number(split, tf.int32), tf.size(split)

    lines = tf.data.TextLineDataset(_files(folder, "words.txt"))
    return _following(tf, lines.repeat().map(numbers).padded_batch(32, ([None], [])).prefetch(1))


# ---- numbers --------------------------------------------------------------------------------------------------------


def regression(tf, folder):
    """Rows of a matrix, scaled."""
    draw = np.random.RandomState(0)
    rows, targets = draw.normal(size=[5000, 13]).astype(np.float32), draw.normal(size=[5000]).astype("f4")
    data = tf.data.Dataset.from_tensor_slices((rows, targets)).shuffle(5000).repeat()
    return _following(tf, data.map(lambda x, y: ((x - 0.1) / 2.0, y)).batch(32).prefetch(1))


def one_at_a_time(tf, folder):
    """Rows without a batch."""
    rows = np.random.RandomState(0).normal(size=[1000, 4]).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices(rows).shuffle(100).repeat()
    return _following(tf, data.map(lambda x: (x * 2.0, tf.reduce_sum(x))))[1]


def windows(tf, folder):
    """Windows of a series, by flat_map and a filter."""
    series = tf.constant(np.arange(4000, dtype=np.float32))
    starts = tf.data.Dataset.range(3990).repeat().filter(lambda n: tf.equal(n % 2, 0))
    data = starts.flat_map(lambda n: tf.data.Dataset.from_tensors(series[n : n + 8]))
    return _following(tf, data.map(lambda x: (x[:-1], x[-1])).batch(32).prefetch(1))


def scaled_softmax(tf, folder):
    """Rows through functions that round."""
    rows = np.random.RandomState(0).normal(size=[2000, 32]).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices(rows).repeat()
    return _following(
        tf, data.map(lambda x: tf.nn.softmax(tf.log1p(tf.exp(x))) - tf.reduce_mean(x)).batch(BATCH)
    )


def python_function(tf, folder):
    """A function of Python's in a map."""
    rows = np.random.RandomState(0).normal(size=[1000, 16]).astype(np.float32)

    def example(row):
        found = tf.py_func(lambda value: value[::-1] * np.float32(2), [row], tf.float32)
        found.set_shape([16])
        return found

    data = tf.data.Dataset.from_tensor_slices(rows).repeat().map(example, num_parallel_calls=2)
    return _following(tf, data.batch(32).prefetch(1))


def generator(tf, folder):
    """A generator of Python's."""

    def rows():
        number = 0
        while True:
            yield np.full(8, number, np.float32), number % 10
            number += 1

    data = tf.data.Dataset.from_generator(rows, (tf.float32, tf.int32), ([8], []))
    return _following(tf, data.shuffle(100).batch(32).prefetch(1))


# ---- queues ---------------------------------------------------------------------------------------------------------


def queue_records(tf, folder):
    """Examples with raw bytes, by a reader and a queue that shuffles."""
    names = tf.train.string_input_producer(_files(folder, "mnist.tfrecord"))
    _, serialized = tf.TFRecordReader().read(names)
    features = {
        "image_raw": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
    }
    parsed = tf.parse_single_example(serialized, features)
    image = tf.decode_raw(parsed["image_raw"], tf.uint8)
    image.set_shape([784])
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    label = tf.cast(parsed["label"], tf.int32)
    return tf.train.shuffle_batch([image, label], BATCH, 1000 + 3 * BATCH, 1000, num_threads=2)


def queue_lines(tf, folder):
    """Lines of numbers, by a reader and a queue."""
    names = tf.train.string_input_producer(_files(folder, "table.csv"))
    _, line = tf.TextLineReader(skip_header_lines=1).read(names)
    fields = tf.decode_csv(line, [[0.0]] * 10 + [[0]])
    return tf.train.batch([tf.stack(fields[:-1]), fields[-1]], 32, capacity=256)


def queue_slices(tf, folder):
    """Slices of arrays, by queues."""
    rows = np.random.RandomState(0).normal(size=[1000, 16]).astype(np.float32)
    row, number = tf.train.slice_input_producer([rows, np.arange(1000)], shuffle=True)
    return tf.train.batch([row * 2.0, number], 32, capacity=256)


PROGRAMS = {
    f.__name__: f
    for f in (
        jpeg_training,
        jpeg_evaluation,
        png_files,
        cifar,
        colours,
        standardized,
        mnist_records,
        table_one_by_one,
        table_in_batches,
        interleaved,
        sequences,
        csv_lines,
        words,
        regression,
        one_at_a_time,
        windows,
        scaled_softmax,
        python_function,
        generator,
        queue_records,
        queue_lines,
        queue_slices,
    )
}
