"""Prices of houses in Boston (tf.keras.datasets.boston_housing)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow.keras.utils.files import get_file

__all__ = ["load_data"]


def load_data(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Any:
    """(features, prices) to train on and to test with (tf.keras.datasets.boston_housing.load_data).

    Args:
        path: The file's name in Keras's folder of data.
        test_split: The share of the houses to test with.
        seed: What the order of the houses follows from.

    Returns:
        (features, prices) twice: arrays [houses, 13] and [houses] of floats, the prices in thousands of dollars.

    Raises:
        FileNotFoundError: The file is not in Keras's folder of data; says where it comes from.
    """
    origin = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/boston_housing.npz"
    with np.load(get_file(path, origin)) as file:
        x, y = file["x"], file["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    at = int(len(x) * (1 - test_split))
    return (np.array(x[:at]), np.array(y[:at])), (np.array(x[at:]), np.array(y[at:]))
