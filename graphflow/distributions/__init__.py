"""Distributions of random numbers, as tf.distributions: samples, densities, entropies and divergences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow.distributions.bernoulli import Bernoulli
from graphflow.distributions.beta import Beta
from graphflow.distributions.categorical import Categorical
from graphflow.distributions.dirichlet import Dirichlet
from graphflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from graphflow.distributions.gamma import Exponential, Gamma
from graphflow.distributions.kullback_leibler import RegisterKL, kl_divergence
from graphflow.distributions.laplace import Laplace
from graphflow.distributions.multinomial import Multinomial
from graphflow.distributions.normal import Normal
from graphflow.distributions.student_t import StudentT
from graphflow.distributions.uniform import Uniform

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Gamma",
    "Laplace",
    "Multinomial",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "StudentT",
    "Uniform",
    "kl_divergence",
]

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.distributions", globals())
