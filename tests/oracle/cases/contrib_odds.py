"""Names of tf.contrib that few programs use: a searched cell, areas that keep values, walks through a graph."""

import numpy as np
from harness import Family

FAMILY = Family("contrib_odds")


def _waves(tf):
    def initializer(shape, dtype=None, partition_info=None):
        count = int(np.prod(shape))
        return tf.constant(np.sin(1.7 * np.arange(1, count + 1)).reshape(shape), dtype=dtype or tf.float32)

    return initializer


def _declare(label, **kwargs):
    def build(tf, t):
        with tf.variable_scope("m", initializer=_waves(tf)):
            cell = tf.contrib.rnn.NASCell(3, **kwargs)
            found = tf.nn.dynamic_rnn(cell, tf.constant(t.f(2, 4, 2)), dtype=tf.float32)
        gradient = tf.gradients(found[0], tf.trainable_variables())
        t.initialize()
        sizes = cell.output_size, list(cell.state_size)
        return (
            t.run([found, gradient]),
            sorted((v.name, v.shape.as_list()) for v in tf.global_variables()),
            sizes,
        )

    FAMILY.generated("searched cell %s" % label, build, "NASCell(3, %s)" % kwargs)


_declare("plain")
_declare("projected", num_proj=2, use_bias=True)


@FAMILY.case()
def values_put_aside(tf, t):
    area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], shapes=[[2], []])
    named = tf.contrib.staging.StagingArea([tf.int32], names=["n"])
    x = tf.placeholder(tf.float32, [2])
    put, take = area.put([x, tf.constant(3)]), area.get()
    put_named, take_named = named.put({"n": tf.constant(5)}), named.get()["n"]
    for number in range(3):
        t.run(put, {x: [number, 1.0]})
    t.run(put_named)
    return (
        t.run(area.size()),
        [t.run(take) for _ in range(2)],
        t.run(area.size()),
        take[0].shape,
        t.run(take_named),
    )


@FAMILY.case()
def walks_through_a_graph(tf, t):
    edit = tf.contrib.graph_editor
    a = tf.constant(1.0, name="a")
    b = tf.constant(2.0, name="b")
    with tf.control_dependencies([tf.no_op(name="before")]):
        c = tf.add(a, b, name="c")
    d = tf.square(c, name="d")
    e = tf.negative(d, name="e")

    def names(found):
        return sorted(each.name for each in found)

    return (
        names(edit.get_backward_walk_ops(d.op)),
        names(edit.get_backward_walk_ops([d], inclusive=False)),
        names(edit.get_backward_walk_ops(d.op, control_inputs=True)),
        names(edit.get_backward_walk_ops(e.op, stop_at_ts=[c])),
        names(edit.get_backward_walk_ops(e.op, within_ops=[e.op, d.op])),
        names(edit.get_backward_walk_ops(e.op, within_ops_fn=lambda op: op.name != "a")),
        names(edit.get_forward_walk_ops(c.op)),
        names(edit.get_forward_walk_ops([c])),
        names(edit.get_walks_intersection_ops([b.op], [d.op])),
        names(edit.filter_ops_from_regex(tf.get_default_graph(), "^[ab]$")),
        names(edit.filter_ts_from_regex(tf.get_default_graph(), "^[de]:0$")),
    )


FAMILY.expressions(
    """
    tf.contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits(ph(f(2, 3)), ph([[0.0, 1, 0], [1, 0, 0]]))
    tf.contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(ph(f(2, 3)), ph([1, 0]))
    tf.contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(ph(f(2, 3)), ph(unit(2, 3)))
    """,
    names="none",
)
FAMILY.errors("tf.contrib.staging.StagingArea([tf.float32], shapes=[[1], [2]])")
