"""Initial values of weights (tf.contrib.slim.initializers)."""

from graphflow._core.ops.state.initializers import ContribVarianceScaling as _variance_scaling_initializer
from graphflow._core.ops.state.initializers import xavier_initializer as xavier_initializer
from graphflow._core.ops.state.initializers import xavier_initializer as _xavier_initializer_conv2d

variance_scaling_initializer = _variance_scaling_initializer
xavier_initializer_conv2d = _xavier_initializer_conv2d
