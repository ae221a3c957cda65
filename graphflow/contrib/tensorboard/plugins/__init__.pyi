"""TensorBoard's plug-ins, a module for each (tf.contrib.tensorboard.plugins)."""

from . import hparams as hparams
from . import projector as projector
