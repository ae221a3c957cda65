"""The network VGG19 (tf.keras.applications.vgg19)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import ShapeLike, TensorLike
from graphflow.keras.applications import imagenet_utils
from graphflow.keras.applications.building import (
    Given,
)
from graphflow.keras.applications.imagenet_utils import decode_predictions
from graphflow.keras.applications.vgg16 import vgg
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Tensors

__all__ = ["VGG19", "decode_predictions", "preprocess_input"]


def VGG19(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Tensors = None,
    input_shape: ShapeLike = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """VGG of 19 layers with weights (tf.keras.applications.VGG19).

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
    return vgg(given, (2, 2, 4, 4, 4), "vgg19")


def preprocess_input(x: TensorLike, data_format: str | None = None) -> Any:
    """Images as the network takes them, blue first, less the mean of each channel.

    Args:
        x: Images of 0 to 255, red, green and blue: an array, which is written over if it has floats, or a tensor.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        An array or tensor of the same shape.
    """
    return imagenet_utils.preprocess_input(x, data_format, "caffe")
