"""What programs use of tf.contrib, a module for each part, so that `from graphflow.contrib import rnn` works, too."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
