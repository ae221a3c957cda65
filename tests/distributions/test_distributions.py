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
