"""Images seen through projective transforms: shifted, turned, sheared or tilted.

A transform says for each pixel of the result which place of the image it shows. As in TensorFlow, the gradient of the
image is the gradient of the result seen through the inverse transform, which is near the true one, and transforms have
none.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply
from graphflow._core.ops.image.resizing import sized
from graphflow._core.ops.math.decompositions import matrix_inverse
from graphflow._core.ops.rules import require_rank


def flat_to_matrices(transforms: Any) -> Tensor:
    """Transforms [..., 8] as matrices [count, 3, 3], whose last element is 1."""
    flat = array.reshape(transforms, [-1, 8])
    return array.reshape(array.pad(flat, [[0, 0], [0, 1]], constant_values=1.0), [-1, 3, 3])


def matrices_to_flat(matrices: Any) -> Tensor:
    """Matrices [..., 3, 3] as transforms [count, 8], divided by their last element."""
    flat = array.reshape(matrices, [-1, 9])
    return (flat / flat[:, 8:9])[:, :8]


def _transformed_infer(op: Operation) -> Signature:
    images, transforms, _ = op.inputs
    batch, _, _, channels = require_rank(images.dims, 4, "images") or (None, None, None, None)
    count = (require_rank(transforms.dims, 2, "transforms") or (None, None))[1]
    if count not in (None, 8):
        raise ValueError(f"Dimension must be 8 but is {count}: a transform has 8 numbers.")
    found = sized(op, batch, 2, channels) or ()
    # Both sizes or none, as in TensorFlow.
    return [(images.dtype, found if None not in found[1:3] else (batch, None, None, channels))]


def _transformed_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None, None]:
    images, transforms, _ = op.inputs
    inverse = matrices_to_flat(matrix_inverse(flat_to_matrices(transforms)))
    inputs = (g, inverse, array.shape(images)[1:3])
    found = apply(PROJECTIVE_TRANSFORM, inputs, dict(op.attrs)).outputs[0]
    found.set_shape(images.shape)
    return found, None, None


PROJECTIVE_TRANSFORM = op_def(
    "ImageProjectiveTransformV2",
    ("images: T=uint8|int32|int64|float16|float32|float64", "transforms: float32", "output_shape: int32"),
    infer=_transformed_infer,
    gradient=_transformed_gradient,
)


def projective_transform(images: Any, transforms: Any, output_shape: Any, interpolation: str) -> Tensor:
    """Images [batch, height, width, channels] through transforms [batch or 1, 8]."""
    attrs = {"interpolation": interpolation}
    return apply(PROJECTIVE_TRANSFORM, (images, transforms, output_shape), attrs).outputs[0]
