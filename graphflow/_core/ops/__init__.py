"""Every op, defined once: signature, shape rule, gradient. Kernels are in graphflow._core.kernels."""

from __future__ import annotations

from graphflow._core.common.modules import import_all


def load_all() -> None:
    """Loads every module of ops, for where an op of any type may come in: most are loaded at first use."""
    import_all(__name__, __path__)
