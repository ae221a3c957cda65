"""Distributions and bijectors of tf.contrib.distributions: densities, shapes, statistics, gradients, errors."""

import contextlib

from harness import Family

FAMILY = Family("contrib_distributions")

_NORMALS = {
    "TriL": "MultivariateNormalTriL(f(2), [[1.0, 5.0], [0.5, 2.0]])",
    "TriL of a batch": "MultivariateNormalTriL(f(3, 2), pos(1, 2, 2))",
    "TriL without a mean": "MultivariateNormalTriL(scale_tril=pos(3, 2, 2))",
    "TriL without a scale": "MultivariateNormalTriL(f(2))",
    "full": "MultivariateNormalFullCovariance(f(2), [[2.0, 0.5], [0.5, 1.0]])",
    "full of a batch": "MultivariateNormalFullCovariance(f(3, 2), [[[2.0, 0.5], [0.5, 1.0]]])",
    "mixture": "Mixture(Categorical(probs=[0.3, 0.7]), [Normal(0.0, 1.0), Normal(2.0, 0.5)])",
    "mixture of a batch": "Mixture(Categorical(logits=f(2, 2)), [Normal(f(2), pos(2)), Laplace(f(2), pos(2))])",
    "mixture of vectors": "Mixture(Categorical(probs=[0.3, 0.7]), [MultivariateNormalTriL(f(2)) for _ in range(2)])",
    "same family": "MixtureSameFamily(Categorical(probs=[0.2, 0.5, 0.3]), Normal(f(3), pos(3)))",
    "same family of a batch": "MixtureSameFamily(Categorical(logits=f(2, 3)), Normal(f(2, 3), pos(2, 3)))",
    "same family of vectors": "MixtureSameFamily(Categorical(logits=f(2)), MultivariateNormalDiag(f(2, 2), pos(2, 2)))",
    "independent": "Independent(Normal(f(3, 2), pos(3, 2)))",
    "one-hot": "OneHotCategorical(logits=f(3), dtype=float32)",
    "one-hot of a batch": "OneHotCategorical(probs=[[0.2, 0.8], [0.5, 0.5]], dtype=float32)",
    "logistic": "Logistic(f(2), pos(2))",
    "logarithms of relaxed": "ExpRelaxedOneHotCategorical(0.5, logits=f(3))",
    "relaxed": "RelaxedOneHotCategorical(0.5, probs=[[0.2, 0.8], [0.5, 0.5]])",
    "relaxed truths": "RelaxedBernoulli([0.5, 2.0], logits=f(2))",
    "independent, all": "Independent(Normal(f(2), pos(2)), reinterpreted_batch_ndims=1)",
    "independent, none": "Independent(Normal(f(2), pos(2)), 0)",
    "log-normal": "TransformedDistribution(Normal(f(2), pos(2)), bijectors.Exp())",
    "moved": "TransformedDistribution(Normal(f(2), pos(2)), bijectors.AffineScalar(shift=1.0, scale=[2.0, -3.0]))",
    "larger events": "TransformedDistribution(Normal(0.0, 1.0), bijectors.Affine(f(2), None, pos(2)), event_shape=[2])",
    "larger batch": "TransformedDistribution(Normal(0.0, 1.0), bijectors.Exp(), batch_shape=[3])",
    "batch and events": "TransformedDistribution(Normal(f(2), 1.0), bijectors.Exp(), event_shape=[3])",
}  # fmt: skip


def _described(text):
    def build(tf, t):
        there = {name: getattr(tf.contrib.distributions, name) for name in dir(tf.contrib.distributions)}
        there.update(f=t.f, pos=t.pos, float32=tf.float32)
        made = eval(text, there)
        shape = made.batch_shape.concatenate(made.event_shape).as_list()
        x = t.ph(t.unit(3, *shape))
        log_prob = made.log_prob(x)
        found = [made.batch_shape, made.event_shape, made.batch_shape_tensor(), made.event_shape_tensor()]
        found += [log_prob, tf.gradients(log_prob, x), made.prob(x), made.sample([2, 3]).shape]
        found.append(made.reparameterization_type is tf.distributions.FULLY_REPARAMETERIZED)
        for name in ("mean", "mode", "variance", "stddev", "covariance", "entropy"):
            with contextlib.suppress(NotImplementedError, ValueError):
                found.append(getattr(made, name)())
        return found

    return build


for _label, _text in _NORMALS.items():
    FAMILY.generated(
        _label, _described(_text), "tf.contrib.distributions.%s" % _text, names="none", tolerance=(1e-4, 1e-5)
    )

_BIJECTORS = (
    ("Identity()", ""),
    ("Exp()", "pos"),
    ("PowerTransform(0.5)", "pos"),
    ("Sigmoid()", "unit"),
    ("Softplus()", "pos"),
    ("Softplus(hinge_softness=[1.0, 0.5])", "pos"),
    ("Softsign()", "unit"),
    ("Square()", "pos"),
    ("AffineScalar(1.0, [2.0, -0.5])", "pos"),
    ("Gumbel(0.5, [2.0, 0.5])", "unit"),
    ("Affine([1.0, 2.0])", "pos"),
    ("Affine([1.0, 2.0], scale_identity_multiplier=3.0)", "pos"),
    ("Affine(scale_diag=[2.0, -3.0], scale_identity_multiplier=0.5)", "pos"),
    ("Affine([1.0, 2.0], scale_tril=[[2.0, 9.0], [1.0, -3.0]])", "pos"),
    ("Affine(scale_tril=[[[2.0, 0.0], [1.0, -3.0]]], shift=[1.0, 0.0])", "pos"),
    ("Affine(scale_diag=[2.0, 3.0], scale_perturb_factor=[[1.0], [0.5]], scale_perturb_diag=[2.0])", "pos"),
    ("Permute([1, 0])", "pos"),
    ("Invert(b.Exp())", "f"),
    ("Chain([b.Exp(), b.Affine(scale_diag=[2.0, -3.0])])", "pos"),
    ("Chain([])", "pos"),
    ("RealNVP(1, lambda x, count: (x * 2.0, tf.sin(x)))", "pos"),
    ("RealNVP(1, lambda x, count: (x * 2.0, None), is_constant_jacobian=True)", "pos"),
    ("MaskedAutoregressiveFlow(lambda y: (tf.cumsum(y, 1, exclusive=True), tf.cumsum(y, 1, exclusive=True)))", "unit"),
    ("Inline(tf.exp, tf.log, lambda y: -tf.log(y), forward_min_event_ndims=0)", "pos"),
)  # fmt: skip
"""Each with the inputs that it gives, by which it is inverted."""


def _both_ways(text, given):
    def build(tf, t):
        b = tf.contrib.distributions.bijectors
        made = eval("b." + text, {"b": b, "tf": tf})
        x, y = t.ph(t.pos(3, 2)), t.ph(getattr(t, given or "f")(3, 2))
        least = made.forward_min_event_ndims
        found = [least, made.inverse_min_event_ndims, made.is_constant_jacobian, made.name]
        found += [made.forward(x), made.inverse(y), made.inverse(made.forward(x)) is x]
        for ndims in range(least, 3):
            found.append(made.forward_log_det_jacobian(x, ndims) + 0.0 * x[0, 0])
            found.append(made.inverse_log_det_jacobian(y, ndims) + 0.0 * y[0, 0])
        found += tf.gradients([made.forward(x), tf.reduce_sum(made.inverse(y))], [x, y])
        return found + [made.forward_event_shape([2]), made.inverse_event_shape_tensor([2])]

    return build


for _text, _given in _BIJECTORS:
    FAMILY.generated(
        _text,
        _both_ways(_text, _given),
        "tf.contrib.distributions.bijectors.%s" % _text,
        names="none",
        tolerance=(1e-4, 1e-5),
    )


@FAMILY.case(names="none", tolerance=(1e-4, 1e-5))
def flows_with_their_networks(tf, t):
    b = tf.contrib.distributions.bijectors
    ones = tf.constant_initializer(0.3)
    template = b.masked_autoregressive_default_template([6, 4], kernel_initializer=ones)
    flow = b.MaskedAutoregressiveFlow(template)
    y = t.ph(t.f(3, 2), [None, 2])
    x = flow.inverse(y)
    found = [x, flow.inverse_log_det_jacobian(y, 1), flow.forward(tf.identity(x))]
    shift_only = b.masked_autoregressive_default_template([2], shift_only=True, kernel_initializer=ones)
    found.append(b.MaskedAutoregressiveFlow(shift_only, unroll_loop=True).forward(y))
    other = b.RealNVP(1, b.real_nvp_default_template([5], kernel_initializer=ones))
    found += [other.forward(y), other.inverse_log_det_jacobian(y, 1)]
    names = [v.op.name for v in tf.trainable_variables()]
    t.initialize()
    return t.run(found), len(names), names[:2]


@FAMILY.case(names="none", tolerance=(1e-4, 1e-5))
def divergences_of_normal_vectors(tf, t):
    d = tf.contrib.distributions
    made = [
        d.MultivariateNormalTriL(t.f(2), [[1.0, 0.0], [0.5, 2.0]]),
        d.MultivariateNormalFullCovariance(t.f(2), [[2.0, 0.5], [0.5, 1.0]]),
        d.MultivariateNormalDiag(t.f(2), t.pos(2)),
        d.MultivariateNormalTriL(t.f(3, 2), t.pos(3, 2, 2)),
    ]
    found = [a.kl_divergence(b) for a in made for b in made]
    pairs = [d.Independent(d.Normal(t.f(3, 2), t.pos(3, 2))) for _ in range(2)]
    return found, d.kl_divergence(*pairs), made[0].cross_entropy(made[1])


FAMILY.errors(
    """

    tf.contrib.distributions.Mixture(1, [])
    tf.contrib.distributions.Mixture(tf.distributions.Categorical(probs=[0.5, 0.5]), [])
    tf.contrib.distributions.Mixture(tf.distributions.Categorical(probs=[0.5, 0.5]), [1.0])
    tf.contrib.distributions.Mixture(tf.distributions.Categorical(probs=[1.0]), [tf.distributions.Normal(0.0, 1.0)] * 2)
    tf.contrib.distributions.MixtureSameFamily(tf.distributions.Normal(0.0, 1.0), tf.distributions.Normal([0.0], 1.0))
    tf.contrib.distributions.bijectors.Permute([0.0, 1.0])
    tf.contrib.distributions.bijectors.Permute([0, 2])
    tf.contrib.distributions.bijectors.PowerTransform(-1.0)
    tf.contrib.distributions.bijectors.Exp().forward_log_det_jacobian(ph(f(2)), -1)
    tf.contrib.distributions.bijectors.Permute([0, 1]).forward_log_det_jacobian(ph(f(2)), 0)
    tf.contrib.distributions.bijectors.RealNVP(0, None)

    """
)


@FAMILY.case()
def chains_of_other_ranks(tf, t):
    b = tf.contrib.distributions.bijectors

    class Grows(b.Bijector):
        def __init__(self, forward, inverse):
            super(Grows, self).__init__(
                forward_min_event_ndims=forward, inverse_min_event_ndims=inverse, name="grows"
            )

    found = []
    for ranks in [
        ((0, 0), (1, 1)),
        ((1, 1), (2, 3)),
        ((2, 3), (1, 1)),
        ((3, 2), (2, 1)),
        ((1, 3), (0, 0), (2, 1)),
    ]:
        chain = b.Chain([Grows(*each) for each in ranks])
        found.append((chain.forward_min_event_ndims, chain.inverse_min_event_ndims))
    return found


FAMILY.errors(
    """
    tf.contrib.distributions.bijectors.Affine(scale_perturb_diag=[1.0])
    tf.contrib.distributions.bijectors.Softsign(validate_args=True).inverse(ph(pos(3) + 1.0))
    tf.contrib.distributions.bijectors.Permute(ph([0, 2]), validate_args=True).forward(f(2))
    tf.contrib.distributions.bijectors.Affine(scale_diag=ph([0.0, 2.0]), validate_args=True).forward(f(2))
    """
)
