"""What TensorBoard's plug-ins read (tf.contrib.tensorboard)."""

from . import plugins as plugins
