"""Models in the form of other libraries (tf.keras.wrappers)."""

from . import scikit_learn as scikit_learn
