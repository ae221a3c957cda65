"""tf.contrib.losses and tf.contrib.metrics: numbers, gradients, collections, names of variables."""

from harness import Family

FAMILY = Family("contrib_losses")

FAMILY.differentiable(
    """
    tf.contrib.losses.absolute_difference(ph(f(2, 3), [None, 3]), ph(f(2, 3)))
    tf.contrib.losses.absolute_difference(ph(f(2, 3)), ph(i(2, 3)), 2.0)
    tf.contrib.losses.absolute_difference(ph(f(2, 3)), ph(f(2, 3)), weights=ph(pos(2)))
    tf.contrib.losses.mean_squared_error(ph(f(2, 3), [None, 3]), ph(f(2, 3), [None, 3]))
    tf.contrib.losses.mean_squared_error(ph(f(2, 3, 2)), ph(f(2, 3, 2)), weights=[[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    tf.contrib.losses.mean_squared_error(ph(f(3, 2)), ph(f(3, 2)), weights=[[1.0], [0.0], [3.0]])
    tf.contrib.losses.mean_squared_error(ph(f(3, 2)), ph(f(3, 2)), weights=0.0)
    tf.contrib.losses.log_loss(ph(unit(2, 3)), ph(unit(2, 3)), epsilon=0.01)
    tf.contrib.losses.hinge_loss(ph(f(2, 3)), ph(n(2, 2, 3).astype(np.float32)))
    tf.contrib.losses.cosine_distance(ph(f(2, 3)), ph(f(2, 3)), axis=1)
    tf.contrib.losses.cosine_distance(ph(f(2, 3, 4)), ph(f(2, 3, 4)), dim=2, weights=[1.0, 0.0])
    tf.contrib.losses.mean_pairwise_squared_error(ph(f(2, 3)), ph(f(2, 3)))
    tf.contrib.losses.mean_pairwise_squared_error(ph(f(3, 4)), ph(f(3, 4)), weights=[1.0, 0.0, 2.0])
    tf.contrib.losses.sigmoid_cross_entropy(ph(f(2, 3)), ph(n(2, 2, 3)), label_smoothing=0.1)
    tf.contrib.losses.sigmoid_cross_entropy(ph(f(2, 3)), ph(unit(2, 3)), weights=[0.0, 2.0])
    tf.contrib.losses.softmax_cross_entropy(ph(f(2, 3), [None, 3]), ph(unit(2, 3), [None, 3]))
    tf.contrib.losses.softmax_cross_entropy(ph(f(2, 3)), ph(unit(2, 3)), [0.5, 0.0], label_smoothing=0.1)
    tf.contrib.losses.softmax_cross_entropy(ph(f(2, 3)), ph(n(2, 2, 3)), weights=[[0.5], [1.0]])
    tf.contrib.losses.sparse_softmax_cross_entropy(ph(f(4, 3), [None, 3]), ph(n(3, 4), [None]))
    tf.contrib.losses.sparse_softmax_cross_entropy(ph(f(4, 3)), ph(n(3, 4, 1)), weights=[1.0, 2.0, 0.0, 1.0])
    tf.contrib.losses.compute_weighted_loss(ph(f(4, 3)), ph(pos(4)))
    """,
    names="none",
    tolerance=(1e-5, 1e-6),
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.differentiable(
    """
    tf.contrib.losses.metric_learning.contrastive_loss(ph(n(2, 4)), ph(f(4, 3), [None, 3]), ph(f(4, 3), [None, 3]))
    tf.contrib.losses.metric_learning.contrastive_loss(ph(n(2, 4)), ph(f(4, 3)), ph(f(4, 3)), margin=2.5)
    tf.contrib.losses.metric_learning.contrastive_loss(ph(n(2, 4)), ph(d(4, 3)), ph(d(4, 3)), 2.0)
    tf.contrib.losses.metric_learning.triplet_semihard_loss(ph(n(3, 7), [None]), ph(f(7, 3), [None, 3]))
    tf.contrib.losses.metric_learning.triplet_semihard_loss(ph(n(2, 6)), ph(unit(6, 4)), margin=0.3)
    tf.contrib.losses.metric_learning.triplet_semihard_loss(ph([1, 1, 1]), ph(f(3, 4)), margin=2.0)
    tf.contrib.losses.metric_learning.lifted_struct_loss(ph(n(3, 7), [None]), ph(f(7, 3) * pos(7, 3), [None, 3]))
    tf.contrib.losses.metric_learning.lifted_struct_loss(ph(n(2, 6)), ph(unit(6, 4)), margin=0.3)
    tf.contrib.losses.metric_learning.npairs_loss(ph(n(3, 5), [None]), ph(f(5, 3), [None, 3]), ph(f(5, 3), [None, 3]))
    tf.contrib.losses.metric_learning.npairs_loss(ph(n(2, 4)), ph(f(4, 3)), ph(f(4, 3)), reg_lambda=0.5)
    """,
    names="none",
    tolerance=(1e-5, 1e-6),
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.differentiable(
    "tf.contrib.losses.metric_learning.npairs_loss_multilabel("
    "[tf.SparseTensor([[i % 2], [2 + i]], [1, 1], [5]) for i in range(3)], ph(f(3, 4)), ph(f(3, 4)), 0.1)",
    names="none",
    tolerance=(1e-5, 1e-6),
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.errors("tf.contrib.losses.metric_learning.npairs_loss_multilabel([[1, 0]], ph(f(1, 2)), ph(f(1, 2)))")

FAMILY.errors(
    """
    tf.contrib.losses.mean_squared_error(ph(f(2, 3)), ph(f(2, 2)))
    tf.contrib.losses.cosine_distance(ph(f(2, 3)), ph(f(2, 3)))
    tf.contrib.losses.compute_weighted_loss(ph(f(2, 3), None))
    tf.contrib.losses.get_total_loss()
    tf.contrib.metrics.aggregate_metrics()
    tf.contrib.metrics.accuracy(ph(f(2)), ph(f(2)))
    tf.contrib.metrics.accuracy(ph(i(2)), ph(l(2)))
    """
)

FAMILY.expressions(
    """
    tf.contrib.losses.softmax_cross_entropy(ph(f(2, 3)), ph(unit(2, 3)), scope="mine").name
    tf.contrib.losses.mean_squared_error(ph(f(2, 3)), ph(unit(2, 3))).name
    tf.contrib.metrics.accuracy(ph(n(3, 6), [None]), ph(n(3, 6)))
    tf.contrib.metrics.accuracy(ph(n(2, 6)), ph(n(2, 6)), weights=pos(6))
    """
)


@FAMILY.case()
def losses_are_collected(tf, t):
    losses = tf.contrib.losses
    x, y = t.ph(t.f(2, 3)), t.ph(t.unit(2, 3))
    losses.softmax_cross_entropy(x, y)
    losses.mean_squared_error(x, y, scope="mine")
    with tf.contrib.framework.arg_scope([losses.add_loss], loss_collection="others"):
        losses.absolute_difference(x, y)
    losses.add_loss(tf.constant(7.0))
    losses.hinge_loss(x, y)
    tf.get_variable("w", initializer=t.f(2), regularizer=tf.contrib.layers.l2_regularizer(0.5))
    counts = len(losses.get_losses()), len(losses.get_losses("mine")), len(losses.get_losses(None, "others"))
    total = losses.get_total_loss()
    return counts, total, losses.get_total_loss(False), losses.get_regularization_losses(), total.name


def _streamed(make):
    def build(tf, t):
        value, update = make(tf.contrib.metrics, t)
        t.initialize()
        steps = [t.run([update])[0] for _ in range(2)]
        return steps, t.run(value), [v.name for v in tf.local_variables()], update.name

    return build


for _label, _make in {
    "accuracy": lambda m, t: m.streaming_accuracy(t.ph(t.n(2, 5)), t.ph(t.n(2, 5))),
    "accuracy, weighted": lambda m, t: m.streaming_accuracy(
        t.ph(t.n(2, 5)), t.ph(t.n(2, 5)), t.pos(5), name="right"
    ),
    "mean": lambda m, t: m.streaming_mean(t.ph(t.f(5)), weights=t.pos(5)),
    "mean_squared_error": lambda m, t: m.streaming_mean_squared_error(t.ph(t.f(5)), t.ph(t.f(5))),
    "root_mean_squared_error": lambda m, t: m.streaming_root_mean_squared_error(t.ph(t.f(5)), t.ph(t.f(5))),
    "mean_absolute_error": lambda m, t: m.streaming_mean_absolute_error(t.ph(t.f(5)), t.ph(t.f(5))),
    "mean_relative_error": lambda m, t: m.streaming_mean_relative_error(t.ph(t.f(5)), t.ph(t.f(5)), t.pos(5)),
    "mean_cosine_distance": lambda m, t: m.streaming_mean_cosine_distance(
        t.ph(t.f(2, 5)), t.ph(t.f(2, 5)), 1
    ),
    "mean_iou": lambda m, t: m.streaming_mean_iou(t.ph(t.n(3, 9)), t.ph(t.n(3, 9)), 3),
    "precision": lambda m, t: m.streaming_precision(t.ph(t.n(2, 9)), t.ph(t.n(2, 9))),
    "recall": lambda m, t: m.streaming_recall(t.ph(t.n(2, 9)), t.ph(t.n(2, 9))),
    "true_positives": lambda m, t: m.streaming_true_positives(t.ph(t.b(9)), t.ph(t.b(9))),
    "auc": lambda m, t: m.streaming_auc(t.ph(t.unit(9)), t.ph(t.b(9)), None, 20),
    "percentage_less": lambda m, t: m.streaming_percentage_less(t.ph(t.f(9)), 0.5),
    "recall_at_k": lambda m, t: m.streaming_recall_at_k(t.ph(t.f(4, 5)), t.ph(t.n(5, 4)), 2),
    "sparse_recall_at_k": lambda m, t: m.streaming_sparse_recall_at_k(
        t.ph(t.f(4, 5)), t.ph(t.n(5, 4, 1).astype("int64")), 2
    ),
    "precision_at_thresholds": lambda m, t: m.streaming_precision_at_thresholds(
        t.ph(t.unit(9)), t.ph(t.b(9)), [0.3, 0.6]
    ),
}.items():
    FAMILY.generated("streaming %s" % _label, _streamed(_make), _label, tolerance=(1e-5, 1e-6))


@FAMILY.case()
def measures_are_gathered(tf, t):
    metrics = tf.contrib.metrics
    pair = metrics.streaming_accuracy(t.ph(t.n(2, 5)), t.ph(t.n(2, 5)))
    other = metrics.streaming_mean(t.ph(t.f(5)))
    values, updates = metrics.aggregate_metrics(pair, other)
    by_name = metrics.aggregate_metric_map({"accuracy": pair, "mean": other})
    t.initialize()
    t.run(updates)
    return values, by_name[0], sorted(by_name[1])
