"""The dtypes that hold pixels: floats in [0, 1], or integers from 0 to the largest of their dtype."""

from __future__ import annotations

from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math import math
from graphflow._core.ops.math.arithmetic import div
from graphflow._core.ops.math.numeric import saturate_cast
from graphflow.image.checks import as_image


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Pixels in another dtype, with its scale: the largest integer is 1.0 (tf.image.convert_image_dtype).

    `saturate` brings values into the dtype's range first, which matters if floats leave [0, 1].

    Args:
        image: An image [height, width, channels], or a batch of them.
        dtype: The dtype wanted.
        saturate: Whether values are brought into its range.
        name: A name for the operation.

    Returns:
        Images of that dtype.

    Raises:
        AttributeError: For a dtype that holds no numbers.
    """
    image = as_image(image)
    wanted = as_dtype(dtype)
    if not wanted.is_floating and not wanted.is_integer:
        raise AttributeError(f"Pixels are floating point or integer, not {wanted.name}.")
    if wanted is image.dtype:
        return array.identity(image, name=name)
    cast = saturate_cast if saturate else math.cast
    with op_scope(name, "convert_image", [image]) as scope:
        if image.dtype.is_integer and wanted.is_integer:
            given, highest = int(image.dtype.max), int(wanted.max)
            if given > highest:
                return cast(div(image, (given + 1) // (highest + 1)), wanted, name=scope)
            return math.multiply(cast(image, wanted), (highest + 1) // (given + 1), name=scope)
        if image.dtype.is_floating and wanted.is_floating:
            converted: Tensor = math.cast(image, wanted, name=scope)
            return converted
        if image.dtype.is_integer:
            return math.multiply(math.cast(image, wanted), 1.0 / image.dtype.max, name=scope)
        return cast(math.multiply(image, wanted.max + 0.5), wanted, name=scope)
