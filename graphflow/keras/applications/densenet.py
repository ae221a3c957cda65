"""Densely connected networks (tf.keras.applications.densenet)."""

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
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Tensors

__all__ = ["DenseNet121", "DenseNet169", "DenseNet201", "decode_predictions", "preprocess_input"]


def _dense(x: Any, name: str) -> Any:
    """32 channels more, computed from all that are there."""
    more = activated(normalized(x, f"{name}_0_bn", epsilon=1.001e-5), f"{name}_0_relu")
    more = convolved(more, 128, 1, f"{name}_1_conv")
    more = activated(normalized(more, f"{name}_1_bn", epsilon=1.001e-5), f"{name}_1_relu")
    more = convolved(more, 32, 3, f"{name}_2_conv", padding="same")
    return layers.Concatenate(axis=channels(), name=f"{name}_concat")([x, more])


def _halved(x: Any, name: str) -> Any:
    """Half the channels, rows and columns."""
    x = activated(normalized(x, f"{name}_bn", epsilon=1.001e-5), f"{name}_relu")
    x = convolved(x, shape_of(x)[channels()] // 2, 1, f"{name}_conv")  # type: ignore[operator]
    return layers.AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


def _network(given: Given, blocks: tuple[int, ...], name: str) -> Model:
    start = begin(given, 224, 32)
    x = layers.ZeroPadding2D(3)(start)
    x = convolved(x, 64, 7, "conv1/conv", strides=2)
    x = activated(normalized(x, "conv1/bn", epsilon=1.001e-5), "conv1/relu")
    x = layers.ZeroPadding2D(1)(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1")(x)
    for stage, count in enumerate(blocks, 2):
        for number in range(1, count + 1):
            x = _dense(x, f"conv{stage}_block{number}")
        if stage < 5:
            x = _halved(x, f"pool{stage}")
    x = activated(normalized(x, "bn", epsilon=1.001e-5), "relu")
    x = classified(x, given, "fc1000", "avg_pool", "max_pool")
    files = Weights.of(name, "keras-team/keras-applications/releases/download/densenet")
    return finish(given, start, x, name, files)


def DenseNet121(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The densely connected network of 121 layers (tf.keras.applications.DenseNet121).

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
    return _network(given, (6, 12, 24, 16), "densenet121")


def DenseNet169(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The densely connected network of 169 layers (tf.keras.applications.DenseNet169).

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
    return _network(given, (6, 12, 32, 32), "densenet169")


def DenseNet201(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The densely connected network of 201 layers (tf.keras.applications.DenseNet201).

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
    return _network(given, (6, 12, 48, 32), "densenet201")


def preprocess_input(x: TensorLike, data_format: str | None = None) -> Any:
    """Images as the network takes them, less the mean, by the deviation of each channel.

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        An array or tensor of the same shape.
    """
    return imagenet_utils.preprocess_input(x, data_format, "torch")
