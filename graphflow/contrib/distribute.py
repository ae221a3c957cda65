"""gf.distribute, under the name that it had in TensorFlow 1.10 (tf.contrib.distribute)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import graphflow.distribute as distribute

if TYPE_CHECKING:
    from graphflow.distribute import *  # noqa: F403 - these are its names; when it runs, it is that module itself.

sys.modules[__name__] = distribute
