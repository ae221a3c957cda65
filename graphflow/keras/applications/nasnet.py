"""Networks that a search found (tf.keras.applications.nasnet)."""

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
    first_axis,
    normalized,
    padding_before,
)
from graphflow.keras.applications.imagenet_utils import decode_predictions
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Tensors

__all__ = ["NASNetLarge", "NASNetMobile", "decode_predictions", "preprocess_input"]


def _normal(x: Any, name: str) -> Any:
    return normalized(x, name, momentum=0.9997, epsilon=1e-3)


def _projected(x: Any, filters: int, name: str) -> Any:
    return convolved(x, filters, 1, name, padding="same", kernel_initializer="he_normal")


def _separable(x: Any, filters: int, size: int, block: str, stride: int = 1) -> Any:
    """Twice rectified, convolved channel by channel and across channels, and normalised."""
    x = activated(x)
    padding = "same"
    if stride == 2:
        x = layers.ZeroPadding2D(padding_before(x, size), name=f"separable_conv_1_pad_{block}")(x)
        padding = "valid"
    for number in (1, 2):
        convolution = layers.SeparableConv2D(
            filters, size, strides=stride if number == 1 else 1, padding=padding if number == 1 else "same",
            use_bias=False, kernel_initializer="he_normal", name=f"separable_conv_{number}_{block}",
        )  # fmt: skip
        x = _normal(convolution(x), f"separable_conv_{number}_bn_{block}")
        x = activated(x) if number == 1 else x
    return x


def _adjusted(before: Any, x: Any, filters: int, block: str) -> Any:
    """What came before the last cell, in the size of what comes from it."""
    if before is None:
        return x
    side = 3 if first_axis() else 2
    if shape_of(before)[side] != shape_of(x)[side]:
        before = activated(before, f"adjust_relu_1_{block}")
        first = layers.AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_1_{block}")(before)
        first = _projected(first, filters // 2, f"adjust_conv_1_{block}")
        second = layers.ZeroPadding2D(((0, 1), (0, 1)))(before)
        second = layers.Cropping2D(((1, 0), (1, 0)))(second)
        second = layers.AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_2_{block}")(second)
        second = _projected(second, filters // 2, f"adjust_conv_2_{block}")
        return _normal(layers.Concatenate(axis=channels())([first, second]), f"adjust_bn_{block}")
    if shape_of(before)[channels()] != filters:
        before = _projected(activated(before), filters, f"adjust_conv_projection_{block}")
        return _normal(before, f"adjust_bn_{block}")
    return before


def _cell(x: Any, before: Any, filters: int, block: str) -> tuple[Any, Any]:
    """A cell that keeps rows and columns; gives its output, and its input for the next but one."""
    p = _adjusted(before, x, filters, block)
    h = _normal(_projected(activated(x), filters, f"normal_conv_1_{block}"), f"normal_bn_1_{block}")

    def averaged(tensor: Any, name: str) -> Any:
        return layers.AveragePooling2D(3, strides=1, padding="same", name=f"normal_{name}_{block}")(tensor)

    def added(number: int, *tensors: Any) -> Any:
        return layers.Add(name=f"normal_add_{number}_{block}")(list(tensors))

    left = _separable(h, filters, 5, f"normal_left1_{block}")
    first = added(1, left, _separable(p, filters, 3, f"normal_right1_{block}"))
    left = _separable(p, filters, 5, f"normal_left2_{block}")
    second = added(2, left, _separable(p, filters, 3, f"normal_right2_{block}"))
    third = added(3, averaged(h, "left3"), p)
    fourth = added(4, averaged(p, "left4"), averaged(p, "right4"))
    fifth = added(5, _separable(h, filters, 3, f"normal_left5_{block}"), h)
    every = [p, first, second, third, fourth, fifth]
    return layers.Concatenate(axis=channels(), name=f"normal_concat_{block}")(every), x


def _reduction(x: Any, before: Any, filters: int, block: str) -> tuple[Any, Any]:
    """A cell that halves rows and columns; gives its output, and its input for the next but one."""
    p = _adjusted(before, x, filters, block)
    h = _normal(_projected(activated(x), filters, f"reduction_conv_1_{block}"), f"reduction_bn_1_{block}")
    padded = layers.ZeroPadding2D(padding_before(h, 3), name=f"reduction_pad_1_{block}")(h)
    left = _separable(h, filters, 5, f"reduction_left1_{block}", 2)
    right = _separable(p, filters, 7, f"reduction_right1_{block}", 2)
    first = layers.Add(name=f"reduction_add_1_{block}")([left, right])
    left = layers.MaxPooling2D(3, strides=2, name=f"reduction_left2_{block}")(padded)
    right = _separable(p, filters, 7, f"reduction_right2_{block}", 2)
    second = layers.Add(name=f"reduction_add_2_{block}")([left, right])
    left = layers.AveragePooling2D(3, strides=2, name=f"reduction_left3_{block}")(padded)
    right = _separable(p, filters, 5, f"reduction_right3_{block}", 2)
    third = layers.Add(name=f"reduction_add3_{block}")([left, right])
    fourth = layers.AveragePooling2D(3, strides=1, padding="same", name=f"reduction_left4_{block}")(first)
    fourth = layers.Add()([second, fourth])
    left = _separable(first, filters, 3, f"reduction_left4_{block}")
    right = layers.MaxPooling2D(3, strides=2, name=f"reduction_right5_{block}")(padded)
    fifth = layers.Add(name=f"reduction_add4_{block}")([left, right])
    every = [second, third, fourth, fifth]
    return layers.Concatenate(axis=channels(), name=f"reduction_concat_{block}")(every), x


def _network(
    given: Given, size: int, filters: int, blocks: int, stem: int, skips: bool, files: Weights
) -> Model:
    start = begin(given, size, 32, static=True)
    x = convolved(start, stem, 3, "stem_conv1", strides=2, kernel_initializer="he_normal")
    x = _normal(x, "stem_bn1")
    x, before = _reduction(x, None, filters // 4, "stem_1")
    x, before = _reduction(x, before, filters // 2, "stem_2")
    for stage in range(3):
        if stage:
            x, kept = _reduction(x, before, filters * 2**stage, f"reduce_{stage * blocks}")
            before = before if skips else kept
        for number in range(blocks):
            x, before = _cell(x, before, filters * 2**stage, str(stage * blocks + number + (stage > 0)))
    x = activated(x)
    return finish(given, start, classified(x, given, "predictions", None), "NASNet", files)


def _files(size: str) -> Weights:
    origin = "https://github.com/titu1994/Keras-NASNet/releases/download/v1.2/"
    there = (f"NASNet-{size}.h5", f"NASNet-{size}-no-top.h5")
    return Weights(f"nasnet_{size}.h5", f"nasnet_{size}_no_top.h5", origin, there)


def NASNetLarge(
    input_shape: ShapeLike = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The large network that a search found (tf.keras.applications.NASNetLarge).

    Args:
        input_shape: The shape of an image, with its channels; by default (331, 331, 3).
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
    files = _files("large")
    return _network(given, 331, 168, 6, 96, True, files)


def NASNetMobile(
    input_shape: ShapeLike = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The small network that a search found (tf.keras.applications.NASNetMobile).

    Args:
        input_shape: The shape of an image, with its channels; by default (224, 224, 3).
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
    files = _files("mobile")
    return _network(given, 224, 44, 4, 32, False, files)


def preprocess_input(x: TensorLike, data_format: str | None = None) -> Any:
    """Images as the network takes them, from -1 to 1.

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        An array or tensor of the same shape.
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")
