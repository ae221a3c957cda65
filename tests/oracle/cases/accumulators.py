"""Accumulators of gradients: means, sums, late ones, and what does not fit."""

import numpy as np
from harness import Family

FAMILY = Family("accumulators")

FAMILY.expressions(
    """
    tf.ConditionalAccumulator(tf.float32, [2], name="a").take_grad(1).shape
    tf.ConditionalAccumulator(tf.float64, name="a").num_accumulated().name
    tf.SparseConditionalAccumulator(tf.float32, [3, 2], name="a").take_indexed_slices_grad(2).values.dtype
    tf.sparse.SparseConditionalAccumulator(tf.float16).dtype
    """
)

FAMILY.errors(
    """
    tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")
    tf.SparseConditionalAccumulator(tf.float32, reduction_type="mean")
    tf.ConditionalAccumulator(tf.float32, [2]).apply_grad([1.0, 2.0, 3.0])
    """
)


@FAMILY.case()
def dense_means(tf, t):
    accumulator = tf.ConditionalAccumulator(tf.float32, [2])
    adds = [accumulator.apply_grad([1.0, 2.0]), accumulator.apply_grad([4.0, 9.0], 1)]
    for add in adds:
        t.run(add)
    first = t.run([accumulator.num_accumulated(), accumulator.take_grad(2)])
    for add in adds:  # The step is 1 now: the first comes too late.
        t.run(add)
    second = t.run(accumulator.num_accumulated()), t.run(accumulator.take_grad(1))
    t.run(accumulator.set_global_step(5))
    t.run(accumulator.apply_grad([1.0, 1.0], 4))
    return first[1], second, t.run(accumulator.num_accumulated())


@FAMILY.case()
def dense_sums(tf, t):
    accumulator = tf.ConditionalAccumulator(tf.float64, None, reduction_type="SUM")
    for value in ([[1.0], [2.0]], [[5.0], [7.0]]):
        t.run(accumulator.apply_grad(tf.constant(value, tf.float64)))
    wrong = t.error(lambda: t.run(accumulator.apply_grad(tf.constant([1.0], tf.float64))))
    return t.run(accumulator.take_grad(1)), wrong, t.error(lambda: t.run(accumulator.take_grad(0)))


@FAMILY.case()
def sparse_means_and_sums(tf, t):
    found = []
    for kind in ("MEAN", "SUM"):
        accumulator = tf.SparseConditionalAccumulator(tf.float32, [None, 2], reduction_type=kind)
        t.run(
            accumulator.apply_indexed_slices_grad(
                tf.IndexedSlices(tf.constant([[1.0, 0.0], [0.0, 2.0]]), [0, 1])
            )
        )
        t.run(accumulator.apply_grad([0, 2], np.float32([[0, 1], [3, 0]]), [3, 2]))
        found.append(t.run(accumulator.take_grad(2)))
    return [[np.asarray(part) for part in each] for each in found]


@FAMILY.case()
def rows_that_do_not_fit(tf, t):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, [2, 2])

    def error(*arguments):
        return t.error(lambda: t.run(accumulator.apply_grad(*arguments)))

    return (
        error([[0]], np.float32([1])),
        error([0], np.float32(1)),
        error([0, 1], np.float32([[1, 2]])),
        error([3], np.float32([[1, 2]])),
        error([0], np.float32([[1, 2, 3]])),
        error([0], np.float32([[1, 2]]), [2, 3]),
    )
