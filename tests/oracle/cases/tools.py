"""What programs use beside the model: profiles, summaries that the graph writes, estimators for TPUs, specs."""

import glob
import os
import tempfile

import numpy as np
from harness import Family

FAMILY = Family("tools")


def _network(tf, t):
    x = tf.constant(t.f(2, 8, 8, 3))
    y = tf.layers.conv2d(x, 4, 3, strides=2, padding="same", activation=tf.nn.relu, name="first")
    y = tf.layers.max_pooling2d(y, 2, 2)
    with tf.variable_scope("last"):
        y = tf.layers.dense(tf.layers.flatten(y), 5, name="dense")
    return tf.nn.softmax(y * y - tf.reduce_mean(y, axis=1, keepdims=True))


@FAMILY.case()
def parameters_of_a_graph(tf, t):
    _network(tf, t)
    tf.Variable(tf.zeros([7]), trainable=False, name="other")
    options = tf.profiler.ProfileOptionBuilder(
        tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()
    )
    root = tf.profiler.profile(tf.get_default_graph(), options=options.with_empty_output().build())
    return (
        root.total_parameters,
        [(each.name, each.total_parameters) for each in root.children],
        [(each.name, each.parameters) for each in root.children[0].children],
    )


@FAMILY.case()
def floating_point_operations_of_a_graph(tf, t):
    _network(tf, t)
    options = tf.profiler.ProfileOptionBuilder(tf.profiler.ProfileOptionBuilder.float_operation())
    root = tf.profiler.profile(tf.get_default_graph(), options=options.with_empty_output().build())
    found = []

    def walk(node):
        if node.float_ops and "Initializer" not in node.name:
            found.append((node.name, int(node.float_ops)))
        for child in node.children:
            walk(child)

    walk(root)
    return sorted(found)


@FAMILY.case()
def parameters_by_the_former_name(tf, t):
    _network(tf, t)
    analyzer = tf.contrib.tfprof.model_analyzer
    options = dict(analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS, output="none")
    return analyzer.print_model_analysis(tf.get_default_graph(), tfprof_options=options).total_parameters


def _events(tf, folder):
    (path,) = glob.glob(os.path.join(folder, "events*"))
    found = []
    for event in tf.train.summary_iterator(path):
        for value in event.summary.value:
            found.append((int(event.step), value.tag, value.WhichOneof("value"), float(value.simple_value)))
    return found


@FAMILY.case()
def summaries_that_the_graph_writes(tf, t):
    summary = tf.contrib.summary
    folder = tempfile.mkdtemp()
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [])
    nothing = [summary.scalar("nowhere", x)]
    writer = summary.create_file_writer(folder, flush_millis=1000)
    with writer.as_default():
        with summary.always_record_summaries(), tf.name_scope("scope"):
            summary.scalar("each", x)
            summary.scalar("seven", x * 2.0, family="group", step=tf.constant(7, tf.int64))
            summary.histogram("spread", tf.stack([x, x]))
        with summary.record_summaries_every_n_global_steps(2):
            summary.scalar("second", x)
        with summary.never_record_summaries():
            summary.scalar("never", x)
        summary.scalar("unsaid", x)
        flush = summary.flush()
    writes = summary.all_summary_ops()
    before = t.error(lambda: t.run(writes[0], {x: 0.0}))
    t.initialize()
    t.run(summary.summary_writer_initializer_op())
    written = []
    for number in range(3):
        written.append(t.run(writes, {x: number / 2.0}))
        t.run(tf.assign_add(step, 1))
    t.run(flush)
    kinds = [type(each).__name__ for each in nothing]
    return before, kinds, written, len(writes), sorted(_events(tf, folder))


def _tpu_model(tf):
    tpu = tf.contrib.tpu

    def model_fn(features, labels, mode, params):
        scale = tf.get_variable("scale", [], initializer=tf.constant_initializer(0.5))
        outputs = features * scale
        if mode == tf.estimator.ModeKeys.PREDICT:
            told = tf.fill([tf.shape(outputs)[0]], params.get("batch_size", -1))
            return tpu.TPUEstimatorSpec(mode, predictions={"outputs": outputs, "size": told})
        loss = tf.reduce_mean(tf.square(outputs - labels))
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.01))
        if params["use_tpu"]:
            raise ValueError("there is no TPU")
        return tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=optimizer.minimize(loss, global_step=tf.train.get_global_step())
            if params["plain"] is None
            else tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step()),
            eval_metrics=(lambda a, b: {"error": tf.metrics.mean_absolute_error(a, b)}, [labels, outputs]),
        )

    return model_fn


def _tpu_input(tf):
    def input_fn(params):
        numbers = np.arange(12, dtype=np.float32)
        return tf.data.Dataset.from_tensor_slices((numbers, 2.0 * numbers)).batch(params["batch_size"], True)

    return input_fn


@FAMILY.case()
def an_estimator_for_tpus_on_the_processor(tf, t):
    tpu = tf.contrib.tpu
    config = tpu.RunConfig(
        model_dir=tempfile.mkdtemp(), tpu_config=tpu.TPUConfig(iterations_per_loop=3, num_shards=8)
    )
    # TensorFlow's CrossShardOptimizer has no kernel without a TPU.
    estimator = tpu.TPUEstimator(
        model_fn=_tpu_model(tf), config=config, params={"plain": True}, use_tpu=False, train_batch_size=4,
        eval_batch_size=6, predict_batch_size=3,
    )  # fmt: skip
    estimator.train(_tpu_input(tf), max_steps=3)
    metrics = estimator.evaluate(_tpu_input(tf), steps=2)
    rows = list(estimator.predict(_tpu_input(tf)))
    return (
        float(estimator.get_variable_value("scale")),
        sorted((name, float(value)) for name, value in metrics.items()),
        [float(row["outputs"]) for row in rows[:4]],
        [int(row["size"]) for row in rows[:2]],
        (config.tpu_config.num_shards, config.tpu_config.per_host_input_for_training, config.master),
        config.replace(save_summary_steps=7).save_summary_steps,
    )


FAMILY.errors(
    """
    tf.contrib.tpu.TPUConfig(iterations_per_loop=0)
    tf.contrib.tpu.TPUConfig(num_shards=-1)
    tf.contrib.tpu.TPUConfig(num_cores_per_replica=3)
    tf.contrib.tpu.TPUConfig(input_partition_dims=[[1, 2]])
    tf.contrib.tpu.TPUEstimator(lambda features, labels, mode, params: None, config=None)
    tf.contrib.tpu.TPUEstimator(
        lambda features, labels, mode, params: None, config=tf.contrib.tpu.RunConfig(), params={"batch_size": 1})
    tf.contrib.tpu.TPUEstimator(
        lambda features, labels, mode, params: None, config=tf.contrib.tpu.RunConfig(), use_tpu=True)
    tf.contrib.tpu.TPUEstimatorSpec("eval", loss=tf.constant(1.0), eval_metrics=3)
    tf.contrib.tpu.TPUEstimatorSpec("eval", loss=tf.constant(1.0), eval_metrics=(lambda a: {}, [1, 2]))
    tf.contrib.tpu.TPUEstimatorSpec("eval", loss=tf.constant(1.0), eval_metrics=(3, [1, 2]))
    tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1), reduction="none")
    tf.contrib.cluster_resolver.TPUClusterResolver(tpu=[])
    """
)

FAMILY.expressions(
    """
    tf.TensorSpec([None, 3], tf.int32, "x").is_compatible_with(tf.constant([[1, 2, 3]]))
    tf.TensorSpec([None, 3], tf.int32).is_compatible_with(tf.constant([[1, 2]]))
    tf.TensorSpec([2]) == tf.TensorSpec([2], tf.float32)
    tf.TensorSpec([2], name="a") == tf.TensorSpec([2], name="b")
    tf.TensorSpec.from_tensor(ph([1.0, 2.0], [None], name="given")).name
    tf.TensorSpec.from_tensor(ph([1.0, 2.0], [None])).shape
    tf.TensorSpec.from_spec(tf.TensorSpec([2], tf.int64, "a"), "b").name
    tf.contrib.cluster_resolver.TPUClusterResolver(tpu="").master()
    tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2
    tf.contrib.memory_stats.MaxBytesInUse().dtype
    (tf.OptimizerOptions.ON_1, tf.OptimizerOptions.OFF)
    """
)
