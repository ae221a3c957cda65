"""Distributions of random numbers, as tf.distributions: samples, densities, entropies and divergences."""

from __future__ import annotations

from graphflow.distributions.bernoulli import Bernoulli
from graphflow.distributions.categorical import Categorical
from graphflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from graphflow.distributions.kullback_leibler import RegisterKL, kl_divergence
from graphflow.distributions.normal import Normal
from graphflow.distributions.uniform import Uniform
from graphflow.namespaces import missing

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "Uniform",
    "kl_divergence",
]

__getattr__ = missing("gf.distributions", globals())
