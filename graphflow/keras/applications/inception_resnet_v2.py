"""The network of Inception with residual blocks (tf.keras.applications.inception_resnet_v2)."""

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

__all__ = ["InceptionResNetV2", "decode_predictions", "preprocess_input"]


def _block(x: Any, filters: int, size: Any, name: str | None = None, **more: Any) -> Any:
    """A convolution, normalised and rectified."""
    x = convolved(x, filters, size, name, **{"padding": "same", **more})
    x = normalized(x, None if name is None else f"{name}_bn", scale=False)
    return activated(x, None if name is None else f"{name}_ac")


def _chain(x: Any, *blocks: tuple[int, Any], **last: Any) -> Any:
    """Blocks one behind the other; what is said by name is said of the last one."""
    for number, block in enumerate(blocks, 1):
        x = _block(x, *block, **(last if number == len(blocks) else {}))
    return x


def _added(inputs: Any, scale: float) -> Any:
    return inputs[0] + inputs[1] * scale


def _residual(x: Any, branches: list[Any], scale: float, name: str, rectified: bool = True) -> Any:
    """Branches put together, and added to what they were given."""
    mixed = layers.Concatenate(axis=channels(), name=f"{name}_mixed")(branches)
    up = layers.Conv2D(shape_of(x)[channels()], 1, padding="same", name=f"{name}_conv")(mixed)
    x = layers.Lambda(_added, arguments={"scale": scale}, name=name)([x, up])
    return activated(x, f"{name}_ac") if rectified else x


def _network(given: Given) -> Model:
    start = begin(given, 299, 75)
    shrink: dict[str, Any] = {"strides": 2, "padding": "valid"}
    x = _block(start, 32, 3, **shrink)
    x = _block(x, 32, 3, padding="valid")
    x = layers.MaxPooling2D(3, strides=2)(_block(x, 64, 3))
    x = _block(x, 80, 1, padding="valid")
    x = layers.MaxPooling2D(3, strides=2)(_block(x, 192, 3, padding="valid"))
    branches = [
        _block(x, 96, 1),
        _chain(x, (48, 1), (64, 5)),
        _chain(x, (64, 1), (96, 3), (96, 3)),
        _block(layers.AveragePooling2D(3, strides=1, padding="same")(x), 64, 1),
    ]
    x = layers.Concatenate(axis=channels(), name="mixed_5b")(branches)
    for number in range(1, 11):
        branches = [_block(x, 32, 1), _chain(x, (32, 1), (32, 3)), _chain(x, (32, 1), (48, 3), (64, 3))]
        x = _residual(x, branches, 0.17, f"block35_{number}")
    branches = [
        _block(x, 384, 3, **shrink),
        _chain(x, (256, 1), (256, 3), (384, 3), **shrink),
        layers.MaxPooling2D(3, strides=2)(x),
    ]
    x = layers.Concatenate(axis=channels(), name="mixed_6a")(branches)
    for number in range(1, 21):
        branches = [_block(x, 192, 1), _chain(x, (128, 1), (160, (1, 7)), (192, (7, 1)))]
        x = _residual(x, branches, 0.1, f"block17_{number}")
    branches = [
        _chain(x, (256, 1), (384, 3), **shrink),
        _chain(x, (256, 1), (288, 3), **shrink),
        _chain(x, (256, 1), (288, 3), (320, 3), **shrink),
        layers.MaxPooling2D(3, strides=2)(x),
    ]
    x = layers.Concatenate(axis=channels(), name="mixed_7a")(branches)
    for number in range(1, 11):
        branches = [_block(x, 192, 1), _chain(x, (192, 1), (224, (1, 3)), (256, (3, 1)))]
        last = number == 10
        x = _residual(x, branches, 1.0 if last else 0.2, f"block8_{number}", rectified=not last)
    x = _block(x, 1536, 1, "conv_7b")
    x = classified(x, given, "predictions")
    files = Weights.of("inception_resnet_v2", "fchollet/deep-learning-models/releases/download/v0.7")
    return finish(given, start, x, "inception_resnet_v2", files)


def InceptionResNetV2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """The network of Inception with residual blocks (tf.keras.applications.InceptionResNetV2).

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
