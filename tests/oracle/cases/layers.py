"""tf.layers: names of variables and results, numbers, shapes, collections, sharing, and errors.

First weights are compared too: with a graph seed they depend on how many operations were built before.
"""

import numpy as np
from harness import Family

FAMILY = Family("layers")

_DENSE = "tf.layers.dense(ph(f(2, 3), [None, 3]), 4"
_CONV1 = "tf.layers.conv1d(ph(f(2, 7, 3), [None, 7, 3]), 4, 3"
_CONV2 = "tf.layers.conv2d(ph(f(2, 5, 6, 3), [None, 5, 6, 3]), 4, 3"
_CONV3 = "tf.layers.conv3d(ph(f(1, 4, 5, 4, 2), [None, 4, 5, 4, 2]), 3, 2"
_UP2 = "tf.layers.conv2d_transpose(ph(f(2, 3, 4, 2), [None, 3, 4, 2]), 3, 3"
_UP3 = "tf.layers.conv3d_transpose(ph(f(1, 2, 3, 2, 2), [None, 2, 3, 2, 2]), 3, 2"

FAMILY.differentiable(
    """
    {0})
    {0}, activation=tf.nn.relu)
    {0}, tf.nn.tanh, False)
    {0}, activation="softmax", name="named")
    {0}, kernel_initializer=tf.ones_initializer(), bias_initializer=tf.constant_initializer(0.5))
    {0}, kernel_initializer="he_normal", bias_initializer="ones")
    tf.layers.dense(ph(f(2, 3, 4), [None, 3, 4]), 2)
    tf.layers.dense(ph(f(2, 2, 3, 4)), 2, use_bias=False)
    tf.layers.dense(ph(d(2, 3)), 4)
    {1})
    {1}, strides=2, padding="same", use_bias=False)
    {1}, padding="causal", dilation_rate=2)
    {2})
    {2}, activation=tf.nn.relu, padding="SAME")
    {2}, strides=(2, 1), padding="same", use_bias=False, name="first")
    {2}, dilation_rate=(2, 1))
    {3})
    {3}, strides=2, padding="same", activation=tf.nn.elu)
    {4})
    {4}, strides=2, padding="same")
    {4}, strides=(3, 2), use_bias=False)
    {5}, strides=2)
    tf.layers.separable_conv2d(ph(f(2, 5, 5, 2), [None, 5, 5, 2]), 3, 2, depth_multiplier=2)
    tf.layers.separable_conv2d(ph(f(2, 5, 5, 2)), 3, 2, padding="same", activation=tf.nn.relu)
    tf.layers.separable_conv1d(ph(f(2, 6, 2)), 3, 2)
    tf.layers.max_pooling1d(ph(f(2, 6, 3), [None, 6, 3]), 2, 2)
    tf.layers.max_pooling2d(ph(f(2, 5, 5, 2), [None, 5, 5, 2]), 2, 2)
    tf.layers.max_pooling2d(ph(f(2, 5, 5, 2)), pool_size=(3, 2), strides=(1, 2), padding="same", name="pool")
    tf.layers.max_pooling3d(ph(f(1, 4, 4, 4, 2)), 2, 2)
    tf.layers.average_pooling1d(ph(f(2, 6, 3)), 3, 2, "same")
    tf.layers.average_pooling2d(ph(f(2, 5, 5, 2), [None, None, None, 2]), 2, 2)
    tf.layers.average_pooling3d(ph(f(1, 4, 4, 4, 2)), 2, 1)
    tf.layers.dropout(ph(f(3, 4), [None, 4]), 0.4, seed=5, training=True)
    tf.layers.dropout(ph(f(3, 4)), noise_shape=[None, 1], seed=5, training=True)
    tf.layers.dropout(ph(f(3, 4)))
    tf.layers.flatten(ph(f(2, 3, 4), [None, 3, 4]))
    tf.layers.flatten(ph(f(2, 3, 4), [2, None, 4]))
    tf.layers.flatten(ph(f(2, 3), [None, None]), name="flat")
    tf.layers.flatten(ph(f(2)))
    tf.layers.flatten(ph(f(2, 3, 4)), data_format="channels_first")
    """.format(_DENSE, _CONV1, _CONV2, _CONV3, _UP2, _UP3)
)

FAMILY.expressions(
    """
    tf.layers.dense(f(2, 3), 4)
    tf.layers.dense(var([[1.0, 2.0]]), 4)
    tf.layers.dropout(ph(f(3, 4)), 0.4, seed=5, training=ph(True, [], tf.bool))
    tf.layers.dropout(ph(f(3, 4)), 0.4, seed=5, training=ph(False, [], tf.bool))
    tf.layers.dropout(ph(f(3, 4)), 0.4, seed=5, training=tf.constant(False))
    tf.layers.max_pooling2d(ph(f(2, 5, 5, 2)), 2, 2).name
    [str(v.shape) for v in [{0}), tf.global_variables()][1]]
    [[v.name for v in [{0}), tf.global_variables()][1]]]
    [[v.name for v in [{1}), tf.trainable_variables()][1]]]
    [[v.name for v in [{2}, trainable=False), tf.trainable_variables()][1]]]
    """.format(_DENSE, _CONV2, _UP2)
)

FAMILY.errors(
    """
    tf.layers.Dense(2).compute_output_shape(tf.TensorShape(None))
    tf.layers.Dense(2).compute_output_shape([])
    tf.layers.Dense(2).compute_output_shape([1])
    tf.layers.Dense(2).compute_output_shape([1, None])
    tf.layers.dense(ph(f(2, 3), [2, None]), 4)
    tf.layers.dense(ph(f(2, 3), None), 4)
    tf.layers.dense(ph(f(3)), 4)
    tf.layers.dense(ph(i(2, 3)), 4)
    tf.layers.dense(ph(f(2, 3)), 4, reuse=True)
    tf.layers.dense(ph(f(2, 3)), 4, name="d", reuse=True)
    tf.layers.dense(ph(f(2, 3)), 4, activation="nonsense")
    tf.layers.dense(ph(f(2, 3)), 4, kernel_initializer="nonsense")
    tf.layers.dense(ph(f(2, 3)), 4, no_such_argument=1)
    tf.layers.dense(ph(f(2, 3)))
    [tf.layers.dense(ph(f(2, 3)), 4, name="d"), tf.layers.dense(ph(f(2, 3)), 4, name="d")]
    [tf.layers.dense(ph(f(2, 3)), 4, name="d"), tf.layers.dense(ph(f(2, 2)), 4, name="d", reuse=True)]
    tf.layers.conv2d(ph(f(2, 5, 5, 1), [2, 5, 5, None]), 4, 3)
    tf.layers.conv2d(ph(f(5, 5, 1)), 4, 3)
    tf.layers.conv2d(ph(f(2, 5, 5, 1)), 4, (3, 3, 3))
    tf.layers.conv2d(ph(f(2, 5, 5, 1)), 4, 3, padding="nonsense")
    tf.layers.conv2d(ph(f(2, 5, 5, 1)), 4, 3, padding="causal")
    tf.layers.conv2d(ph(f(2, 5, 5, 1)), 4, 3, data_format="nonsense")
    tf.layers.conv2d(ph(f(2, 5, 5, 1)), 4, 3, strides=2, dilation_rate=2)
    tf.layers.conv2d(ph(f(2, 2, 2, 1)), 4, 3)
    tf.layers.max_pooling2d(ph(f(2, 5, 5)), 2, 2)
    tf.layers.max_pooling2d(ph(f(2, 5, 5, 1)), 2, "two")
    tf.layers.max_pooling2d(ph(f(2, 1, 1, 1)), 2, 2)
    tf.layers.flatten(ph(1.0))
    tf.layers.batch_normalization(ph(f(2, 3), None), training=True)
    tf.layers.batch_normalization(ph(f(2, 3), [2, None]), training=True)
    tf.layers.batch_normalization(ph(f(2, 3)), axis=2)
    tf.layers.batch_normalization(ph(f(2, 3)), axis=[0, 0])
    tf.layers.batch_normalization(ph(f(2, 3)), axis="last")
    tf.layers.Dense(3).scope_name
    """
)

_KINDS = {
    "vectors": ((4, 3), ""),
    "images": ((2, 2, 3, 2), ""),
    "unfused": ((2, 2, 2, 3), "fused=False"),
    "sequences": ((2, 3, 2), ""),
    "first axis": ((2, 3, 2), "axis=1"),
    "several axes": ((2, 2, 2, 3), "axis=[1, 3]"),
    "no scale": ((2, 2, 2, 2), "scale=False"),
    "no center": ((4, 3), "center=False"),
    "bare": ((2, 2, 2, 2), "scale=False, center=False, name='bn'"),
    "other numbers": ((4, 3), "momentum=0.5, epsilon=0.1"),
    "initializers": (
        (4, 3),
        "gamma_initializer=tf.constant_initializer(2.0), beta_initializer='ones', "
        "moving_mean_initializer=tf.constant_initializer(0.3), "
        "moving_variance_initializer=tf.constant_initializer(4.0)",
    ),
}


def _normalised(shape, arguments, mode):
    """Two steps of training, then the averages, the gradients and the result in inference."""

    def build(tf, t):
        x = t.ph(t.f(*shape) + 0.5, [None] + list(shape[1:]))
        training = {
            "true": True,
            "false": False,
            "fed": t.ph(True, [], tf.bool),
            "constant": tf.constant(True),
        }
        options = eval("dict(%s)" % arguments, {"tf": tf})
        y = tf.layers.batch_normalization(x, training=training[mode], **options)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        trained = tf.trainable_variables()
        slopes = tf.gradients(tf.reduce_sum(y * y * t.f(*shape)), [x] + trained)
        t.initialize()
        values = [t.run([y] + slopes + updates)[: 1 + len(slopes)] for _ in range(2)]
        found = {
            "values": [part for value in values for part in value],
            "averages": t.run(tf.global_variables()),
            "updates": len(updates),
            "variables": [(v.name, v.dtype.base_dtype.name, str(v.shape)) for v in tf.global_variables()],
            "trained": [v.name for v in trained],
            "name": y.name,
            "shape": str(y.shape),
        }
        if mode == "fed":
            found["inference"] = t.run(y, {training["fed"]: False})
            t.run(updates, {training["fed"]: False})
            found["kept"] = t.run(tf.global_variables())
        else:
            found["update_names"] = [op.name for op in updates]
        return found

    return build


for _kind, (_shape, _arguments) in _KINDS.items():
    for _mode in ("true", "false", "fed") + (("constant",) if _kind == "images" else ()):
        FAMILY.generated(
            "batch_normalization of %s, training %s" % (_kind, _mode),
            _normalised(_shape, _arguments, _mode),
            "batch_normalization(%s, training: %s)" % (_arguments, _mode),
            tolerance=(1e-4, 2e-5),
        )


@FAMILY.case()
def half_precision_keeps_float32_statistics(tf, t):
    x = t.ph(t.f(4, 2, 2, 3).astype(np.float16))
    y = tf.layers.batch_normalization(x, training=True)
    return y, [(v.name, v.dtype.base_dtype.name) for v in tf.global_variables()]


@FAMILY.case()
def names_count_up(tf, t):
    x = t.ph(t.f(2, 3))
    made = [tf.layers.dense(x, 3), tf.layers.dense(x, 3), tf.layers.dense(x, 3, name="dense_5")]
    with tf.variable_scope("block"):
        made += [tf.layers.dense(x, 3), tf.layers.dense(x, 3, name="last")]
    with tf.variable_scope("block", reuse=tf.AUTO_REUSE):
        made += [tf.layers.dense(x, 3), tf.layers.dense(x, 3, name="last")]
    with tf.name_scope("names"):
        made.append(tf.layers.dense(x, 3))
    return made, [v.name for v in tf.global_variables()]


@FAMILY.case()
def sharing_by_name(tf, t):
    x = t.ph(t.f(2, 3))
    a = tf.layers.dense(x, 3, name="d")
    b = tf.layers.dense(x * 2.0, 3, name="d", reuse=True)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        c = tf.layers.dense(x * 3.0, 3, name="d")
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        d = [tf.layers.dense(x, 2, name="e") for _ in range(2)]
    return a, b, c, d, [v.name for v in tf.global_variables()]


@FAMILY.case()
def a_layer_shares_its_weights(tf, t):
    x = t.ph(t.f(2, 3))
    layer = tf.layers.Dense(4, name="shared", activation=tf.nn.relu)
    before = [layer.built, len(layer.weights)]
    with tf.variable_scope("first"):
        a = layer(x)
    with tf.variable_scope("second"):
        b = layer(x * 2.0)
    c = layer.apply(x + 1.0)
    return [a, b, c, before, layer.built, layer.scope_name, [v.name for v in tf.global_variables()]] + [
        [v.name for v in layer.trainable_weights],
        [v.name for v in layer.variables],
        layer.kernel.name,
        layer.bias.name,
        layer.units,
        layer.count_params(),
        layer.dtype == "float32",
    ]


@FAMILY.case()
def regularizers_of_layers(tf, t):
    l2, l1 = tf.contrib.layers.l2_regularizer(0.1), tf.contrib.layers.l1_regularizer(0.2)
    x = t.ph(t.f(2, 3))
    layer = tf.layers.Dense(4, kernel_regularizer=l2, bias_regularizer=l1, activity_regularizer=l2)
    made = [layer(x), layer(x * 2.0)]
    made.append(
        tf.layers.dense(x, 2, kernel_regularizer=tf.contrib.layers.l1_l2_regularizer(0.3, 0.4), name="n")
    )
    made.append(tf.layers.dense(x, 2, kernel_regularizer=l2, name="n", reuse=True))
    with tf.variable_scope("s", regularizer=l1):
        made.append(tf.layers.dense(x, 2))
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return (
        made,
        losses,
        [loss.name for loss in losses],
        len(layer.losses),
        tf.losses.get_regularization_loss(),
    )


@FAMILY.case()
def regularizers_by_themselves(tf, t):
    contrib = tf.contrib.layers
    w = t.var([[1.0, -2.0], [0.5, 3.0]], name="w")
    return [
        contrib.l1_regularizer(0.5)(w),
        contrib.l2_regularizer(0.5, scope="mine")(w),
        contrib.l1_l2_regularizer(0.5, 0.25)(w),
        contrib.l1_l2_regularizer(0.0, 0.25)(w),
        contrib.sum_regularizer([contrib.l1_regularizer(0.1), None, contrib.l2_regularizer(0.0)])(w),
        contrib.sum_regularizer([None]),
        contrib.l2_regularizer(0.0)(w),
        contrib.apply_regularization(contrib.l2_regularizer(0.5), [w, w]),
        [loss.name for loss in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)],
        t.error(lambda: contrib.l1_regularizer(1)),
        t.error(lambda: contrib.l2_regularizer(-1.0)),
        t.error(lambda: contrib.apply_regularization(contrib.l2_regularizer(0.5))),
        t.error(lambda: contrib.apply_regularization(lambda x: x, [w])),
    ]


@FAMILY.case()
def constraints_of_layers(tf, t):
    x = t.ph(t.f(2, 3))
    y = tf.layers.dense(
        x, 2, kernel_constraint=lambda w: tf.clip_by_value(w, -0.1, 0.1), bias_constraint=lambda b: b * 0.5
    )
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(y))
    t.initialize()
    t.run(step)
    return t.run(tf.global_variables())


@FAMILY.case()
def a_network_and_its_training(tf, t):
    x = t.ph(t.f(4, 8, 8, 2), [None, 8, 8, 2])
    labels = t.ph(np.array([0, 2, 1, 2], np.int32), [None])
    h = tf.layers.conv2d(x, 4, 3, padding="same", use_bias=False)
    h = tf.nn.relu(tf.layers.batch_normalization(h, training=True, momentum=0.8))
    h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.layers.conv2d(h, 6, 3, activation=tf.nn.relu)
    h = tf.layers.average_pooling2d(h, 2, 1)
    h = tf.layers.dense(tf.layers.flatten(h), 5)
    h = tf.layers.batch_normalization(h, training=True, center=False)
    logits = tf.layers.dense(h, 3, kernel_initializer=tf.random_normal_initializer(stddev=0.3))
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    t.initialize()
    losses = [t.run([loss, step])[0] for _ in range(5)]
    names = [v.name for v in tf.global_variables()]
    return (
        logits.name,
        loss.name,
        losses,
        names,
        t.run([v for v in tf.global_variables() if "moving" in v.name]),
    )


@FAMILY.case()
def a_layer_of_ones_own(tf, t):
    class Scaled(tf.layers.Layer):
        def build(self, input_shape):
            size = input_shape[-1].value
            self.factor = self.add_weight("factor", shape=[size], initializer=tf.constant_initializer(2.0))
            self.count = self.add_variable(
                "count", shape=[], initializer=tf.zeros_initializer(), trainable=False
            )
            super(Scaled, self).build(input_shape)

        def call(self, inputs, offset=0.0):
            self.add_update(self.count.assign_add(1.0))
            self.add_loss(tf.reduce_sum(self.factor))
            return inputs * self.factor + offset

    x = t.ph(t.f(2, 3))
    layer = Scaled()
    made = [layer(x), layer(x, offset=1.0), Scaled(name="other")(x), Scaled(trainable=False)(x)]
    keys = tf.GraphKeys
    return made, [
        [v.name for v in tf.global_variables()],
        [v.name for v in tf.trainable_variables()],
        [v.name for v in layer.weights],
        [v.name for v in layer.non_trainable_weights],
        len(layer.updates),
        [op.name for op in tf.get_collection(keys.UPDATE_OPS)],
        [loss.name for loss in tf.get_collection(keys.REGULARIZATION_LOSSES)],
    ]


@FAMILY.case()
def a_layer_with_several_inputs(tf, t):
    class Joined(tf.layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight("w", [len(input_shape)])

        def call(self, inputs):
            return tf.concat(inputs, 1) * tf.reduce_sum(self.w)

    return Joined(name="j")([t.ph(t.f(2, 3)), t.ph(t.f(2, 1))]), [v.name for v in tf.global_variables()]


@FAMILY.case()
def input_specifications(tf, t):
    class Strict(tf.layers.Layer):
        def __init__(self, spec):
            super(Strict, self).__init__(name="strict")
            self.input_spec = spec

        def call(self, inputs):
            return inputs

    x = t.ph(t.f(2, 3), [None, 3])
    spec = tf.layers.InputSpec

    def tried(**wanted):
        return t.error(lambda: Strict(spec(**wanted))(x).shape)

    return [
        tried(ndim=2), tried(ndim=3), tried(min_ndim=3), tried(max_ndim=1), tried(axes={-1: 3}), tried(axes={1: 4}),
        tried(shape=(None, 3)), tried(shape=(7, 3)), tried(shape=(None, 4)), tried(dtype="float32"),
        tried(dtype="int32"), t.error(lambda: spec(ndim=2, axes={2: 3})), t.error(lambda: spec(axes={"a": 3})),
        t.error(lambda: Strict([spec(ndim=2), spec(ndim=2)])(x)),
    ]  # fmt: skip


@FAMILY.case()
def output_shapes_that_layers_tell(tf, t):
    layers = tf.layers
    told = [
        layers.Dense(4).compute_output_shape([None, 7, 3]),
        layers.Flatten().compute_output_shape([None, 7, 3]),
        layers.Conv2DTranspose(4, 3, strides=2).compute_output_shape([None, 7, 5, 3]),
    ]
    return [str(shape) for shape in told]
