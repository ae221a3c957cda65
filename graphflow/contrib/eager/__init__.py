"""What of tf.contrib.eager has a meaning in graphs: nothing is executed eagerly, and the functions say so."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
