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
    [v.name for v in [tf.contrib.layers.fully_connected(ph(f(2, 3)), 4), tf.global_variables()][1]]
    [v.name for v in [tf.contrib.layers.conv2d(ph(f(2, 3, 3, 1)), 4, 2), tf.trainable_variables()][1]]
    [v.name for v in [tf.contrib.layers.linear(ph(f(2, 3)), 4, scope="s"), tf.model_variables()][1]]
    [v.name for v in [tf.contrib.layers.layer_norm(ph(f(2, 3))), tf.model_variables()][1]]
    [v.name for v in [tf.contrib.layers.batch_norm(ph(f(2, 3))), tf.model_variables()][1]]
    sorted(v.name for v in [tf.contrib.layers.batch_norm(ph(f(2, 3)), scale=True), tf.global_variables()][1])
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
