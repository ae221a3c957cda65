"""The network MobileNet (tf.keras.applications.mobilenet)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import ShapeLike, TensorLike
from graphflow.keras import layers
from graphflow.keras.applications import imagenet_utils
from graphflow.keras.applications.building import (
    Given,
    Weights,
    begin,
    convolved,
    finish,
    first_axis,
    normalized,
    pooled,
    square_size,
)
from graphflow.keras.applications.imagenet_utils import decode_predictions
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Tensors

__all__ = ["MobileNet", "decode_predictions", "preprocess_input"]


_PADDING = ((0, 1), (0, 1))


def _depthwise(x: Any, filters: int, multiplier: int, stride: int, number: int) -> Any:
    """A convolution of each channel, then one across channels."""
    if stride == 2:
        x = layers.ZeroPadding2D(_PADDING, name=f"conv_pad_{number}")(x)
    name = f"conv_dw_{number}"
    convolution = layers.DepthwiseConv2D(
        3, stride, "same" if stride == 1 else "valid", multiplier, use_bias=False, name=name
    )
    x = layers.ReLU(6.0, name=f"{name}_relu")(normalized(convolution(x), f"{name}_bn"))
    name = f"conv_pw_{number}"
    x = convolved(x, filters, 1, name, padding="same")
    return layers.ReLU(6.0, name=f"{name}_relu")(normalized(x, f"{name}_bn"))


def _network(given: Given, alpha: float, multiplier: int, dropout: float) -> Model:
    size = square_size(given.input_shape, (128, 160, 192, 224))
    start = begin(given, size, 32)
    rows = shape_of(start)[2 if first_axis() else 1]
    if given.weights == "imagenet" and (multiplier != 1 or alpha not in _WIDTHS):
        raise ValueError(
            f"Weights trained on ImageNet are there for depth_multiplier=1 and alpha in {list(_WIDTHS)}, not for "
            f"depth_multiplier={multiplier} and alpha={alpha}."
        )
    x = layers.ZeroPadding2D(_PADDING, name="conv1_pad")(start)
    x = convolved(x, int(32 * alpha), 3, "conv1", strides=2)
    x = layers.ReLU(6.0, name="conv1_relu")(normalized(x, "conv1_bn"))
    every = (64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024)
    for number, filters in enumerate(every, 1):
        x = _depthwise(x, int(filters * alpha), multiplier, 2 if number in (2, 4, 6, 12) else 1, number)
    if given.include_top:
        width = int(1024 * alpha)
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Reshape((width, 1, 1) if first_axis() else (1, 1, width), name="reshape_1")(x)
        x = layers.Dropout(dropout, name="dropout")(x)
        x = layers.Conv2D(given.classes, 1, padding="same", name="conv_preds")(x)
        x = layers.Reshape((given.classes,), name="reshape_2")(x)
        x = layers.Activation("softmax", name="act_softmax")(x)
    else:
        x = pooled(x, given)
    stem = f"mobilenet_{_WIDTHS.get(alpha)}_{size}_tf"
    origin = "https://github.com/fchollet/deep-learning-models/releases/download/v0.6/"
    files = Weights(f"{stem}.h5", f"{stem}_no_top.h5", origin)
    return finish(given, start, x, f"mobilenet_{alpha:.2f}_{rows}", files)


_WIDTHS = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0", 0.25: "2_5"}


def MobileNet(
    input_shape: ShapeLike = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """A small network of convolutions channel by channel (tf.keras.applications.MobileNet).

    Args:
        input_shape: The shape of an image, with its channels; by default (224, 224, 3), and without the
            classifier any from 32 on.
        alpha: What the number of channels of each layer is multiplied by.
        depth_multiplier: How many filters each channel has.
        dropout: The share that is dropped before the classifier.
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
    return _network(given, alpha, depth_multiplier, dropout)


def preprocess_input(x: TensorLike, data_format: str | None = None) -> Any:
    """Images as the network takes them, from -1 to 1.

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        An array or tensor of the same shape.
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")
