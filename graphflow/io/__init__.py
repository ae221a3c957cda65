"""Input and output (tf.io): files, records and examples; gfile, files and folders under the names of Python's os."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
