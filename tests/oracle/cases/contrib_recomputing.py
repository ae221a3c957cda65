"""Activations that are computed again when gradients are taken: contrib.layers.rev_block, recompute_grad."""

from harness import Family

FAMILY = Family("contrib_recomputing")


def _number(tf, name):
    return tf.get_variable(name, [3], initializer=tf.constant_initializer([0.5, -1.0, 2.0]))


@FAMILY.case(tolerance=(1e-5, 1e-6), names="none")
def reversible_layers(tf, t):
    def f(x, side):
        return tf.tanh(x * _number(tf, "w")) + side[0]

    def g(x):
        return tf.sigmoid(x + _number(tf, "b"))

    x1, x2, side = t.ph(t.f(2, 3)), t.ph(t.f(2, 3)), t.ph(t.f(2, 3))
    found = []
    for efficient in (True, False):
        with tf.variable_scope("net", reuse=not efficient):
            y = tf.contrib.layers.rev_block(x1, x2, f, g, 3, [side], is_training=efficient)
        found.append([y, tf.gradients([y[0] * y[1]], [x1, x2, side] + tf.trainable_variables())])
    block = tf.contrib.layers.RevBlock(g, [g, g], 2, name="back")
    there = block.forward(x1, x2)
    again = block.backward(*there)
    return found, again, [v.name for v in tf.trainable_variables()], [v.name for v in block.variables]


@FAMILY.case(tolerance=(1e-5, 1e-6), names="none")
def activations_computed_again(tf, t):
    told = []

    def layer(x, y, is_recomputing=False):
        told.append(is_recomputing)
        with tf.variable_scope(None, "layer"):
            return tf.tanh(x * _number(tf, "w")), tf.square(y + x)

    x, y = t.ph(t.f(2, 3)), t.ph(t.f(2, 3))
    found = []
    for number, options in enumerate(({}, {"tupleize_grads": True}, {"use_data_dep": True})):
        with tf.variable_scope("net%d" % number, use_resource=True):
            decorate = tf.contrib.layers.recompute_grad
            again = decorate(**options)(layer) if options else decorate(layer)
            a, b = again(x, y)
        w = tf.trainable_variables()[-1]
        found += [a, b, tf.gradients([a * b], [x, y, w]), tf.gradients(a, [x, w])]
    return found, told, [v.name for v in tf.trainable_variables()]


@FAMILY.case()
def what_cannot_be_computed_again(tf, t):
    z = tf.constant(1.0)

    def closes(x):
        return x + z

    def layer(x):
        return tf.layers.dense(x, 2)

    again = tf.contrib.layers.recompute_grad(layer)
    with tf.variable_scope("net", use_resource=True):
        first = again(t.ph(t.f(2, 2)))
        second = again(first)
    return (
        t.error(lambda: tf.contrib.layers.recompute_grad(closes)),
        t.error(lambda: again(1.0)),
        t.error(lambda: tf.gradients(second, first)),
        [v.name for v in tf.trainable_variables()],
    )


@FAMILY.case(tolerance=(1e-5, 1e-6), names="none")
def functions_computed_again(tf, t):
    x, y = t.ph(t.f(2, 3)), t.ph(t.f(2, 3))
    with tf.variable_scope("net", use_resource=True):
        z = tf.recompute_grad(lambda a, b: tf.sin(a) * b)(x, y)
    return z, tf.gradients(z, [x, y])
