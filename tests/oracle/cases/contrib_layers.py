"""tf.contrib.layers and arg_scope: numbers, names of variables, collections, defaults."""

from harness import Family

FAMILY = Family("contrib_layers")

FAMILY.differentiable(
    """
    tf.contrib.layers.fully_connected(ph(f(2, 3), [None, 3]), 4)
    tf.contrib.layers.fully_connected(ph(f(2, 3)), 4, activation_fn=None, biases_initializer=None)
    tf.contrib.layers.fully_connected(ph(f(3, 3)), 2, normalizer_fn=tf.contrib.layers.layer_norm, scope="mine")
    tf.contrib.layers.linear(ph(f(2, 3)), 4)
    tf.contrib.layers.conv2d(ph(f(2, 4, 5, 2), [None, 4, 5, 2]), 3, 3)
    tf.contrib.layers.conv2d(ph(f(2, 4, 5, 2)), 3, [3, 2], stride=2, padding="VALID", activation_fn=tf.nn.tanh)
    tf.contrib.layers.conv2d_in_plane(ph(f(2, 4, 5, 3), [None, 4, 5, 3]), 3)
    tf.contrib.layers.conv2d_in_plane(ph(f(2, 4, 4, 2)), [2, 3], 2, "VALID", None, biases_initializer=None)
    tf.contrib.layers.convolution2d_in_plane(ph(f(2, 4, 4, 2)), 2, normalizer_fn=tf.contrib.layers.layer_norm)
    tf.contrib.layers.max_pool2d(ph(f(2, 4, 4, 2)), 2)
    tf.contrib.layers.max_pool2d(ph(f(2, 4, 4, 2)), [2, 2], stride=1, padding="SAME", scope="pool")
    tf.contrib.layers.avg_pool2d(ph(f(2, 4, 4, 2)), 2)
    tf.contrib.layers.layer_norm(ph(f(2, 5), [None, 5]))
    tf.contrib.layers.layer_norm(ph(f(2, 3, 4)), begin_norm_axis=-1, activation_fn=tf.nn.relu)
    tf.contrib.layers.layer_norm(ph(f(2, 3, 4)), center=False, begin_params_axis=1)
    tf.contrib.layers.dropout(ph(f(3, 4)), 0.6, seed=3)
    tf.contrib.layers.dropout(ph(f(3, 4)), is_training=False)
    tf.contrib.layers.flatten(ph(f(2, 3, 4), [None, 3, 4]))
    """,
    names="none",
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.contrib.layers.layer_norm(ph(np.array([[3.0, 3.0, 3.0], [1.0, 2.0, 4.0]], np.float16)))
    """,
    names="none",
    tolerance=(1e-2, 1e-3),
)

FAMILY.expressions(
    """
    [v.name for v in [tf.contrib.layers.fully_connected(ph(f(2, 3)), 4), tf.global_variables()][1]]
    [v.name for v in [tf.contrib.layers.conv2d(ph(f(2, 3, 3, 1)), 4, 2), tf.trainable_variables()][1]]
    [v.name for v in [tf.contrib.layers.linear(ph(f(2, 3)), 4, scope="s"), tf.model_variables()][1]]
    [v.name for v in [tf.contrib.layers.layer_norm(ph(f(2, 3))), tf.model_variables()][1]]
    [v.name for v in [tf.contrib.layers.batch_norm(ph(f(2, 3))), tf.model_variables()][1]]
    [v.name for v in [tf.contrib.layers.batch_norm(ph(f(2, 3)), scale=True), tf.global_variables()][1]]
    [v.name for v in [tf.contrib.layers.batch_norm(ph(f(2, 2, 3, 1)), scale=True), tf.global_variables()][1]]
    [v.name for v in [tf.contrib.layers.batch_norm(ph(f(2, 2, 3)), scale=True), tf.global_variables()][1]]
    [v.name for v in [tf.contrib.layers.batch_norm(ph(f(2, 3)), scale=True, fused=False), tf.global_variables()][1]]
    [v.name for v in [
        tf.contrib.layers.batch_norm(ph(f(2, 2, 3, 1)), 0.9, True, True, updates_collections=None),
        tf.global_variables()][1]]
    [v.name for v in [
        tf.contrib.layers.batch_norm(ph(f(2, 2, 3, 1)), 0.9, True, True, updates_collections=None, fused=False),
        tf.global_variables()][1]]
    [v.name for v in [tf.contrib.slim.conv2d_in_plane(ph(f(2, 3, 3, 1)), 2), tf.model_variables()][1]]
    tf.contrib.layers.conv2d_in_plane(ph(f(2, 3, 3, 2)), 2, scope="mine").name
    tf.contrib.layers.fully_connected(ph(f(2, 3)), 4).name
    tf.contrib.layers.conv2d(ph(f(2, 3, 3, 1)), 4, 2).name
    """
)


def _normalised(shape, arguments):
    def build(tf, t):
        x = t.ph(t.f(*shape) + 0.5, [None] + list(shape[1:]))
        y = tf.contrib.layers.batch_norm(x, decay=0.7, **arguments)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        t.initialize()
        values = [t.run([y] + updates)[0] for _ in range(2)]
        return values, t.run(tf.global_variables()), len(updates) > 0

    return build


for _label, _shape, _arguments in (
    ("vectors", (4, 3), {}),
    ("images", (2, 3, 2, 2), {"scale": True}),
    ("inference", (4, 3), {"is_training": False}),
    ("unfused vectors", (4, 3), {"fused": False}),
    ("at once", (4, 3), {"updates_collections": None}),
):
    FAMILY.generated(
        "batch_norm of %s" % _label, _normalised(_shape, _arguments), repr(_arguments), tolerance=(1e-4, 2e-5)
    )


@FAMILY.case()
def arg_scopes_nest(tf, t):
    framework, layers = tf.contrib.framework, tf.contrib.layers
    x = t.ph(t.f(2, 3))
    with framework.arg_scope(
        [layers.fully_connected], activation_fn=None, weights_initializer=tf.ones_initializer()
    ):
        a = layers.fully_connected(x, 2)
        with framework.arg_scope([layers.fully_connected], activation_fn=tf.nn.relu) as kept:
            b = layers.fully_connected(x, 2)
            c = layers.fully_connected(x, 2, activation_fn=tf.nn.tanh)
    with framework.arg_scope(kept):
        d = layers.fully_connected(x, 2)

    @framework.add_arg_scope
    def scaled(value, factor=1.0):
        return value * factor

    with framework.arg_scope([scaled], factor=3.0):
        e = scaled(x)
    return [a, b, c, d, e, t.error(lambda: framework.arg_scope([len], x=1).__enter__())]


@FAMILY.case()
def collections_of_variables_and_outputs(tf, t):
    layers = tf.contrib.layers
    x = t.ph(t.f(2, 3))
    l2 = layers.l2_regularizer(0.1)
    layers.fully_connected(
        x, 2, weights_regularizer=l2, variables_collections=["mine"], outputs_collections="out"
    )
    layers.fully_connected(x, 2, variables_collections={"weights": ["only"]}, scope="second")
    layers.fully_connected(x, 2, scope="second", reuse=True)
    found = [[v.op.name for v in tf.get_collection(key)] for key in ("mine", "only", "out")]
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return found, losses, [v.name for v in tf.global_variables()]


def _optimized(arguments):
    def build(tf, t):
        x = t.ph(t.f(4, 3))
        w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(0.5))
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 2.0))
        step = tf.train.get_or_create_global_step()
        options = dict({"learning_rate": 0.1, "optimizer": "SGD"}, **arguments(tf, w))
        train = tf.contrib.layers.optimize_loss(loss, step, **options)
        t.initialize()
        losses = [t.run(train) for _ in range(3)]
        return (
            losses,
            t.run([w, b, step]),
            sorted(v.name for v in tf.global_variables() if "/" in v.name),
            (len(tf.get_collection(tf.GraphKeys.SUMMARIES))),
        )

    return build


for _label, _arguments in {
    "SGD": lambda tf, w: {},
    "Adam by name": lambda tf, w: {"optimizer": "Adam"},
    "a class": lambda tf, w: {"optimizer": tf.train.AdagradOptimizer},
    "an object": lambda tf, w: {"optimizer": tf.train.MomentumOptimizer(0.1, 0.9), "learning_rate": None},
    "a function": lambda tf, w: {
        "optimizer": lambda rate: tf.train.MomentumOptimizer(rate, 0.5),
        "name": "mine",
    },
    "clipped": lambda tf, w: {"clip_gradients": 0.5},
    "multiplied": lambda tf, w: {"gradient_multipliers": {w: 0.1, "b:0": 2.0}},
    "decaying": lambda tf, w: {
        "learning_rate_decay_fn": lambda rate, step: tf.train.exponential_decay(rate, step, 1, 0.5)
    },
    "all summaries": lambda tf, w: {"summaries": ["learning_rate", "loss", "gradients", "gradient_norm"]},
    "some variables, no counting": lambda tf, w: {"variables": [w], "increment_global_step": False},
}.items():
    FAMILY.generated("optimize_loss, %s" % _label, _optimized(_arguments), "optimize_loss, %s" % _label)

FAMILY.differentiable(
    """
    tf.contrib.layers.conv2d_transpose(ph(f(2, 3, 4, 2), [None, 3, 4, 2]), 3, 3)
    tf.contrib.layers.conv2d_transpose(ph(f(1, 3, 3, 2)), 3, [3, 2], stride=2, padding="VALID", activation_fn=None)
    tf.contrib.layers.conv2d_transpose(ph(f(1, 3, 3, 2)), 2, 2, 2, biases_initializer=None, scope="up")
    tf.contrib.layers.separable_conv2d(ph(f(1, 4, 5, 2), [None, 4, 5, 2]), 3, 3)
    tf.contrib.layers.separable_conv2d(ph(f(1, 4, 5, 2)), 3, [3, 2], depth_multiplier=2, stride=2)
    tf.contrib.layers.separable_conv2d(ph(f(1, 5, 5, 2)), 3, 2, 1, rate=2, padding="VALID", activation_fn=tf.nn.tanh)
    tf.contrib.layers.separable_conv2d(ph(f(1, 5, 5, 2)), None, 3, 2, stride=[2, 2], activation_fn=None)
    tf.contrib.layers.separable_conv2d(ph(f(1, 5, 5, 2)), None, 3, 1, normalizer_fn=tf.contrib.layers.layer_norm)
    tf.contrib.layers.separable_conv2d(
        ph(f(1, 5, 5, 2)), 2, 3, 1, pointwise_initializer=tf.ones_initializer(), biases_initializer=None)
    tf.contrib.layers.instance_norm(ph(f(2, 3, 4, 2), [None, 3, 4, 2]))
    tf.contrib.layers.instance_norm(ph(f(2, 3, 4)), center=False, epsilon=0.1, activation_fn=tf.nn.relu)
    tf.contrib.layers.instance_norm(ph(f(2, 3, 4, 2)), data_format="NCHW", scale=False)
    tf.contrib.layers.instance_norm(ph(f(2, 3, 4)), param_initializers={"beta": tf.ones_initializer()})
    tf.contrib.layers.bias_add(ph(f(2, 3), [None, 3]), initializer=tf.ones_initializer(), activation_fn=tf.nn.relu)
    tf.contrib.layers.unit_norm(ph(f(2, 3, 4), [None, 3, 4]), 1)
    tf.contrib.layers.softmax(ph(f(2, 3, 4), [None, 3, 4]))
    tf.contrib.layers.repeat(ph(f(2, 3)), 3, tf.contrib.layers.fully_connected, 3, activation_fn=None)
    tf.contrib.layers.stack(ph(f(2, 3)), tf.contrib.layers.fully_connected, [4, [2, tf.nn.tanh]], scope="fc")
    tf.contrib.layers.relu6(ph(f(2, 3)), 4)
    tf.contrib.layers.elu(ph(f(2, 3)), 4, scope="soft")
    """,
    names="none",
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.contrib.layers.one_hot_encoding(ph(n(4, 3), [None]), 4)
    tf.contrib.layers.one_hot_encoding(ph(n(4, 2, 3)), 4, on_value=2.0, off_value=-1.0, scope="rows")
    tf.contrib.layers.embed_sequence(ph(n(4, 2, 3)), 4, 5, initializer=tf.ones_initializer(), scope="words")
    """,
    names="none",
)

FAMILY.errors(
    """
    tf.contrib.layers.conv2d_transpose(ph(f(1, 3, 3, 2)), 3, 3, data_format="NWHC")
    tf.contrib.layers.separable_conv2d(ph(f(1, 3, 3, 2), [None, None, None, None]), None, 3)
    tf.contrib.layers.instance_norm(ph(f(1, 3, 2), [None, 3, None]))
    tf.contrib.layers.bias_add(ph(f(1, 3), None))
    tf.contrib.layers.unit_norm(ph(f(1, 3)), 2)
    tf.contrib.layers.softmax(ph(f(3)))
    tf.contrib.layers.softmax(ph(f(3, 2), [3, None]))
    tf.contrib.layers.stack(ph(f(1, 3)), tf.contrib.layers.fully_connected, 3)
    tf.contrib.layers.embed_sequence(ph(n(4, 2, 3)), 4)
    """
)

_ALL = ("GLOBAL_VARIABLES", "MODEL_VARIABLES", "TRAINABLE_VARIABLES")


def _variables_of(make):
    def build(tf, t):
        made = make(tf, tf.contrib.layers, t)
        found = [[v.name for v in tf.get_collection(getattr(tf.GraphKeys, key))] for key in _ALL]
        return made.name, found, [v.name for v in tf.get_collection("mine")]

    return build


for _label, _make in {
    "conv2d_transpose": lambda tf, layers, t: layers.conv2d_transpose(
        t.ph(t.f(1, 3, 3, 2)), 2, 3, variables_collections=["mine"]
    ),
    "separable_conv2d": lambda tf, layers, t: layers.separable_conv2d(
        t.ph(t.f(1, 3, 3, 2)), 2, 3, 1, variables_collections={"weights": ["mine"]}
    ),
    "depthwise": lambda tf, layers, t: layers.separable_conv2d(
        t.ph(t.f(1, 3, 3, 2)), None, 3, 1, variables_collections={"weights": ["mine"], "biases": []}
    ),
    "normalised": lambda tf, layers, t: layers.separable_conv2d(
        t.ph(t.f(1, 3, 3, 2)), 2, 3, 1, normalizer_fn=layers.batch_norm, scope="block", trainable=False
    ),
    "instance_norm": lambda tf, layers, t: layers.instance_norm(
        t.ph(t.f(1, 3, 3, 2)), variables_collections={"beta": ["mine"]}, trainable=False
    ),
    "bias_add": lambda tf, layers, t: layers.bias_add(t.ph(t.f(1, 3, 3, 2)), variables_collections=["mine"]),
    "repeat": lambda tf, layers, t: layers.repeat(t.ph(t.f(1, 3)), 2, layers.fully_connected, 3, scope="fc"),
    "repeat of convolutions without a scope": lambda tf, layers, t: layers.repeat(
        t.ph(t.f(1, 4, 4, 1)), 2, layers.conv2d, 2, 1
    ),
    "repeat without a scope": lambda tf, layers, t: layers.repeat(
        t.ph(t.f(1, 3)), 2, layers.fully_connected, 3
    ),
    "stack": lambda tf, layers, t: layers.stack(t.ph(t.f(1, 3)), layers.linear, [3, 4]),
    "embed_sequence": lambda tf, layers, t: layers.embed_sequence(t.ph(t.n(4, 2, 3)), 4, 5),
}.items():
    FAMILY.generated("variables of %s" % _label, _variables_of(_make), _label)


@FAMILY.case()
def end_points_by_their_aliases(tf, t):
    layers, utils = tf.contrib.layers, tf.contrib.slim.utils
    everything = [layers.conv2d, layers.max_pool2d, layers.fully_connected, layers.flatten, layers.dropout]
    with tf.variable_scope("net"), tf.contrib.framework.arg_scope(everything, outputs_collections="points"):
        net = layers.conv2d(t.ph(t.f(1, 4, 4, 1)), 2, 3, scope="conv1")
        net = layers.max_pool2d(net, 2, scope="pool1")
        net = layers.dropout(layers.flatten(net), 0.5, seed=1, is_training=False)
        net = layers.fully_connected(net, 3)
    points = utils.convert_collection_to_dict("points", clear_collection=True)
    named = utils.collect_named_outputs("mine", "an/alias/", net)
    plain = tf.constant(1.0, name="plain")
    aliases = utils.gather_tensors_aliases([named, plain])
    return list(points), [points[key].shape for key in points], aliases, len(tf.get_collection("points"))


@FAMILY.case()
def updates_of_a_collection(tf, t):
    y = tf.contrib.layers.batch_norm(t.ph(t.f(4, 3)), decay=0.5, updates_collections="mine")
    t.initialize()
    t.run([y, tf.get_collection("mine")])
    return t.run(tf.global_variables()), len(tf.get_collection(tf.GraphKeys.UPDATE_OPS))


@FAMILY.case()
def defaults_of_model_variables_reach_layers(tf, t):
    framework = tf.contrib.framework
    with framework.arg_scope([framework.model_variable, framework.variable], device="/cpu:0"):
        tf.contrib.layers.fully_connected(t.ph(t.f(2, 3)), 2)
    return [(v.name, str(v.op.device)) for v in tf.global_variables()]


def _spatial_softmax(shape, options):
    def build(tf, t):
        x = t.ph(t.f(*shape), [None if size > 2 else size for size in shape])
        y = tf.contrib.layers.spatial_softmax(x, **options)
        t.initialize()
        return t.run(y), y.shape, [v.op.name for v in tf.global_variables()], len(tf.trainable_variables())

    return build


for _label, _shape, _options in [
    ("NHWC", (3, 3, 4, 2), {}),
    ("NCHW", (3, 2, 4, 3), {"data_format": "NCHW", "temperature": 0.5}),
    ("not trained", (1, 3, 3, 2), {"trainable": False, "temperature": 2.0, "name": "own"}),
]:
    FAMILY.generated("spatial_softmax, %s" % _label, _spatial_softmax(_shape, _options), _label)


def _group_norm(shape, options):
    def build(tf, t):
        x = t.ph(t.f(*shape), [None] + list(shape[1:]))
        y = tf.contrib.layers.group_norm(x, **options)
        t.initialize()
        gradient = tf.gradients(y * y * y, x)[0]
        return t.run([y, gradient]), y.shape, [v.op.name for v in tf.global_variables()]

    return build


for _label, _shape, _options in [
    ("NHWC", (2, 3, 3, 4), {"groups": 2}),
    ("NCHW", (2, 4, 3, 3), {"groups": 4, "channels_axis": -3, "reduction_axes": [-2, -1]}),
    ("close to zero", (2, 3, 3, 4), {"groups": 2, "mean_close_to_zero": True, "center": False}),
    ("two axes", (3, 6), {"groups": 3, "reduction_axes": [], "scale": False, "scope": "own"}),
]:
    FAMILY.generated("group_norm, %s" % _label, _group_norm(_shape, _options), _label)


def _pooled(make, shape):
    def build(tf, t):
        x = t.ph(t.f(*shape), [None] + list(shape[1:]))
        y = make(tf.contrib.layers, x)
        return t.run(y), y.shape, y.name

    return build


for _label, _make, _shape in [
    ("max_pool2d", lambda layers, x: layers.max_pool2d(x, 2), (2, 5, 4, 3)),
    ("avg_pool2d", lambda layers, x: layers.avg_pool2d(x, [2, 3], 1, "SAME", scope="own"), (2, 5, 4, 3)),
    ("max_pool3d", lambda layers, x: layers.max_pool3d(x, 2), (2, 5, 4, 4, 3)),
    (
        "avg_pool3d",
        lambda layers, x: layers.avg_pool3d(x, [1, 2, 3], 1, "SAME", scope="own"),
        (2, 3, 4, 4, 3),
    ),
]:
    FAMILY.generated("%s, named" % _label, _pooled(_make, _shape), _label)

FAMILY.differentiable(
    """
    tf.contrib.layers.conv1d(ph(f(2, 5, 3), [None, 5, 3]), 2, 3)
    tf.contrib.layers.convolution1d(ph(f(2, 6, 2)), 3, [2], stride=2, padding="VALID", activation_fn=tf.nn.tanh)
    tf.contrib.layers.conv3d(ph(f(1, 3, 3, 3, 2), [None, 3, 3, 3, 2]), 2, 2)
    tf.contrib.layers.conv3d(ph(f(1, 3, 4, 3, 1)), 2, [1, 2, 3], 2, "VALID", biases_initializer=None)
    tf.contrib.layers.conv3d_transpose(ph(f(1, 2, 2, 2, 2)), 2, 2, 2, activation_fn=None)
    tf.contrib.layers.convolution(ph(f(1, 4, 4, 2)), 2, 2, rate=2, activation_fn=None)
    tf.contrib.layers.maxout(ph(f(2, 6), [None, 6]), 3)
    tf.contrib.layers.maxout(ph(f(2, 4, 3)), 2, axis=1)
    tf.contrib.layers.legacy_fully_connected(ph(f(2, 3), [None, 3]), 4)
    tf.contrib.layers.legacy_relu(ph(f(2, 3, 2), [None, 3, 2]), 4, bias_init=None)
    tf.contrib.layers.legacy_linear(ph(f(2, 3)), 2, weight_init=tf.ones_initializer(), name="mine")
    tf.contrib.layers.scale_gradient(ph(f(2, 3)), 0.25)
    tf.contrib.layers.images_to_sequence(ph(f(2, 3, 4, 1), [None, None, 4, 1]))
    tf.contrib.layers.sequence_to_images(ph(f(4, 6, 2), [4, None, 2]), 3)
    tf.contrib.layers.sequence_to_images(ph(f(4, 6, 2)), 3, "channels_first")
    """,
    names="none",
    tolerance=(1e-5, 1e-6),
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.contrib.layers.dense_to_sparse(ph([[1, 0, 2], [0, 3, 0]]))
    tf.contrib.layers.dense_to_sparse(ph([[1, 0, 2], [0, 3, 0]]), eos_token=3)
    [v.name for v in [tf.contrib.layers.conv1d(ph(f(1, 4, 2)), 4, 2), tf.model_variables()][1]]
    [v.name for v in [tf.contrib.layers.conv3d_transpose(ph(f(1, 1, 1, 1, 2)), 4, 2), tf.model_variables()][1]]
    [v.name for v in [tf.contrib.layers.legacy_fully_connected(ph(f(1, 4)), 2), tf.get_collection("biases")][1]]
    [v.name for v in [tf.contrib.layers.legacy_relu(ph(f(1, 4)), 2), tf.get_collection("activations")][1]]
    """
)

FAMILY.errors(
    """
    tf.contrib.layers.conv1d(ph(f(1, 4, 4, 2)), 2, 2)
    tf.contrib.layers.convolution(ph(f(1, 4)), 2, 2)
    tf.contrib.layers.conv3d(ph(f(1, 2, 2, 2, 1)), 2, 2, data_format="CDHWN")
    tf.contrib.layers.conv3d_transpose(ph(f(1, 2, 2, 2, 1)), 2, 2, data_format="CDHWN")
    tf.contrib.layers.maxout(ph(f(2, 5)), 3)
    tf.contrib.layers.legacy_fully_connected(ph(f(2)), 3)
    tf.contrib.layers.legacy_fully_connected(ph(f(2, 3), None), 3)
    tf.contrib.layers.legacy_fully_connected(ph(f(2, 3), [2, None]), 3)
    """
)


@FAMILY.case(tolerance=(1e-5, 1e-6))
def averages_that_are_corrected_for_their_beginning(tf, t):
    x = t.ph(t.f(4, 3), [None, 3])
    training = tf.placeholder_with_default(True, [])
    y = tf.contrib.layers.batch_norm(x, 0.9, is_training=training, zero_debias_moving_mean=True, scope="one")
    z = tf.contrib.layers.batch_norm(
        t.ph(t.f(2, 3, 3, 2)), 0.9, zero_debias_moving_mean=True, updates_collections=None, scope="two"
    )
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    t.initialize()
    found = []
    for _ in range(3):
        found.append(t.run([y, z] + updates)[:2])
    means = [v for v in tf.global_variables() if "moving" in v.op.name]
    return found, sorted(v.op.name for v in means), t.run(sorted(means, key=lambda v: v.name))


FAMILY.differentiable(
    """
    tf.contrib.layers.gdn(ph(f(2, 3, 4, 3), [None, 3, 4, 3]))
    tf.contrib.layers.gdn(ph(f(2, 3, 2)), inverse=True, gamma_init=0.3, beta_min=0.1)
    tf.contrib.layers.gdn(ph(f(1, 2, 2, 2, 2)), name="mine")
    tf.contrib.layers.bow_encoder(ph([[1, 2, 0], [3, 0, 3]], [None, 3]), 4, 2, initializer=tf.ones_initializer())
    """,
    names="none",
    tolerance=(1e-5, 1e-6),
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    [v.name for v in [tf.contrib.layers.gdn(ph(f(1, 2, 2, 3))), tf.trainable_variables()][1]]
    [v.name for v in [tf.contrib.layers.bow_encoder(ph([[1, 2]]), 4, 2), tf.model_variables()][1]]
    """
)

FAMILY.errors(
    """
    tf.contrib.layers.gdn(ph(f(2, 3)))
    tf.contrib.layers.gdn(ph(f(2, 3, 3, 2)), data_format="NHWC")
    tf.contrib.layers.gdn(ph(f(2, 3, 3, 2), [2, 3, 3, None]))
    tf.contrib.layers.bow_encoder(ph([[1, 2]]), 0, 2)
    tf.contrib.layers.bow_encoder(tf.SparseTensor([[0, 0]], [1], [1, 1]), 4, 2, sparse_lookup=False)
    """
)


@FAMILY.case(tolerance=(1e-5, 1e-6), names="none")
def slopes_of_roots_at_their_bounds(tf, t):
    with tf.variable_scope("gdn"):
        beta = tf.get_variable("reparam_beta", [2], initializer=tf.constant_initializer([-0.5, 1.5]))
        gamma = tf.get_variable("reparam_gamma", [2, 2], initializer=tf.constant_initializer([-0.1, 0.2]))
    x = t.ph(t.f(2, 2, 2) + 3)
    y = tf.contrib.layers.gdn(x, name="gdn", reuse=True, beta_min=0.01)
    return y, tf.gradients([y, -y * y], [x, beta, gamma]), tf.gradients(-y, [beta, gamma])


@FAMILY.case(tolerance=(1e-5, 1e-6), names="none")
def words_without_a_symbol(tf, t):
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 2], tf.int64), [3, 2])
    first = tf.constant_initializer([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
    code = tf.contrib.layers.bow_encoder(ids, 4, 2, initializer=first, scope="words")
    dense = tf.contrib.layers.bow_encoder(t.ph([[1, 0], [2, 2]]), 4, 2, False, scope="words", reuse=True)
    return code, dense, [v.name for v in tf.trainable_variables()]


@FAMILY.case()
def aliases_of_what_is_collected(tf, t):
    layers = tf.contrib.layers
    y = layers.fully_connected(t.ph(t.f(1, 2)), 2, outputs_collections=["mine"], scope="first")
    before = list(y.aliases)
    tf.contrib.slim.utils.append_tensor_alias(y, "other/")
    return before, tf.get_collection("mine")[0].aliases, hasattr(tf.constant(1.0), "aliases")
