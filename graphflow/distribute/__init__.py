"""Distribution strategies: one model function on several devices or machines (gf.distribute)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach
from graphflow.distribute.context import install_default as _install_default
from graphflow.distribute.default import DefaultStrategy as _DefaultStrategy

_install_default(_DefaultStrategy())
__getattr__, __dir__, __all__ = attach(__name__)
