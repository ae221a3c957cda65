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


def optimizer_of(opt: Any, learning_rate: float | None = None) -> Any:
    """The optimizer of a name, with that learning rate, of a function that makes one, or the one itself.

    This is get_optimizer_instance of TensorFlow's estimators.

    Args:
        opt: A name, a function without arguments, or an optimizer of gf.train.
        learning_rate: That of a name.

    Raises:
        ValueError: It is none, or a name without a learning rate.
    """
    if isinstance(opt, str):
        if opt not in BY_NAME:
            raise ValueError(
                f"Unsupported optimizer name: {opt}. Supported names are: {tuple(sorted(BY_NAME))}"
            )
        if not learning_rate:
            raise ValueError("learning_rate must be specified when opt is string.")
        return getattr(train, BY_NAME[opt])(learning_rate=learning_rate)
    found = opt() if callable(opt) else opt
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
