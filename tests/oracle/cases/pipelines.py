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


FAMILY.errors(
    """
    tf.data.Dataset.range(3).reduce(0, lambda a, b: 1.0)
    tf.data.Dataset.range(3).reduce(0, lambda a, b: (a, a))
    run(tf.data.Dataset.range(3).reduce(0, lambda a, b: ()))
    run(tf.data.Dataset.range(3).window(0).flat_map(lambda w: w).make_one_shot_iterator().get_next())
    tf.data.Options().experimental_optimization.__setattr__("autotune", 3)
    tf.data.Options().__setattr__("autotune", True)
    """
)
