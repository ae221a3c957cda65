"""The network VGG16 (tf.keras.applications.vgg16)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import ShapeLike, TensorLike
from graphflow.keras import layers
from graphflow.keras.applications import imagenet_utils
from graphflow.keras.applications.building import (
    Given,
    Weights,
    begin,
    finish,
    pooled,
)
from graphflow.keras.applications.imagenet_utils import decode_predictions
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Tensors

__all__ = ["VGG16", "decode_predictions", "preprocess_input"]


def vgg(given: Given, blocks: tuple[int, ...], name: str) -> Model:
    """The network of so many convolutions in each block."""
    start = x = begin(given, 224, 32)
    for block, (count, filters) in enumerate(zip(blocks, (64, 128, 256, 512, 512), strict=True), 1):
        for number in range(1, count + 1):
            convolution = layers.Conv2D(
                filters, 3, activation="relu", padding="same", name=f"block{block}_conv{number}"
            )
            x = convolution(x)
        x = layers.MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    if given.include_top:
        x = layers.Flatten(name="flatten")(x)
        x = layers.Dense(4096, activation="relu", name="fc1")(x)
        x = layers.Dense(4096, activation="relu", name="fc2")(x)
        x = layers.Dense(given.classes, activation="softmax", name="predictions")(x)
    else:
        x = pooled(x, given)
    return finish(
        given, start, x, name, Weights.of(name, "fchollet/deep-learning-models/releases/download/v0.1")
    )


def VGG16(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """VGG of 16 layers with weights (tf.keras.applications.VGG16).

    Args:
        include_top: Whether it ends with the classifier.
        weights: None for initial values, the path of a file of weights, or "imagenet" for those in Keras's
            folder of models.
        input_tensor: A tensor, such as keras.Input's, that it begins with.
        input_shape: The shape of an image, with its channels; by default (224, 224, 3), and without the
            classifier any from 32 on.
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
    return vgg(given, (2, 2, 3, 3, 3), "vgg16")


def preprocess_input(x: TensorLike, data_format: str | None = None) -> Any:
    """Images as the network takes them, blue first, less the mean of each channel.

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        An array or tensor of the same shape.
    """
    return imagenet_utils.preprocess_input(x, data_format, "caffe")
