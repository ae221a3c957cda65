"""Optimizers by name, as ready-made estimators take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import graphflow.train as train

BY_NAME: Final[Mapping[str, str]] = {
    "Adagrad": "AdagradOptimizer",
    "Adam": "AdamOptimizer",
    "Ftrl": "FtrlOptimizer",
    "RMSProp": "RMSPropOptimizer",
    "SGD": "GradientDescentOptimizer",
}
"""The classes of gf.train by their short names."""


def optimizer_of(given: Any, rate: float) -> Any:
    """The optimizer of a name, with that learning rate, of a function that makes one, or the one itself.

    ValueError if it is none.
    """
    if isinstance(given, str):
        if given not in BY_NAME:
            raise ValueError(
                f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(BY_NAME))}"
            )
        return getattr(train, BY_NAME[given])(learning_rate=rate)
    found = given() if callable(given) else given
    if not isinstance(found, train.Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {found}")
    return found


def check_not_synchronous(optimizer: Any) -> None:
    """ValueError for an optimizer that cannot be one of two in a model."""
    if isinstance(optimizer, train.SyncReplicasOptimizer):
        raise ValueError(
            "SyncReplicasOptimizer does not support multi optimizers case. Therefore, it is not supported in "
            "DNNLinearCombined model. If you want to use this optimizer, please use either DNN or Linear model."
        )
