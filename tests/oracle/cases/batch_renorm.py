"""Batch normalisation by averages over batches, of groups of examples, adjusted, and with weighted examples."""

from harness import Family

FAMILY = Family("batch_renorm")

_LIMITS = {"rmin": 0.7, "rmax": 1.2, "dmax": 0.3}


def _trained(shape, arguments, training=True, keras=False):
    """Outputs and gradients of three steps of training, what it gives after them, and its variables."""

    def build(tf, t):
        x = t.ph(t.f(*shape) * 2 + 0.5, [None] + list(shape[1:]))
        fed = tf.placeholder_with_default(True, []) if training is None else training
        options = dict(arguments)
        if "adjustment" in options:
            factor, summand = options["adjustment"]
            options["adjustment"] = lambda sizes: (tf.constant(factor), tf.fill(sizes[:1], 0.0)[:1] + summand)
        if keras:
            layer = tf.keras.layers.BatchNormalization(momentum=0.7, **options)
        else:
            layer = tf.layers.BatchNormalization(momentum=0.7, **options)
        y = layer(x, training=fed)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS) or layer.updates
        slopes = tf.gradients(y * y, [x] + layer.trainable_variables)
        tested = layer(x, training=False)
        t.initialize()
        found = [t.run([y, slopes, updates])[:2] for _ in range(3)]
        return found, t.run(tested), t.run(layer.variables), [v.name for v in layer.variables], y.shape

    return build


for _label, _shape, _arguments in (
    ("vectors", (4, 3), {"renorm": True}),
    ("vectors within limits", (4, 3), {"renorm": True, "renorm_clipping": _LIMITS, "renorm_momentum": 0.5}),
    ("images", (2, 3, 2, 2), {"renorm": True, "renorm_clipping": {"rmax": 1.1}}),
    ("channels first", (2, 3, 2, 2), {"renorm": True, "axis": 1, "renorm_clipping": {"dmax": 0.2}}),
    ("two axes", (4, 2, 3), {"renorm": True, "axis": [1, 2]}),
    ("neither factor nor summand", (4, 3), {"renorm": True, "center": False, "scale": False}),
    ("adjusted vectors", (4, 3), {"adjustment": ([1.5, 0.5, 1.0], 0.25)}),
    ("adjusted images", (2, 2, 2, 3), {"adjustment": ([1.5, 0.5, 1.0], -1.0), "fused": True}),
    ("adjusted, without a factor", (4, 3), {"adjustment": ([1.5, 0.5, 1.0], 0.25), "scale": False}),
    ("both", (4, 3), {"renorm": True, "renorm_clipping": _LIMITS, "adjustment": ([1.5, 0.5, 1.0], 0.25)}),
    ("groups", (6, 3), {"virtual_batch_size": 2}),
    ("groups of images", (4, 2, 2, 3), {"virtual_batch_size": 2, "fused": True}),
    ("groups, two axes", (4, 2, 3), {"virtual_batch_size": 2, "axis": [1, 2]}),
    ("groups, both", (4, 3), {"virtual_batch_size": 2, "renorm": True}),
):
    for _training in (True, None, False):
        FAMILY.generated(
            "%s, training %s" % (_label, _training),
            _trained(_shape, _arguments, _training),
            repr(_arguments),
            tolerance=(1e-4, 2e-5),
            names="none",
            refined=True,
        )
    FAMILY.generated(
        "%s of Keras" % _label,
        _trained(_shape, _arguments, keras=True),
        repr(_arguments),
        tolerance=(1e-4, 2e-5),
        names="none",
        refined=True,
    )

FAMILY.errors(
    """
    tf.layers.batch_normalization(ph(f(2, 3)), renorm=True, renorm_clipping={"rmaximum": 1.0})
    tf.layers.batch_normalization(ph(f(2, 3)), virtual_batch_size=-1)
    tf.layers.batch_normalization(ph(f(2, 3)), virtual_batch_size=2, axis=0)
    tf.layers.batch_normalization(ph(f(2, 3)), virtual_batch_size=2, adjustment=lambda shape: (1.0, 0.0))
    tf.contrib.layers.batch_norm(ph(f(2, 3)), renorm=True, updates_collections=None)
    tf.contrib.layers.batch_norm(ph(f(2, 3)), renorm=True, zero_debias_moving_mean=True)
    tf.contrib.layers.batch_norm(ph(f(2, 3)), renorm=True, batch_weights=[1.0, 2.0])
    tf.contrib.layers.batch_norm(ph(f(2, 3)), batch_weights=[1.0, 2.0, 3.0])
    """
)


def _of_contrib(shape, arguments):
    def build(tf, t):
        x = t.ph(t.f(*shape) + 0.5, [None] + list(shape[1:]))
        options = dict(arguments)
        if "adjustment" in options:
            options["adjustment"] = lambda sizes: (
                tf.constant([1.5, 0.5, 1.0]),
                tf.constant([0.25, 0.0, 1.0]),
            )
        y = tf.contrib.layers.batch_norm(x, decay=0.7, scale=True, **options)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        slopes = tf.gradients(y * y, [x] + tf.trainable_variables())
        t.initialize()
        found = [t.run([y, slopes, updates])[:2] for _ in range(2)]
        return found, t.run(tf.global_variables()), [v.name for v in tf.global_variables()], len(updates)

    return build


for _label, _shape, _arguments in (
    ("contrib's", (4, 3), {"renorm": True, "renorm_clipping": _LIMITS, "renorm_decay": 0.5}),
    ("contrib's adjustment", (4, 3), {"adjustment": True}),
    ("contrib's adjustment at once", (4, 3), {"adjustment": True, "updates_collections": None}),
    ("weighted vectors", (4, 3), {"batch_weights": [0.5, 1.0, 0.0, 2.0]}),
    ("weighted images", (2, 2, 2, 3), {"batch_weights": [0.5, 1.0], "updates_collections": None}),
    ("weighted images, channels first", (2, 3, 2, 2), {"batch_weights": [0.5, 1.0], "data_format": "NCHW"}),
):
    FAMILY.generated(
        _label, _of_contrib(_shape, _arguments), repr(_arguments), tolerance=(1e-4, 2e-5), names="none"
    )


@FAMILY.case()
def configurations(tf, t):
    kind = tf.keras.layers.BatchNormalization
    layers = [
        kind(renorm=True, renorm_clipping=_LIMITS, name="a"),
        kind(virtual_batch_size=2, name="b"),
        kind(name="c"),
    ]
    configs = [layer.get_config() for layer in layers]
    wanted = ("renorm", "renorm_clipping", "renorm_momentum", "virtual_batch_size")
    return [{key: config[key] for key in wanted if key in config} for config in configs]
