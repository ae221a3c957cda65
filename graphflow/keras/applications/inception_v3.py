"""The third network of Inception (tf.keras.applications.inception_v3)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import ShapeLike, TensorLike
from graphflow.keras import layers
from graphflow.keras.applications import imagenet_utils
from graphflow.keras.applications.building import (
    Given,
    Weights,
    activated,
    begin,
    channels,
    classified,
    convolved,
    finish,
    normalized,
)
from graphflow.keras.applications.imagenet_utils import decode_predictions
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Tensors

__all__ = ["InceptionV3", "decode_predictions", "preprocess_input"]


def _block(x: Any, filters: int, rows: int, columns: int, **more: Any) -> Any:
    """A convolution, normalised and rectified."""
    x = convolved(x, filters, (rows, columns), **{"padding": "same", **more})
    return activated(normalized(x, scale=False))


def _chain(x: Any, *blocks: tuple[int, int, int], **last: Any) -> Any:
    """Blocks one behind the other; what is said by name is said of the last one."""
    for number, block in enumerate(blocks, 1):
        x = _block(x, *block, **(last if number == len(blocks) else {}))
    return x


def _joined(branches: list[Any], name: str | None = None) -> Any:
    return layers.Concatenate(axis=channels(), name=name)(branches)


def _averaged(x: Any, filters: int) -> Any:
    return _block(layers.AveragePooling2D(3, strides=1, padding="same")(x), filters, 1, 1)


def _wide(x: Any, filters: int, name: str) -> Any:
    """Windows of 7, as a row and a column."""
    n = filters
    branches = [
        _block(x, 192, 1, 1),
        _chain(x, (n, 1, 1), (n, 1, 7), (192, 7, 1)),
        _chain(x, (n, 1, 1), (n, 7, 1), (n, 1, 7), (n, 7, 1), (192, 1, 7)),
        _averaged(x, 192),
    ]
    return _joined(branches, name)


def _forked(x: Any, *blocks: tuple[int, int, int], name: str | None = None) -> Any:
    """A chain that ends in a row and a column of windows."""
    x = _chain(x, *blocks)
    return _joined([_block(x, 384, 1, 3), _block(x, 384, 3, 1)], name)


def _network(given: Given) -> Model:
    start = begin(given, 299, 75)
    shrink: dict[str, Any] = {"strides": 2, "padding": "valid"}
    x = _block(start, 32, 3, 3, **shrink)
    x = _block(x, 32, 3, 3, padding="valid")
    x = layers.MaxPooling2D(3, strides=2)(_block(x, 64, 3, 3))
    x = _block(x, 80, 1, 1, padding="valid")
    x = layers.MaxPooling2D(3, strides=2)(_block(x, 192, 3, 3, padding="valid"))
    for number, filters in enumerate((32, 64, 64)):
        branches = [
            _block(x, 64, 1, 1),
            _chain(x, (48, 1, 1), (64, 5, 5)),
            _chain(x, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
            _averaged(x, filters),
        ]
        x = _joined(branches, f"mixed{number}")
    branches = [
        _block(x, 384, 3, 3, **shrink),
        _chain(x, (64, 1, 1), (96, 3, 3), (96, 3, 3), **shrink),
        layers.MaxPooling2D(3, strides=2)(x),
    ]
    x = _joined(branches, "mixed3")
    for number, filters in enumerate((128, 160, 160, 192), 4):
        x = _wide(x, filters, f"mixed{number}")
    branches = [
        _chain(x, (192, 1, 1), (320, 3, 3), **shrink),
        _chain(x, (192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3), **shrink),
        layers.MaxPooling2D(3, strides=2)(x),
    ]
    x = _joined(branches, "mixed8")
    for number in range(2):
        branches = [
            _block(x, 320, 1, 1),
            _forked(x, (384, 1, 1), name=f"mixed9_{number}"),
            _forked(x, (448, 1, 1), (384, 3, 3)),
            _averaged(x, 192),
        ]
        x = _joined(branches, f"mixed{9 + number}")
    x = classified(x, given, "predictions")
    files = Weights.of("inception_v3", "fchollet/deep-learning-models/releases/download/v0.5")
    return finish(given, start, x, "inception_v3", files)


def InceptionV3(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The third network of Inception (tf.keras.applications.InceptionV3).

    Args:
        include_top: Whether it ends with the classifier.
        weights: None for initial values, the path of a file of weights, or "imagenet" for those in Keras's
            folder of models.
        input_tensor: A tensor, such as keras.Input's, that it begins with.
        input_shape: The shape of an image, with its channels; by default (299, 299, 3), and without the
            classifier any from 75 on.
        pooling: Without the classifier, "avg" or "max" over what is left of rows and columns; None for all of
            them.
        classes: How many classes the classifier tells apart.

    Returns:
        The model.

    Raises:
        FileNotFoundError: The weights are not there; says where to put them.
        ValueError: The shape of images, or the number of classes, is not that of the weights.
    """
    given = Given(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _network(given)


def preprocess_input(x: TensorLike, data_format: str | None = None) -> Any:
    """Images as the network takes them, from -1 to 1.

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        An array or tensor of the same shape.
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")
