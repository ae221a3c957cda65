"""The distributions of gf.distributions under contrib's name, and those that only tf.contrib.distributions has."""

from graphflow.distributions import *
from . import bijectors as bijectors
from graphflow.contrib.distributions.independent import Independent as Independent
from graphflow.contrib.distributions.mixtures import Mixture as Mixture
from graphflow.contrib.distributions.mixtures import MixtureSameFamily as MixtureSameFamily
from graphflow.contrib.distributions.triangular_normal import MultivariateNormalFullCovariance as MultivariateNormalFullCovariance
from graphflow.contrib.distributions.triangular_normal import MultivariateNormalTriL as MultivariateNormalTriL
from graphflow.contrib.distributions.transformed import TransformedDistribution as TransformedDistribution
from graphflow.distributions.multivariate_normal import MultivariateNormalDiag as MultivariateNormalDiag
from graphflow.contrib.distributions.logistic import Logistic as Logistic
from graphflow.contrib.distributions.logistic import RelaxedBernoulli as RelaxedBernoulli
from graphflow.contrib.distributions.one_hot import ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical
from graphflow.contrib.distributions.one_hot import OneHotCategorical as OneHotCategorical
from graphflow.contrib.distributions.one_hot import RelaxedOneHotCategorical as RelaxedOneHotCategorical
