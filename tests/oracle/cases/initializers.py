"""Initial values: every initializer, with and without seeds, and the values that TensorFlow's generator gives."""

import numpy as np
from harness import Family

FAMILY = Family("initializers")

# (call, whether it draws)
_MADE = {
    "zeros": ("tf.zeros_initializer()", "tf.zeros_initializer(dtype=tf.float64)", "tf.initializers.zeros()"),
    "ones": ("tf.ones_initializer()", "tf.ones_initializer(tf.float32)", "tf.initializers.ones()"),
    "constant": (
        "tf.constant_initializer(2.5)",
        "tf.constant_initializer(value=7.0, dtype=tf.float32)",
        "tf.constant_initializer(0)",
        "tf.initializers.constant(1.5)",
        "tf.constant_initializer()",
    ),
}
for _calls in _MADE.values():
    for _call in _calls:
        FAMILY.expressions("tf.get_variable('v', [3, 2], initializer={0})\n{0}([2, 2])".format(_call))

FAMILY.expressions(
    """
    tf.constant_initializer([1.0, 2.0, 3.0, 4.0])([2, 2])
    tf.constant_initializer([[1, 2], [3, 4]], dtype=tf.int32)([2, 2])
    tf.constant_initializer([1.0, 2.0])([3])
    tf.constant_initializer(np.arange(6.0))([2, 3])
    tf.constant_initializer([1.0, 2.0, 3.0], verify_shape=False)([3])
    tf.constant_initializer(True)([2], tf.bool)
    tf.zeros_initializer()([2], tf.int32)
    tf.ones_initializer()([2], dtype=tf.int64)
    tf.zeros_initializer()([])
    tf.zeros_initializer().get_config()
    tf.random_normal_initializer(1.0, 2.0, seed=3).get_config()
    tf.random_uniform_initializer(-1, 1, seed=4).get_config()
    tf.truncated_normal_initializer(stddev=0.5).get_config()
    tf.variance_scaling_initializer(scale=2.0, mode="fan_out").get_config()
    tf.constant_initializer(3).get_config()
    """
)

SEEDED = (
    "tf.random_normal_initializer(seed=7)",
    "tf.random_normal_initializer(mean=1.0, stddev=0.5, seed=7)",
    "tf.random_normal_initializer(0.0, 0.02, 7)",
    "tf.random_uniform_initializer(seed=7)",
    "tf.random_uniform_initializer(minval=-2.0, maxval=3.0, seed=7)",
    "tf.random_uniform_initializer(-1, 1, 7)",
    "tf.truncated_normal_initializer(seed=7)",
    "tf.truncated_normal_initializer(mean=0.5, stddev=0.1, seed=7)",
    "tf.initializers.random_normal(seed=7)",
    "tf.initializers.random_uniform(-1.0, 1.0, seed=7)",
    "tf.initializers.truncated_normal(stddev=0.1, seed=7)",
    "tf.uniform_unit_scaling_initializer(factor=1.43, seed=7)",
    "tf.variance_scaling_initializer(seed=7)",
    "tf.variance_scaling_initializer(scale=2.0, mode='fan_out', distribution='normal', seed=7)",
    "tf.variance_scaling_initializer(scale=2.0, mode='fan_avg', distribution='uniform', seed=7)",
    "tf.variance_scaling_initializer(scale=2.0, mode='fan_in', distribution='untruncated_normal', seed=7)",
    "tf.initializers.variance_scaling(scale=2.0, seed=7)",
    "tf.glorot_uniform_initializer(seed=7)",
    "tf.glorot_normal_initializer(seed=7)",
    "tf.initializers.glorot_uniform(seed=7)",
    "tf.initializers.he_normal(seed=7)",
    "tf.initializers.he_uniform(seed=7)",
    "tf.initializers.lecun_normal(seed=7)",
    "tf.initializers.lecun_uniform(seed=7)",
    "tf.contrib.layers.xavier_initializer(seed=7)",
    "tf.contrib.layers.xavier_initializer(uniform=False, seed=7)",
    "tf.contrib.layers.xavier_initializer_conv2d(seed=7)",
    "tf.contrib.layers.variance_scaling_initializer(seed=7)",
)
for _call in SEEDED:
    FAMILY.expressions("tf.get_variable('v', [3, 2], initializer={0})\n{0}([2, 4])".format(_call))
    FAMILY.expressions("tf.get_variable('v', [5], initializer={0})".format(_call))

FAMILY.expressions(
    """
    tf.glorot_uniform_initializer(seed=7)([2, 2, 3, 4])
    tf.glorot_uniform_initializer(seed=7)([])
    tf.glorot_uniform_initializer(seed=7, dtype=tf.float64)([2, 2])
    tf.random_normal_initializer(seed=7, dtype=tf.float64)([2, 2])
    tf.random_uniform_initializer(0, 10, seed=7, dtype=tf.int32)([4])
    """,
    tolerance=(1e-4, 1e-5),
)

FAMILY.errors(
    """
    tf.constant_initializer([1.0, 2.0, 3.0])([2])
    tf.constant_initializer([1.0, 2.0], verify_shape=True)([3])
    tf.constant_initializer(object())
    tf.random_normal_initializer(dtype=tf.int32)
    tf.truncated_normal_initializer(dtype=tf.string)
    tf.variance_scaling_initializer(scale=-1.0)
    tf.variance_scaling_initializer(mode="nonsense")
    tf.variance_scaling_initializer(distribution="nonsense")
    """
)


@FAMILY.case()
def default_initializer_of_get_variable(tf, t):
    return tf.get_variable("a", [2, 3]), tf.get_variable("b", [4])


@FAMILY.case()
def graph_seed_alone(tf, t):
    a = tf.get_variable("a", [2, 2], initializer=tf.truncated_normal_initializer(stddev=0.1))
    b = tf.get_variable("b", [3], initializer=tf.random_normal_initializer())
    c = tf.Variable(tf.random_normal([2, 2], stddev=0.5))
    d = tf.Variable(tf.truncated_normal([3]))
    return a, b, c, d


@FAMILY.case()
def a_seeded_initializer_used_twice(tf, t):
    initializer = tf.random_normal_initializer(seed=3)
    return tf.get_variable("a", [2], initializer=initializer), tf.get_variable(
        "b", [2], initializer=initializer
    )


@FAMILY.case()
def running_the_initializer_again_draws_again(tf, t):
    v = tf.get_variable("v", [3], initializer=tf.random_normal_initializer(seed=3))
    t.run(v.initializer)
    first = t.run(v)
    t.run(v.initializer)
    return first, t.run(v)


@FAMILY.case()
def scope_initializer_with_graph_seed(tf, t):
    with tf.variable_scope("s", initializer=tf.random_uniform_initializer(-0.1, 0.1)):
        return tf.get_variable("a", [3]), tf.get_variable("b", [2, 2])


def _windows_that_keep_norms(name, axes):
    """How well a kernel keeps the norm of what is padded around, for windows of one to three, and its sums."""

    def build(tf, t):
        make = getattr(tf.contrib.framework, name)
        found = []
        for size in (1, 2, 3):
            kernel = t.run(make(gain=1.5, seed=4)([size] * axes + [2, 3]))
            inputs = np.random.RandomState(1).randn(*([4] * axes + [2]))
            padded, outputs = inputs, 0.0
            for place in np.ndindex(*[size] * axes):
                moved = np.roll(padded, [-p for p in place], axis=tuple(range(axes)))
                outputs = outputs + moved @ kernel[place].astype(np.float64)
            norms = [float(np.sqrt(np.sum(np.square(x)))) for x in (inputs, outputs)]
            found.append((kernel, abs(norms[1] / norms[0] - 1.5) < 1e-5))
        return found

    return build


for _name, _axes in (
    ("convolutional_orthogonal_1d", 1),
    ("convolutional_orthogonal_2d", 2),
    ("convolutional_orthogonal_3d", 3),
    ("convolutional_delta_orthogonal", 1),
    ("convolutional_delta_orthogonal", 2),
    ("convolutional_delta_orthogonal", 3),
):
    FAMILY.generated(
        "%s of %d axes" % (_name, _axes),
        _windows_that_keep_norms(_name, _axes),
        _name,
        tolerance=(1e-4, 1e-5),
    )

FAMILY.errors(
    """
    tf.contrib.framework.convolutional_orthogonal_1d()([2, 3])
    tf.contrib.framework.convolutional_orthogonal_2d()([3, 2, 2, 2])
    tf.contrib.framework.convolutional_orthogonal_2d()([3, 3, 4, 2])
    tf.contrib.framework.convolutional_orthogonal_3d()([3, 3, 2, 2, 2])
    tf.contrib.framework.convolutional_delta_orthogonal()([2, 2])
    tf.contrib.framework.convolutional_delta_orthogonal()([3, 3, 2])
    tf.contrib.framework.convolutional_orthogonal_1d(dtype=tf.int32)
    """
)
FAMILY.expressions(
    """
    tf.get_variable("w", [3, 3, 2, 4], initializer=tf.contrib.framework.convolutional_orthogonal_2d(seed=1)).shape
    tf.contrib.framework.convolutional_delta_orthogonal(2.0, 7, tf.float64).get_config()
    """
)
