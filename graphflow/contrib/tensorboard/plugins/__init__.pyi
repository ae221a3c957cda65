"""TensorBoard's plug-ins, a module for each (tf.contrib.tensorboard.plugins)."""

from . import projector as projector
