"""Datasets and iterators: elements in order, types, static shapes, errors."""

import os
import tempfile

from harness import Family

FAMILY = Family("data")


def drain(tf, t, tensors, most=200):
    """What an iterator gives until its end."""
    found = []
    for _ in range(most):
        try:
            found.append(t.run(tensors))
        except tf.errors.OutOfRangeError:
            t.running = False
            break
    return found


def signature(dataset):
    """Types and shapes as text, the same for both modules."""
    if isinstance(dataset.output_types, dict):
        keys = sorted(dataset.output_types)
        return [(k, dataset.output_types[k].name, str(dataset.output_shapes[k])) for k in keys]
    if isinstance(dataset.output_types, tuple):
        return [
            (getattr(kind, "name", "nested"), str(shape) if hasattr(kind, "name") else "nested")
            for kind, shape in zip(dataset.output_types, dataset.output_shapes)
        ]
    return [dataset.output_types.name, str(dataset.output_shapes)]


def elements(tf, t, *datasets):
    """Signature and elements of each dataset."""
    tensors = [dataset.make_one_shot_iterator().get_next() for dataset in datasets]
    return [(signature(d), drain(tf, t, tensor)) for d, tensor in zip(datasets, tensors)]


@FAMILY.case()
def sources(tf, t):
    import numpy as np

    d = tf.data.Dataset
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    return elements(
        tf,
        t,
        d.range(4),
        d.range(2, 5),
        d.range(10, 0, -3),
        d.range(5, 2),
        d.from_tensors(x),
        d.from_tensors((1, 2.5)),
        d.from_tensor_slices(x),
        d.from_tensor_slices([1, 2, 3]),
        d.from_tensor_slices((x, np.array([1, 2, 3]))),
        d.from_tensor_slices({"a": x, "b": ["p", "q", "r"]}),
        d.from_tensor_slices([["a", "b"], ["c", "d"]]),
        d.zip((d.range(3), d.range(10, 20))),
        d.zip({"l": d.range(2), "r": d.from_tensors([1.0]).repeat(5)}),
    )


@FAMILY.case()
def numbers_and_order(tf, t):
    d = tf.data.Dataset
    r = d.range(7)
    return elements(
        tf,
        t,
        r.repeat(2),
        r.repeat(0),
        d.range(0).repeat(),
        r.repeat().take(17),
        r.take(3),
        r.take(-1),
        r.take(0),
        r.take(100),
        r.skip(5),
        r.skip(-1),
        r.skip(100),
        r.shard(3, 0),
        r.shard(3, 2),
        r.shard(10, 8),
        r.concatenate(d.range(2)),
        d.from_tensors([1, 2]).concatenate(d.from_tensors([1, 2, 3])),
        r.prefetch(2),
        r.cache().repeat(2),
        r.enumerate(5),
        r.apply(lambda x: x.take(2)),
    )


@FAMILY.case()
def functions(tf, t):
    import collections

    pair = collections.namedtuple("pair", ["a", "b"])
    d = tf.data.Dataset
    r = d.range(6)
    c = tf.constant(10, tf.int64)
    found = elements(
        tf,
        t,
        r.map(lambda x: x * x + c),
        r.map(lambda x: (x, tf.cast(x, tf.float32) / 2.0)),
        r.map(lambda x: [x, x + 1]),
        r.map(lambda x: {"k": x, "j": tf.fill([2], x)}),
        r.map(lambda x: tf.fill([tf.cast(x, tf.int32)], x)),
        r.map(lambda x: (x, x), num_parallel_calls=2).map(lambda a, b: a + b),
        r.map(lambda x: pair(x, x + 1)).map(lambda p: p.a * p.b),
        r.map(lambda x: tf.cond(x > 2, lambda: x * 10, lambda: x)),
        r.map(lambda x: tf.while_loop(lambda i: i < 20, lambda i: i * 2 + 1, [x])),
        r.filter(lambda x: tf.equal(x % 2, 0)),
        d.zip((r, r)).filter(lambda a, b: a + b > 5),
        r.flat_map(lambda x: d.range(x)),
        r.flat_map(lambda x: d.from_tensor_slices([x, x * 2])),
        r.interleave(lambda x: d.range(x, x + 3), cycle_length=2),
        r.interleave(lambda x: d.range(x * 10, x * 10 + x), cycle_length=3, block_length=2),
        r.interleave(lambda x: d.from_tensors(x).repeat(3), cycle_length=4, block_length=2),
        r.batch(2).flat_map(lambda x: d.from_tensor_slices(x)),
    )
    return found


@FAMILY.case()
def batches(tf, t):
    d = tf.data.Dataset
    r = d.range(7)
    ragged = r.map(lambda x: tf.fill([tf.cast(x % 4, tf.int32)], x))
    matrices = r.map(lambda x: tf.fill([tf.cast(x % 3, tf.int32) + 1, 2], x))
    words = d.from_tensor_slices(["a", "bc", "", "d"])
    return elements(
        tf,
        t,
        r.batch(3),
        r.batch(3, drop_remainder=True),
        r.batch(7),
        r.batch(10),
        d.range(8).batch(2).batch(2),
        words.batch(3),
        d.zip((r, r.map(tf.to_float))).batch(4),
        ragged.padded_batch(3, [None]),
        ragged.padded_batch(3, padded_shapes=[None], drop_remainder=True),
        ragged.padded_batch(2, [4], tf.constant(-1, tf.int64)),
        matrices.padded_batch(3, [-1, 3]),
        matrices.padded_batch(3, [None, None], tf.constant(7, tf.int64)),
        d.zip((ragged, words)).padded_batch(2, ([None], []), (tf.constant(5, tf.int64), "")),
    )


@FAMILY.case()
def shuffles(tf, t):
    d = tf.data.Dataset
    r = d.range(12)
    found = elements(
        tf,
        t,
        r.shuffle(4, seed=5),
        r.shuffle(1, seed=5),
        r.shuffle(100, seed=5),
        r.shuffle(12, seed=0),
        r.shuffle(5, seed=5).repeat(3),
        r.shuffle(5, seed=5, reshuffle_each_iteration=False).repeat(3),
        r.repeat(2).shuffle(7, seed=3),
        r.shuffle(5, seed=1).shuffle(6, seed=2).batch(5),
        r.map(lambda x: tf.fill([2], x)).shuffle(5, seed=9),
    )
    tf.set_random_seed(77)
    return found, elements(tf, t, r.shuffle(4), r.shuffle(4, seed=1))


@FAMILY.case()
def random_functions(tf, t):
    tf.set_random_seed(3)
    d = tf.data.Dataset
    r = d.range(4)
    return elements(
        tf,
        t,
        r.map(lambda x: tf.random_uniform([2], seed=5)),
        r.map(lambda x: tf.random_uniform([2])),
        r.map(lambda x: tf.random_uniform([], seed=5)).repeat(2),
        r.map(lambda x: tf.random_uniform([], maxval=100, dtype=tf.int32, seed=2)).batch(3),
        r.map(lambda x: tf.random_normal([3], seed=1)).batch(2),
    )


@FAMILY.case()
def initializable(tf, t):
    stop = tf.placeholder(tf.int64, [])
    dataset = tf.data.Dataset.range(stop).map(lambda x: x + stop).shuffle(3, seed=4)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    found = [t.error(lambda: t.run(following))]
    for size in (3, 5):
        t.run(iterator.initializer, {stop: size})
        found.append(drain(tf, t, following))
        found.append(t.error(lambda: t.run(following)))
    t.run(iterator.initializer, {stop: 5})
    return found, t.run(following)


@FAMILY.case()
def reinitializable_and_feedable(tf, t):
    d = tf.data.Dataset
    first, second = d.range(4), d.range(10, 13)
    iterator = tf.data.Iterator.from_structure(first.output_types, first.output_shapes)
    following = iterator.get_next()
    starts = [iterator.make_initializer(dataset) for dataset in (first, second)]
    found = []
    for start in (*starts, starts[0]):
        t.run(start)
        found.append(drain(tf, t, following))
    handle = tf.placeholder(tf.string, [])
    either = tf.data.Iterator.from_string_handle(handle, first.output_types, first.output_shapes).get_next()
    one, two = first.make_one_shot_iterator(), second.make_initializable_iterator()
    handles = t.run([one.string_handle(), two.string_handle()])
    t.run(two.initializer)
    for turn in (0, 1, 0, 0, 1):
        found.append(t.run(either, {handle: handles[turn]}))
    return found, following.shape.as_list(), t.error(lambda: iterator.initializer)


@FAMILY.case()
def several_tensors_advance_once(tf, t):
    value = tf.data.Dataset.range(10).make_one_shot_iterator().get_next()
    return [t.run([value, value + 100, value * 2]) for _ in range(3)]


@FAMILY.case()
def generators(tf, t):
    def numbers(stop=3):
        for i in range(stop):
            yield i, [float(i)] * 2

    def texts():
        yield {"a": "x", "b": [1]}
        yield {"a": "yy", "b": [1, 2]}

    d = tf.data.Dataset
    kinds = (tf.int32, tf.float32)
    datasets = [
        d.from_generator(numbers, kinds),
        d.from_generator(numbers, kinds, ([], [2])),
        d.from_generator(numbers, kinds, (tf.TensorShape([]), [None]), args=(2,)).repeat(2),
        d.from_generator(texts, {"a": tf.string, "b": tf.int64}, {"a": [], "b": [None]}),
    ]
    return elements(tf, t, *datasets)


@FAMILY.case()
def errors_while_building(tf, t):
    import numpy as np

    d = tf.data.Dataset
    r = d.range(3)
    return [
        t.error(lambda: d.from_tensor_slices(5)),
        t.error(lambda: d.from_tensor_slices((np.zeros(2), np.zeros(3)))),
        t.error(lambda: d.range()),
        t.error(lambda: d.zip([r, r])),
        t.error(lambda: r.concatenate(d.from_tensors(1.5))),
        t.error(lambda: r.filter(lambda x: x)),
        t.error(lambda: r.flat_map(lambda x: x)),
        t.error(lambda: r.apply(lambda x: 5)),
        t.error(lambda: d.from_generator(5, tf.int32)),
        t.error(lambda: r.map(lambda x: tf.matmul(x, x))),
        t.error(lambda: d.range(tf.placeholder(tf.int64, [])).make_one_shot_iterator()),
        t.error(lambda: tf.data.Iterator.from_structure(tf.int64, []).make_initializer(d.from_tensors(1.5))),
    ]


@FAMILY.case()
def errors_while_running(tf, t):
    d = tf.data.Dataset
    size = tf.placeholder(tf.int64, [])
    r = d.range(6)
    broken = r.map(lambda x: tf.check_numerics(1.0 / tf.cast(x - 2, tf.float32), "bad"))
    found, tensors, starts = [], [], []
    for dataset in (
        r.map(lambda x: tf.fill([tf.cast(x % 3, tf.int32)], x)).batch(3),
        broken,
        broken.batch(3),
        broken.prefetch(2),
    ):
        tensors.append(dataset.make_one_shot_iterator().get_next())
    for dataset in (r.batch(size), r.shuffle(size)):
        starts.append(dataset.make_initializable_iterator().initializer)
    for tensor in tensors:
        found.append([t.error(lambda x=tensor: t.run(x)) for _ in range(8)])
    for start in starts:
        found.append(t.error(lambda x=start: t.run(x, {size: 0})))
    return found


@FAMILY.case()
def names(tf, t):
    d = tf.data.Dataset
    dataset = d.from_tensor_slices([1, 2]).map(lambda x: x + 1).repeat(2).shuffle(3, 1).batch(2).prefetch(1)
    one_shot = dataset.make_one_shot_iterator()
    later = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
    later.make_initializer(dataset)
    tensors = [
        one_shot.get_next(),
        later.get_next(name="mine"),
        one_shot.string_handle(),
        one_shot.string_handle("s"),
    ]
    kinds = ("Const", "Equal", "Select", "LogicalAnd")
    operations = tf.get_default_graph().get_operations()
    return [x.name for x in tensors], [(o.name, o.type) for o in operations if o.type not in kinds]


@FAMILY.case()
def blocks_of_files(tf, t):
    folder = tempfile.mkdtemp()
    paths = []
    for number in range(2):
        paths.append(os.path.join(folder, str(number)))
        with open(paths[-1], "wb") as file:
            file.write(b"head" + b"".join(b"%d%02d" % (number, k) for k in range(4)) + b"end")
    make = tf.data.FixedLengthRecordDataset
    whole = [make(paths, 3, 4, 3), make(paths[0], 6, header_bytes=4, footer_bytes=3), make([paths[1]], 19)]
    broken = [make(paths, 5, 4, 3), make(paths, 3), make(os.path.join(folder, "none"), 3)]
    found = elements(tf, t, *whole)
    for dataset in broken:
        tensor = dataset.make_one_shot_iterator().get_next()
        found.append(t.error(lambda tensor=tensor: t.run(tensor)))
    return found


@FAMILY.case()
def windows_of_a_key(tf, t):
    data = tf.data
    numbers = data.Dataset.range(11)
    by = data.experimental.group_by_window
    captured = tf.constant(100, tf.int64)

    def batch(key, window):
        return window.map(lambda x: x + captured * key).batch(3)

    return elements(
        tf,
        t,
        numbers.apply(by(lambda x: x % 2, batch, window_size=3)),
        numbers.apply(by(lambda x: x % 3, batch, window_size_func=lambda key: key + 1)),
        data.Dataset.zip((numbers, numbers.map(lambda x: x * x))).apply(
            by(lambda x, y: y % 2, lambda key, window: window.batch(2), 2)
        ),
    )


@FAMILY.case()
def batches_of_similar_lengths(tf, t):
    data = tf.data
    lists = data.Dataset.range(1, 9).map(lambda n: (tf.range(n % 5), n))
    by = data.experimental.bucket_by_sequence_length

    def length(numbers, n):
        return tf.size(numbers)

    return elements(
        tf,
        t,
        lists.apply(by(length, [2, 4], [3, 2, 2])),
        lists.apply(
            by(
                length,
                [3],
                [2, 2],
                padded_shapes=([6], []),
                padding_values=(tf.constant(-1, tf.int64), tf.constant(0, tf.int64)),
            )
        ),
        lists.apply(by(length, [3, 6], [2, 2, 1], pad_to_bucket_boundary=True, drop_remainder=True)),
    )


FAMILY.errors(
    """
    tf.data.Dataset.range(3).apply(tf.data.experimental.group_by_window(lambda x: x, lambda k, w: w))
    tf.data.Dataset.range(3).apply(tf.data.experimental.group_by_window(lambda x: x, lambda k, w: k, 2))
    tf.data.Dataset.range(3).apply(tf.data.experimental.group_by_window(lambda x: [x, x], lambda k, w: w, 2))
    tf.data.experimental.bucket_by_sequence_length(lambda x: x, [1, 2], [3])
    tf.data.FixedLengthRecordDataset("f", 0).make_one_shot_iterator().get_next() if run(
        tf.data.FixedLengthRecordDataset("f", 0).make_one_shot_iterator().get_next()) else 1
    """
)
