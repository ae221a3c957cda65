"""Images as networks take them, and the names of ImageNet's classes (tf.keras.applications.imagenet_utils)."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.backend.settings import floatx
from graphflow.keras.layers.base import layout_of
from graphflow.keras.typing import Arrays
from graphflow.keras.utils.files import get_file

__all__ = ["decode_predictions", "preprocess_input"]

_MODES: Final[dict[str, tuple[float, Any, Any]]] = {
    "tf": (127.5, 1.0, 1.0),
    "torch": (255.0, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    "caffe": (1.0, [103.939, 116.779, 123.68], 1.0),
}
"""What is divided by, what is taken away of each channel, and what is divided by then."""


def preprocess_input(x: TensorLike, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Images as a network takes them (tf.keras.applications.imagenet_utils.preprocess_input).

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().
        mode: "caffe" for blue first, less the mean of each channel; "tf" for -1 to 1; "torch" for 0 to 1, less the
            mean and divided by the deviation of each channel.

    Returns:
        An array or tensor of the same shape.

    Raises:
        ValueError: `data_format` or `mode` is not known.
    """
    if mode not in _MODES:
        raise ValueError(f"mode is one of {', '.join(_MODES)}, not {mode!r}.")
    first = layout_of(data_format) == "channels_first"
    scale, mean, deviation = _MODES[mode]
    if not isinstance(x, Tensor):
        x = np.asarray(x)
        x = x if x.dtype.kind == "f" else x.astype(floatx())
    given: Any = x
    kind = given.dtype.as_numpy_dtype if isinstance(given, Tensor) else given.dtype

    def of_channels(values: Any) -> Any:
        numbers = np.asarray(values, kind)
        return numbers.reshape(-1, 1, 1) if first and numbers.ndim else numbers

    if mode == "caffe":
        axis = len(given.shape) - 3 if first else len(given.shape) - 1
        given = ops.reverse(given, [axis]) if isinstance(given, Tensor) else np.flip(given, axis)
    if isinstance(given, Tensor):
        return (given / kind(scale) - of_channels(mean)) / of_channels(deviation)
    given /= scale
    given -= of_channels(mean)
    given /= of_channels(deviation)
    return given


def decode_predictions(preds: Arrays, top: int = 5) -> list[list[tuple[str, str, float]]]:
    """The likeliest classes of ImageNet (tf.keras.applications.imagenet_utils.decode_predictions).

    Args:
        preds: Predictions [images, 1000].
        top: How many classes of each.

    Returns:
        For each image a list of (number in WordNet, name, prediction), the largest first.

    Raises:
        FileNotFoundError: The list of names, imagenet_class_index.json, is not there; says where to put it.
        ValueError: The predictions have another shape.
    """
    array = np.asarray(preds)
    if array.ndim != 2 or array.shape[1] != 1000:
        raise ValueError(
            f"decode_predictions() takes predictions of shape (images, 1000), not {array.shape}."
        )
    path = get_file(
        "imagenet_class_index.json",
        "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json",
        cache_subdir="models",
    )
    with open(path, encoding="utf-8") as file:
        names = json.load(file)
    best = np.argsort(array, axis=1)[:, ::-1][:, :top]
    return [[(*names[str(i)], row[i]) for i in own] for row, own in zip(array, best, strict=True)]
