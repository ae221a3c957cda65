"""What programs say to TensorFlow's other compiler (tf.contrib.compiler)."""

from . import jit as jit
