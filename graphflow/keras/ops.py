"""The functions of the library that keras is written with, by one name; loaded at first use, as the stub says."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
