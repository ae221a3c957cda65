"""Protects what the comparison with TensorFlow cannot show: where TensorFlow fails, draws otherwise, or says less."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

import graphflow as gf
from graphflow.contrib.distributions import MultivariateNormalDiag
from graphflow.distributions import special

tfd = gf.distributions


def test_each_row_of_a_multinomial_has_its_own_count() -> None:
    shares = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]
    drawn = tfd.Multinomial([4, 9], probs=shares).sample(4000, seed=1)
    with gf.Session() as session:
        found = session.run(drawn)
    np.testing.assert_array_equal(found.sum(-1), np.tile([4.0, 9.0], (4000, 1)))
    np.testing.assert_allclose(found.mean(0), np.float32([[4], [9]]) * shares, atol=0.1)


def test_counts_of_shares_that_are_drawn() -> None:
    """The numbers are TensorFlow's, which takes counts with an axis for the classes in moments."""
    weights = [[1.0, 2.0, 3.0], [0.5, 4.0, 0.1]]
    for total in ([[3.0], [5.0]], [3.0, 5.0]):
        counts = tfd.DirichletMultinomial(total, weights)
        assert counts.batch_shape.as_list() == [2] and counts.event_shape.as_list() == [3]
        with gf.Session() as session:
            mean, variance, covariance, drawn = session.run(
                [counts.mean(), counts.variance(), counts.covariance(), counts.sample(6000, seed=3)]
            )
        np.testing.assert_allclose(mean, [[0.5, 1.0, 1.5], [0.54347825, 4.347826, 0.10869565]], rtol=1e-5)
        np.testing.assert_allclose(
            variance, [[0.5357143, 0.85714287, 0.96428573], [0.8304078, 0.9721851, 0.18228465]], rtol=1e-5
        )
        np.testing.assert_allclose(covariance[1][0], [0.8304078, -0.8101539, -0.02025385], rtol=1e-5)
        np.testing.assert_array_equal(drawn.sum(-1), np.tile([3.0, 5.0], (6000, 1)))
        np.testing.assert_allclose(drawn.mean(0), mean, atol=0.06)
        np.testing.assert_allclose(drawn.var(0), variance, atol=0.06)
    with gf.Session() as session:
        logs = session.run(tfd.DirichletMultinomial([3.0, 5.0], weights).log_prob([[1.0, 1, 1], [2, 3, 0]]))
    np.testing.assert_allclose(logs, [-2.2335916, -2.5134082], rtol=1e-5)


@pytest.mark.parametrize(
    ("distribution", "value", "told"),
    [
        (tfd.DirichletMultinomial, [-1.0, 4.0], "must be non-negative"),
        (tfd.DirichletMultinomial, [2.5, 0.5], "cannot contain fractional components"),
        (tfd.DirichletMultinomial, [2.0, 2.0], "last-dimension must sum to `self.total_count`"),
        (tfd.Multinomial, [2.0, 2.0], "counts must sum to `self.total_count`"),
        (tfd.Multinomial, [0.5, 2.5], "cannot contain fractional components"),
        (tfd.Dirichlet, [0.0, 1.0], "samples must be positive"),
        (tfd.Dirichlet, [0.5, 0.6], "sample last-dimension must sum to `1`"),
        (tfd.Beta, [0.0, 0.5], "sample must be positive"),
        (tfd.Beta, [0.5, 1.0], "sample must be less than `1`"),
        (tfd.Gamma, [0.5, -1.0], "samples must be positive"),
        (tfd.Bernoulli, [1.0, -1.0], "Elements must be non-negative"),
        (tfd.Bernoulli, [1.0, 2.0], "Elements cannot exceed 1"),
        (tfd.Categorical, [0.0, -1.0], "Elements must be non-negative"),
    ],
)
def test_a_density_checks_what_it_is_asked_for_if_arguments_are_validated(
    distribution: type[tfd.Distribution], value: list[float], told: str
) -> None:
    arguments: dict[type, list[object]] = {
        tfd.DirichletMultinomial: [3.0, [1.0, 2.0]],
        tfd.Multinomial: [3.0, [0.0, 1.0]],
        tfd.Dirichlet: [[1.0, 2.0]],
        tfd.Bernoulli: [[0.0, 1.0]],
        tfd.Categorical: [[[0.0, 1.0]]],
    }
    given = arguments.get(distribution, [1.0, 2.0])
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [2])
        checked = distribution(*given, validate_args=True).log_prob(x)
        with pytest.raises(gf.errors.InvalidArgumentError, match=told):
            session.run(checked, {x: value})
        if distribution is not tfd.Categorical:  # A class that is not there is an error in any case.
            session.run(distribution(*given).log_prob(x), {x: value})


def test_the_mode_of_a_batch_of_dirichlets() -> None:
    with gf.Session() as session:
        mode = session.run(tfd.Dirichlet([[2.0, 3.0, 5.0], [0.5, 2.0, 2.0]]).mode())
    np.testing.assert_allclose(mode[0], [1 / 7, 2 / 7, 4 / 7], rtol=1e-6)
    assert np.isnan(mode[1]).all()


def test_quantiles_are_exact_and_undefined_outside_of_0_to_1() -> None:
    p = np.array([1e-300, 1e-12, 0.07, 0.3, 0.5, 0.93, 1 - 1e-12])
    expected = [statistics.NormalDist().inv_cdf(value) for value in p]
    x = gf.constant([-0.1, 1.1, math.nan, 0.0, 1.0])
    with gf.Session() as session:
        np.testing.assert_allclose(
            session.run(special.ndtri(gf.constant(p))), expected, rtol=1e-14, atol=1e-15
        )
        np.testing.assert_array_equal(
            session.run(special.ndtri(x)), [np.nan, np.nan, np.nan, -np.inf, np.inf]
        )


@pytest.mark.parametrize("dtype", [gf.float32, gf.float64])
def test_the_slope_of_the_log_of_the_normal_cdf_is_finite_everywhere(dtype: gf.DType) -> None:
    x = gf.constant([-1e3, -25.0, -15.0, -5.0, 0.0, 5.0, 1e3], dtype=dtype)
    with gf.Session() as session:
        value, slope = session.run([special.log_ndtr(x), gf.gradients(special.log_ndtr(x), x)[0]])
    assert np.isfinite(value).all() and (np.diff(value) > 0).all()
    np.testing.assert_allclose(slope[:2], [1e3, 25.04], rtol=1e-4)
    assert slope[-1] == 0.0 and (np.diff(slope) < 0).all()


def test_a_divergence_that_is_not_defined_is_an_error_where_nan_is_not_allowed() -> None:
    broken = tfd.Normal(math.nan, 1.0, allow_nan_stats=False)
    with (
        gf.Session() as session,
        pytest.raises(gf.errors.InvalidArgumentError, match="Normal from Normal is NaN"),
    ):
        session.run(broken.kl_divergence(tfd.Normal(0.0, 1.0)))


def test_errors_name_the_family_and_what_is_wrong() -> None:
    normal = tfd.Normal(0.0, 1.0)
    with pytest.raises(NotImplementedError, match="Normal from Uniform: give one with gf"):
        normal.kl_divergence(tfd.Uniform())
    with pytest.raises(NotImplementedError, match="Uniform defines no mode"):
        tfd.Uniform().mode()
    with pytest.raises(ValueError, match="loc:0 must be of floats, not of int32"):
        tfd.Normal(1, 2)
    with pytest.raises(ValueError, match="needs loc or scale_diag"):
        MultivariateNormalDiag()
    with pytest.raises(
        AttributeError, match=r"gf\.distributions has no attribute 'Norml': the nearest names are Normal"
    ):
        _ = tfd.Norml


def test_a_distribution_goes_on_in_its_own_graph_and_prints_itself() -> None:
    with gf.Graph().as_default() as graph:
        normal = tfd.Normal(gf.zeros([2]), 1.0)
    assert normal.sample(3).graph is graph and normal.entropy().name == "Normal/entropy/add:0"
    expected = "<gf.distributions.Normal 'Normal/' batch_shape=(2,) event_shape=() dtype=float32>"
    assert repr(normal) == expected
