"""tf.contrib.slim and tf.contrib.training: steps, loops, evaluations, names, summaries, collections."""

import os
import tempfile

import numpy as np
from harness import Family

FAMILY = Family("slim")


def _digits(tf, slim, images, training=True):
    """A small LeNet as programs of slim write it."""
    defaults = slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        weights_regularizer=slim.l2_regularizer(0.01),
        weights_initializer=tf.constant_initializer(0.05),
        normalizer_fn=slim.batch_norm,
        normalizer_params={"is_training": training, "decay": 0.5},
        outputs_collections="points",
    )
    with defaults, tf.variable_scope("LeNet", values=[images]):
        net = slim.conv2d(images, 4, [3, 3], scope="conv1")
        net = slim.max_pool2d(net, [2, 2], 2, scope="pool1")
        net = slim.repeat(net, 2, slim.conv2d, 4, 3, scope="conv2")
        net = slim.flatten(net)
        net = slim.fully_connected(net, 5, scope="fc3")
        net = slim.dropout(net, 0.9, is_training=False, scope="dropout3")
        logits = slim.fully_connected(net, 3, activation_fn=None, normalizer_fn=None, scope="fc4")
    return logits, slim.utils.convert_collection_to_dict("points")


def _model(tf, t):
    slim = tf.contrib.slim
    images = tf.constant(t.f(6, 8, 8, 1))
    labels = slim.one_hot_encoding(tf.constant(t.n(3, 6)), 3)
    logits, points = _digits(tf, slim, images)
    slim.losses.softmax_cross_entropy(logits, labels)
    return slim, slim.losses.get_total_loss(), points


@FAMILY.case(tolerance=(1e-3, 1e-4))
def a_network_is_trained(tf, t):
    slim, loss, points = _model(tf, t)
    train_op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.05))
    t.initialize()
    losses = [t.run(train_op) for _ in range(3)]
    keys = tf.GraphKeys
    return (
        losses,
        list(points),
        [v.name for v in slim.get_variables()],
        [v.name for v in slim.get_model_variables()],
        [v.name for v in slim.get_variables_to_restore(exclude=["LeNet/fc4"])],
        [each.name for each in tf.get_collection(keys.REGULARIZATION_LOSSES)],
        (train_op.name, len(tf.get_collection(keys.TRAIN_OP)), len(tf.get_collection(keys.UPDATE_OPS))),
        slim.model_analyzer.analyze_vars(slim.get_model_variables()),
    )


def _stepped(arguments):
    def build(tf, t):
        slim = tf.contrib.slim
        w = tf.get_variable("w", initializer=t.f(3, 1))
        b = tf.get_variable("b", initializer=tf.zeros([1]))
        step = tf.train.get_or_create_global_step()
        seen = tf.get_variable("seen", initializer=0.0, trainable=False)
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(seen, 1.0))
        loss = tf.reduce_mean(tf.square(tf.matmul(t.ph(t.f(4, 3)), w) + b - 3.0))
        given = arguments(tf, w)
        module = given.pop("module", slim.learning)
        train_op = module.create_train_op(loss, tf.train.GradientDescentOptimizer(0.05), **given)
        t.initialize()
        losses = [t.run(train_op) for _ in range(2)]
        summaries = sorted(s.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES))
        return losses, t.run([w, b, step, seen]), train_op.name, summaries

    return build


for _label, _arguments in {
    "plain": lambda tf, w: {},
    "clipped": lambda tf, w: {"clip_gradient_norm": 0.5},
    "multiplied": lambda tf, w: {"gradient_multipliers": {w: 0.1, "b": 2.0}},
    "multiplied and clipped": lambda tf, w: {"gradient_multipliers": {"w": 0.1}, "clip_gradient_norm": 0.1},
    "no step": lambda tf, w: {"global_step": None},
    "some variables, summarised": lambda tf, w: {"variables_to_train": [w], "summarize_gradients": True},
    "no updates, unchecked": lambda tf, w: {"update_ops": [], "check_numerics": False},
    "of training": lambda tf, w: {
        "module": tf.contrib.training,
        "transform_grads_fn": tf.contrib.training.clip_gradient_norms_fn(0.2),
        "summarize_gradients": True,
    },
}.items():
    FAMILY.generated("create_train_op, %s" % _label, _stepped(_arguments), _label, tolerance=(1e-5, 1e-6))


@FAMILY.case()
def a_step_refuses(tf, t):
    slim = tf.contrib.slim
    w = tf.get_variable("w", initializer=0.0)
    slim.get_or_create_global_step()
    loss = tf.log(w - 1.0)
    train_op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.05))
    t.initialize()
    return [
        t.error(lambda: t.run(train_op)),
        t.error(lambda: slim.learning.multiply_gradients([], {})),
        t.error(lambda: slim.learning.multiply_gradients((), {"w": 1.0})),
        t.error(lambda: slim.learning.multiply_gradients([(None, w)], {"w": 1.0})),
        t.error(lambda: slim.learning.train(None, None)),
        t.error(lambda: slim.learning.train(train_op, None, number_of_steps=0)),
        t.error(lambda: slim.learning.train(train_op, None, saver=tf.train.Saver())),
        t.error(lambda: slim.learning.train(train_op, None, summary_op=None)),
        t.error(lambda: slim.learning.train(train_op, None, trace_every_n_steps=2)),
        t.error(lambda: slim.learning.train(train_op, None, sync_optimizer=[3])),
    ]


def _slope(tf, t):
    """A model with one weight, its step and its loss."""
    slim = tf.contrib.slim
    x = tf.constant(t.f(8, 1))
    w = slim.model_variable("w", [1, 1], initializer=tf.zeros_initializer())
    loss = tf.contrib.losses.mean_squared_error(tf.matmul(x, w), 3.0 * x)
    return w, slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1)), loss


@FAMILY.case(tolerance=(1e-5, 1e-6))
def the_loop_trains_and_goes_on(tf, t):
    slim, folder = tf.contrib.slim, tempfile.mkdtemp()
    found = []
    for steps in (3, 7):
        with tf.Graph().as_default():
            tools = type(t)(tf)
            w, train_op, _ = _slope(tf, tools)
            calls = []

            def begin(session, w=w, calls=calls):
                calls.append(session.run(w).item())

            loss = slim.learning.train(
                train_op, folder, number_of_steps=steps, init_fn=begin, save_summaries_secs=0
            )
            found.append((np.float32(loss), calls))
    path = tf.train.latest_checkpoint(folder)
    reader = tf.train.NewCheckpointReader(path)
    kept = sorted(reader.get_variable_to_shape_map())
    return found, os.path.basename(path), kept, reader.get_tensor("w"), int(reader.get_tensor("global_step"))


@FAMILY.case(tolerance=(1e-5, 1e-6))
def the_loop_calls_the_step_given(tf, t):
    slim, seen = tf.contrib.slim, []

    def step(session, op, global_step, arguments):
        loss, stop = slim.learning.train_step(session, op, global_step, arguments)
        seen.append(int(session.run(global_step)))
        return loss, stop or len(seen) == 4

    with tf.Graph().as_default() as graph:
        _, train_op, _ = _slope(tf, type(t)(tf))
        last = slim.learning.train(train_op, None, train_step_fn=step, log_every_n_steps=0, number_of_steps=9)
    return seen, np.float32(last), graph.finalized


@FAMILY.case(tolerance=(1e-5, 1e-6))
def checkpoints_are_evaluated(tf, t):
    slim, folder = tf.contrib.slim, tempfile.mkdtemp()
    with tf.Graph().as_default():
        w, train_op, _ = _slope(tf, type(t)(tf))
        slim.learning.train(train_op, folder, number_of_steps=4)
    with tf.Graph().as_default():
        w, _, loss = _slope(tf, type(t)(tf))
        names, updates = slim.metrics.aggregate_metric_map({"loss": slim.metrics.streaming_mean(loss)})
        path = slim.evaluation.wait_for_new_checkpoint(folder, timeout=1)
        once = slim.evaluation.evaluate_once(
            "",
            path,
            os.path.join(folder, "eval"),
            num_evals=3,
            eval_op=list(updates.values()),
            final_op=[names["loss"], tf.contrib.training.get_or_create_eval_step()],
            variables_to_restore=slim.get_variables_to_restore(),
        )
    with tf.Graph().as_default():
        w, _, loss = _slope(tf, type(t)(tf))
        looped = slim.evaluation.evaluation_loop(
            "",
            folder,
            os.path.join(folder, "eval"),
            num_evals=1,
            eval_op=loss,
            final_op=w,
            max_number_of_evaluations=1,
            eval_interval_secs=0,
        )
    absent = slim.evaluation.wait_for_new_checkpoint(folder, path, seconds_to_sleep=0.01, timeout=0.02)
    paths = [os.path.basename(each) for each in slim.evaluation.checkpoints_iterator(folder, timeout=0)]
    return [np.float32(once[0]), int(once[1])], looped, absent, paths


@FAMILY.case()
def a_loop_of_hooks(tf, t):
    training = tf.contrib.training
    _, train_op, _ = _slope(tf, t)
    hooks = [tf.train.StopAtStepHook(num_steps=3)]
    loss = training.train(train_op, None, hooks=hooks, save_checkpoint_secs=None, save_summaries_steps=None)
    return np.float32(loss), t.error(lambda: training.train(train_op, None))


@FAMILY.case()
def summaries_are_named_after_tensors(tf, t):
    summaries = tf.contrib.slim.summaries
    x = tf.constant(t.f(2, 3), name="x")
    total = tf.reduce_sum(x, name="total")
    image = tf.constant(t.unit(1, 4, 4, 1), name="image")
    summaries.add_scalar_summary(total)
    summaries.add_scalar_summary(total, "named", "before", print_summary=True)
    summaries.add_histogram_summary(x, prefix="before")
    summaries.add_image_summary(image)
    summaries.add_zero_fraction_summary(x)
    summaries.add_scalar_summaries([total], "all")
    summaries.add_histogram_summaries([x], "all")
    summaries.add_image_summaries([image], "all")
    summaries.add_zero_fraction_summaries([x], "all")
    return [s.op.type for s in tf.get_collection(tf.GraphKeys.SUMMARIES)]


@FAMILY.case()
def sizes_of_a_model(tf, t):
    analyzer = tf.contrib.slim.model_analyzer
    tf.get_variable("a", [3, 4])
    tf.get_variable("b", [], tf.float64)
    tf.placeholder(tf.float32, [None, 3])
    return analyzer.analyze_vars(tf.global_variables()), analyzer.analyze_vars([])


@FAMILY.case()
def names_of_slim(tf, t):
    slim, layers, framework = tf.contrib.slim, tf.contrib.layers, tf.contrib.framework
    same = [
        slim.conv2d is slim.convolution2d,
        slim.conv2d is layers.conv2d,
        slim.layers.conv2d is layers.conv2d,
        slim.arg_scope is framework.arg_scope,
        slim.losses is tf.contrib.losses,
        slim.metrics is tf.contrib.metrics,
        slim.get_variables is framework.get_variables,
        slim.initializers.xavier_initializer is layers.xavier_initializer,
        slim.regularizers.l2_regularizer is slim.l2_regularizer,
        slim.evaluation.checkpoints_iterator is tf.contrib.training.checkpoints_iterator,
        callable(slim.variance_scaling_initializer),
        callable(slim.create_global_step),
    ]
    with slim.arg_scope([slim.conv2d], stride=2) as scope:
        found = scope[slim.arg_scope_func_key(slim.conv2d)]
    return same, found


@FAMILY.case()
def queue_runners_of_a_block(tf, t):
    numbers = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    session = tf.Session()
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    with tf.contrib.slim.queues.QueueRunners(session):
        found = [int(session.run(numbers)) for _ in range(3)]
    session.close()
    return found
