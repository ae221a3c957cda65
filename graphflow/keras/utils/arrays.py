"""Arrays of classes, and normalised ones (tf.keras.utils)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph.types import TensorLike


def to_categorical(y: TensorLike, num_classes: int | None = None, dtype: str = "float32") -> Any:
    """Classes as rows with a 1 at the class (tf.keras.utils.to_categorical).

    Args:
        y: Ints of any shape, from 0; a last axis of 1 goes.
        num_classes: The size of a row; by default one more than the largest class.
        dtype: The dtype of the result.

    Returns:
        An array [..., num_classes].
    """
    classes = np.asarray(y, dtype="int")
    shape = classes.shape[:-1] if classes.ndim > 1 and classes.shape[-1] == 1 else classes.shape
    flat = classes.ravel()
    count = int(np.max(flat)) + 1 if num_classes is None or not num_classes else num_classes
    found = np.zeros((len(flat), count), dtype=dtype)
    found[np.arange(len(flat)), flat] = 1
    return found.reshape((*shape, count))


def normalize(x: TensorLike, axis: int = -1, order: int = 2) -> Any:
    """An array divided by its norms along an axis (tf.keras.utils.normalize).

    Args:
        x: An array, or what NumPy makes one of.
        axis: The axis.
        order: The norm's order, 2 for the Euclidean one.

    Returns:
        An array of the same shape.
    """
    norms = np.atleast_1d(np.linalg.norm(np.asarray(x), order, axis))
    norms[norms == 0] = 1
    return np.asarray(x) / np.expand_dims(norms, axis)
