"""Data sets by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from graphflow.contrib.learn.datasets.base import load_boston, load_iris
from graphflow.contrib.learn.datasets.mnist import load_mnist

DATASETS: Final[Mapping[str, Callable[..., Any]]] = {
    "iris": load_iris,
    "boston": load_boston,
    "mnist": load_mnist,
}
"""What loads each of the data sets that load_dataset knows."""


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """A data set by its name (tf.contrib.learn.datasets.load_dataset).

    Args:
        name: "iris", "boston" or "mnist".
        size: Not needed by these.
        test_with_fake_data: Not needed by these.

    Returns:
        What its function gives.

    Raises:
        ValueError: For another name.
    """
    if name not in DATASETS:
        raise ValueError(f"There is no data set {name!r}: {', '.join(map(repr, DATASETS))} are there.")
    return DATASETS[name]()
