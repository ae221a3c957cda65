"""Learning-rate decays and moving averages."""

from harness import Family

FAMILY = Family("schedules")

for _call in (
    "exponential_decay(0.1, STEP, 10, 0.5)",
    "exponential_decay(0.1, STEP, 10, 0.5, staircase=True)",
    "exponential_decay(learning_rate=0.1, global_step=STEP, decay_steps=7, decay_rate=0.96, name='rate')",
    "natural_exp_decay(0.1, STEP, 10, 0.5)",
    "natural_exp_decay(0.1, STEP, 10, 0.5, staircase=True)",
    "inverse_time_decay(0.1, STEP, 10, 0.5)",
    "inverse_time_decay(0.1, STEP, 10, 0.5, staircase=True)",
    "polynomial_decay(0.1, STEP, 10)",
    "polynomial_decay(0.1, STEP, 10, end_learning_rate=0.01, power=2.0)",
    "polynomial_decay(0.1, STEP, 10, 0.01, 0.5, cycle=True)",
    "piecewise_constant(STEP, [5, 10], [1.0, 0.5, 0.1])",
    "piecewise_constant(x=STEP, boundaries=[1, 20], values=[1, 2, 3], name='pieces')",
    "piecewise_constant_decay(STEP, [5, 10], [1.0, 0.5, 0.1])",
    "cosine_decay(0.1, STEP, 20)",
    "cosine_decay(0.1, STEP, 20, alpha=0.1)",
):
    _built = "tf.train." + _call.replace("STEP", "ph(0)")
    _fed = "(lambda rate: [run(rate, {t.inputs[0]: s}) for s in (0, 1, 5, 10, 15, 40)])(%s)" % _built
    FAMILY.expressions(_built)
    FAMILY.expressions(_fed)

FAMILY.expressions(
    """
    tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 10, 0.5)
    tf.train.exponential_decay(ph(0.1), ph(3), ph(10), ph(0.5))
    tf.train.exponential_decay(tf.constant(0.1, tf.float64), ph(3), 10, 0.5)
    tf.train.exponential_decay(0.1, ph(3, dtype=tf.int64), 10, 0.5)
    tf.train.exponential_decay(0.1, 20, 10, 0.5)
    tf.train.piecewise_constant(ph(3, dtype=tf.int64), [2, 4], [0.1, 0.2, 0.3])
    tf.train.piecewise_constant(ph(3.0), [2.0, 4.0], [0.1, 0.2, 0.3])
    """
)

FAMILY.errors(
    """
    tf.train.exponential_decay(0.1, None, 10, 0.5)
    tf.train.natural_exp_decay(0.1, None, 10, 0.5)
    tf.train.inverse_time_decay(0.1, None, 10, 0.5)
    tf.train.polynomial_decay(0.1, None, 10)
    tf.train.cosine_decay(0.1, None, 10)
    tf.train.piecewise_constant(ph(3), [2, 4], [0.1, 0.2])
    tf.train.piecewise_constant(ph(3), [2.5, 4.5], [0.1, 0.2, 0.3])
    tf.train.piecewise_constant(ph(3), [2, 4], [0.1, 2, 0.3])
    tf.train.ExponentialMovingAverage()
    tf.train.ExponentialMovingAverage(0.9).apply([tf.constant(1)])
    """
)


@FAMILY.case()
def a_decaying_rate_in_training(tf, t):
    v = tf.Variable(1.0)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.5, step, 2, 0.1, staircase=True)
    train = tf.train.GradientDescentOptimizer(rate).minimize(v * 1.0, global_step=step)
    t.initialize()
    found = []
    for _ in range(5):
        t.run(train)
        found.append(t.run(v))
    return found


@FAMILY.case()
def moving_average(tf, t):
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(5.0, name="w")
    average = tf.train.ExponentialMovingAverage(0.9)
    update = average.apply([v, w])
    bump = tf.group(v.assign_add([1.0, 1.0]), w.assign_add(-1.0))
    t.initialize()
    found = [t.run([average.average(v), average.average(w)])]
    for _ in range(3):
        t.run(bump)
        t.run(update)
        found.append(t.run([average.average(v), average.average(w)]))
    names = [average.average(v).name, average.average_name(v), update.name, average.name]
    names.append(average.average(tf.Variable(0.0)))
    collected = [x.name for x in tf.moving_average_variables()], [x.name for x in tf.trainable_variables()]
    return found, names, collected


@FAMILY.case()
def moving_average_options(tf, t):
    v = tf.Variable(1.0, name="v")
    steps = tf.placeholder(tf.float32, [])
    plain = tf.train.ExponentialMovingAverage(0.99, num_updates=steps, name="Slow")
    debiased = tf.train.ExponentialMovingAverage(decay=0.5, zero_debias=True, name="Debiased")
    updates = [plain.apply([v]), debiased.apply([v])]
    t.initialize()
    found = []
    for k in range(3):
        t.run(v.assign_add(2.0))
        for update in updates:
            t.run(update, {steps: float(k)})
        found.append(t.run([plain.average(v), debiased.average(v)]))
    return (
        found,
        plain.average_name(v),
        sorted(x.name for x in tf.global_variables() if "biased" not in x.name),
    )


@FAMILY.case()
def moving_average_of_a_tensor(tf, t):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = x * 2.0
    average = tf.train.ExponentialMovingAverage(0.5)
    update = average.apply([y])
    t.initialize()
    found = []
    for value in ([1.0, 2.0], [3.0, 4.0]):
        t.run(update, {x: value})
        found.append(t.run(average.average(y)))
    return found, average.average(y).name


@FAMILY.case()
def moving_average_of_all_trainable(tf, t):
    tf.Variable(1.0, name="a")
    tf.Variable(1.0, name="b", trainable=False)
    average = tf.train.ExponentialMovingAverage(0.5)
    average.apply()
    restored = average.variables_to_restore()
    again = t.error(lambda: average.apply())
    return sorted(restored), [x.name for x in tf.global_variables()], again


@FAMILY.case()
def averaging_after_the_step(tf, t):
    v = tf.Variable(1.0)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(v * v)
    average = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([step]):
        train = average.apply([v])
    t.initialize()
    found = []
    for _ in range(3):
        t.run(train)
        found.append(t.run([v, average.average(v)]))
    return found
