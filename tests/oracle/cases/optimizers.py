"""Optimizers as trajectories: ten variables' worth of steps, dense and sparse, with slots, clipping and global_step."""

import os
import tempfile

import numpy as np
from harness import Family

FAMILY = Family("optimizers")

MADE = (
    "GradientDescentOptimizer(0.1)",
    "GradientDescentOptimizer(learning_rate=0.5, use_locking=True, name='mine')",
    "MomentumOptimizer(0.1, 0.9)",
    "MomentumOptimizer(learning_rate=0.1, momentum=0.5, use_nesterov=True)",
    "AdagradOptimizer(0.5)",
    "AdagradOptimizer(0.5, initial_accumulator_value=1.0)",
    "AdadeltaOptimizer()",
    "AdadeltaOptimizer(learning_rate=1.0, rho=0.9, epsilon=1e-3)",
    "RMSPropOptimizer(0.05)",
    "RMSPropOptimizer(0.05, decay=0.8, momentum=0.5, epsilon=1e-3)",
    "RMSPropOptimizer(0.05, decay=0.8, momentum=0.5, epsilon=1e-3, centered=True)",
    "AdamOptimizer()",
    "AdamOptimizer(0.05, beta1=0.8, beta2=0.9, epsilon=0.1)",
    "AdamOptimizer(learning_rate=0.01, name='A')",
    "FtrlOptimizer(0.5)",
    "FtrlOptimizer(0.5, l1_regularization_strength=0.1, l2_regularization_strength=0.2)",
    "FtrlOptimizer(0.5, learning_rate_power=-0.7, initial_accumulator_value=0.3)",
    "FtrlOptimizer(0.5, l2_shrinkage_regularization_strength=0.1, l1_regularization_strength=0.05)",
    "ProximalGradientDescentOptimizer(0.1)",
    "ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.2, l2_regularization_strength=0.3)",
)


def trajectory(maker, sparse, dtype):
    """Five steps on a small least squares problem, after each of which all variables and the loss are noted."""

    def build(tf, t):
        global_step = tf.train.get_or_create_global_step()
        start = np.array([[0.5, -1.0], [1.5, 2.0], [-0.25, 0.75]])
        table = tf.Variable(start, dtype=dtype, name="table")
        bias = tf.Variable(np.array([0.1, -0.2]), dtype=dtype, name="bias")
        used = tf.gather(table, [0, 2, 0]) if sparse else table * 1.0
        target = tf.constant(np.array([[1.0, 0.0], [0.5, 0.5], [2.0, -1.0]]), dtype=dtype)
        loss = tf.reduce_sum(tf.square(used + bias - target))
        optimizer = eval("tf.train." + maker, {"tf": tf, "global_step": global_step})
        step = optimizer.minimize(loss, global_step=global_step)
        t.initialize()
        losses = []
        for _ in range(5):
            losses.append(t.run(loss))
            t.run(step)
        variables = sorted(tf.global_variables(), key=lambda v: v.name)
        values = {v.op.name: t.run(v) for v in variables}
        slots = [optimizer.get_slot(table, name).op.name for name in optimizer.get_slot_names()]
        return {"losses": losses, "variables": values, "slots": slots, "step": step.name}

    return build


for _maker in MADE:
    for _sparse in (False, True):
        for _dtype in ("float32", "float64"):
            if _dtype == "float64" and ("name=" in _maker or "Proximal" in _maker):
                continue
            _title = "%s %s %s" % (_maker, "sparse" if _sparse else "dense", _dtype)
            FAMILY.generated(
                _title,
                trajectory(_maker, _sparse, _dtype),
                "tf.train.%s: see `trajectory` in cases/optimizers.py" % _title,
                tolerance=(1e-4, 1e-6) if _dtype == "float32" else (1e-9, 1e-11),
            )


@FAMILY.case(tolerance=(1e-4, 1e-6))
def averages_in_the_place_of_variables(tf, t):
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.25), 0.5)
    step = optimizer.minimize(tf.reduce_sum(v * v))
    saver = optimizer.swapping_saver()
    t.initialize()
    t.run(step)
    path = saver.save(t.session(), os.path.join(tempfile.mkdtemp(), "model"))
    reader = tf.train.NewCheckpointReader(path)
    return {name: reader.get_tensor(name) for name in sorted(reader.get_variable_to_shape_map())}


@FAMILY.case(tolerance=(1e-4, 1e-6))
def compute_then_apply(tf, t):
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3.0, name="w")
    unused = tf.Variable(1.0, name="unused")
    loss = tf.reduce_sum(v * v) + w * w * w
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss)
    names = [(None if g is None else g.shape, x.name) for g, x in pairs]
    clipped = [(tf.clip_by_value(g, -1.0, 1.0), x) for g, x in pairs if g is not None]
    step = optimizer.apply_gradients(clipped, name="go")
    t.initialize()
    t.run(step)
    return names, t.run([v, w, unused]), step.name


@FAMILY.case(tolerance=(1e-4, 1e-6))
def clipping_by_global_norm(tf, t):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])
    loss = tf.reduce_sum(v * v) + tf.reduce_sum(w * w)
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
    step = tf.train.AdamOptimizer(0.1).apply_gradients(zip(gradients, variables))
    t.initialize()
    return t.run(norm), t.run(step), t.run([v, w])


@FAMILY.case()
def global_step_counts(tf, t):
    v = tf.Variable(1.0)
    step = tf.train.create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=step)
    t.initialize()
    found = [t.run(step)]
    for _ in range(3):
        t.run(train)
    found += [t.run(step), tf.train.global_step(t.session(), step), step.dtype.base_dtype, step.trainable]
    same = [tf.train.get_global_step() is step, tf.train.get_or_create_global_step() is step]
    return found, same, t.error(lambda: tf.train.create_global_step())


@FAMILY.case()
def arguments_of_minimize(tf, t):
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    loss = v * w
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    only_v = optimizer.minimize(loss, var_list=[v], name="only_v", colocate_gradients_with_ops=True)
    weighted = optimizer.minimize(
        loss, grad_loss=tf.constant(10.0), gate_gradients=tf.train.Optimizer.GATE_GRAPH
    )
    none_gated = optimizer.minimize(loss, gate_gradients=optimizer.GATE_NONE, var_list=[w])
    t.initialize()
    found = [t.run(only_v), t.run([v, w]), t.run(weighted), t.run([v, w]), t.run(none_gated), t.run([v, w])]
    return found, only_v.name, weighted.name, optimizer.get_name()


@FAMILY.case()
def learning_rate_as_a_tensor(tf, t):
    v = tf.Variable([1.0, 2.0])
    rate = tf.placeholder(tf.float32, [])
    step = tf.train.MomentumOptimizer(rate, 0.9).minimize(tf.reduce_sum(v * v))
    t.initialize()
    t.run(step, {rate: 0.1})
    t.run(step, {rate: 0.5})
    return t.run(v)


@FAMILY.case()
def one_optimizer_two_steps(tf, t):
    v = tf.Variable([1.0, 2.0])
    optimizer = tf.train.AdamOptimizer(0.1)
    first, second = optimizer.minimize(tf.reduce_sum(v * v)), optimizer.minimize(tf.reduce_sum(v))
    t.initialize()
    for step in (first, second, first):
        t.run(step)
    return t.run(v), first.name, second.name, sorted(x.name for x in tf.global_variables())


@FAMILY.case()
def two_optimizers_have_their_own_slots(tf, t):
    v = tf.Variable([1.0, 2.0])
    a, b = tf.train.AdamOptimizer(0.1), tf.train.AdamOptimizer(0.2)
    a.minimize(tf.reduce_sum(v * v))
    b.minimize(tf.reduce_sum(v))
    return sorted(x.name for x in tf.global_variables()), [x.name for x in b.variables()], a.get_slot_names()


@FAMILY.case()
def slots_of_a_momentum_optimizer(tf, t):
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    before = optimizer.get_slot(v, "momentum")
    step = optimizer.minimize(tf.reduce_sum(v * v))
    slot = optimizer.get_slot(v, "momentum")
    t.initialize()
    t.run(step)
    return (
        before,
        slot.name,
        t.run(slot),
        optimizer.get_slot(v, "nonsense"),
        [x.name for x in tf.trainable_variables()],
    )


@FAMILY.case()
def errors_of_optimizers(tf, t):
    v = tf.Variable(1.0)
    w = tf.Variable(1.0)
    whole = tf.Variable(1)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return [
        t.error(lambda: optimizer.minimize(tf.constant(1.0))),
        t.error(lambda: optimizer.minimize(v * v, var_list=[])),
        t.error(lambda: optimizer.minimize(v * v, var_list=[w])),
        t.error(lambda: optimizer.apply_gradients([])),
        t.error(lambda: optimizer.apply_gradients([(None, v)])),
        t.error(lambda: optimizer.apply_gradients([(tf.constant(1.0), tf.constant(1.0))])),
        t.error(lambda: optimizer.apply_gradients([("a", v)])),
        t.error(lambda: optimizer.compute_gradients(v * v, gate_gradients=7)),
        t.error(lambda: optimizer.compute_gradients(v * v, var_list=[tf.constant(1.0)])),
        t.error(lambda: optimizer.compute_gradients(whole * 2, var_list=[whole])),
        t.error(lambda: tf.train.GradientDescentOptimizer()),
        t.error(lambda: tf.train.FtrlOptimizer(0.1, learning_rate_power=1.0)),
        t.error(lambda: tf.train.FtrlOptimizer(0.1, initial_accumulator_value=-1.0)),
        t.error(lambda: tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0)),
        t.error(lambda: tf.train.Optimizer(False, "")),
    ]


@FAMILY.case()
def no_variables_to_optimize(tf, t):
    x = t.ph([1.0])
    return t.error(lambda: tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(x)))


@FAMILY.case()
def an_own_optimizer(tf, t):
    class SignDescent(tf.train.Optimizer):
        def __init__(self, rate, use_locking=False, name="SignDescent"):
            super(SignDescent, self).__init__(use_locking, name)
            self._rate = rate

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "count", self._name)

        def _apply_dense(self, grad, var):
            count = self.get_slot(var, "count")
            return tf.group(
                tf.assign_sub(var, self._rate * tf.sign(grad)), tf.assign_add(count, tf.ones_like(grad))
            )

    v = tf.Variable([1.0, -2.0], name="v")
    optimizer = SignDescent(0.25)
    step = optimizer.minimize(tf.reduce_sum(v * v))
    t.initialize()
    t.run(step)
    t.run(step)
    return t.run(v), t.run(optimizer.get_slot(v, "count")), optimizer.get_slot(v, "count").name


@FAMILY.case(tolerance=(1e-4, 1e-6))
def training_a_small_network(tf, t):
    x, labels = t.ph(t.f(6, 4)), t.ph(t.n(3, 6))
    hidden = tf.nn.relu(tf.matmul(x, t.var(t.f(4, 5) * 0.5)) + t.var(np.zeros(5, np.float32)))
    logits = tf.matmul(hidden, t.var(t.f(5, 3) * 0.5)) + t.var(np.zeros(3, np.float32))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    t.initialize()
    losses = []
    for _ in range(10):
        losses.append(t.run(loss))
        t.run(step)
    return losses


def _scaled(make, steps):
    """Steps of an optimizer that scales its loss: variables and the scale after each, finite or not."""

    def build(tf, t):
        v, table = tf.Variable([1.0, -2.0], name="v"), tf.Variable([[0.5], [1.5], [2.5]], name="table")
        factor = tf.placeholder_with_default(1.0, [])
        loss = tf.reduce_sum(v * v) * factor + tf.reduce_sum(tf.square(tf.gather(table, [0, 2, 0])))
        experimental, count = tf.train.experimental, tf.train.get_or_create_global_step()
        optimizer = make(tf, experimental)
        step = optimizer.minimize(loss, global_step=count)
        t.initialize()
        found = []
        for value in steps:
            t.run(step, {factor: value})
            found.append({x.op.name: t.run(x) for x in tf.global_variables() if "Adam" not in x.op.name})
        return found, step.name, sorted(x.op.name for x in tf.global_variables())

    return build


for _label, _make in {
    "fixed": lambda tf, e: e.enable_mixed_precision_graph_rewrite(tf.train.MomentumOptimizer(0.1, 0.9), 128),
    "dynamic": lambda tf, e: e.enable_mixed_precision_graph_rewrite(tf.train.MomentumOptimizer(0.1, 0.9)),
    "two good steps": lambda tf, e: e.MixedPrecisionLossScaleOptimizer(
        tf.train.AdamOptimizer(0.1), e.DynamicLossScale(4.0, 2, 3.0)
    ),
    "the least": lambda tf, e: e.MixedPrecisionLossScaleOptimizer(
        tf.train.GradientDescentOptimizer(0.1), e.DynamicLossScale(1.5, increment_period=1)
    ),
}.items():
    _steps = [1.0, 2.0, 0.5] if _label == "fixed" else [1.0, 2.0, float("inf"), 1.0, float("nan"), 1.0, 1.0]
    FAMILY.generated("loss scale, %s" % _label, _scaled(_make, _steps), _label, tolerance=(1e-4, 1e-5))


@FAMILY.case()
def loss_scales(tf, t):
    e = tf.train.experimental
    dynamic, fixed = e.DynamicLossScale(8, 3, 4), e.FixedLossScale(2)
    t.initialize()
    return (
        dynamic.get_config(), fixed.get_config(), repr(dynamic), repr(fixed), t.run([dynamic(), fixed()]),
        e.FixedLossScale.from_config(fixed.get_config())(), fixed.update([1.0])[1],
        t.error(lambda: e.FixedLossScale(0.5)), t.error(lambda: e.FixedLossScale("a")),
        t.error(lambda: e.enable_mixed_precision_graph_rewrite(3)),
        t.error(lambda: e.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(), "static")),
        t.error(lambda: e.enable_mixed_precision_graph_rewrite(
            e.enable_mixed_precision_graph_rewrite(tf.train.AdamOptimizer())
        )),
    )  # fmt: skip


CONTRIB = (
    "NadamOptimizer(0.05, beta1=0.8, beta2=0.9, epsilon=0.1)",
    "AdaMaxOptimizer(0.05, beta1=0.8, beta2=0.9, epsilon=0.1)",
    "LazyAdamOptimizer(0.05)",
    "AdamGSOptimizer(global_step, 0.05, beta1=0.8)",
    "LazyAdamGSOptimizer(global_step, 0.05, beta1=0.8)",
    "AddSignOptimizer(0.05, alpha=0.9, beta=0.7)",
    "AddSignOptimizer(0.05, sign_decay_fn=lambda step: 1.0 / tf.cast(step + 1, tf.float32))",
    "PowerSignOptimizer(0.05, base=2.0, beta=0.7)",
    "PowerSignOptimizer(0.05, sign_decay_fn=lambda step: 1.0 / tf.cast(step + 1, tf.float32))",
    "RegAdagradOptimizer(0.5)",
    "LARSOptimizer(0.5, weight_decay=0.01, eeta=0.5, epsilon=0.1)",
    "LARSOptimizer(0.05, skip_list=['bias'], use_nesterov=True, eeta=0.1)",
    "ShampooOptimizer(0, learning_rate=0.1)",
    "ShampooOptimizer(global_step, gbar_decay=0.5, gbar_weight=0.5, mat_gbar_decay=0.9, learning_rate=0.1)",
    "ShampooOptimizer(global_step, max_matrix_size=2, svd_interval=2, epsilon=0.1, learning_rate=lambda n: 0.2 / n)",
    "GGTOptimizer(0.05, window=3, svd_eps=0.1)",
    "MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9))",
    "VariableClippingOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), {tf.trainable_variables()[0]: [1]}, 0.5)",
    "VariableClippingOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), {tf.trainable_variables()[0]: [0]}, 0.5)",
    "DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(0.1), 0)",
)
"""Of tf.contrib.opt: those whose sparse gradients TensorFlow itself cannot apply are LARS and GGT."""


def contrib_trajectory(maker, sparse):
    """Four steps on a small least squares problem, after which variables and losses are noted."""

    def build(tf, t):
        global_step = tf.train.get_or_create_global_step()
        table = tf.Variable([[0.5, -1.0], [1.5, 2.0], [-0.25, 0.75]], name="table")
        bias = tf.Variable([0.1, -0.2], name="bias")
        used = tf.gather(table, [0, 2, 0]) if sparse else table * 1.0
        loss = tf.reduce_sum(tf.square(used + bias - [[1.0, 0.0], [0.5, 0.5], [2.0, -1.0]]))
        optimizer = eval("tf.contrib.opt." + maker, {"tf": tf, "global_step": global_step})
        step = optimizer.minimize(loss, global_step=global_step)
        t.initialize()
        losses = []
        for _ in range(4):
            losses.append(t.run(loss))
            t.run(step)
        found = {"losses": losses, "table": t.run(table), "bias": t.run(bias), "step": t.run(global_step)}
        if "GGT" not in maker:
            found["slots"] = optimizer.get_slot_names()
            found["names"] = sorted(v.op.name for v in tf.global_variables())
        return found

    return build


for _maker in CONTRIB:
    for _sparse in (False, True):
        if _sparse and ("LARS" in _maker or "GGT" in _maker):
            continue
        _title = "contrib %s %s" % (_maker, "sparse" if _sparse else "dense")
        FAMILY.generated(
            _title,
            contrib_trajectory(_maker, _sparse),
            "tf.contrib.opt.%s: see `contrib_trajectory` in cases/optimizers.py" % _title,
            tolerance=(1e-4, 1e-5),
        )


@FAMILY.case(tolerance=(1e-4, 1e-6))
def a_gradient_that_is_zero_leaves_a_task_alone(tf, t):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0])
    there = t.ph(0.0)
    loss = tf.reduce_sum(v * v) + there * tf.reduce_sum(w * w)
    optimizer = tf.contrib.opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9))
    pairs, norm = tf.contrib.opt.clip_gradients_by_global_norm(optimizer.compute_gradients(loss), 2.0)
    step = optimizer.apply_gradients(pairs)
    t.initialize()
    found = []
    for share in (1.0, 0.0, 1.0):
        t.feeds[there] = np.float32(share)
        found.append(t.run(norm))
        t.run(step)
        found.append(t.run([v, w, optimizer.get_slot(w, "momentum")]))
    return found


@FAMILY.case(tolerance=(1e-4, 1e-6))
def penalties_leave_the_sums_of_adagrad_alone(tf, t):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    optimizer = tf.contrib.opt.RegAdagradOptimizer(0.5)
    step = optimizer.minimize(tf.reduce_sum(v * v))
    with optimizer.avoid_updating_slots():
        dense = optimizer.minimize(tf.reduce_sum(v))
        sparse = optimizer.minimize(tf.reduce_sum(tf.gather(v, [1, 1])))
    t.initialize()
    found = []
    for each in (step, dense, sparse, step):
        t.run(each)
        found.append(t.run([v, optimizer.get_slot(v, "accumulator")]))
    return found


FAMILY.errors(
    """
    tf.contrib.opt.LARSOptimizer(0.1, momentum=-1.0)
    tf.contrib.opt.LARSOptimizer(0.1, weight_decay=-1.0)
    tf.contrib.opt.MultitaskOptimizerWrapper(1.0)
    tf.contrib.opt.RegAdagradOptimizer(0.1, initial_accumulator_value=-1.0)
    """
)
