"""How names become gf.math, gf.train and the rest: each module of ops says what it offers, here it is gathered.

A name of TensorFlow 1's that graphflow does not have raises an AttributeError that says what to use instead.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

REPLACEMENTS: Final[Mapping[str, str]] = {
    "enable_eager_execution": "graphflow runs graphs only: build a graph and run it in gf.Session",
    "keras": "graphflow has no Keras: use gf.layers-style functions built from gf.nn and gf.get_variable",
    "estimator": "graphflow has no estimators: write the training loop with gf.Session",
    "CrossTowerOps": "it is gf.distribute.Reducer, the argument reducer of a strategy",
    "AllReduceCrossTowerOps": "use gf.distribute.RingReducer, or PackingReducer, as a strategy's reducer",
    "ReductionToOneDeviceCrossTowerOps": "it is gf.distribute.ReductionToOneDevice, a strategy's reducer",
    "function": "graphflow runs graphs only: call the Python function while the graph is built",
}


def exports(*modules: str, names: str = "EXPORTS") -> dict[str, Any]:
    """What modules offer, gathered; `names` is the mapping of each that is meant."""
    found: dict[str, Any] = {}
    for module in modules:
        found.update(getattr(importlib.import_module(f"graphflow.{module}"), names))
    return found


def namespace(name: str, documentation: str, members: Mapping[str, Any]) -> ModuleType:
    """A module graphflow.NAME with these members, which can be imported by that name."""
    module = ModuleType(f"graphflow.{name}", documentation)
    module.__dict__.update(members)
    module.__dict__["__getattr__"] = missing(f"gf.{name}", module.__dict__)
    sys.modules[f"graphflow.{name}"] = module
    return module


def missing(where: str, members: Mapping[str, Any]) -> Callable[[str], Any]:
    """A module's __getattr__: raises AttributeError with what to use instead, or the nearest name."""

    def lookup(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = REPLACEMENTS.get(name)
        if hint is None:
            near = difflib.get_close_matches(name, [m for m in members if not m.startswith("_")], 3)
            hint = f"the nearest names are {', '.join(near)}" if near else "graphflow does not have it"
        raise AttributeError(f"{where} has no attribute {name!r}: {hint}.")

    return lookup
