"""Pictures of ten classes (tf.keras.datasets.cifar10)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphflow.keras.backend.settings import image_data_format
from graphflow.keras.datasets.pickled import read_batch
from graphflow.keras.utils.files import get_file

__all__ = ["load_data"]


def load_data() -> Any:
    """(images, classes) to train on and to test with, from cifar-10-batches-py (tf.keras.datasets.cifar10.load_data).

    Raises:
        FileNotFoundError: The folder is not in Keras's folder of data; says where it comes from.
    """
    folder = get_file(
        "cifar-10-batches-py", "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", untar=True
    )
    parts = [read_batch(os.path.join(folder, f"data_batch_{i}"), "labels") for i in range(1, 6)]
    train = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    return tuple(
        arranged(*pair) for pair in (train, read_batch(os.path.join(folder, "test_batch"), "labels"))
    )


def arranged(images: Any, labels: Any) -> tuple[Any, Any]:
    """Images with their channels where the settings have them, and labels as a column.

    Args:
        images: An array [count, 3, 32, 32].
        labels: An array [count].

    Returns:
        Arrays [count, 32, 32, 3] or [count, 3, 32, 32], and [count, 1].
    """
    last = image_data_format() == "channels_last"
    return (images.transpose(0, 2, 3, 1) if last else images), labels.reshape(-1, 1)
