"""Small data of our own, for pages, examples and first tries: in the package, without a network."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
