"""Images (tf.image): their size, place and colours, random changes of them, boxes in them, and files that hold them."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
