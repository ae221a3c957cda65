"""What the networks share: where they begin, blocks of layers, how they end, and where their weights come from."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow.keras import layers
from graphflow.keras.backend.settings import image_data_format
from graphflow.keras.engine.base_layer import is_keras_tensor, shape_of
from graphflow.keras.engine.input_layer import Input
from graphflow.keras.engine.training import Model
from graphflow.keras.utils.files import get_file
from graphflow.keras.utils.models import get_source_inputs


class Given(NamedTuple):
    """What a program asks of a network, as its function takes it."""

    include_top: bool
    weights: Any
    input_tensor: Any
    input_shape: Any
    pooling: str | None
    classes: int


class Weights(NamedTuple):
    """The files of weights that were trained on ImageNet: with the classifier and without, and where they come from."""

    with_top: str
    without_top: str
    origin: str
    at_origin: tuple[str, str] | None = None
    """The names that the files have there, if they are others."""

    @classmethod
    def of(cls, name: str, release: str) -> Weights:
        """Those that are named as most are."""
        stem = f"{name}_weights_tf_dim_ordering_tf_kernels"
        return cls(f"{stem}.h5", f"{stem}_notop.h5", f"https://github.com/{release}/")


def first_axis() -> bool:
    """Whether channels come before rows and columns."""
    return image_data_format() == "channels_first"


def channels() -> int:
    """The axis of channels."""
    return 1 if first_axis() else 3


# ---- beginning and end ----------------------------------------------------------------------------------------------


def begin(given: Given, size: int, smallest: int, static: bool | None = None) -> Any:
    """The tensor that a network begins with.

    Args:
        given: What is asked of it.
        size: Its rows and columns, if no shape is said.
        smallest: The fewest rows and columns that it takes.
        static: Whether rows and columns must be known; by default if it has the classifier.

    Raises:
        ValueError: There are no such weights, or the shape does not go with them.
    """
    weights = given.weights
    if not (weights in (None, "imagenet") or storage.exists(user_path(weights))):
        raise ValueError(f"weights is None, 'imagenet' or the path of a file that is there, not {weights!r}.")
    if weights == "imagenet" and given.include_top and given.classes != 1000:
        raise ValueError(
            f"The classifier trained on ImageNet has 1000 classes, not {given.classes}: weights=None."
        )
    shape = _image_shape(given, size, smallest, given.include_top if static is None else static)
    if given.input_tensor is None:
        return Input(shape=shape)
    tensor = given.input_tensor
    return tensor if is_keras_tensor(tensor) else Input(tensor=tensor)


def _image_shape(given: Given, size: int, smallest: int, static: bool) -> tuple[int | None, ...]:
    trained = given.weights == "imagenet"
    asked = None if given.input_shape is None else tuple(given.input_shape)
    at = 0 if first_axis() else -1
    depth = asked[at] if asked is not None and len(asked) == 3 and not trained else 3

    def with_sides(rows: int | None, columns: int | None) -> tuple[int | None, ...]:
        return (depth, rows, columns) if first_axis() else (rows, columns, depth)

    usual = with_sides(size, size)
    if trained and static and asked not in (None, usual):
        raise ValueError(f"The classifier trained on ImageNet takes images of {usual}, not {asked}.")
    if asked is None:
        return usual if static else with_sides(None, None)
    if len(asked) != 3:
        raise ValueError(f"input_shape is that of an image, three ints, not {asked}.")
    if trained and asked[at] != 3:
        raise ValueError(
            f"The weights trained on ImageNet are for 3 channels, not {asked[at]}: input_shape={asked}."
        )
    sides = asked[1:] if first_axis() else asked[:2]
    if any(side is not None and side < smallest for side in sides):
        raise ValueError(f"The network takes images from {smallest}x{smallest} on, not input_shape={asked}.")
    if static and None in asked:
        raise ValueError(f"The classifier needs the size of images, but input_shape is {asked}.")
    return asked


def pooled(x: Any, given: Given, average: str | None = None, largest: str | None = None) -> Any:
    """The end of a network without classifier. average, largest: the names of the layers that pool."""
    if given.pooling == "avg":
        return layers.GlobalAveragePooling2D(name=average)(x)
    return layers.GlobalMaxPooling2D(name=largest)(x) if given.pooling == "max" else x


def classified(
    x: Any, given: Given, name: str, average: str | None = "avg_pool", largest: str | None = None
) -> Any:
    """The end of most networks: means, and the classifier of that name; or what `pooled` gives."""
    if not given.include_top:
        return pooled(x, given, average if largest else None, largest)
    x = layers.GlobalAveragePooling2D(name=average)(x)
    return layers.Dense(given.classes, activation="softmax", name=name)(x)


def finish(given: Given, start: Any, end: Any, name: str, files: Weights) -> Model:
    """The model, with its weights.

    Raises:
        FileNotFoundError: They are not there; says where to put them.
    """
    inputs = start if given.input_tensor is None else get_source_inputs(given.input_tensor)
    weights = given.weights
    if weights == "imagenet":
        own = files[:2][not given.include_top]
        origin = own if files.at_origin is None else files.at_origin[not given.include_top]
        weights = get_file(own, f"{files.origin}{origin}", cache_subdir="models")
    model = Model(inputs, end, name=name)
    if weights is not None:
        model.load_weights(weights)
    return model


# ---- blocks ---------------------------------------------------------------------------------------------------------


def convolved(x: Any, filters: int, size: Any, name: str | None = None, **more: Any) -> Any:
    """A convolution without bias."""
    return layers.Conv2D(filters, size, use_bias=False, name=name, **more)(x)


def normalized(x: Any, name: str | None = None, **more: Any) -> Any:
    """Normalised over the batch, channel by channel."""
    return layers.BatchNormalization(axis=channels(), name=name, **more)(x)


def activated(x: Any, name: str | None = None) -> Any:
    """The rectified."""
    return layers.Activation("relu", name=name)(x)


def padding_before(x: Any, size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """What is put around images so that a window of a size and a stride of 2 meet them as "same" does elsewhere."""
    sides = shape_of(x)[2:4] if first_axis() else shape_of(x)[1:3]
    rows, columns = (1 if sides[0] is None else 1 - n % 2 for n in sides)  # type: ignore[operator]
    half = size // 2
    return (half - rows, half), (half - columns, half)


def square_size(shape: Any, known: tuple[int, ...]) -> int:
    """The rows of square images if there are weights for these, else 224."""
    if shape is None:
        return 224
    rows, columns = shape[1:3] if first_axis() else shape[:2]
    return rows if rows == columns and rows in known else 224
