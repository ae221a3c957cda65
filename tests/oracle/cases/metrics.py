"""tf.metrics: values before, between and after updates, weights, local variables, names, collections, errors."""

import numpy as np
from harness import Family

FAMILY = Family("metrics")


def _streamed(call, feeds):
    """The measure of three batches: first value, updates, last value, names, variables, collections."""

    def build(tf, t):
        names = {"tf": tf, "np": np, "t": t}
        places = {
            key: tf.placeholder(batch.dtype, [None] + list(batch.shape[1:]))
            for key, batch in feeds[0].items()
        }
        value, update = eval(
            "tf.metrics.%s, metrics_collections=['m', 'n'], updates_collections=['u'])" % call,
            dict(names, **places),
        )
        t.run(tf.local_variables_initializer())
        found = [t.run(value)]
        for batch in feeds:
            found.append(t.run(update, {places[key]: array for key, array in batch.items()}))
            found.append(t.run(value))
        keys = tf.GraphKeys
        return {
            "found": found,
            "names": [value.name, update.name],
            "static": [str(value.shape), str(update.shape)],
            "dtypes": [value.dtype.base_dtype.name, update.dtype.base_dtype.name],
            "variables": [(v.name, v.dtype.base_dtype.name, str(v.shape)) for v in tf.local_variables()],
            "metric variables": [v.name for v in tf.get_collection(keys.METRIC_VARIABLES)],
            "others": len(tf.global_variables()) + len(tf.trainable_variables()),
            "collections": [len(tf.get_collection(c)) for c in ("m", "n", "u")],
        }

    return build


def _batches(**makers):
    """Three batches of 4, 1 and 3 examples."""
    random = np.random.RandomState(3)
    return [{key: make(random, count) for key, make in makers.items()} for count in (4, 1, 3)]


def _floats(*rest):
    return lambda random, n: random.uniform(-2, 2, (n,) + rest).astype(np.float32)


def _unit(*rest):
    return lambda random, n: random.uniform(0, 1, (n,) + rest).astype(np.float32)


def _whole(high, *rest):
    return lambda random, n: random.randint(0, high, (n,) + rest).astype(np.int64)


_VALUES = _batches(x=_floats(3), w=_unit(3), one=_unit(1), row=_unit())
_PAIRS = _batches(y=_floats(2), p=_floats(2), w=_unit(2), one=_unit(1), scale=_unit(2))
_CLASSES = _batches(y=_whole(3), p=_whole(3), w=_unit(), column=_whole(3, 1))
_DECISIONS = _batches(y=_whole(2), p=_whole(2), w=_unit())
_SURE = _batches(y=_whole(2), p=_unit(), w=_unit())
_RANKED = _batches(y=_whole(5), several=_whole(5, 2), p=_floats(5), w=_unit())

_CALLS = [
    (_VALUES, ("mean(x", "mean(x, weights=w", "mean(x, weights=0.5", "mean(x, one", "mean(x[:, 0], row, name='mine'")),
    (_VALUES, ("mean(x, weights=tf.zeros_like(x)", "mean(tf.cast(x * 5.0, tf.int32)", "percentage_below(x, 0.5")),
    (_VALUES, ("percentage_below(x, 0.5, weights=w, name='below'", "mean_tensor(tf.reshape(x[:1], [3])")),
    (_VALUES, ("mean_tensor(tf.reshape(x[:1], [3]), tf.reshape(w[:1], [3])",)),
    (_CLASSES, ("accuracy(y, p", "accuracy(y, p, weights=w", "accuracy(labels=column, predictions=p, name='acc'")),
    (_CLASSES, ("accuracy(y, tf.cast(p, tf.int32)", "mean_per_class_accuracy(y, p, 3", "mean_iou(y, p, 3")),
    (_CLASSES, ("mean_per_class_accuracy(y, p, 4, weights=w", "mean_iou(y, p, 4, weights=w, name='iou'")),
    (_PAIRS, ("mean_squared_error(y, p", "mean_squared_error(y, p, w", "mean_squared_error(y, p, one, name='e'")),
    (_PAIRS, ("mean_absolute_error(y, p", "root_mean_squared_error(y, p", "root_mean_squared_error(y, p, w")),
    (_PAIRS, ("mean_relative_error(y, p, scale", "mean_cosine_distance(y, p, 1", "mean_absolute_error(y, p, 2.0")),
    (_DECISIONS, tuple("%s(y, p" % k for k in ("true_positives", "false_positives", "precision", "recall"))),
    (_DECISIONS, tuple("%s(y, p, weights=w" % k for k in ("true_negatives", "false_negatives", "precision"))),
    (_DECISIONS, ("recall(y, p, weights=w, name='r'", "true_positives(y, p, 0.5", "precision(tf.zeros_like(y), p")),
    (_SURE, ("auc(y, p", "auc(y, p, weights=w", "auc(y, p, num_thresholds=10, curve='PR'", "auc(y, p, name='a'")),
    (_SURE, tuple("auc(y, p, num_thresholds=12, summation_method='%s'" % k for k in ("minoring", "majoring"))),
    (_SURE, ("auc(y, p, w, 9, curve='PR', summation_method='careful_interpolation'",)),
    (_SURE, ("auc(y, p, thresholds=[0.7, 0.2]",)),
    (_SURE, ("precision_at_thresholds(y, p, [0.2, 0.5]", "recall_at_thresholds(y, p, [0.2, 0.5], weights=w")),
    (_SURE, tuple("%s_at_thresholds(y, p, [0.2, 0.9]" % k for k in ("true_positives", "false_negatives"))),
    (_SURE, tuple("%s_at_thresholds(y, p, [0.2, 0.9], w" % k for k in ("false_positives", "true_negatives"))),
    (_SURE, ("sensitivity_at_specificity(y, p, 0.6", "specificity_at_sensitivity(y, p, 0.6, num_thresholds=20")),
    (_RANKED, ("recall_at_k(y, p, 2", "recall_at_k(several, p, 3", "recall_at_k(y, p, 2, weights=w")),
    (_RANKED, ("precision_at_k(y, p, 2",)),
    (_RANKED, ("precision_at_k(several, p, 3, class_id=1", "recall_at_k(several, p, 2, class_id=2, name='r'")),
    (_RANKED, ("recall_at_top_k(several, tf.nn.top_k(p, 2)[1]",)),
    (_RANKED, ("precision_at_top_k(several, tf.nn.top_k(p, 2)[1], k=2",)),
    (_RANKED, ("average_precision_at_k(y, p, 2", "average_precision_at_k(several, p, 3, weights=w")),
    (_RANKED, ("average_precision_at_k(several * 3 - 1, p, 1, name='a'", "sparse_average_precision_at_k(y, p, 4")),
    (_RANKED, ("average_precision_at_k(several, p, 5, weights=2.0", "sparse_precision_at_k(several, p, 2")),
]  # fmt: skip

for _feeds, _calls in _CALLS:
    for _call in _calls:
        FAMILY.generated(
            _call + ")", _streamed(_call, _feeds), "tf.metrics.%s)" % _call, tolerance=(1e-4, 1e-5)
        )

FAMILY.errors(
    """
    tf.metrics.mean(ph(f(2, 3)), weights=ph(f(2, 2)))
    tf.metrics.mean(ph(f(2, 3)), weights=ph(f(2, 3, 1, 1)))
    tf.metrics.accuracy(ph(i(3)), ph(i(4)))
    tf.metrics.mean_iou(ph(i(3)), ph(i(4)), 2)
    tf.metrics.auc(ph(b(3)), ph(unit(3)), curve="nonsense")
    tf.metrics.auc(ph(b(3)), ph(unit(3)), summation_method="nonsense")
    tf.metrics.sensitivity_at_specificity(ph(b(3)), ph(unit(3)), 1.5)
    tf.metrics.specificity_at_sensitivity(ph(b(3)), ph(unit(3)), -0.5)
    tf.metrics.recall_at_k(ph(l(2, 2, 2)), ph(f(2, 5)), 2)
    tf.metrics.average_precision_at_k(ph(l(2, 2)), ph(f(2, 5)), 0)
    tf.metrics.average_precision_at_k(ph(l(2, 2)), ph(f(2, 5)), 2, weights=ph(f(3)))
    """
)


@FAMILY.case()
def names_of_several_measures(tf, t):
    x = t.ph(t.f(3))
    made = [tf.metrics.mean(x), tf.metrics.mean(x), tf.metrics.accuracy(x, x), tf.metrics.accuracy(x, x)]
    with tf.variable_scope("evaluation"):
        made += [
            tf.metrics.mean(x),
            tf.metrics.precision(x > 0.0, x > 0.5),
            tf.metrics.recall(x > 0.0, x > 0.5),
        ]
    with tf.name_scope("names"):
        made.append(tf.metrics.mean(x, name="again"))
    return [(value.name, update.name) for value, update in made], [v.name for v in tf.local_variables()]


@FAMILY.case()
def counters_start_again(tf, t):
    x = t.ph([1.0, 3.0])
    value, update = tf.metrics.mean(x)
    t.run(tf.local_variables_initializer())
    first = [t.run(update), t.run(update, {x: [10.0, 20.0]})]
    t.run(tf.variables_initializer(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)))
    return first + [t.run(value), t.run(update)]


@FAMILY.case()
def sparse_labels_of_average_precisions(tf, t):
    at = [[0, 0], [0, 1], [0, 2], [2, 0], [2, 1], [3, 0]]
    labels = tf.SparseTensor(tf.constant(at, tf.int64), tf.constant([0, 2, 2, 1, 9, 3], tf.int64), [4, 3])
    scores = t.ph(t.f(4, 4))
    found = [
        tf.metrics.average_precision_at_k(labels, scores, k, weights=w) for k, w in ((2, None), (3, 0.5))
    ]
    found.append(tf.metrics.average_precision_at_k(labels, scores, 3, weights=[1.0, 0.0, 2.0, 0.5]))
    t.run(tf.local_variables_initializer())
    return [t.run(update) for _, update in found], [t.run(value) for value, _ in found]
