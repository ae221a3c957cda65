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
from graphflow.contrib.distributions.counts import Poisson as Poisson
from graphflow.contrib.distributions.counts import Geometric as Geometric
from graphflow.contrib.distributions.counts import Binomial as Binomial
from graphflow.contrib.distributions.counts import NegativeBinomial as NegativeBinomial
from graphflow.contrib.distributions.positive import HalfNormal as HalfNormal
from graphflow.contrib.distributions.positive import InverseGamma as InverseGamma
from graphflow.contrib.distributions.positive import Chi2 as Chi2
from graphflow.contrib.distributions.positive import Cauchy as Cauchy
from graphflow.contrib.distributions.deterministic import Deterministic as Deterministic
from graphflow.contrib.distributions.deterministic import VectorDeterministic as VectorDeterministic
from graphflow.contrib.distributions.bijectors.triangular import fill_triangular as fill_triangular
from graphflow.contrib.distributions.bijectors.triangular import fill_triangular_inverse as fill_triangular_inverse
