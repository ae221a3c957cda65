"""Datasets of datasets, states that go along, choices among datasets: windows and what tf.data.experimental has."""

from harness import Family

from cases.data import elements

FAMILY = Family("pipelines")


@FAMILY.case()
def windows(tf, t):
    d = tf.data.Dataset
    r = d.range(7)
    pairs = d.zip({"a": r, "b": r.map(lambda x: tf.fill([2], x))})
    return elements(
        tf,
        t,
        r.window(3).flat_map(lambda w: w.batch(3)),
        r.window(3, drop_remainder=True).flat_map(lambda w: w.batch(3)),
        r.window(3, shift=1, stride=2).flat_map(lambda w: w.batch(3)),
        r.window(2, 4).flat_map(lambda w: w),
        r.window(4, 2, 2, True).flat_map(lambda w: w.batch(4, drop_remainder=True)),
        pairs.window(3).flat_map(lambda w: d.zip((w["a"].batch(3), w["b"].batch(3)))),
        r.window(3).map(lambda w: w.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)),
        r.map(lambda x: d.range(x)).flat_map(lambda x: x),
    )


@FAMILY.case()
def reductions(tf, t):
    import numpy as np

    d = tf.data.Dataset
    r = d.range(5)
    results = [
        r.reduce(np.int64(0), lambda a, b: a + b),
        r.reduce((np.int64(0), 1.0), lambda state, x: (state[0] + x, state[1] * 2.0)),
        d.zip((r, r)).reduce(np.int64(1), lambda state, pair: state + pair[0] * pair[1]),
        r.reduce(np.zeros([0], np.int64), lambda state, x: tf.concat([state, [x]], 0)),
        d.range(0).reduce("none", lambda state, x: "some"),
    ]
    return t.run(results), [str(x.shape) for x in tf.nest.flatten(results)]


@FAMILY.case()
def choices(tf, t):
    d, e = tf.data.Dataset, tf.data.experimental
    r, other = d.range(5), d.range(10, 18)
    weights = d.range(40).map(lambda x: tf.stack([1.0, tf.cast(x, tf.float32)]))
    even = lambda x: tf.cast(x % 2, tf.int32)  # noqa: E731
    return elements(
        tf,
        t,
        e.choose_from_datasets([r, other], d.range(12).map(lambda x: x % 2)),
        e.choose_from_datasets([r.batch(2), r.batch(3)], d.range(2).repeat(2)),
        e.sample_from_datasets([r, other], seed=3),
        e.sample_from_datasets([r, other, r], [0.1, 0.6, 0.3], seed=3),
        e.sample_from_datasets([r, other], weights, seed=3),
        e.RandomDataset(seed=5).take(5),
        r.repeat(9).apply(e.rejection_resample(even, [0.5, 0.5], seed=2)),
        r.repeat(9).apply(e.rejection_resample(even, [0.3, 0.7], [0.6, 0.4], seed=2)),
        r.apply(e.rejection_resample(even, [0.6, 0.4], [0.6, 0.4], seed=2)),
    )


@FAMILY.case()
def seeds_of_the_graph(tf, t):
    tf.set_random_seed(7)
    e, r = tf.data.experimental, tf.data.Dataset.range(9)
    return elements(
        tf, t, e.RandomDataset().take(3), e.sample_from_datasets([r, r]), e.RandomDataset(3).take(3)
    )


@FAMILY.case()
def with_states(tf, t):
    d, e = tf.data.Dataset, tf.data.experimental
    r = d.range(6)
    zero = tf.constant(0, tf.int64)
    words = d.from_tensor_slices(["a", "b", "a", "c", "b"])
    count = e.Reducer(
        lambda key: (key * 100, 1.0), lambda s, x: (s[0] + x, s[1] * 2.0), lambda a, b: {"a": a, "b": b}
    )
    return elements(
        tf,
        t,
        r.apply(e.scan(zero, lambda s, x: (s + x, s))),
        d.zip((r, r)).apply(e.scan((zero, 1.0), lambda s, x: ((s[0] + x[1], s[1] / 2.0), (s[1], x)))),
        r.apply(e.scan(tf.zeros([0], tf.int64), lambda s, x: (tf.concat([s, [x]], 0), s))),
        r.apply(e.take_while(lambda x: x < 3)),
        words.apply(e.unique()),
        r.map(lambda x: x % 4).apply(e.unique()),
        r.map(lambda x: tf.check_numerics(1.0 / tf.cast(x - 2, tf.float32), "")).apply(e.ignore_errors()),
        r.apply(e.group_by_reducer(lambda x: x % 3, count)),
    )


@FAMILY.case()
def in_one_run(tf, t):
    d, e = tf.data.Dataset, tf.data.experimental
    r = d.range(5)
    numbers = [
        e.cardinality(x)
        for x in (
            r, r.repeat(3), r.repeat(), d.range(0).repeat(), r.take(3), r.repeat().take(3), r.skip(2), r.shard(2, 1),
            r.batch(2), r.batch(2, True), r.shuffle(2), r.prefetch(1), r.cache(), r.filter(lambda x: x > 1),
            r.concatenate(r), r.concatenate(r.repeat()), r.window(2), r.window(2, 1, drop_remainder=True),
            d.zip((r, r.repeat())), d.from_tensors(1), e.RandomDataset(), r.batch(2).unbatch(), r.map(lambda x: x),
        )
    ]  # fmt: skip
    single = e.get_single_element(r.map(lambda x: (x, tf.fill([2], x))).batch(5))
    bad = [e.get_single_element(r), e.get_single_element(r.take(0))]
    return t.run([single, numbers]), [t.error(lambda x=x: t.run(x)) for x in bad]


@FAMILY.case()
def sparse_batches(tf, t):
    e = tf.data.experimental
    r = tf.data.Dataset.range(6).map(lambda x: tf.range(x))
    found = []
    for shape in ([6], [None], [3]):
        tensor = r.apply(e.dense_to_sparse_batch(4, shape)).make_one_shot_iterator().get_next()
        found.append([tensor.shape.as_list(), t.run(tensor) if shape != [3] else None])
    return found, t.error(lambda: t.run(tensor))


FAMILY.errors(
    """
    tf.data.Dataset.range(3).reduce(0, lambda a, b: 1.0)
    tf.data.Dataset.range(3).reduce(0, lambda a, b: (a, a))
    run(tf.data.Dataset.range(3).reduce(0, lambda a, b: ()))
    run(tf.data.Dataset.range(3).window(0).flat_map(lambda w: w).make_one_shot_iterator().get_next())
    tf.data.Dataset.range(3).apply(tf.data.experimental.scan(0, lambda s, x: s))
    tf.data.Dataset.range(3).apply(tf.data.experimental.scan(0, lambda s, x: (1.0, x)))
    tf.data.Dataset.range(3).apply(tf.data.experimental.take_while(lambda x: x))
    tf.data.Dataset.from_tensors(1.0).apply(tf.data.experimental.unique())
    tf.data.experimental.choose_from_datasets([tf.data.Dataset.range(3)] * 2, tf.data.Dataset.from_tensors(1.0))
    tf.data.experimental.choose_from_datasets(
        [tf.data.Dataset.range(3), tf.data.Dataset.from_tensors(1.0)], tf.data.Dataset.range(3))
    tf.data.experimental.sample_from_datasets([tf.data.Dataset.range(3)] * 2, weights=[1, 2])
    tf.data.experimental.sample_from_datasets([tf.data.Dataset.range(3)] * 2, weights=[1.0, 0.5, 0.5])
    tf.data.experimental.parse_example_dataset(None)
    tf.data.Dataset.range(3).apply(tf.data.experimental.parse_example_dataset({"a": tf.io.VarLenFeature(tf.string)}))
    tf.data.experimental.TFRecordWriter("name").write(tf.data.Dataset.range(3))
    tf.data.experimental.get_single_element(5)
    tf.data.Options().experimental_optimization.__setattr__("autotune", 3)
    tf.data.Options().__setattr__("autotune", True)
    """
)
