"""What may change of estimators in TensorFlow: hooks that end training early (tf.estimator.experimental)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
