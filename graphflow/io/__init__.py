"""Input and output (tf.io): gfile, files and folders under the names of Python's os."""

from __future__ import annotations

from graphflow.io import gfile as gfile
from graphflow.namespaces import missing

__getattr__ = missing("gf.io", globals())
