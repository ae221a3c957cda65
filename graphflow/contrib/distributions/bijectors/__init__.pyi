"""Functions that can be inverted, and how much they stretch space (tf.contrib.distributions.bijectors)."""

from graphflow.contrib.distributions.bijectors.affine import Affine as Affine
from graphflow.contrib.distributions.bijectors.elementwise import AffineScalar as AffineScalar
from graphflow.contrib.distributions.bijectors.bijector import Bijector as Bijector
from graphflow.contrib.distributions.bijectors.composed import Chain as Chain
from graphflow.contrib.distributions.bijectors.elementwise import Exp as Exp
from graphflow.contrib.distributions.bijectors.elementwise import Gumbel as Gumbel
from graphflow.contrib.distributions.bijectors.elementwise import Identity as Identity
from graphflow.contrib.distributions.bijectors.composed import Inline as Inline
from graphflow.contrib.distributions.bijectors.composed import Invert as Invert
from graphflow.contrib.distributions.bijectors.flows import MaskedAutoregressiveFlow as MaskedAutoregressiveFlow
from graphflow.contrib.distributions.bijectors.affine import Permute as Permute
from graphflow.contrib.distributions.bijectors.elementwise import PowerTransform as PowerTransform
from graphflow.contrib.distributions.bijectors.flows import RealNVP as RealNVP
from graphflow.contrib.distributions.bijectors.elementwise import Sigmoid as Sigmoid
from graphflow.contrib.distributions.bijectors.elementwise import Softplus as Softplus
from graphflow.contrib.distributions.bijectors.elementwise import Softsign as Softsign
from graphflow.contrib.distributions.bijectors.elementwise import Square as Square
from graphflow.contrib.distributions.bijectors.flows import masked_autoregressive_default_template as masked_autoregressive_default_template
from graphflow.contrib.distributions.bijectors.flows import masked_dense as masked_dense
from graphflow.contrib.distributions.bijectors.flows import real_nvp_default_template as real_nvp_default_template
from graphflow.contrib.distributions.bijectors.triangular import CholeskyOuterProduct as CholeskyOuterProduct
from graphflow.contrib.distributions.bijectors.triangular import FillTriangular as FillTriangular
from graphflow.contrib.distributions.bijectors.triangular import ScaleTriL as ScaleTriL
from graphflow.contrib.distributions.bijectors.triangular import TransformDiagonal as TransformDiagonal
