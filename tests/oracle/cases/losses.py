"""tf.losses: every loss, with weights of every shape, reductions, collections and names."""

from harness import Family

FAMILY = Family("losses")

REDUCTIONS = (
    "NONE",
    "SUM",
    "MEAN",
    "SUM_OVER_BATCH_SIZE",
    "SUM_OVER_NONZERO_WEIGHTS",
    "SUM_BY_NONZERO_WEIGHTS",
)
PAIRWISE = (
    "mean_squared_error",
    "absolute_difference",
    "huber_loss",
    "log_loss",
    "hinge_loss",
    "mean_pairwise_squared_error",
)
_ONE_HOT = "np.eye(3, dtype=np.float32)[[2, 0]]"

for _name in PAIRWISE:
    _labels = "np.round(unit(2, 3))" if _name == "hinge_loss" else "unit(2, 3)"
    _predictions = "%s=ph(%s)" % (
        ("logits", "f(2, 3)") if _name == "hinge_loss" else ("predictions", "unit(2, 3)")
    )
    _call = "tf.losses.{0}(labels=ph({1}), {2}".format(_name, _labels, _predictions)
    FAMILY.differentiable(
        """
        {0})
        {0}, weights=0.5)
        {0}, weights=[[2.0], [0.0]])
        """.format(_call)
    )
    FAMILY.expressions(
        """
        {0}, weights=[[0.0], [0.0]])
        {0}, weights=tf.constant([[1.0], [3.0]]))
        {0}, scope="my_loss").name
        [{0}), tf.get_collection(tf.GraphKeys.LOSSES)]
        [{0}, loss_collection=None), tf.get_collection(tf.GraphKeys.LOSSES)]
        [{0}, loss_collection="others"), tf.get_collection("others")]
        """.format(_call)
    )
    FAMILY.errors(
        """
        {0}, weights=None)
        {0}, weights=[1.0, 2.0, 3.0, 4.0])
        """.format(_call)
    )
    if _name != "mean_pairwise_squared_error":
        for _reduction in REDUCTIONS:
            FAMILY.expressions(
                "{0}, weights=[[2.0], [0.0]], reduction=tf.losses.Reduction.{1})".format(_call, _reduction)
            )
        FAMILY.expressions(
            "{0}, weights=ph(pos(2, 3)))\n{0}, weights=ph(pos(2, 1), [None, 1]))".format(_call)
        )
        FAMILY.errors("{0}, reduction='nonsense')".format(_call))
        _other = _call.replace("(2, 3)", "(2, 2)", 1)
        FAMILY.errors("{0})".format(_other))

for _name, _labels in (
    ("sigmoid_cross_entropy", "np.round(unit(2, 3))"),
    ("softmax_cross_entropy", _ONE_HOT),
    ("sparse_softmax_cross_entropy", "[2, 0]"),
):
    _call = "tf.losses.{0}(ph({1}), ph(f(2, 3))".format(_name, _labels)
    _weights = "[[2.0], [0.0]]" if _name == "sigmoid_cross_entropy" else "[2.0, 0.0]"
    FAMILY.differentiable("{0})\n{0}, weights=0.5)\n{0}, weights={1})".format(_call, _weights))
    FAMILY.expressions(
        """
        {0}, scope="my_loss").name
        [{0}), tf.get_collection(tf.GraphKeys.LOSSES)]
        {0}, weights=tf.zeros_like({1}))
        """.format(_call, _weights)
    )
    for _reduction in REDUCTIONS:
        FAMILY.expressions(
            "{0}, weights={1}, reduction=tf.losses.Reduction.{2})".format(_call, _weights, _reduction)
        )
    FAMILY.errors(
        "{0}, weights=None)\n{0}, weights=[1.0, 2.0, 3.0, 4.0])\n{0}, reduction='nonsense')".format(_call)
    )

FAMILY.differentiable(
    """
    tf.losses.huber_loss(ph([0.0, 0.0, 0.0]), ph([0.5, 1.0, 4.0]), delta=2.0)
    tf.losses.log_loss(ph([0.0, 1.0]), ph([0.25, 0.5]), epsilon=0.1)
    tf.losses.sigmoid_cross_entropy(multi_class_labels=ph([[0.0, 1.0]]), logits=ph(f(1, 2)), label_smoothing=0.2)
    tf.losses.softmax_cross_entropy(onehot_labels=ph([[0.0, 1.0, 0.0]]), logits=ph(f(1, 3)), label_smoothing=0.3)
    tf.losses.softmax_cross_entropy([[0, 1, 0]], ph(f(1, 3)))
    tf.losses.softmax_cross_entropy([[0, 1, 0]], ph(f(1, 3)), 2.0, 0.1, "scoped")
    tf.losses.sparse_softmax_cross_entropy(labels=ph([[2], [0]]), logits=ph(f(2, 3)))
    tf.losses.sparse_softmax_cross_entropy(labels=ph([2, 0], [None]), logits=ph(f(2, 3), [None, 3]))
    tf.losses.mean_squared_error(ph(f(2, 3), [None, 3]), ph(f(2, 3), [None, 3]))
    tf.losses.mean_squared_error(ph(f(3), None), ph(f(3), None))
    tf.losses.compute_weighted_loss(ph(f(2, 3)), weights=ph(pos(2, 1)))
    """
)

FAMILY.expressions(
    """
    tf.losses.mean_squared_error([1, 2, 3], [1.5, 2.5, 2.0])
    tf.losses.mean_squared_error(ph(d(3)), ph(f(3)))
    tf.losses.mean_squared_error(ph(f(0, 2)), ph(f(0, 2)))
    tf.losses.mean_squared_error(2.0, 3.0)
    tf.losses.absolute_difference([[1, 2]], [[3.0, 3.0]], weights=2)
    tf.losses.hinge_loss([1.0, 0.0], [0.3, -2.0])
    tf.losses.compute_weighted_loss([1.0, 2.0, 3.0])
    tf.losses.compute_weighted_loss([1.0, 2.0, 3.0], [1.0, 0.0, 1.0], reduction=tf.losses.Reduction.SUM)
    tf.losses.compute_weighted_loss(ph(i(3)), 2.0)
    tf.losses.Reduction.all()
    tf.losses.Reduction.validate("weighted_sum")
    tf.losses.Reduction.SUM
    """
)

FAMILY.errors(
    """
    tf.losses.mean_squared_error(None, ph(f(2)))
    tf.losses.mean_squared_error(ph(f(2)), None)
    tf.losses.huber_loss(None, ph(f(2)))
    tf.losses.softmax_cross_entropy(ph(f(2, 3)), ph(f(2, 2)))
    tf.losses.softmax_cross_entropy(None, ph(f(2, 3)))
    tf.losses.sparse_softmax_cross_entropy([0, 1, 2], ph(f(2, 3)))
    tf.losses.sparse_softmax_cross_entropy(ph([0, 3]), ph(f(2, 3)))
    tf.losses.sigmoid_cross_entropy(ph(f(2)), None)
    tf.losses.sigmoid_cross_entropy(ph(f(2)), ph(f(3)))
    tf.losses.Reduction.validate("nonsense")
    """
)


@FAMILY.case()
def total_of_the_collected_losses(tf, t):
    tf.losses.mean_squared_error(t.ph([1.0, 2.0]), [2.0, 4.0])
    with tf.name_scope("second"):
        tf.losses.add_loss(tf.constant(10.0))
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(100.0))
    found = [
        tf.losses.get_total_loss(),
        tf.losses.get_total_loss(add_regularization_losses=False, name="plain"),
    ]
    found += [tf.losses.get_losses(), tf.losses.get_losses("second"), tf.losses.get_regularization_losses()]
    return found + [tf.losses.get_regularization_loss()]


@FAMILY.case(names="full")
def names_of_the_values(tf, t):
    x, y = t.ph([[0.25, 0.5]]), t.ph([[0.0, 1.0]])
    made = [
        tf.losses.mean_squared_error(y, x),
        tf.losses.absolute_difference(y, x),
        tf.losses.huber_loss(y, x),
        tf.losses.log_loss(y, x),
        tf.losses.hinge_loss(y, x),
        tf.losses.sigmoid_cross_entropy(y, x),
        tf.losses.softmax_cross_entropy(y, x),
        tf.losses.sparse_softmax_cross_entropy([1], x),
        tf.losses.mean_squared_error(y, x),
        tf.losses.mean_squared_error(y, x, scope="mine"),
    ]
    return [loss.name for loss in made]
