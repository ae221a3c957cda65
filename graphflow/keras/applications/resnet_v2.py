"""Residual networks whose layers are normalised before they are applied (tf.keras.applications.resnet_v2)."""

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

__all__ = ["ResNet101V2", "ResNet152V2", "ResNet50V2", "decode_predictions", "preprocess_input"]


def _block(x: Any, filters: int, stride: int, projected: bool, name: str) -> Any:
    """Three convolutions, each behind its normalisation, added to what they were given."""
    ready = activated(normalized(x, f"{name}_preact_bn", epsilon=1.001e-5), f"{name}_preact_relu")
    if projected:
        shortcut = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(ready)
    else:
        shortcut = layers.MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
    x = convolved(ready, filters, 1, f"{name}_1_conv")
    x = activated(normalized(x, f"{name}_1_bn", epsilon=1.001e-5), f"{name}_1_relu")
    x = layers.ZeroPadding2D(1, name=f"{name}_2_pad")(x)
    x = convolved(x, filters, 3, f"{name}_2_conv", strides=stride)
    x = activated(normalized(x, f"{name}_2_bn", epsilon=1.001e-5), f"{name}_2_relu")
    x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    return layers.Add(name=f"{name}_out")([shortcut, x])


def _network(given: Given, blocks: tuple[int, ...], name: str) -> Model:
    start = begin(given, 224, 32)
    x = layers.ZeroPadding2D(3, name="conv1_pad")(start)
    x = layers.Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    x = layers.ZeroPadding2D(1, name="pool1_pad")(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    for stage, count in enumerate(blocks, 2):
        for number in range(1, count + 1):
            stride = 2 if number == count and stage < 5 else 1
            x = _block(x, 64 * 2 ** (stage - 2), stride, number == 1, f"conv{stage}_block{number}")
    x = activated(normalized(x, "post_bn", epsilon=1.001e-5), "post_relu")
    x = classified(x, given, "probs", "avg_pool", "max_pool")
    return finish(
        given, start, x, name, Weights.of(name, "keras-team/keras-applications/releases/download/resnet")
    )


def ResNet50V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The residual network of 50 layers, normalised before each convolution (tf.keras.applications.ResNet50V2).

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
    return _network(given, (3, 4, 6, 3), "resnet50v2")


def ResNet101V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The residual network of 101 layers, normalised before each convolution (tf.keras.applications.ResNet101V2).

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
    return _network(given, (3, 4, 23, 3), "resnet101v2")


def ResNet152V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The residual network of 152 layers, normalised before each convolution (tf.keras.applications.ResNet152V2).

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
    return _network(given, (3, 8, 36, 3), "resnet152v2")


def preprocess_input(x: TensorLike, data_format: str | None = None) -> Any:
    """Images as the network takes them, from -1 to 1.

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        An array or tensor of the same shape.
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")
