"""Pictures of a hundred classes (tf.keras.datasets.cifar100)."""

from __future__ import annotations

import os
from typing import Any

from graphflow.keras.datasets.cifar10 import arranged
from graphflow.keras.datasets.pickled import read_batch
from graphflow.keras.utils.files import get_file

__all__ = ["load_data"]


def load_data(label_mode: str = "fine") -> Any:
    """(images, classes) to train on and to test with, from cifar-100-python (tf.keras.datasets.cifar100.load_data).

    Args:
        label_mode: "fine", or "coarse" for twenty classes.

    Returns:
        (images, classes) twice: arrays of bytes [count, 32, 32, 3], by the layout of K.image_data_format(), and ints
        [count, 1].

    Raises:
        ValueError: `label_mode` is neither.
        FileNotFoundError: The folder is not in Keras's folder of data; says where it comes from.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    folder = get_file(
        "cifar-100-python", "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", untar=True
    )
    return tuple(
        arranged(*read_batch(os.path.join(folder, part), f"{label_mode}_labels"))
        for part in ("train", "test")
    )
