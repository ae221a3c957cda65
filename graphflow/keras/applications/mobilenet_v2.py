"""The network MobileNetV2 (tf.keras.applications.mobilenet_v2)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import ShapeLike, TensorLike
from graphflow.keras import layers
from graphflow.keras.applications import imagenet_utils
from graphflow.keras.applications.building import (
    Given,
    Weights,
    begin,
    channels,
    classified,
    convolved,
    finish,
    first_axis,
    normalized,
    padding_before,
    square_size,
)
from graphflow.keras.applications.imagenet_utils import decode_predictions
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Tensors

__all__ = ["MobileNetV2", "decode_predictions", "preprocess_input"]


def _divisible(value: float) -> int:
    """The multiple of 8 that is nearest, and at least nine tenths."""
    found = max(8, int(value + 4) // 8 * 8)
    return found + 8 if found < 0.9 * value else found


def _rectified(x: Any, norm: str, name: str) -> Any:
    return layers.ReLU(6.0, name=name)(normalized(x, norm, epsilon=1e-3, momentum=0.999))


def _inverted(inputs: Any, alpha: float, filters: int, stride: int, number: int) -> Any:
    """Channels made more, convolved one by one, made fewer, and added to what they were made of."""
    x = inputs
    before: Any = shape_of(x)[channels()]
    prefix = f"block_{number}_" if number else "expanded_conv_"
    if number:
        x = convolved(x, 6 * before, 1, f"{prefix}expand", padding="same")
        x = _rectified(x, f"{prefix}expand_BN", f"{prefix}expand_relu")
    if stride == 2:
        x = layers.ZeroPadding2D(padding_before(x, 3), name=f"{prefix}pad")(x)
    padding = "same" if stride == 1 else "valid"
    x = layers.DepthwiseConv2D(3, stride, padding, use_bias=False, name=f"{prefix}depthwise")(x)
    x = _rectified(x, f"{prefix}depthwise_BN", f"{prefix}depthwise_relu")
    after = _divisible(int(filters * alpha))
    x = convolved(x, after, 1, f"{prefix}project", padding="same")
    x = normalized(x, f"{prefix}project_BN", epsilon=1e-3, momentum=0.999)
    return layers.Add(name=f"{prefix}add")([inputs, x]) if before == after and stride == 1 else x


def _network(given: Given, alpha: float) -> Model:
    tensor = given.input_tensor
    shape = given.input_shape
    if shape is None and tensor is not None:
        shape = shape_of(tensor)[2:4] + (3,) if first_axis() else shape_of(tensor)[1:]
    size = square_size(shape, (96, 128, 160, 192, 224))
    start = begin(given, size, 32)
    rows = shape_of(start)[2 if first_axis() else 1]
    widths = (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)
    if given.weights == "imagenet" and alpha not in widths:
        raise ValueError(
            f"Weights trained on ImageNet are there for alpha in {widths}, not for alpha={alpha}."
        )
    x = layers.ZeroPadding2D(padding_before(start, 3), name="Conv1_pad")(start)
    x = convolved(x, _divisible(32 * alpha), 3, "Conv1", strides=2)
    x = _rectified(x, "bn_Conv1", "Conv1_relu")
    stages = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))
    number = 0
    for filters, count, stride in stages:
        for place in range(count):
            x = _inverted(x, alpha, filters, stride if place == 0 else 1, number)
            number += 1
    x = convolved(x, _divisible(1280 * alpha) if alpha > 1.0 else 1280, 1, "Conv_1")
    x = _rectified(x, "Conv_1_bn", "out_relu")
    x = classified(x, given, "Logits", None)
    stem = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{alpha}_{size}"
    origin = "https://github.com/JonathanCMitchell/mobilenet_v2_keras/releases/download/v1.1/"
    files = Weights(f"{stem}.h5", f"{stem}_no_top.h5", origin)
    return finish(given, start, x, f"mobilenetv2_{alpha:.2f}_{rows}", files)


def MobileNetV2(
    input_shape: ShapeLike = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """A small network of inverted residual blocks (tf.keras.applications.MobileNetV2).

    Args:
        input_shape: The shape of an image, with its channels; by default (224, 224, 3), and without the
            classifier any from 32 on.
        alpha: What the number of channels of each layer is multiplied by.
        include_top: Whether it ends with the classifier.
        weights: None for initial values, the path of a file of weights, or "imagenet" for those in Keras's
            folder of models.
        input_tensor: A tensor, such as keras.Input's, that it begins with.
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
    return _network(given, alpha)


def preprocess_input(x: TensorLike, data_format: str | None = None) -> Any:
    """Images as the network takes them, from -1 to 1.

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        An array or tensor of the same shape.
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")
