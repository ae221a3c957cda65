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
    tf.distributions.Exponential(ph(pos(3))).log_prob(ph(pos(2, 3)))
    tf.distributions.Exponential(ph(pos(3))).prob(ph(pos(2, 3)))
    tf.distributions.Exponential(ph(pos(3))).entropy()
    tf.distributions.Exponential(ph(pos(3))).mean()
    tf.distributions.Exponential(ph(pos(3))).variance()
    tf.distributions.Exponential(ph(pos(3))).stddev()
    tf.distributions.Exponential(ph(pos(3))).sample([2, 4], seed=3)
    tf.distributions.Exponential(ph(pos(3))).sample(seed=4)
    tf.distributions.Exponential(ph(pos(3))).kl_divergence(tf.distributions.Exponential(ph(pos(3))))
    tf.distributions.Exponential(ph(pos(3))).cross_entropy(tf.distributions.Exponential(ph(pos(3))))
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).log_prob(ph(pos(2, 3)))
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).prob(ph(pos(2, 3)))
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).entropy()
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).mean()
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).variance()
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).stddev()
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).sample([2, 4], seed=3)
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).sample(seed=4)
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).kl_divergence(
        tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])))
    tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])).cross_entropy(
        tf.distributions.Gamma(ph(pos(3)), ph(pos(2, 1), [None, 1])))
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).log_prob(ph(f(2, 3)))
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).prob(ph(f(2, 3)))
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).entropy()
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).mean()
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).mode()
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).variance()
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).stddev()
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).sample([2, 4], seed=3)
    tf.distributions.Laplace(ph(f(3)), ph(pos(2, 1))).sample(seed=4)
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).log_prob(ph(unit(2, 3)))
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).prob(ph(unit(2, 3)))
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).entropy()
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).mean()
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).variance()
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).stddev()
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).mode()
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).sample([2, 4], seed=3)
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).sample(seed=4)
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).kl_divergence(
        tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])))
    tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])).cross_entropy(
        tf.distributions.Beta(ph(pos(3)), ph(pos(2, 1), [None, 1])))
    tf.distributions.StudentT(ph(pos(3)), ph(f(3)), ph(pos(2, 1))).log_prob(ph(f(2, 3)))
    tf.distributions.StudentT(ph(pos(3)), ph(f(3)), ph(pos(2, 1))).prob(ph(f(2, 3)))
    tf.distributions.StudentT(ph(pos(3)), ph(f(3)), ph(pos(2, 1))).entropy()
    tf.distributions.StudentT(ph(pos(3)), ph(f(3)), ph(pos(2, 1))).mean()
    tf.distributions.StudentT(ph(pos(3)), ph(f(3)), ph(pos(2, 1))).mode()
    tf.distributions.StudentT(ph(pos(3)), ph(f(3)), ph(pos(2, 1))).sample([2, 4], seed=3)
    tf.distributions.StudentT(ph(pos(3)), ph(f(3)), ph(pos(2, 1))).sample(seed=4)
    tf.distributions.Dirichlet(ph(pos(3))).log_prob([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    tf.distributions.Dirichlet(ph(pos(3))).prob([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    tf.distributions.Dirichlet(ph(pos(3))).entropy()
    tf.distributions.Dirichlet(ph(pos(3))).mean()
    tf.distributions.Dirichlet(ph(pos(3))).variance()
    tf.distributions.Dirichlet(ph(pos(3))).stddev()
    tf.distributions.Dirichlet(ph(pos(3))).covariance()
    tf.distributions.Dirichlet(ph(pos(3))).mode()
    tf.distributions.Dirichlet(ph(pos(3))).sample([2, 4], seed=3)
    tf.distributions.Dirichlet(ph(pos(3))).sample(seed=4)
    tf.distributions.Dirichlet(ph(pos(3))).kl_divergence(tf.distributions.Dirichlet(ph(pos(3))))
    tf.distributions.Dirichlet(ph(pos(3))).cross_entropy(tf.distributions.Dirichlet(ph(pos(3))))
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).log_prob([0.2, 0.3, 0.5])
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).prob([0.2, 0.3, 0.5])
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).entropy()
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).mean()
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).variance()
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).stddev()
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).covariance()
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).total_concentration
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).sample([2, 4], seed=3)
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).sample(seed=4)
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).kl_divergence(
        tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])))
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).cross_entropy(
        tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])))
    tf.distributions.Gamma(ph(pos(3) + 1), ph(pos(2, 1))).mode()
    tf.distributions.Gamma(ph(d(3) ** 2), ph(d(3) ** 2)).sample([3], seed=3)
    tf.distributions.Gamma([0.5, 2.0], 3.0).log_prob(0.0)
    tf.distributions.Gamma([0.5, 2.0], 3.0).cdf(ph(pos(2)))
    tf.distributions.Gamma([0.5, 2.0], 3.0).log_survival_function(ph(pos(2)))
    tf.distributions.Gamma(ph(pos(3)), ph(pos(3))).kl_divergence(tf.distributions.Exponential(ph(pos(3))))
    tf.distributions.Exponential([0.5, 2.0]).log_prob(0.0)
    tf.distributions.Exponential([0.5, 2.0]).cdf(ph(pos(2)))
    tf.distributions.Exponential(ph(pos(2))).log_survival_function(ph(pos(2)))
    tf.distributions.Exponential(0.5).log_survival_function(100.0)
    tf.distributions.Laplace(ph(f(3)), ph(pos(3))).cdf(ph(f(2, 3)))
    tf.distributions.Laplace(ph(f(3)), ph(pos(3))).log_cdf(ph(f(2, 3)))
    tf.distributions.Laplace(ph(f(3)), ph(pos(3))).survival_function(ph(f(2, 3)))
    tf.distributions.Laplace(ph(f(3)), ph(pos(3))).log_survival_function(ph(f(2, 3)))
    tf.distributions.Laplace(ph(d(3)), ph(d(3) ** 2)).sample([3], seed=3)
    tf.distributions.Beta([0.5, 2.0, 1.0], [2.0, 3.0, 1.0]).log_prob([[0.5], [1e-5]])
    tf.distributions.Beta([0.5, 2.0], 3.0).cdf(ph(unit(2)))
    tf.distributions.Beta(ph(pos(3) + 1), ph(pos(3) + 1)).mode()
    tf.distributions.Beta(ph(pos(3)), ph(pos(3))).kl_divergence(tf.distributions.Beta(ph(pos(2, 1)), ph(pos(3))))
    tf.distributions.StudentT(3.0, ph(f(3)), ph(pos(3))).cdf(ph(f(3)))
    tf.distributions.StudentT(ph(np.float32([0.5, 1.0, 3.0])), ph(f(3)), 2.0).mean()
    tf.distributions.StudentT([0.5, 1.0, 1.5, 2.0, 3.0], 0.0, ph(pos(2, 5))).variance()
    tf.distributions.StudentT(ph(pos(3) + 2), 0.0, ph(pos(3))).stddev()
    tf.distributions.Dirichlet(ph(pos(3) + 1)).mode()
    tf.distributions.Dirichlet(ph(pos(3))).kl_divergence(tf.distributions.Dirichlet(ph(pos(2, 3))))
    tf.distributions.Multinomial(4.0, ph(f(2, 3), [None, 3])).log_prob([[1.0, 2.0, 1.0], [0.0, 0.0, 4.0]])
    tf.distributions.Multinomial(4.0, probs=ph(unit(3))).log_prob([[1, 2, 1], [4, 0, 0]])
    tf.distributions.Multinomial([4.0, 2.0], ph(f(2, 3))).mean()
    tf.distributions.Multinomial([4.0, 2.0], ph(f(2, 3))).variance()
    tf.distributions.Multinomial([4.0, 2.0], ph(f(3))).stddev()
    tf.distributions.Multinomial([4.0, 2.0], ph(f(3))).covariance()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).log_prob(ph(f(2, 3)))
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).entropy()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).mean()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).stddev()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).covariance()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).sample(2, seed=3)
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).kl_divergence(
        tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))))
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(2, 3), [None, 3]), ph(pos(3))).log_prob(ph(f(2, 3)))
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(2, 3), [None, 3]), ph(pos(3))).entropy()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(2, 3), [None, 3]), ph(pos(3))).mean()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(2, 3), [None, 3]), ph(pos(3))).stddev()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(2, 3), [None, 3]), ph(pos(3))).covariance()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(2, 3), [None, 3]), ph(pos(3))).sample(2, seed=3)
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(2, 3), [None, 3]), ph(pos(3))).kl_divergence(
        tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))))
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(2, 3))).log_prob(ph(f(2, 3)))
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(2, 3))).entropy()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(2, 3))).mean()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(2, 3))).stddev()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(2, 3))).covariance()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(2, 3))).sample(2, seed=3)
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(2, 3))).kl_divergence(
        tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))))
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(2, 3)), scale_identity_multiplier=ph(pos(2))).log_prob(
        ph(f(2, 3)))
    tf.contrib.distributions.MultivariateNormalDiag(scale_diag=ph(pos(3)), scale_identity_multiplier=2.0).log_prob(
        ph(f(2, 3)))
    tf.contrib.distributions.MultivariateNormalDiag(scale_diag=ph(pos(3))).sample(2, seed=3)
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3))).prob(ph(f(3)))
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).mode()
    tf.contrib.distributions.MultivariateNormalDiag(ph(f(3)), ph(pos(3))).variance()
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
    tf.distributions.Gamma([0.5, 2.0], 3.0).mode()
    tf.distributions.Exponential([0.5, 2.0]).mode()
    sorted(tf.distributions.Exponential(2.0).parameters.items())
    [tf.distributions.Exponential(2.0).name, tf.distributions.Exponential(2.0).name]
    tf.distributions.Multinomial(4.0, ph(f(3))).sample([2, 3], seed=2)
    tf.distributions.Multinomial(0.0, ph(f(3))).sample(2, seed=2)
    tf.distributions.Multinomial(3.0, probs=ph(unit(3))).sample(2, seed=2)
    tf.distributions.Multinomial([4.0, 2.0], ph(f(3))).batch_shape
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, None])).event_shape_tensor()
    tf.distributions.Dirichlet(ph(pos(2, 3), [None, 3])).batch_shape_tensor()
    [tf.distributions.Dirichlet(ph(pos(2, 3))).batch_shape, tf.distributions.Dirichlet(ph(pos(2, 3))).event_shape]
    [tf.contrib.distributions.MultivariateNormalDiag(f(2, 3), f(3)).batch_shape,
        tf.contrib.distributions.MultivariateNormalDiag(f(2, 3), f(3)).event_shape,
        tf.contrib.distributions.MultivariateNormalDiag(f(2, 3), f(3)).name]
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
    tf.distributions.Gamma([0.5, 2.0], 3.0, allow_nan_stats=False).mode()
    tf.distributions.StudentT(0.5, 0.0, 1.0, allow_nan_stats=False).mean()
    tf.distributions.StudentT(0.5, 0.0, 1.0, allow_nan_stats=False).variance()
    tf.distributions.Beta(ph(unit(2)), 2.0, allow_nan_stats=False).mode()
    tf.distributions.Beta(0.5)
    tf.distributions.Beta(ph(f(5)), 2.0, validate_args=True).mean()
    tf.distributions.Gamma(ph(f(5)), 2.0, validate_args=True).mean()
    tf.distributions.Laplace(0.0, ph(f(5)), validate_args=True).mean()
    tf.distributions.StudentT(ph(f(5)), 0.0, 1.0, validate_args=True).mean()
    tf.distributions.Dirichlet(ph(f(5)), validate_args=True).mean()
    tf.distributions.Dirichlet(1.0)
    tf.distributions.Multinomial(4.0)
    tf.distributions.Multinomial(4.0, f(3)).entropy()
    tf.distributions.Laplace(0.0, 1.0).quantile(0.5)
    tf.contrib.distributions.MultivariateNormalDiag()
    tf.contrib.distributions.MultivariateNormalDiag(f(2), f(2)).cdf(f(2))
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
