"""The network Xception (tf.keras.applications.xception)."""

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
    classified,
    convolved,
    finish,
    normalized,
)
from graphflow.keras.applications.imagenet_utils import decode_predictions
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Tensors

__all__ = ["Xception", "decode_predictions", "preprocess_input"]


def _separable(x: Any, filters: int, name: str, rectified: str | None = None) -> Any:
    """A separable convolution, normalised; rectified before under that name."""
    x = x if rectified is None else activated(x, rectified)
    x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return normalized(x, f"{name}_bn")


def _shrunk(x: Any, first: int, filters: int, name: str, rectified: bool = True) -> Any:
    """Two separable convolutions, then half the rows and columns, added to what they were given."""
    residual = normalized(convolved(x, filters, 1, strides=2, padding="same"))
    x = _separable(x, first, f"{name}_sepconv1", f"{name}_sepconv1_act" if rectified else None)
    x = _separable(x, filters, f"{name}_sepconv2", f"{name}_sepconv2_act")
    x = layers.MaxPooling2D(3, strides=2, padding="same", name=f"{name}_pool")(x)
    return layers.Add()([x, residual])


def _network(given: Given) -> Model:
    start = begin(given, 299, 71)
    x = convolved(start, 32, 3, "block1_conv1", strides=2)
    x = activated(normalized(x, "block1_conv1_bn"), "block1_conv1_act")
    x = convolved(x, 64, 3, "block1_conv2")
    x = activated(normalized(x, "block1_conv2_bn"), "block1_conv2_act")
    x = _shrunk(x, 128, 128, "block2", rectified=False)
    x = _shrunk(x, 256, 256, "block3")
    x = _shrunk(x, 728, 728, "block4")
    for block in range(5, 13):
        residual = x
        for number in range(1, 4):
            name = f"block{block}_sepconv{number}"
            x = _separable(x, 728, name, f"{name}_act")
        x = layers.Add()([x, residual])
    x = _shrunk(x, 728, 1024, "block13")
    for number, filters in enumerate((1536, 2048), 1):
        name = f"block14_sepconv{number}"
        x = activated(_separable(x, filters, name), f"{name}_act")
    x = classified(x, given, "predictions")
    files = Weights.of("xception", "fchollet/deep-learning-models/releases/download/v0.4")
    return finish(given, start, x, "xception", files)


def Xception(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """A network of separable convolutions (tf.keras.applications.Xception).

    Args:
        include_top: Whether it ends with the classifier.
        weights: None for initial values, the path of a file of weights, or "imagenet" for those in Keras's
            folder of models.
        input_tensor: A tensor, such as keras.Input's, that it begins with.
        input_shape: The shape of an image, with its channels; by default (299, 299, 3), and without the
            classifier any from 71 on.
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
