"""Handwritten digits (tf.keras.datasets.mnist)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow.keras.utils.files import get_file

__all__ = ["load_data"]

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def load_data(path: str = "mnist.npz") -> Any:
    """(images, digits) to train on and to test with, from mnist.npz (tf.keras.datasets.mnist.load_data).

    Args:
        path: The file's name in Keras's folder of data.

    Returns:
        (images, digits) twice: arrays of bytes [count, 28, 28] and [count].

    Raises:
        FileNotFoundError: The file is not in Keras's folder of data; says where it comes from.
    """
    with np.load(get_file(path, f"{_ORIGIN}mnist.npz")) as file:
        return (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])
