"""Distributions under the name that programs of TensorFlow 1 know them by: those of gf.distributions."""

from __future__ import annotations

from graphflow.distributions import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Bernoulli,
    Categorical,
    Distribution,
    Normal,
    RegisterKL,
    ReparameterizationType,
    Uniform,
    kl_divergence,
)
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

__getattr__ = missing("gf.contrib.distributions", globals())
