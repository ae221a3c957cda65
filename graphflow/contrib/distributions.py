"""The distributions of gf.distributions under contrib's name, and those that only tf.contrib.distributions has."""

from __future__ import annotations

from graphflow import distributions
from graphflow._core.common.namespaces import missing
from graphflow.distributions.multivariate_normal import MultivariateNormalDiag as MultivariateNormalDiag

globals().update({name: getattr(distributions, name) for name in distributions.__all__})
__getattr__ = missing("gf.contrib.distributions", globals())
