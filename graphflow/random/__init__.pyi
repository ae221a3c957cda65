"""Random numbers (tf.random)."""

from graphflow._core.ops.random import categorical as categorical
from graphflow._core.ops.random import random_gamma as _gamma
from graphflow._core.graph.random_seed import get_seed as get_seed
from graphflow._core.ops.random import multinomial as multinomial
from graphflow._core.ops.random import random_normal as _normal
from graphflow._core.ops.random import random_poisson as _poisson
from graphflow._core.ops.random import random_crop as random_crop
from graphflow._core.ops.random import random_gamma as random_gamma
from graphflow._core.ops.random import random_normal as random_normal
from graphflow._core.ops.random import random_poisson as random_poisson
from graphflow._core.ops.random import random_shuffle as random_shuffle
from graphflow._core.ops.random import random_uniform as random_uniform
from graphflow._core.graph.random_seed import set_random_seed as set_random_seed
from graphflow._core.ops.random import random_shuffle as _shuffle
from graphflow._core.ops.stateless_random import stateless_categorical as stateless_categorical
from graphflow._core.ops.stateless_random import stateless_multinomial as stateless_multinomial
from graphflow._core.ops.stateless_random import stateless_random_normal as _stateless_normal
from graphflow._core.ops.stateless_random import stateless_truncated_normal as stateless_truncated_normal
from graphflow._core.ops.stateless_random import stateless_random_uniform as _stateless_uniform
from graphflow._core.ops.random import truncated_normal as truncated_normal
from graphflow._core.ops.random import random_uniform as _uniform

gamma = _gamma
normal = _normal
poisson = _poisson
shuffle = _shuffle
stateless_normal = _stateless_normal
stateless_uniform = _stateless_uniform
uniform = _uniform
