"""Initial values of variables (tf.initializers)."""

from graphflow._core.ops.state.initializers import Constant as _constant
from graphflow._core.ops.state.variable_collections import global_variables_initializer as _global_variables
from graphflow._core.ops.state.initializers import GlorotNormal as _glorot_normal
from graphflow._core.ops.state.initializers import GlorotUniform as _glorot_uniform
from graphflow._core.ops.state.initializers import he_normal as he_normal
from graphflow._core.ops.state.initializers import he_uniform as he_uniform
from graphflow._core.ops.state.initializers import Identity as _identity
from graphflow._core.ops.state.initializers import lecun_normal as lecun_normal
from graphflow._core.ops.state.initializers import lecun_uniform as lecun_uniform
from graphflow._core.ops.state.variable_collections import local_variables_initializer as _local_variables
from graphflow._core.ops.state.initializers import Ones as _ones
from graphflow._core.ops.state.initializers import Orthogonal as _orthogonal
from graphflow._core.ops.state.initializers import RandomNormal as _random_normal
from graphflow._core.ops.state.initializers import RandomUniform as _random_uniform
from graphflow._core.ops.state.initializers import tables_initializer as tables_initializer
from graphflow._core.ops.state.initializers import TruncatedNormal as _truncated_normal
from graphflow._core.ops.state.initializers import UniformUnitScaling as _uniform_unit_scaling
from graphflow._core.ops.state.variable_collections import variables_initializer as _variables
from graphflow._core.ops.state.initializers import VarianceScaling as _variance_scaling
from graphflow._core.ops.state.initializers import Zeros as _zeros

constant = _constant
global_variables = _global_variables
glorot_normal = _glorot_normal
glorot_uniform = _glorot_uniform
identity = _identity
local_variables = _local_variables
ones = _ones
orthogonal = _orthogonal
random_normal = _random_normal
random_uniform = _random_uniform
truncated_normal = _truncated_normal
uniform_unit_scaling = _uniform_unit_scaling
variables = _variables
variance_scaling = _variance_scaling
zeros = _zeros
