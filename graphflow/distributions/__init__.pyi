"""Distributions of random numbers, as tf.distributions: samples, densities, entropies and divergences."""

from graphflow.distributions.distribution import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from graphflow.distributions.distribution import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from graphflow.distributions.bernoulli import Bernoulli as Bernoulli
from graphflow.distributions.beta import Beta as Beta
from graphflow.distributions.categorical import Categorical as Categorical
from graphflow.distributions.dirichlet import Dirichlet as Dirichlet
from graphflow.distributions.dirichlet_multinomial import DirichletMultinomial as DirichletMultinomial
from graphflow.distributions.distribution import Distribution as Distribution
from graphflow.distributions.gamma import Exponential as Exponential
from graphflow.distributions.gamma import Gamma as Gamma
from graphflow.distributions.laplace import Laplace as Laplace
from graphflow.distributions.multinomial import Multinomial as Multinomial
from graphflow.distributions.normal import Normal as Normal
from graphflow.distributions.kullback_leibler import RegisterKL as RegisterKL
from graphflow.distributions.distribution import ReparameterizationType as ReparameterizationType
from graphflow.distributions.student_t import StudentT as StudentT
from graphflow.distributions.uniform import Uniform as Uniform
from graphflow.distributions.kullback_leibler import kl_divergence as kl_divergence
