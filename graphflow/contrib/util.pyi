"""Values known while the graph is built (tf.contrib.util)."""

from graphflow._core.ops.core import constant_value as constant_value
