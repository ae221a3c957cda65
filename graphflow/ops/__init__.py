"""Every op, defined once: signature, shape rule, gradient. Kernels are in graphflow.kernels."""

from __future__ import annotations

import importlib
import pkgutil


def load_all() -> None:
    """Loads every module of ops, for where an op of any type may come in: most are loaded at first use."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
