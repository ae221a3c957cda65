"""tf.distributions: shapes, dtypes, numbers, gradients, and the samples of a seed."""

from harness import Family

FAMILY = Family("distributions")

FAMILY.differentiable(
    """
    tf.distributions.Normal(ph(f(3)), ph(pos(2, 3), [None, 3])).log_prob(ph(f(2, 3)))
    tf.distributions.Normal(ph(f(3)), 2.0).prob(1)
    tf.distributions.Normal(ph(d(3)), ph(d(3) ** 2)).log_prob(ph(d(3)))
    tf.distributions.Normal(ph(f(3)), ph(pos(3))).sample([2, 4], seed=3)
    tf.distributions.Normal(ph(f(3)), ph(pos(3))).sample(seed=3)
    tf.distributions.Normal(ph(f(3)), ph(pos(3), None)).sample(2, seed=4)
    tf.distributions.Normal(ph(d(3)), ph(d(3) ** 2)).sample(ph([2, 2]), seed=5)
    tf.distributions.Normal(ph(f(3)), ph(pos(2, 1))).entropy()
    tf.distributions.Normal(ph(f(3)), ph(pos(2, 1))).mean()
    tf.distributions.Normal(ph(f(3)), ph(pos(2, 1))).mode()
    tf.distributions.Normal(ph(f(3)), ph(pos(2, 1))).stddev()
    tf.distributions.Normal(ph(f(3)), ph(pos(2, 1))).variance()
    tf.distributions.Normal(ph(f(3)), ph(pos(3))).cdf(ph(f(3)))
    tf.distributions.Normal(0.0, 1.0).log_cdf(ph(np.float32([-30, -9.5, -5, -1, 0, 1, 4, 6])))
    tf.distributions.Normal(ph(d(1)), ph(d(1) ** 2)).log_cdf(ph(d(3)))
    tf.distributions.Normal(ph(f(3)), ph(pos(3))).survival_function(ph(f(3)))
    tf.distributions.Normal(ph(f(3)), ph(pos(3))).log_survival_function(ph(f(3)))
    tf.distributions.Normal(ph(f(3)), ph(pos(3))).quantile(ph(unit(2, 3)))
    tf.distributions.Normal(ph(d(3)), ph(d(3) ** 2)).quantile([1e-30, 1e-6, 0.9999])
    tf.distributions.Normal(ph(f(3)), ph(pos(3))).kl_divergence(tf.distributions.Normal(ph(f(2, 1)), ph(pos(3))))
    tf.distributions.Normal(ph(f(3)), ph(pos(3))).cross_entropy(tf.distributions.Normal(ph(f(2, 1)), ph(pos(3))))
    tf.distributions.kl_divergence(tf.distributions.Normal(ph(f(3)), 1.0), tf.distributions.Normal(0.0, ph(pos(3))))
    tf.distributions.Uniform(ph(f(3) - 4), ph(pos(2, 3), [None, 3])).log_prob(ph(f(3) / 20))
    tf.distributions.Uniform(ph(f(3) - 4), ph(pos(3))).sample([2, 4], seed=3)
    tf.distributions.Uniform(ph(d(3) - 4), ph(d(3) ** 2)).sample(seed=3)
    tf.distributions.Uniform(ph(f(3) - 4), ph(pos(3))).entropy()
    tf.distributions.Uniform(ph(f(3) - 4), ph(pos(2, 1))).mean()
    tf.distributions.Uniform(ph(f(3) - 4), ph(pos(2, 1))).stddev()
    tf.distributions.Uniform(ph(f(3) - 4), ph(pos(2, 1))).variance()
    tf.distributions.Uniform(ph(f(3) - 4), ph(pos(2, 1))).range()
    tf.distributions.Uniform(ph(f(3) - 4), ph(pos(3))).cdf(ph(f(2, 3)))
    tf.distributions.Bernoulli(ph(f(3))).log_prob(ph(n(2, 2, 3)))
    tf.distributions.Bernoulli(probs=ph(unit(2, 3))).log_prob(ph(n(2, 3)))
    tf.distributions.Bernoulli(probs=ph(unit(2, 3))).prob(ph(unit(3)))
    tf.distributions.Bernoulli(ph(f(3))).entropy()
    tf.distributions.Bernoulli(probs=ph(unit(3))).entropy()
    tf.distributions.Bernoulli(ph(f(3))).mean()
    tf.distributions.Bernoulli(ph(f(3))).variance()
    tf.distributions.Bernoulli(ph(f(3))).stddev()
    tf.distributions.Bernoulli(ph(f(3))).kl_divergence(tf.distributions.Bernoulli(probs=ph(unit(2, 3))))
    tf.distributions.Categorical(ph(f(2, 3), [None, 3])).log_prob(ph(n(3, 2), [None]))
    tf.distributions.Categorical(ph(f(2, 3))).log_prob(ph(n(3, 2)))
    tf.distributions.Categorical(ph(f(2, 3))).log_prob(ph(n(3, 4, 2)))
    tf.distributions.Categorical(ph(f(4, 2, 3))).prob(ph(n(3, 2).astype(np.int64)))
    tf.distributions.Categorical(ph(f(3))).log_prob(2)
    tf.distributions.Categorical(ph(f(3))).log_prob(ph(n(3, 2).astype(np.float32)))
    tf.distributions.Categorical(probs=ph(unit(2, 3))).log_prob(ph(n(3, 2)))
    tf.distributions.Categorical(ph(f(2, 3), [None, 3])).entropy()
    tf.distributions.Categorical(probs=ph(unit(2, 3))).entropy()
    tf.distributions.Categorical(ph(f(2, 3))).cdf([0, 2])
    tf.distributions.Categorical(ph(f(2, 3))).kl_divergence(tf.distributions.Categorical(ph(f(3))))
    tf.distributions.Categorical(ph(f(2, 3))).cross_entropy(tf.distributions.Categorical(probs=ph(unit(2, 3))))
    """,
    names="none",
    refined=True,
    tolerance=(1e-5, 1e-6),
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.distributions.Bernoulli(ph(f(3))).sample([2, 5], seed=2)
    tf.distributions.Bernoulli(probs=ph(unit(3)), dtype=tf.float32).sample(5, seed=2)
    tf.distributions.Bernoulli(probs=ph(unit(3))).mode()
    tf.distributions.Categorical(ph(f(2, 3))).sample(6, seed=2)
    tf.distributions.Categorical(ph(f(3))).sample([2, 3], seed=2)
    tf.distributions.Categorical(ph(f(2, 2, 3))).sample(seed=2)
    tf.distributions.Categorical(ph(f(2, 3), [None, None]), dtype=tf.int64).sample(seed=2)
    tf.distributions.Categorical(probs=ph(unit(2, 3)), dtype=tf.float32).sample(seed=2)
    tf.distributions.Categorical(ph(f(2, 3))).mode()
    tf.distributions.Categorical(ph(f(2, 3))).event_size
    tf.distributions.Categorical(ph(f(2, 3))).probs
    tf.distributions.Categorical(probs=ph(unit(2, 3))).logits
    tf.distributions.Bernoulli(probs=ph(unit(2, 3))).logits
    tf.distributions.Normal(0.0, 1.0).quantile([0.0, 1.0, 0.5])
    tf.distributions.Uniform(0.0, [1.0, 2.0]).log_prob([[2.0], [np.nan], [-1.0]])
    tf.distributions.Normal(ph(f(3), None), 1.0).batch_shape_tensor()
    tf.distributions.Normal(ph(f(3)), 1.0).event_shape_tensor()
    tf.distributions.Normal(ph(f(3), None), 1.0).is_scalar_batch()
    tf.distributions.Normal(ph(f(3), [None]), ph(pos(2, 1))).batch_shape
    tf.distributions.Categorical(ph(f(2, 3), [None, 3])).batch_shape
    tf.distributions.Categorical(ph(f(2, 3), [None, 3])).batch_shape_tensor()
    tf.distributions.Categorical(ph(f(2, 3))).event_shape
    sorted(tf.distributions.Normal(0.0, scale=2.0).parameters.items())
    sorted(tf.distributions.Normal(0.0, 2.0).copy(loc=1.0, name="other").parameters.items())
    tf.distributions.Normal(0.0, 2.0).copy(scale=[1.0, 3.0]).name
    [tf.distributions.Uniform().name, tf.distributions.Uniform().name, tf.distributions.Uniform(name="mine").name]
    [tf.distributions.Bernoulli(0.5).dtype, tf.distributions.Normal(d(2), d(2)).dtype]
    tf.contrib.distributions.Categorical is tf.distributions.Categorical
    """,
    names="none",
    refined=True,
    tolerance=(1e-5, 1e-6),
)

FAMILY.errors(
    """
    tf.distributions.Normal(1, 2)
    tf.distributions.Normal(ph(f(2)), ph(d(2)))
    tf.distributions.Normal(0.0, ph(f(3)), validate_args=True).sample()
    tf.distributions.Uniform(ph(pos(3)), 0.0, validate_args=True).sample()
    tf.distributions.Uniform().mode()
    tf.distributions.Bernoulli(0.5).cdf(1)
    tf.distributions.Bernoulli()
    tf.distributions.Bernoulli(0.5, probs=0.5)
    tf.distributions.Bernoulli(probs=ph(f(5)), validate_args=True).mean()
    tf.distributions.Categorical(probs=ph(unit(3)), validate_args=True).mode()
    tf.distributions.Categorical(0.5)
    tf.distributions.Categorical(f(2, 3)).mean()
    tf.distributions.Categorical(f(2, 3)).log_prob(3)
    tf.distributions.Uniform().kl_divergence(tf.distributions.Normal(0.0, 1.0))
    tf.distributions.RegisterKL(tf.distributions.Normal, tf.distributions.Normal)(lambda a, b, name=None: 0)
    """
)


@FAMILY.case(names="full")
def names_of_distributions(tf, t):
    with tf.name_scope("policy"):
        inner = tf.distributions.Normal(0.0, [1.0, 2.0])
    loc, names = inner.loc, [inner.name, tf.distributions.Normal(0.0, 1.0).name]
    return names, loc


@FAMILY.case(tolerance=(1e-5, 1e-6))
def a_programs_own_distribution(tf, t):
    base = tf.distributions.Distribution

    class Sign(base):
        def __init__(self, odds, name="Sign"):
            self._odds = tf.convert_to_tensor(odds)
            kind = tf.distributions.NOT_REPARAMETERIZED
            super(Sign, self).__init__(tf.float32, kind, False, True, {"odds": odds}, [self._odds], name)

        def _batch_shape(self):
            return self._odds.shape

        def _batch_shape_tensor(self):
            return tf.shape(self._odds)

        def _event_shape(self):
            return tf.TensorShape([])

        def _sample_n(self, n, seed=None):
            drawn = tf.random_uniform(tf.concat([[n], self.batch_shape_tensor()], 0), seed=seed)
            return tf.sign(self._odds - drawn)

        def _prob(self, x):
            return tf.where(x > 0, self._odds, 1 - self._odds)

        def _variance(self):
            return 4 * self._odds * (1 - self._odds)

    @tf.distributions.RegisterKL(Sign, base)
    def _(a, b, name=None):
        return a.stddev() + b.stddev()

    sign = Sign(t.unit(3))
    numbers = sign.sample(4, seed=2), sign.log_prob(t.f(3)), sign.stddev(), sign.kl_divergence(sign)
    return numbers, sign.name, t.error(sign.mean), t.error(lambda: sign.cdf(1.0)), sign.batch_shape
