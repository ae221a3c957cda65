"""SparseTensors as elements of data sets and in batches of queues, and as strings."""

import numpy as np
from harness import Family

FAMILY = Family("sparse_data")


def _sparse(tf, shape=(4, 3), dtype=None):
    values = tf.constant([1.0, 2.0, 3.0, 4.0], dtype or tf.float32)
    return tf.SparseTensor(tf.constant([[0, 1], [1, 0], [1, 2], [3, 1]], tf.int64), values, list(shape))


def _all(t, dataset):
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    while True:
        result = t.error(lambda: t.run(element))
        if hasattr(result, "error"):
            return found
        found.append(result)


def _described(tf, dataset):
    """What a dataset says of its elements."""
    classes = dataset.output_classes
    flat = list(classes) if isinstance(classes, tuple) else [classes]
    types = dataset.output_types if isinstance(classes, tuple) else (dataset.output_types,)
    shapes = dataset.output_shapes if isinstance(classes, tuple) else (dataset.output_shapes,)
    return [c is tf.SparseTensor for c in flat], [d.name for d in types], [str(s) for s in shapes]


@FAMILY.case()
def slices(tf, t):
    dataset = tf.data.Dataset.from_tensor_slices((_sparse(tf), [10, 20, 30, 40]))
    return _all(t, dataset), _described(tf, dataset)


@FAMILY.case()
def one_element(tf, t):
    words = tf.SparseTensor([[0, 0], [1, 1]], tf.constant(["a", "bc"]), [2, 2])
    dataset = tf.data.Dataset.from_tensors({"w": words, "n": np.int64([1, 2])})
    return _all(t, dataset), _all(t, tf.data.Dataset.from_tensors(words)), str(dataset.output_shapes["w"])


@FAMILY.case()
def functions_of_sparse_elements(tf, t):
    dataset = tf.data.Dataset.from_tensor_slices(_sparse(tf))
    doubled = dataset.map(lambda s: (s * [2.0], tf.sparse_tensor_to_dense(s)))
    filtered = dataset.filter(lambda s: tf.size(s.values) > 0).map(lambda s: tf.sparse_reduce_sum(s))
    made = tf.data.Dataset.range(3).map(
        lambda n: tf.SparseTensor(tf.stack([[n], [n + 1]]), tf.stack([n, 2 * n]), tf.stack([n + 2]))
    )
    flat = tf.data.Dataset.from_tensors(_sparse(tf)).flat_map(tf.data.Dataset.from_tensor_slices)
    return (
        _all(t, doubled), _described(tf, doubled)[:2], _all(t, filtered), _all(t, made), _described(tf, made)[:2],
        len(_all(t, flat)),
    )  # fmt: skip


@FAMILY.case()
def batches_of_sparse_elements(tf, t):
    dataset = tf.data.Dataset.from_tensor_slices((_sparse(tf), [1, 2, 3, 4]))
    plain, twice = dataset.batch(3), dataset.batch(2).batch(2)
    whole = dataset.batch(2, drop_remainder=True)
    longer = tf.data.Dataset.range(3).map(
        lambda n: tf.SparseTensor(tf.reshape(n, [1, 1]), tf.reshape(n, [1]), tf.reshape(n + 1, [1]))
    )
    return (
        _all(t, plain), _described(tf, plain), _all(t, twice), _described(tf, twice), _described(tf, whole),
        _all(t, longer.batch(3)), _all(t, dataset.shuffle(1).repeat(2).skip(6).take(1)),
    )  # fmt: skip


@FAMILY.case()
def other_transformations(tf, t):
    dataset = tf.data.Dataset.from_tensor_slices(_sparse(tf))
    zipped = tf.data.Dataset.zip((dataset, tf.data.Dataset.range(2)))
    joined = dataset.take(1).concatenate(dataset.skip(3))
    return (
        _all(t, zipped), _described(tf, zipped), _all(t, joined), _all(t, dataset.prefetch(2).cache().take(2)),
        t.error(lambda: dataset.concatenate(tf.data.Dataset.from_tensors([1.0])) and None),
        t.error(lambda: dataset.padded_batch(2, [None]) and None),
    )  # fmt: skip


@FAMILY.case()
def kinds_of_iterators(tf, t):
    dataset = tf.data.Dataset.from_tensor_slices(_sparse(tf))
    described = dataset.output_types, dataset.output_shapes
    again = tf.data.Iterator.from_structure(*described, output_classes=dataset.output_classes)
    element = again.get_next()
    t.run(again.make_initializer(dataset))
    first = t.run(element)
    handle = tf.placeholder(tf.string, [])
    fed = tf.data.Iterator.from_string_handle(
        handle, *described, output_classes=dataset.output_classes
    ).get_next()
    iterator = dataset.skip(1).make_initializable_iterator()
    t.run(iterator.initializer)
    value = t.run(fed, {handle: t.run(iterator.string_handle())})
    wrong = tf.data.Dataset.from_tensors([1.0, 2.0, 3.0])
    return (
        first, value, again.output_classes is tf.SparseTensor, str(element.dense_shape.shape),
        t.error(lambda: again.make_initializer(wrong) and None),
    )  # fmt: skip


def _batches(tf, t, made, count):
    """Batches that a queue gives."""
    coordinator = tf.train.Coordinator()
    with t.session().as_default():
        t.initialize()
        threads = tf.train.start_queue_runners(t.session(), coordinator)
        found = [t.run(made) for _ in range(count)]
        coordinator.request_stop()
        coordinator.join(threads)
    return found


@FAMILY.case()
def batches_of_a_queue(tf, t):
    number = tf.train.range_input_producer(4, shuffle=False).dequeue()
    one = tf.SparseTensor(
        tf.cast(tf.reshape(number, [1, 1]), tf.int64), tf.reshape(number * 2, [1]), tf.constant([4], tf.int64)
    )
    both, text = tf.train.batch([one, tf.as_string(number)], 3)
    alone = tf.train.batch({"s": _sparse(tf)}, 2)
    return _batches(tf, t, [both, text], 1), list(alone), str(both.dense_shape.shape.ndims)


@FAMILY.case()
def many_examples_of_a_queue(tf, t):
    sparse, dense = tf.train.batch([_sparse(tf), tf.range(4)], 4, enqueue_many=True)
    return _batches(tf, t, [sparse, dense], 2)


@FAMILY.case()
def shuffled_examples_of_a_queue(tf, t):
    sparse = tf.train.shuffle_batch([_sparse(tf)], 2, 20, 4, seed=1, enqueue_many=True)
    _, values, shape = _batches(tf, t, [sparse], 1)[0][0]
    return shape.tolist(), bool(set(values.tolist()) <= {1.0, 2.0, 3.0, 4.0})


@FAMILY.case()
def strings(tf, t):
    sparse, words = _sparse(tf), tf.SparseTensor([[0, 1]], tf.constant(["a"]), [2, 3])
    rows = tf.serialize_many_sparse(sparse)
    plain, texts = tf.serialize_sparse(sparse), tf.io.serialize_sparse(words, name="w")
    joined = tf.stack([plain, tf.serialize_sparse(_sparse(tf, (5, 9)))])
    return (
        rows, plain, texts, tf.deserialize_many_sparse(rows, tf.float32, 2),
        tf.io.deserialize_many_sparse(joined, tf.float32), tf.serialize_many_sparse(_sparse(tf, dtype=tf.float64)),
    )  # fmt: skip


@FAMILY.case()
def strings_that_are_wrong(tf, t):
    sparse = _sparse(tf)
    plain = tf.serialize_sparse(sparse)
    read = tf.deserialize_many_sparse
    return (
        t.error(lambda: tf.serialize_sparse(tf.constant([1.0]))),
        t.error(lambda: t.run(read(tf.reshape(plain, [1, 3]), tf.int32).values)),
        t.error(lambda: t.run(read([["a", "b", "c"]], tf.float32).values)),
        t.error(lambda: read(plain, tf.float32)),
        t.error(
            lambda: t.run(
                read(
                    tf.stack([plain, tf.serialize_sparse(tf.SparseTensor([[0]], [1.0], [1]))]), tf.float32
                ).values
            )
        ),
        t.error(lambda: t.run(tf.serialize_many_sparse(tf.SparseTensor([[0]], [1.0], [1])))),
    )


FAMILY.expressions(
    """
    tf.sparse.split(sp_input=tf.SparseTensor([[0, 0], [1, 2], [1, 4]], [1., 2., 3.], [2, 5]), num_split=2, axis=1)
    tf.sparse_split(sp_input=tf.SparseTensor([[0], [3]], ["a", "b"], [4]), num_split=4, axis=0, name="s")
    """
)

FAMILY.errors(
    """
    tf.sparse.split(sp_input=tf.SparseTensor([[0, 0]], [1], [2, 5]), num_split=2, axis=-1)[0].values
    tf.sparse.split(sp_input=tf.SparseTensor([[0, 0]], [1], [2, 5]), num_split=3, axis=0)[0].values
    tf.sparse.split(sp_input=tf.SparseTensor([[0, 0]], [1], [2, 5]), num_split=0, axis=0)[0].values
    tf.sparse.split(tf.SparseTensor([[0, 0]], [1], [2, 5]), 2, 0)
    """
)
