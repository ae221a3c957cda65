"""The distributions of gf.distributions under contrib's name, and those that only tf.contrib.distributions has."""

from graphflow.distributions import *
from graphflow.distributions.multivariate_normal import MultivariateNormalDiag as MultivariateNormalDiag
