"""Activations, softmax and cross entropies, normalisation, bias, dropout."""

from harness import Family

FAMILY = Family("nn")

for _name in ("relu", "relu6", "elu", "selu", "leaky_relu", "softplus", "softsign"):
    FAMILY.differentiable(
        """
        tf.nn.{0}(ph(f(2, 3)))
        tf.nn.{0}(ph(f(2, 3) * 5, [None, 3]))
        tf.nn.{0}(ph(d(4), None))
        """.format(_name)
    )
    FAMILY.expressions("tf.nn.{0}([-1.0, 0.0, 8.0])".format(_name))
    FAMILY.expressions("tf.nn.{0}(ph(f(0, 2)), name='active')".format(_name))

for _name in ("softmax", "log_softmax"):
    FAMILY.differentiable(
        """
        tf.nn.{0}(ph(f(2, 3)))
        tf.nn.{0}(ph(f(4)))
        tf.nn.{0}(ph(f(2, 3, 4)))
        tf.nn.{0}(ph(f(2, 3), [None, 3]))
        tf.nn.{0}(ph(f(2, 3), None))
        tf.nn.{0}(ph(f(2, 3)), 0)
        tf.nn.{0}(ph(f(2, 3, 4)), axis=1)
        tf.nn.{0}(ph(f(2, 3)), dim=-1)
        tf.nn.{0}(ph(d(2, 3)), axis=-1)
        """.format(_name)
    )
    FAMILY.expressions(
        """
        tf.nn.{0}([[1000.0, 0.0], [-1000.0, 1000.0]])
        tf.nn.{0}(logits=[1.0, 2.0], name="probabilities")
        tf.nn.{0}(ph(f(0, 3)))
        """.format(_name)
    )
    FAMILY.errors("tf.nn.{0}(ph(i(2, 3)))\ntf.nn.{0}(ph(f(2, 3)), 2)\ntf.nn.{0}(1.0)".format(_name))

_DISTRIBUTION = "np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32)"

FAMILY.differentiable(
    """
    tf.nn.relu(ph([-1.0, 0.0, 1.0]))
    tf.nn.leaky_relu(ph(f(4)), alpha=0.5)
    tf.nn.leaky_relu(ph(f(4)), 0.1)
    tf.nn.leaky_relu(ph(f(4)), 3.0)
    tf.nn.leaky_relu(ph(f(4)), -0.5)
    tf.nn.bias_add(ph(f(2, 3)), ph(f(3)))
    tf.nn.bias_add(ph(f(2, 2, 2, 3), [None, 2, 2, 3]), ph(f(3)))
    tf.nn.xw_plus_b(ph(f(2, 3)), ph(f(3, 4)), ph(f(4)))
    tf.nn.relu_layer(ph(f(2, 3)), ph(f(3, 4)), ph(f(4)))
    tf.nn.l2_loss(ph(f(2, 3)))
    tf.nn.l2_normalize(ph(f(2, 3)), 1)
    tf.nn.l2_normalize(ph(f(2, 3)), axis=0)
    tf.nn.l2_normalize(ph(f(2, 3)), axis=[0, 1], epsilon=0.5)
    tf.nn.sigmoid_cross_entropy_with_logits(labels=ph(unit(2, 3)), logits=ph(f(2, 3)))
    tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=ph([50.0, -50.0]))
    tf.nn.weighted_cross_entropy_with_logits(labels=ph(unit(3)), logits=ph(f(3)), pos_weight=2.0)
    tf.nn.weighted_cross_entropy_with_logits(targets=[1.0, 0.0], logits=ph(f(2)), pos_weight=0.5)
    tf.nn.softmax_cross_entropy_with_logits(labels=ph(DIST), logits=ph(f(2, 3)))
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(DIST), logits=ph(f(2, 3)))
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(DIST.T.copy()), logits=ph(f(3, 2)), axis=0)
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(DIST, [None, 3]), logits=ph(f(2, 3), [None, 3]))
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.stop_gradient(ph(DIST)), logits=ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([2, 0]), logits=ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=ph(d(1, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([[2, 0]]), logits=ph(f(1, 2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([2, 0], [None]), logits=ph(f(2, 3), [None, 3]))
    tf.nn.moments(ph(f(2, 3)), [0])
    tf.nn.moments(ph(f(2, 3, 2)), axes=[0, 1], keep_dims=True)
    tf.nn.moments(ph(f(2, 3), [None, 3]), 0)
    tf.nn.moments(ph(f(2, 3, 4, 2)), [0, 1, 2])
    tf.nn.batch_normalization(ph(f(2, 3)), ph(f(3)), ph(pos(3)), ph(f(3)), ph(pos(3)), 1e-3)
    tf.nn.batch_normalization(ph(f(2, 3)), ph(f(3)), ph(pos(3)), None, None, 0.01)
    tf.nn.batch_normalization(ph(f(4, 2)), ph(f(2)), ph(pos(2)), ph(f(2)), None, variance_epsilon=0.1)
    tf.nn.dropout(ph(f(2, 3)), 1.0)
    tf.nn.dropout(ph(f(2, 3)), rate=0.0)
    """.replace("DIST", _DISTRIBUTION),
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.nn.relu(ph(i(4)))
    tf.nn.relu6([-1.0, 3.0, 9.0])
    tf.nn.leaky_relu([-2, 3])
    tf.nn.bias_add([[1.0, 2.0]], [3.0, 4.0], name="shifted")
    tf.nn.bias_add(value=ph(i(2, 3)), bias=[1, 2, 3])
    tf.nn.bias_add(ph(f(2, 3)), var([1.0, 2.0, 3.0]))
    tf.nn.xw_plus_b(ph(f(2, 3), [None, 3]), ph(f(3, 1)), ph(f(1)), name="affine")
    tf.nn.l2_loss(ph(f(3)), name="decay")
    tf.nn.l2_loss([3.0, 4.0])
    tf.nn.l2_normalize(ph(f(2, 3)), dim=1, name="directions")
    tf.math.l2_normalize(tf.zeros([2, 2]), 1)
    tf.nn.sigmoid_cross_entropy_with_logits(labels=ph(unit(2)), logits=ph(f(2)), name="xent")
    tf.nn.sigmoid_cross_entropy_with_logits(logits=ph(f(2, 1), [None, 1]), labels=ph(unit(2, 1), [None, 1]))
    tf.nn.softmax_cross_entropy_with_logits(labels=ph(DIST), logits=ph(f(2, 3)), name="xent")
    tf.nn.softmax_cross_entropy_with_logits(labels=ph(DIST), logits=ph(f(2, 3)), dim=-1)
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(DIST), logits=ph(f(2, 3)), name="xent")
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0.0, 1.0]], logits=[[1000.0, -1000.0]])
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=[0.0, 1.0], logits=[1.0, 2.0])
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0, 1]], logits=[[1.0, 2.0]])
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(DIST, None), logits=ph(f(2, 3), None))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([2, 0]), logits=ph(f(2, 3)), name="xent")
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant([1, 0], tf.int64), logits=[[1.0, 2.0], [0.0, 9]])
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=1, logits=[1.0, 2.0, 3.0])
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([0], [None]), logits=ph(f(1, 2), None))
    tf.nn.moments(ph(f(2, 3)), axes=[1], keepdims=True, name="mv")
    tf.nn.moments(ph(f(2, 3)), [0, 1], shift=None)
    tf.nn.moments(ph(np.ones([2, 3]), dtype=tf.float16), [0])
    tf.nn.batch_normalization(ph(f(2, 3), [None, 3]), ph([0.0]), ph([1.0]), [0.0], [2.0], 1e-3, name="bn")
    tf.nn.batch_normalization(x=ph(f(2, 1)), mean=0.0, variance=1.0, offset=1.0, scale=None, variance_epsilon=0.0)
    tf.nn.fused_batch_norm(ph(f(2, 2, 2, 3)), [1.0, 2.0, 3.0], [0.0, 0.5, 1.0])
    tf.nn.fused_batch_norm(ph(f(1, 2, 2, 2)), [1.0, 2.0], [0.0, 0.5], [0.1, 0.2], [1.0, 2.0], is_training=False)[0]
    tf.nn.dropout(ph(f(3)), keep_prob=1)
    tf.nn.log_softmax(ph(f(2, 3)), name="lp")
    tf.nn.relu(features=[-1.0, 1.0])
    tf.nn.elu(features=[-1.0, 1.0])
    tf.nn.softplus(features=[-1.0, 1.0])
    tf.nn.local_response_normalization(ph(f(1, 2, 2, 5)))
    tf.nn.lrn(ph(f(1, 2, 2, 5)), depth_radius=2, bias=1.0, alpha=0.001, beta=0.75, name="norm")
    tf.nn.lrn(ph(f(1, 1, 2, 4)), 1, bias=2.0, alpha=0.5)
    """.replace("DIST", _DISTRIBUTION),
    tolerance=(5e-5, 5e-6),
)

FAMILY.gradients(
    """
    tf.nn.fused_batch_norm(ph(f(2, 2, 2, 3)), ph(f(3)), ph(f(3)))[0]
    tf.nn.lrn(ph(f(1, 2, 2, 5)), 2, alpha=0.1)
    """,
    tolerance=(5e-4, 5e-5),
)

FAMILY.errors(
    """
    tf.nn.bias_add(ph(f(2, 3)), ph(f(2)))
    tf.nn.bias_add(ph(f(3)), ph(f(3)))
    tf.nn.bias_add(ph(f(2, 3)), ph(f(1, 3)))
    tf.nn.bias_add(ph(f(2, 3)), ph(f(3)), data_format="XYZ")
    tf.nn.bias_add(ph(f(2, 3)), ph(i(3)))
    tf.nn.bias_add(ph(f(2, 3), None), ph(f(2), None))
    tf.nn.relu("a")
    tf.nn.elu(ph(i(2)))
    tf.nn.sigmoid_cross_entropy_with_logits(ph(f(2)), ph(f(2)))
    tf.nn.sigmoid_cross_entropy_with_logits(labels=ph(f(2)), logits=ph(f(3)))
    tf.nn.sigmoid_cross_entropy_with_logits(labels=ph(f(2, 1)), logits=ph(f(2)))
    tf.nn.sigmoid_cross_entropy_with_logits(labels=ph(i(2)), logits=ph(f(2)))
    tf.nn.sigmoid_cross_entropy_with_logits(logits=ph(f(2)))
    tf.nn.softmax_cross_entropy_with_logits(ph(f(2, 3)), ph(f(2, 3)))
    tf.nn.softmax_cross_entropy_with_logits(labels=ph(f(2, 3)))
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(f(2, 3)), logits=ph(f(2, 4)))
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(f(3, 3)), logits=ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(ph([0, 1]), ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([0, 1, 2]), logits=ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([[0, 1]]), logits=ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([0.0, 1.0]), logits=ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([0, 3]), logits=ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ph([0, -1]), logits=ph(f(2, 3)))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=1, logits=2.0)
    tf.nn.weighted_cross_entropy_with_logits(labels=ph(f(2)), logits=ph(f(3)), pos_weight=1.0)
    tf.nn.dropout(ph(f(2)), 0.0)
    tf.nn.dropout(ph(f(2)), 1.5)
    tf.nn.dropout(ph(f(2)), rate=1.0)
    tf.nn.dropout(ph(f(2)), rate=-0.1)
    tf.nn.dropout(ph(f(2)), keep_prob=0.5, rate=0.2)
    tf.nn.dropout(ph(f(2)))
    tf.nn.dropout(ph(i(2)), 0.5)
    tf.nn.moments(ph(f(2, 3)), [3])
    tf.nn.batch_normalization(ph(f(2, 3)), ph(f(2)), 1.0, None, None, 1e-3)
    tf.nn.l2_normalize(ph(f(2, 3)), 4)
    tf.nn.l2_loss(ph(i(3)))
    tf.nn.xw_plus_b(ph(f(2, 3)), ph(f(2, 3)), ph(f(3)))
    """
)

# Windows of channels.
FAMILY.expressions(
    """
    tf.nn.max_pool(ph(f(2, 3, 3, 6), [None, 3, 3, 6]), [1, 1, 1, 3], [1, 1, 1, 3], "SAME")
    tf.nn.max_pool(f(1, 2, 2, 4), [1, 1, 1, 2], [1, 1, 1, 2], "VALID")
    """
)
