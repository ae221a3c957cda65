"""Distributions of tf.contrib.distributions: of counts, of positive numbers, Cauchy's, of one value alone."""

import contextlib

import numpy as np
from harness import Family

FAMILY = Family("contrib_counts")

_MADE = {
    "Poisson's": "Poisson(pos(3) * 2)",
    "Poisson's of a logarithm": "Poisson(log_rate=f(2, 3))",
    "geometric": "Geometric(probs=unit(3))",
    "geometric by logits": "Geometric(f(2, 3))",
    "binomial": "Binomial([4.0, 5.0, 6.0], probs=unit(3))",
    "binomial by logits": "Binomial(7.0, logits=f(2, 3))",
    "negative binomial": "NegativeBinomial(pos(3) * 3, probs=unit(3))",
    "negative binomial by logits": "NegativeBinomial([2.5, 1.5], logits=f(2))",
    "half normal": "HalfNormal(pos(3))",
    "inverse gamma": "InverseGamma([0.5, 1.5, 3.0], pos(3))",
    "chi-squared": "Chi2([1.0, 2.5, 4.0])",
    "Cauchy's": "Cauchy(f(3), pos(3))",
    "one number": "Deterministic([1.0, 2.0, 3.0])",
    "one number, nearly": "Deterministic([1.0, 2.0, 3.0], atol=0.5, rtol=0.25)",
    "one vector": "VectorDeterministic([[1.0, 2.0, 1.0], [2.0, 1.0, 3.0]], atol=1.0)",
}


def _described(text, batched=True):
    def build(tf, t):
        there = {name: getattr(tf.contrib.distributions, name) for name in dir(tf.contrib.distributions)}
        there.update(f=t.f, pos=t.pos, unit=t.unit)
        made = eval(text, there)
        shape = made.batch_shape.concatenate(made.event_shape).as_list()
        x = t.ph(np.floor(t.unit(*([4] * batched), *shape) * 5))
        found = [made.batch_shape, made.event_shape, made.batch_shape_tensor(), made.event_shape_tensor()]
        found += [made.prob(x), made.dtype]
        with contextlib.suppress(NotImplementedError):
            found.append(made.sample([2, 3]).shape)
        found.append(made.reparameterization_type is tf.distributions.FULLY_REPARAMETERIZED)
        for name in ("log_prob", "cdf", "log_cdf", "survival_function"):
            with contextlib.suppress(NotImplementedError):
                found.append(getattr(made, name)(x))
        for name in ("mean", "mode", "variance", "stddev", "entropy"):
            with contextlib.suppress(NotImplementedError):
                found.append(getattr(made, name)())
        return found

    return build


for _label, _text in _MADE.items():
    FAMILY.generated(
        _label,
        _described(_text, not _text.startswith("Negative")),
        "tf.contrib.distributions.%s" % _text,
        names="none",
        tolerance=(1e-4, 1e-5),
    )

FAMILY.differentiable(
    """
    tf.contrib.distributions.Poisson(ph(pos(3))).log_prob(ph([0.0, 2.0, 5.0]))
    tf.contrib.distributions.Geometric(ph(f(3))).log_prob([0.0, 2.0, 5.0])
    tf.contrib.distributions.NegativeBinomial(ph(pos(3)), ph(f(3))).log_prob([0.0, 2.0, 5.0])
    tf.contrib.distributions.Binomial(6.0, probs=ph(unit(3))).log_prob(ph([0.0, 2.0, 5.0]))
    tf.contrib.distributions.InverseGamma(ph(pos(3)), ph(pos(3))).log_prob(ph(pos(3)))
    tf.contrib.distributions.Cauchy(ph(f(3)), ph(pos(3))).quantile(ph(unit(3)))
    """,
    names="none",
    tolerance=(1e-4, 1e-5),
)

FAMILY.errors(
    """
    tf.contrib.distributions.Poisson()
    tf.contrib.distributions.Poisson(1.0, 0.0)
    tf.contrib.distributions.Poisson(2)
    tf.contrib.distributions.Poisson(ph([-1.0]), validate_args=True).mean()
    tf.contrib.distributions.Poisson(1.0, validate_args=True).log_prob(ph([0.5]))
    tf.contrib.distributions.Geometric()
    tf.contrib.distributions.Cauchy(0.0, 1.0, allow_nan_stats=False).mean()
    tf.contrib.distributions.InverseGamma(ph(0.5), 1.0, allow_nan_stats=False).mean()
    tf.contrib.distributions.VectorDeterministic(1.0, validate_args=True)
    tf.contrib.distributions.Binomial(3.0, probs=0.5, validate_args=True).log_prob(ph([4.0]))
    tf.contrib.distributions.Binomial(3.0, probs=0.5).sample()
    """
)


@FAMILY.case()
def draws_by_seeds(tf, t):
    d = tf.contrib.distributions
    made = [d.HalfNormal([1.0, 2.0]), d.Geometric(probs=[0.3, 0.6]), d.Cauchy(0.0, [1.0, 2.0])]
    return [one.sample(5, seed=3) for one in made] + [d.Deterministic([1.0, 2.0]).sample(2)]


FAMILY.differentiable(
    """
    tf.contrib.distributions.fill_triangular(ph(f(2, 6), [None, 6]))
    tf.contrib.distributions.fill_triangular(ph(f(3)), upper=True)
    tf.contrib.distributions.fill_triangular(ph(f(2, 10), None))
    tf.contrib.distributions.fill_triangular_inverse(ph(f(2, 3, 3)))
    tf.contrib.distributions.fill_triangular_inverse(ph(f(4, 4), [None, None]), upper=True)
    tf.contrib.distributions.bijectors.ScaleTriL().forward(ph(f(2, 6)))
    tf.contrib.distributions.bijectors.ScaleTriL(tf.contrib.distributions.bijectors.Exp(), None).forward(ph(f(3)))
    2.0 * tf.contrib.distributions.bijectors.ScaleTriL().forward_log_det_jacobian(ph(f(2, 6)), 1)
    tf.contrib.distributions.bijectors.ScaleTriL().inverse(ph(pos(2, 3, 3)))
    tf.contrib.distributions.bijectors.ScaleTriL().inverse_log_det_jacobian(ph(pos(2, 3, 3)), 2)
    tf.contrib.distributions.bijectors.CholeskyOuterProduct().forward(ph(f(2, 3, 3)))
    2.0 * tf.contrib.distributions.bijectors.CholeskyOuterProduct().forward_log_det_jacobian(ph(pos(2, 3, 3)), 2)
    tf.contrib.distributions.bijectors.TransformDiagonal(tf.contrib.distributions.bijectors.Exp()).forward(ph(f(2, 2)))
    """,
    names="none",
    tolerance=(1e-4, 1e-5),
)
FAMILY.expressions(
    """
    tf.contrib.distributions.bijectors.FillTriangular().forward_event_shape(tf.TensorShape([4, 6]))
    tf.contrib.distributions.bijectors.FillTriangular().inverse_event_shape(tf.TensorShape([4, 3, 3]))
    tf.contrib.distributions.bijectors.FillTriangular().forward_event_shape_tensor([4, 6])
    tf.contrib.distributions.bijectors.FillTriangular().inverse_event_shape_tensor([4, 3, 3])
    tf.contrib.distributions.bijectors.CholeskyOuterProduct().inverse(ph(np.array([[4.0, 2.0], [2.0, 5.0]])))
    """,
    names="none",
    tolerance=(1e-4, 1e-5),
)
FAMILY.errors("tf.contrib.distributions.fill_triangular(ph(f(4)))")
