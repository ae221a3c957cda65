"""Pools and convolutions of any number of axes, labels of sequences as dense tensors, and samplers of all classes."""

from harness import Family

FAMILY = Family("nn_odds")

for _kind in ("avg", "max"):
    FAMILY.differentiable(
        """
        tf.nn.{0}_pool1d(ph(f(2, 5, 3)), 2, 2, "VALID")
        tf.nn.{0}_pool1d(ph(f(2, 5, 3), [None, 5, 3]), [1, 3, 1], [1, 2, 1], "SAME", name="pooled")
        tf.nn.{0}_pool_v2(ph(f(2, 5, 3)), 2, 2, "SAME")
        tf.nn.{0}_pool_v2(ph(f(1, 4, 5, 2)), [2, 3], 2, "VALID")
        tf.nn.{0}_pool_v2(ph(f(1, 4, 4, 2)), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", "NHWC", "pooled")
        tf.nn.{0}_pool_v2(ph(f(1, 3, 4, 4, 2)), 2, 2, "VALID")
        """.format(_kind)
    )
    FAMILY.errors(
        """
        tf.nn.{0}_pool_v2(ph(f(3, 4)), 2, 2, "SAME")
        tf.nn.{0}_pool1d(ph(f(2, 5, 3)), [1, 2], 2, "SAME")
        tf.nn.{0}_pool1d(ph(f(2, 5, 3)), 2, 2, "BOTH")
        """.format(_kind)
    )

FAMILY.differentiable(
    """
    tf.nn.conv1d_transpose(ph(f(2, 3, 2)), ph(f(3, 4, 2)), [2, 6, 4], 2)
    tf.nn.conv1d_transpose(ph(f(2, 3, 2)), ph(f(3, 4, 2)), tf.constant([2, 7, 4]), [1, 2, 1], "VALID", name="longer")
    tf.nn.conv_transpose(ph(f(2, 3, 2)), ph(f(3, 4, 2)), [2, 6, 4], 2)
    tf.nn.conv_transpose(ph(f(1, 2, 2, 2)), ph(f(2, 2, 3, 2)), [1, 4, 4, 3], 2)
    tf.nn.conv_transpose(ph(f(1, 2, 2, 2, 2)), ph(f(2, 2, 2, 3, 2)), [1, 4, 4, 4, 3], 2)
    """
)
FAMILY.errors(
    """
    tf.nn.conv_transpose(ph(f(2, 3)), ph(f(2, 3)), [2, 3], 1)
    tf.nn.conv_transpose(ph(f(2, 3)), ph(f(2, 3)), None, 1)
    """
)

_DENSE = "np.array([[1, 2, 2, 1], [3, 1, 0, 0]])"
# What these are made of differs, and with it the names and what is known of the shapes.
FAMILY.expressions(
    """
    [tf.placeholder_with_default(t, None) for t in tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [1, 2, 3, 4, 5]], [5, 5])]
    [tf.placeholder_with_default(t, None) for t in tf.nn.collapse_repeated(np.array([[3, 3], [0, 1]]), ph([1, 2]))]
    [tf.placeholder_with_default(t, None) for t in tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 2, 3, 1]])]
    [tf.placeholder_with_default(t, None) for t in tf.nn.ctc_unique_labels(ph(DENSE))]
    [tf.identity(t) for t in tf.nn.all_candidate_sampler(np.array([[1], [3]]), 1, 4, True)]
    [tf.placeholder_with_default(t, None) for t in tf.nn.compute_accidental_hits(DENSE[:, :2], [2, 4, 1], 2)]
    """.replace("DENSE", _DENSE)
)
# All frames are used: behind the last one TensorFlow's gradient is that of no loss.
FAMILY.differentiable(
    """
    tf.nn.ctc_loss_v2(DENSE, ph(f(6, 2, 5)), [4, 2], [6, 6])
    tf.nn.ctc_loss_v2(DENSE, ph(f(2, 6, 5)), [4, 2], [6, 6], logits_time_major=False)
    tf.nn.ctc_loss_v2(DENSE - 1, ph(f(6, 2, 5)), [2, 1], [6, 6], blank_index=-1)
    """.replace("DENSE", _DENSE)
)
