"""gf.distribute, under the name that it had in TensorFlow 1.10 (tf.contrib.distribute)."""

from __future__ import annotations

import sys

import graphflow.distribute as distribute

sys.modules[__name__] = distribute
