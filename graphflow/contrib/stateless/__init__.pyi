"""Random numbers that follow from their seeds alone, under their older names (tf.contrib.stateless)."""

from graphflow._core.ops.stateless_random import stateless_multinomial as stateless_multinomial
from graphflow._core.ops.stateless_random import stateless_random_normal as stateless_random_normal
from graphflow._core.ops.stateless_random import stateless_random_uniform as stateless_random_uniform
from graphflow._core.ops.stateless_random import stateless_truncated_normal as stateless_truncated_normal
