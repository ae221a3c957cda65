"""tf.contrib.framework: variables of models, how they are found, and how they get values."""

import os
import tempfile

from harness import Family

FAMILY = Family("contrib_framework")


def _names(variables):
    return [v.name for v in variables]


def _some_variables(tf):
    framework = tf.contrib.framework
    with tf.variable_scope("net"):
        framework.model_variable("weights", [2, 3], initializer=tf.ones_initializer())
        framework.variable("biases", [3], initializer=tf.zeros_initializer(), trainable=False)
        with tf.variable_scope("head"):
            framework.model_variable("weights", [3], collections=["mine"], trainable=False)
    framework.local_variable(1.0, name="seen")
    framework.global_variable(2, name="net_step")
    tf.get_variable("weights", [1])


@FAMILY.case()
def variables_are_found(tf, t):
    framework = tf.contrib.framework
    _some_variables(tf)
    with tf.variable_scope("net") as scope:
        pass
    keys = ("GLOBAL_VARIABLES", "LOCAL_VARIABLES", "MODEL_VARIABLES", "TRAINABLE_VARIABLES")
    collected = [_names(tf.get_collection(getattr(tf.GraphKeys, key))) for key in keys]
    found = [
        framework.get_variables(),
        framework.get_variables("net"),
        framework.get_variables(scope, suffix="weights"),
        framework.get_variables(collection="mine"),
        framework.get_variables(suffix="e.*s"),
        framework.get_model_variables(),
        framework.get_model_variables("net/head"),
        framework.get_local_variables(),
        framework.get_trainable_variables("net/"),
        framework.get_variables_by_suffix("weights"),
        framework.get_variables_by_suffix("weights", "net/h"),
        framework.get_variables_by_name("weights"),
        framework.get_variables_by_name("biases", "net"),
        framework.get_variables_to_restore(),
        framework.get_variables_to_restore(include=["net/head", "weights"]),
        framework.get_variables_to_restore(exclude=["net/head", "weights"]),
        [framework.get_unique_variable("net/weights"), framework.get_unique_variable("weights")],
        framework.filter_variables(tf.global_variables(), ["weights"], ["head"]),
        framework.filter_variables(tf.global_variables(), ["w.*ts", "step"], reg_search=False),
        framework.filter_variables(tf.global_variables(), exclude_patterns=["net/"]),
    ]
    errors = [
        t.error(lambda: framework.get_unique_variable("net/wei")),
        t.error(lambda: framework.get_unique_variable("nowhere")),
        t.error(lambda: framework.get_variables_to_restore("net")),
        t.error(lambda: framework.get_variables_to_restore(exclude="net")),
    ]
    return collected, [_names(each) for each in found], errors


@FAMILY.case()
def defaults_and_losses_of_variables(tf, t):
    framework = tf.contrib.framework
    l2 = tf.contrib.layers.l2_regularizer(0.5)
    with framework.arg_scope([framework.variable, framework.model_variable], device="/cpu:0", regularizer=l2):
        a = framework.model_variable("a", [2], initializer=tf.ones_initializer())
        framework.variable("b", [2], initializer=tf.ones_initializer(), regularizer=None)
    framework.add_model_variable(a)
    framework.add_model_variable(framework.variable("c", [], initializer=tf.zeros_initializer()))
    with tf.variable_scope("", reuse=True):
        again = framework.model_variable("a", [2])
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return again is a, str(a.op.device), losses, _names(tf.model_variables()), a.dtype.base_dtype


@FAMILY.case()
def values_are_assigned(tf, t):
    framework = tf.contrib.framework
    _some_variables(tf)
    given = {"net/weights": t.f(3, 2), "weights": t.f(1), "net_st": t.n(9)}
    operation, feeds = framework.assign_from_values(given)
    names = sorted(fed.name for fed in feeds)
    callback = framework.assign_from_values_fn({"net/biases": t.f(3)})
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    session.run(operation, feeds)
    before = session.run(framework.get_variables("net/biases"))
    callback(session)
    head = framework.get_variables("net/head")
    found = session.run([v for v in framework.get_variables() if v not in head])
    session.close()
    errors = [
        t.error(lambda name=name: framework.assign_from_values({name: t.f(2)}))
        for name in ("no", "net/", "weights")
    ]
    return names, before, found, errors


@FAMILY.case()
def values_come_from_a_checkpoint(tf, t):
    framework = tf.contrib.framework
    old = tf.get_variable("old/w", initializer=t.f(2, 3))
    other = tf.get_variable("b", initializer=t.f(3))
    new = tf.get_variable("new/w", [2, 3], initializer=tf.zeros_initializer())
    flat = tf.get_variable("flat", [6], initializer=tf.zeros_initializer())
    split = tf.get_variable(
        "split", [2, 3], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(2)
    )
    whole = tf.get_variable("whole", initializer=t.f(2, 3))
    missing = tf.get_variable("missing", [1], initializer=tf.ones_initializer())
    folder = tempfile.mkdtemp()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    path = tf.train.Saver({"old/w": old, "b": other, "split": whole}).save(
        session, os.path.join(folder, "model")
    )
    session.run([old.assign(old * 2.0), other.assign(other * 2.0)])
    operation, feeds = framework.assign_from_checkpoint(path, [other])
    session.run(operation, feeds)
    second = framework.assign_from_checkpoint(path, {"old/w": [new, old]}, ignore_missing_vars=True)
    session.run(*second)
    session.run(*framework.assign_from_checkpoint(path, list(split) + [missing], ignore_missing_vars=True))
    values = [session.run([old, other, new, flat] + list(split))]
    session.run(tf.global_variables_initializer())
    framework.assign_from_checkpoint_fn(path, [other, missing], ignore_missing_vars=True)(session)
    framework.assign_from_checkpoint_fn(path, {"old/w": flat}, reshape_variables=True)(session)
    values.append(session.run([other, missing, flat]))
    nothing = framework.assign_from_checkpoint_fn(path, [missing], ignore_missing_vars=True)
    session.close()
    errors = [
        t.error(lambda: framework.assign_from_checkpoint(path, [missing])),
        t.error(lambda: framework.assign_from_checkpoint(path, {"old/w": flat})),
        t.error(lambda: framework.assign_from_checkpoint_fn(path, [])),
    ]
    listed = framework.list_variables(path), framework.load_variable(path, "b")
    return values, nothing, errors, listed, framework.load_checkpoint(path).has_tensor("b")
