"""Values known while the graph is built (tf.contrib.util)."""

from graphflow._core.ops.core import constant_value as constant_value
from graphflow._core.interop.tensor_protos import make_ndarray as make_ndarray
from graphflow._core.interop.tensor_protos import make_tensor_proto as make_tensor_proto
