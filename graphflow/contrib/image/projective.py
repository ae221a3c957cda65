"""Projective transforms: eight numbers a0, a1, a2, b0, b1, b2, c0, c1.

The pixel (x, y) of the result shows the place ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) of the image, where k is
c0 x + c1 y + 1.
"""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops import core
from graphflow._core.ops.array.array import concat, ones, shape, stack, zeros
from graphflow._core.ops.image.projecting import (
    PROJECTIVE_TRANSFORM,
    flat_to_matrices,
    matrices_to_flat,
    projective_transform,
)
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.math import cast, cos, sin
from graphflow._core.ops.state.scopes import name_scope


def _as_batch(images: Tensor) -> Tensor:
    """Images with four axes, of what may have two or three."""
    allowed = PROJECTIVE_TRANSFORM.inputs[0].allowed
    if images.dtype not in allowed:
        names = ", ".join(one.name for one in allowed)
        raise TypeError(f"Invalid dtype {images.dtype.name}: images are {names}.")
    rank = images.shape.ndims
    if rank is None:
        raise TypeError("image_or_images rank must be statically known: say the shape of the images.")
    if rank not in (2, 3, 4):
        raise TypeError(f"Images should have rank between 2 and 4, and have shape {images.shape}.")
    return {2: lambda: images[None, :, :, None], 3: lambda: images[None], 4: lambda: images}[rank]()


def _rows(given: TensorLike, rank: int, what: str) -> Tensor:
    """Floats with an axis for the images in front, of which there may be none."""
    tensor = core.convert_to_tensor(given, dtypes.float32, what.lower())
    if tensor.shape.ndims not in (rank, rank + 1):
        raise TypeError(f"{what} should have rank {rank} or {rank + 1}, and have shape {tensor.shape}.")
    return tensor[None] if tensor.shape.ndims == rank else tensor


def transform(
    images: TensorLike,
    transforms: TensorLike,
    interpolation: str = "NEAREST",
    output_shape: IntTensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Images seen through projective transforms (tf.contrib.image.transform); transforms have no gradient.

    Args:
        images: Images [batch, height, width, channels], [height, width, channels] or [height, width].
        transforms: Transforms [batch, 8] or [8], float32, from the result to the image.
        interpolation: "NEAREST", or "BILINEAR", of the four pixels around.
        output_shape: Height and width of the result; those of the images by default.
        name: A name for the operations.

    Returns:
        A tensor of the dtype and rank of the images, 0 where they end.

    Raises:
        TypeError: For another dtype or rank.
        ValueError: If `output_shape` is not two sizes.
    """
    with name_scope(name, "transform"):
        given = core.convert_to_tensor(images, name="images")
        rows = _rows(transforms, 1, "Transforms")
        batch = _as_batch(given)
        known = batch.shape[1:3]
        if output_shape is None:
            output_shape = known.as_list() if known.is_fully_defined() else shape(batch)[1:3]
        size = core.convert_to_tensor(output_shape, dtypes.int32, "output_shape")
        if not size.shape.is_compatible_with([2]):
            raise ValueError(
                f"output_shape must be a 1-D Tensor of 2 elements: new_height, new_width; it has shape {size.shape}."
            )
        found = projective_transform(batch, rows, size, interpolation.upper())
        rank = given.shape.ndims
        return found[0, :, :, 0] if rank == 2 else found[0] if rank == 3 else found


def rotate(
    images: TensorLike, angles: TensorLike, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Images turned about their middle, counterclockwise (tf.contrib.image.rotate).

    Args:
        images: Images [batch, height, width, channels], [height, width, channels] or [height, width].
        angles: The angle in radians, or one for each image.
        interpolation: "NEAREST" or "BILINEAR".
        name: A name for the operations.

    Returns:
        A tensor of the dtype and shape of the images, 0 where they end.

    Raises:
        TypeError: For another dtype or rank.
    """
    with name_scope(name, "rotate"):
        given = core.convert_to_tensor(images, name="images")
        height, width = (cast(shape(_as_batch(given))[axis], dtypes.float32) for axis in (1, 2))
        return transform(given, angles_to_projective_transforms(angles, height, width), interpolation)


def translate(
    images: TensorLike, translations: TensorLike, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Images shifted (tf.contrib.image.translate).

    Args:
        images: Images [batch, height, width, channels], [height, width, channels] or [height, width].
        translations: How far to the right and down, [2], or [batch, 2].
        interpolation: "NEAREST" or "BILINEAR".
        name: A name for the operations.

    Returns:
        A tensor of the dtype and shape of the images, 0 where they end.

    Raises:
        TypeError: For another dtype or rank.
    """
    with name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def angles_to_projective_transforms(
    angles: TensorLike, image_height: TensorLike, image_width: TensorLike, name: str | None = None
) -> Tensor:
    """Transforms that turn images (tf.contrib.image.angles_to_projective_transforms).

    Args:
        angles: Angles [batch] in radians, or one.
        image_height: The images' height, a float.
        image_width: Their width.
        name: A name for the operations.

    Returns:
        A float32 tensor [batch, 8].

    Raises:
        TypeError: If the angles have another rank.
    """
    with name_scope(name, "angles_to_projective_transforms"):
        turns = _rows(angles, 0, "Angles")
        right = core.convert_to_tensor(image_width, dtypes.float32) - 1.0
        down = core.convert_to_tensor(image_height, dtypes.float32) - 1.0
        along, across = cos(turns), sin(turns)
        x_offset = (right - (along * right - across * down)) / 2.0
        y_offset = (down - (across * right + along * down)) / 2.0
        columns = stack([along, -across, x_offset, across, along, y_offset], axis=1)
        return concat([columns, zeros([shape(turns)[0], 2])], 1)


def translations_to_projective_transforms(translations: TensorLike, name: str | None = None) -> Tensor:
    """Transforms that shift images (tf.contrib.image.translations_to_projective_transforms).

    Args:
        translations: How far to the right and down, [batch, 2] or [2].
        name: A name for the operations.

    Returns:
        A float32 tensor [batch, 8].

    Raises:
        TypeError: If the translations have another rank.
    """
    with name_scope(name, "translations_to_projective_transforms"):
        shifts = _rows(translations, 1, "Translations")
        nothing, one = zeros([shape(shifts)[0], 1]), ones([shape(shifts)[0], 1])
        right, down = -shifts[:, 0:1], -shifts[:, 1:2]
        return concat([one, nothing, right, nothing, one, down, nothing, nothing], 1)


def flat_transforms_to_matrices(transforms: TensorLike) -> Tensor:
    """Transforms as matrices (tf.contrib.image.flat_transforms_to_matrices).

    Args:
        transforms: Transforms [batch, 8] or [8].

    Returns:
        A tensor [batch, 3, 3] that maps places (x, y, 1) of the result to places of the image.

    Raises:
        ValueError: For another rank.
    """
    with name_scope("flat_transforms_to_matrices"):
        flat = core.convert_to_tensor(transforms, name="transforms")
        if flat.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {flat}")
        return flat_to_matrices(flat)


def matrices_to_flat_transforms(transform_matrices: TensorLike) -> Tensor:
    """Matrices as transforms (tf.contrib.image.matrices_to_flat_transforms).

    Args:
        transform_matrices: Matrices [batch, 3, 3] or [3, 3], from the result to the image.

    Returns:
        A tensor [batch, 8].

    Raises:
        ValueError: For another rank.
    """
    with name_scope("matrices_to_flat_transforms"):
        matrices = core.convert_to_tensor(transform_matrices, name="transform_matrices")
        if matrices.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {matrices}")
        return matrices_to_flat(matrices)


def compose_transforms(*transforms: TensorLike) -> Tensor:
    """One transform that does what some do one after the other (tf.contrib.image.compose_transforms).

    Args:
        *transforms: Transforms [batch, 8] or [8], at least one.

    Returns:
        A tensor [batch, 8].

    Raises:
        ValueError: If there is none.
    """
    if not transforms:
        raise ValueError("transforms cannot be empty")
    with name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for one in transforms[1:]:
            composed = matmul(composed, flat_transforms_to_matrices(one))
        return matrices_to_flat_transforms(composed)
