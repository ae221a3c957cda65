"""Data made ready (tf.keras.preprocessing)."""

from . import image as image
from . import sequence as sequence
from . import text as text
