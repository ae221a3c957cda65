"""variable_scope: reuse, inherited settings, custom getters, and what sharing a name means."""

from harness import Family

FAMILY = Family("variable_scopes")


@FAMILY.case()
def reuse_shares(tf, t):
    with tf.variable_scope("s"):
        a = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    with tf.variable_scope("s", reuse=True):
        b = tf.get_variable("v", [2])
        c = tf.get_variable("v")
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        d = tf.get_variable("v", [2])
        e = tf.get_variable("w", [1], initializer=tf.zeros_initializer())
    return a is b, a is c, a is d, e.name, a + b


@FAMILY.case()
def auto_reuse_creates_then_shares(tf, t):
    def layer():
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            return tf.get_variable("w", [1], initializer=tf.ones_initializer())

    first, second = layer(), layer()
    return first is second, len(tf.global_variables()), first


@FAMILY.case()
def reuse_variables_on_the_scope(tf, t):
    with tf.variable_scope("s") as scope:
        a = tf.get_variable("v", [1])
        scope.reuse_variables()
        b = tf.get_variable("v", [1])
        inside = tf.get_variable_scope().reuse
    with tf.variable_scope(scope):
        again = tf.get_variable_scope().reuse
    with tf.variable_scope(scope, reuse=True):
        c = tf.get_variable("v", [1])
    tf.get_variable_scope().reuse_variables()
    return a is b, a is c, inside, again, tf.get_variable_scope().reuse


@FAMILY.case()
def reuse_is_inherited(tf, t):
    with tf.variable_scope("a"), tf.variable_scope("b"):
        v = tf.get_variable("v", [])
    with tf.variable_scope("a", reuse=True):
        with tf.variable_scope("b"):
            w = tf.get_variable("v", [])
            state = tf.get_variable_scope().reuse
        with tf.variable_scope("b", reuse=False):
            still = tf.get_variable_scope().reuse
    return v is w, state, still


@FAMILY.case()
def errors_of_sharing(tf, t):
    tf.get_variable("v", [2])

    def reused(name, *args, **kwargs):
        with tf.variable_scope("", reuse=True):
            return tf.get_variable(name, *args, **kwargs)

    def auto(name, *args, **kwargs):
        with tf.variable_scope("", reuse=tf.AUTO_REUSE):
            return tf.get_variable(name, *args, **kwargs)

    return [
        t.error(lambda: tf.get_variable("v", [2])),
        t.error(lambda: reused("missing", [2])),
        t.error(lambda: reused("v", [3])),
        t.error(lambda: reused("v", [2], tf.float64)),
        t.error(lambda: auto("v", [3])),
        t.error(lambda: auto("v", [2], tf.int32)),
        t.error(lambda: tf.variable_scope(None).__enter__()),
        t.error(lambda: tf.variable_scope(3).__enter__()),
    ]


@FAMILY.case()
def default_names_are_made_unique(tf, t):
    names = []
    for _ in range(3):
        with tf.variable_scope(None, default_name="layer"):
            names.append(tf.get_variable("v", []).name)
    with tf.variable_scope(None, "layer", [t.ph(1.0)]) as scope:
        names += [scope.name, scope.original_name_scope]
    return names


@FAMILY.case()
def scopes_open_new_name_scopes(tf, t):
    names = []
    for _ in range(2):
        with tf.variable_scope("s") as scope:
            names += [
                scope.name,
                scope.original_name_scope,
                tf.constant(1).name,
                tf.get_variable_scope().name,
            ]
    with tf.variable_scope(scope):
        names.append(tf.constant(1).name)
    with tf.variable_scope("outer"):
        with tf.variable_scope(scope):
            names += [tf.constant(1).name, tf.get_variable("x", []).name, tf.get_variable_scope().name]
        with tf.variable_scope(scope, auxiliary_name_scope=False):
            names.append(tf.constant(1).name)
        with tf.name_scope(scope.original_name_scope):
            names.append(tf.constant(1).name)
    return names


@FAMILY.case()
def settings_of_a_scope(tf, t):
    with tf.variable_scope("s", initializer=tf.constant_initializer(3.0), dtype=tf.float64) as scope:
        a = tf.get_variable("a", [2])
        with tf.variable_scope("inner"):
            b = tf.get_variable("b", [1])
        with tf.variable_scope("other", initializer=tf.zeros_initializer()):
            c = tf.get_variable("c", [1])
        settings = [scope.dtype, scope.initializer is not None, scope.regularizer is None, scope.reuse]
    return a, b, c, settings


@FAMILY.case()
def setters_of_a_scope(tf, t):
    with tf.variable_scope("s") as scope:
        scope.set_initializer(tf.constant_initializer(2.0))
        scope.set_dtype(tf.float32)
        scope.set_use_resource(False)
        return tf.get_variable("a", [2])


@FAMILY.case()
def regularizers_collect_losses(tf, t):
    def l2(scale):
        return lambda w: scale * tf.reduce_sum(tf.square(w))

    with tf.variable_scope("s", regularizer=l2(0.5)):
        tf.get_variable("a", [2], initializer=tf.ones_initializer())
        tf.get_variable("b", [3], initializer=tf.ones_initializer(), regularizer=l2(10.0))
    tf.get_variable("c", [3])
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return len(losses), [loss + 0.0 for loss in losses], [loss.name for loss in losses]


@FAMILY.case()
def custom_getter(tf, t):
    asked = []

    def doubled(getter, name, *args, **kwargs):
        asked.append(name)
        return getter(name, *args, **kwargs) * 2.0

    with tf.variable_scope("s", custom_getter=doubled):
        a = tf.get_variable("a", [2], initializer=tf.ones_initializer())
        with tf.variable_scope("inner"):
            tf.get_variable("b", [])
    tf.get_variable("c", [])
    return a, asked


@FAMILY.case()
def nested_custom_getters(tf, t):
    order = []

    def logging_getter(label):
        def logging(getter, name, *args, **kwargs):
            order.append(label)
            return getter(name, *args, **kwargs)

        return logging

    with tf.variable_scope("s", custom_getter=logging_getter("outer")):
        tf.get_variable("b", [])
        with tf.variable_scope("t", custom_getter=logging_getter("inner")):
            tf.get_variable("a", [])
            tf.get_variable("c", [], custom_getter=logging_getter("own"))
    return order


@FAMILY.case()
def tf_variable_inside_a_reused_scope_is_new(tf, t):
    with tf.variable_scope("s"):
        a = tf.Variable(1.0, name="v")
    with tf.variable_scope("s", reuse=True):
        b = tf.Variable(1.0, name="v")
    return a.name, b.name


@FAMILY.case()
def variable_op_scope_and_values(tf, t):
    x = t.ph(1.0)
    with tf.variable_scope("s", values=[x]):
        a = tf.get_variable("a", [])
    with tf.variable_scope("s", default_name="unused", reuse=True):
        b = tf.get_variable("a", [])
    return a is b


@FAMILY.case()
def trainable_false_by_argument(tf, t):
    with tf.variable_scope("s"):
        tf.get_variable("a", [], trainable=False)
        tf.get_variable("b", [])
    return [x.name for x in tf.trainable_variables()], [
        x.name for x in tf.get_collection("trainable_variables", "s/b")
    ]


@FAMILY.case()
def get_variable_without_scope_and_slash_names(tf, t):
    a = tf.get_variable("x/y", [])
    with tf.variable_scope("x", reuse=True):
        b = tf.get_variable("y", [])
    with tf.variable_scope("x/"):
        c = tf.get_variable("z", [])
    return a is b, a.name, c.name


@FAMILY.case()
def no_regularizer_and_make_template(tf, t):
    def scaled(x):
        return x * tf.get_variable("w", [], initializer=tf.constant_initializer(3.0))

    template = tf.make_template("scale", scaled)
    first, second = template(t.ph(1.0)), template(t.ph(2.0))
    return first, second, [x.name for x in tf.global_variables()]
