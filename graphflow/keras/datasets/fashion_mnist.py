"""Pictures of clothes (tf.keras.datasets.fashion_mnist)."""

from __future__ import annotations

import gzip
import os
from typing import Any

import numpy as np

from graphflow.keras.utils.files import get_file

__all__ = ["load_data"]

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def load_data() -> Any:
    """(images, classes) to train on and to test with, from four files (tf.keras.datasets.fashion_mnist.load_data).

    Raises:
        FileNotFoundError: A file is not in Keras's folder of data; says where it comes from.
    """
    found = []
    for part in ("train", "t10k"):
        arrays = []
        for kind, skip in (("images-idx3", 16), ("labels-idx1", 8)):
            name = f"{part}-{kind}-ubyte.gz"
            path = get_file(name, _ORIGIN + name, cache_subdir=os.path.join("datasets", "fashion-mnist"))
            with gzip.open(path, "rb") as file:
                arrays.append(np.frombuffer(file.read(), np.uint8, offset=skip))
        images, labels = arrays
        found.append((images.reshape(len(labels), 28, 28), labels))
    return tuple(found)
