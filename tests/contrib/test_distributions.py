"""Protects what tf.contrib.distributions draws: the moments of samples, and gradients through them."""

from __future__ import annotations

import numpy as np

import graphflow as gf

distributions = gf.contrib.distributions
bijectors = distributions.bijectors


def drawn(made: gf.distributions.Distribution) -> np.ndarray:
    """4,000 draws, each a vector."""
    with gf.Session() as session:
        found: np.ndarray = session.run(made.sample(4000, seed=1)).reshape(4000, -1)
        return found


def test_vectors_have_the_covariance_that_is_given() -> None:
    gf.set_random_seed(1)
    triangle = np.array([[1.0, 0.0], [0.8, 0.5]], np.float32)
    normal = distributions.MultivariateNormalTriL([1.0, -1.0], triangle)
    other = distributions.TransformedDistribution(
        gf.distributions.Normal(0.0, 1.0), bijectors.Affine([1.0, -1.0], scale_tril=triangle), event_shape=[2]
    )
    for made in (
        normal,
        other,
        distributions.MultivariateNormalFullCovariance([1.0, -1.0], triangle @ triangle.T),
    ):
        found = drawn(made)
        np.testing.assert_allclose(found.mean(0), [1.0, -1.0], atol=0.1)
        np.testing.assert_allclose(np.cov(found.T), triangle @ triangle.T, atol=0.1)


def test_mixtures_draw_of_each_component_as_often_as_it_is_likely() -> None:
    gf.set_random_seed(1)
    cat = gf.distributions.Categorical(probs=[0.25, 0.75])
    parts = [gf.distributions.Normal(-4.0, 0.1), gf.distributions.Normal(4.0, 0.1)]
    same = distributions.MixtureSameFamily(cat, gf.distributions.Normal([-4.0, 4.0], 0.1))
    for made in (distributions.Mixture(cat, parts), same):
        np.testing.assert_allclose((drawn(made) > 0).mean(), 0.75, atol=0.05)


def test_draws_of_a_batch_of_larger_events_lie_where_the_batch_does() -> None:
    gf.set_random_seed(1)
    base = gf.distributions.Normal([0.0, 9.0], 0.1)
    found = drawn(distributions.TransformedDistribution(base, event_shape=[3]))
    np.testing.assert_allclose(found.mean(0), [0.0, 0.0, 0.0, 9.0, 9.0, 9.0], atol=0.1)


def test_classes_are_drawn_with_their_probabilities() -> None:
    gf.set_random_seed(1)
    shares = [0.2, 0.3, 0.5]
    np.testing.assert_allclose(
        drawn(distributions.OneHotCategorical(probs=shares)).mean(0), shares, atol=0.05
    )
    smooth = drawn(distributions.RelaxedOneHotCategorical(0.1, probs=shares))
    np.testing.assert_allclose(smooth.sum(1), 1.0, atol=1e-5)
    np.testing.assert_allclose((smooth == smooth.max(1, keepdims=True)).mean(0), shares, atol=0.05)
    np.testing.assert_allclose(
        (drawn(distributions.RelaxedBernoulli(0.1, probs=0.3)) > 0.5).mean(), 0.3, atol=0.05
    )
    np.testing.assert_allclose(
        drawn(distributions.Logistic(1.0, 0.5)).std(), 0.5 * np.pi / np.sqrt(3), atol=0.1
    )


def test_gradients_flow_through_samples() -> None:
    logits, loc = gf.Variable([0.1, 0.2]), gf.Variable([0.0, 0.0])
    smooth = distributions.RelaxedOneHotCategorical(0.5, logits=logits).sample(seed=1)
    vector = distributions.MultivariateNormalTriL(loc).sample(seed=1)
    slopes = gf.gradients([smooth[0], vector[1]], [logits, loc])
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        of_logits, of_loc = session.run(slopes)
    assert np.abs(of_logits).min() > 0
    np.testing.assert_array_equal(of_loc, [0.0, 1.0])


def test_counts_and_positive_numbers_have_the_mean_and_variance_that_they_say() -> None:
    gf.set_random_seed(1)
    for made in (
        distributions.Poisson([0.5, 6.0]),
        distributions.Geometric(probs=[0.3, 0.8]),
        distributions.NegativeBinomial([2.0, 5.0], probs=[0.3, 0.5]),
        distributions.HalfNormal([0.5, 2.0]),
        distributions.InverseGamma([6.0, 8.0], [2.0, 1.0]),
        distributions.Chi2([1.0, 4.0]),
    ):
        found = drawn(made)
        with gf.Session() as session:
            mean, variance = session.run([made.mean(), made.variance()])
        np.testing.assert_allclose(found.mean(0), mean, rtol=0.1, err_msg=made.name)
        np.testing.assert_allclose(found.var(0), variance, rtol=0.25, err_msg=made.name)


def test_a_vector_that_is_always_the_same_is_drawn() -> None:
    made = distributions.VectorDeterministic(gf.placeholder_with_default([[1.0, 2.0]], [None, 2]))
    with gf.Session() as session:
        np.testing.assert_allclose(session.run(made.sample(3)), np.full([3, 1, 2], [1.0, 2.0]))
        assert session.run([made.prob([1.0, 2.0]), made.prob([1.0, 2.5])]) == [[1.0], [0.0]]
