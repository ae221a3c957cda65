"""tf.contrib.slim's descriptions of data: decoders of Examples, providers of items, queues of batches."""

import os
import tempfile

from harness import Family

FAMILY = Family("slim_data")


def _feature(tf, **values):
    kinds = {
        "bytes_list": tf.train.BytesList,
        "int64_list": tf.train.Int64List,
        "float_list": tf.train.FloatList,
    }
    ((kind, value),) = values.items()
    return tf.train.Feature(**{kind: kinds[kind](value=value)})


def _example(tf, number):
    pixels = bytes((number * 7 + k) % 256 for k in range(4 * 5 * 3))
    features = {
        "image/encoded": _feature(tf, bytes_list=[pixels]),
        "image/format": _feature(tf, bytes_list=[b"raw"]),
        "image/label": _feature(tf, int64_list=[number]),
        "shape": _feature(tf, int64_list=[2, 3]),
        "values": _feature(tf, float_list=[number + k / 4.0 for k in range(6)]),
        "box/ymin": _feature(tf, float_list=[0.25, 0.5]),
        "box/xmin": _feature(tf, float_list=[0.0, 0.125]),
        "box/ymax": _feature(tf, float_list=[0.75, 1.0]),
        "box/xmax": _feature(tf, float_list=[0.5, 0.625]),
        "columns": _feature(tf, int64_list=[0, 3]),
        "name": _feature(tf, bytes_list=[b"two" if number % 2 else b"one"]),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def _features(tf):
    sides = {"box/" + side: tf.VarLenFeature(tf.float32) for side in ("ymin", "xmin", "ymax", "xmax")}
    return dict(
        sides,
        **{
            "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
            "image/format": tf.FixedLenFeature((), tf.string, default_value="jpeg"),
            "image/label": tf.FixedLenFeature([1], tf.int64),
            "shape": tf.VarLenFeature(tf.int64),
            "values": tf.VarLenFeature(tf.float32),
            "columns": tf.VarLenFeature(tf.int64),
            "weights": tf.VarLenFeature(tf.float32),
            "name": tf.FixedLenFeature([], tf.string),
        },
    )


@FAMILY.case(names="none", refined=True)
def items_of_an_example(tf, t):
    decoder = tf.contrib.slim.tfexample_decoder
    table = tf.contrib.lookup.index_table_from_tensor(["one", "two"])
    handlers = {
        "image": decoder.Image(shape=[4, 5, 3], channels=3),
        "label": decoder.Tensor("image/label"),
        "flat label": decoder.Tensor("image/label", shape=[]),
        "boxes": decoder.BoundingBox(prefix="box/"),
        "matrix": decoder.Tensor("values", shape_keys="shape"),
        "other matrix": decoder.Tensor("values", shape=[3, 2]),
        "of a function": decoder.ItemHandlerCallback(
            ["values", "name"], lambda got: got["values"].values * 2.0
        ),
        "index": decoder.LookupTensor("name", table),
        "backup": decoder.BackupHandler(decoder.Tensor("weights"), decoder.Tensor("values")),
        "sparse": decoder.SparseTensor("columns", "box/ymin", shape=[5], densify=True),
    }
    whole = decoder.TFExampleDecoder(_features(tf), handlers)
    names = sorted(whole.list_items())
    found = whole.decode(tf.constant(_example(tf, 3)), names)
    t.run(tf.tables_initializer())
    return names, t.run(found), [each.shape.ndims for each in found[:3]]


@FAMILY.case(names="none")
def items_of_a_data_set(tf, t):
    slim = tf.contrib.slim
    folder = tempfile.mkdtemp()
    for part in range(2):
        with tf.python_io.TFRecordWriter(os.path.join(folder, "train-%d" % part)) as writer:
            for number in range(3):
                writer.write(_example(tf, 3 * part + number))
    handlers = {
        "label": slim.tfexample_decoder.Tensor("image/label", shape=[]),
        "image": slim.tfexample_decoder.Image(shape=[4, 5, 3]),
    }
    dataset = slim.dataset.Dataset(
        data_sources=os.path.join(folder, "train-*"),
        reader=tf.TFRecordReader,
        decoder=slim.tfexample_decoder.TFExampleDecoder(_features(tf), handlers),
        num_samples=6,
        items_to_descriptions={"label": "a number"},
        num_classes=10,
    )
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset, shuffle=False, num_epochs=1, common_queue_capacity=20, common_queue_min=2
    )
    label, image = provider.get(["label", "image"])
    batches = slim.prefetch_queue.prefetch_queue(tf.train.batch([label, image], 3), capacity=2)
    labels, images = batches.dequeue()
    told = (
        sorted(provider.list_items()),
        provider.num_samples(),
        dataset.num_classes,
        labels.shape,
        images.shape,
        t.error(lambda: provider.get(["no such item"])),
        t.error(lambda: slim.parallel_reader.get_data_files(os.path.join(folder, "test-*"))),
        [
            os.path.basename(each)
            for each in sorted(slim.parallel_reader.get_data_files([dataset.data_sources]))
        ],
    )
    t.initialize()
    with slim.queues.QueueRunners(t.session()):
        found = [t.run([labels, tf.reduce_sum(tf.cast(images, tf.int32))]) for _ in range(2)]
    return (
        told,
        sorted(number for labels, _ in found for number in labels.tolist()),
        int(sum(s for _, s in found)),
    )


FAMILY.errors(
    """
    tf.contrib.slim.tfexample_decoder.BoundingBox(keys=["a", "b"])
    tf.contrib.slim.tfexample_decoder.Tensor("a", shape_keys="b", shape=[2])
    tf.contrib.slim.tfexample_decoder.BackupHandler(1, 2)
    """
)
