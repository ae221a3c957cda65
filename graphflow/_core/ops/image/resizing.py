"""Images of another size: whole ones by four methods, and boxes cut out of them, with their gradients.

Pictures that come out are float32 whatever goes in, but for the nearest neighbour, as in TensorFlow. A gradient of a
gradient is not there, nor is one of the mean over areas: TensorFlow has none either.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, partial_shape
from graphflow._core.ops.rules import deprecated, require_rank

PIXELS = "int8|uint8|int16|uint16|int32|int64|float"


def sized(op: Operation, batch: int | None, position: int, channels: int | None) -> Dims:
    """[batch, height, width, channels], where an input holds height and width."""
    size = op.inputs[position]
    given = require_rank(size.dims, 1, "size") or (None,)
    if given[0] not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {given[0]}: size holds a height and a width.")
    known = partial_shape(size)
    height, width = (None, None) if known is None or len(known) != 2 else known
    return (batch, height, width, channels)


def _resized(op: Operation) -> Dims:
    batch, _, _, channels = require_rank(op.inputs[0].dims, 4, "images") or ()
    return sized(op, batch, 1, channels)


def _float_infer(op: Operation) -> Signature:
    return [(dtypes.float32, _resized(op))]


def _same_infer(op: Operation) -> Signature:
    return [(op.inputs[0].dtype, _resized(op))]


def _gradient_infer(op: Operation) -> Signature:
    original = op.inputs[1]
    return [(original.dtype, original.dims)]


def _centers(op: Operation) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("align_corners", "half_pixel_centers")}


def _bilinear_gradient(op: Operation, g: Tensor) -> tuple[Tensor | None, None]:
    if not op.inputs[0].dtype.is_floating:
        return None, None
    return apply(RESIZE_BILINEAR_GRAD, (g, op.inputs[0]), _centers(op)).outputs[0], None


def _bicubic_gradient(op: Operation, g: Tensor) -> tuple[Tensor | None, None]:
    if op.inputs[0].dtype not in (dtypes.float32, dtypes.float64):
        return None, None
    return apply(RESIZE_BICUBIC_GRAD, (g, op.inputs[0]), _centers(op)).outputs[0], None


def _nearest_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    images = op.inputs[0]
    known = None if images.dims is None else images.dims[1:3]
    size = array.shape(images)[1:3] if known is None or None in known else list(known)
    return apply(RESIZE_NEAREST_GRAD, (g, size), _centers(op)).outputs[0], None


def _resize(op_type: str, gradient: Any, infer: Any = _float_infer) -> OpDef:
    return op_def(op_type, (f"images: T={PIXELS}", "size: int32"), infer=infer, gradient=gradient)


RESIZE_BILINEAR = _resize("ResizeBilinear", _bilinear_gradient)
RESIZE_BICUBIC = _resize("ResizeBicubic", _bicubic_gradient)
RESIZE_AREA = _resize("ResizeArea", NO_GRADIENT)
RESIZE_NEAREST = _resize("ResizeNearestNeighbor", _nearest_gradient, _same_infer)
RESIZE_BILINEAR_GRAD = op_def(
    "ResizeBilinearGrad",
    ("grads: float32", "original_image: T=float"),
    infer=_gradient_infer,
    gradient=NO_GRADIENT,
)
RESIZE_BICUBIC_GRAD = op_def(
    "ResizeBicubicGrad",
    ("grads: float32", "original_image: T=float32|float64"),
    infer=_gradient_infer,
    gradient=NO_GRADIENT,
)
RESIZE_NEAREST_GRAD = op_def(
    "ResizeNearestNeighborGrad",
    ("grads: T=uint8|int8|int32|float", "size: int32"),
    infer=_same_infer,
    gradient=NO_GRADIENT,
)


def _centered(
    definition: OpDef, images: Any, size: Any, align_corners: bool, half_pixel_centers: bool, name: str | None
) -> Tensor:
    attrs = {"align_corners": bool(align_corners), "half_pixel_centers": bool(half_pixel_centers)}
    return apply(definition, (images, size), attrs, name).outputs[0]


def resize_bilinear(
    images: TensorLike,
    size: IntTensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images [batch, height, width, channels] at another size, each pixel mixed of the four around its place, float32.

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        size: (new height, new width). `align_corners` puts the corner pixels of both upon each other;
            `half_pixel_centers`, pixels being areas, their edges. TensorFlow: tf.image.resize_bilinear.
        align_corners: Whether the corner pixels of both lie upon each other.
        name: A name for the operation.
        half_pixel_centers: Whether the middles of the corner pixels do, as later releases have it.

    Returns:
        Images in the same layout.

    Raises:
        InvalidArgumentError: At the run if a size is not positive, or if both are asked for.
    """
    return _centered(RESIZE_BILINEAR, images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: TensorLike,
    size: IntTensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images at another size, each pixel mixed of sixteen by a cubic (a = -0.75; -0.5 with half_pixel_centers).

    See resize_bilinear. TensorFlow: tf.image.resize_bicubic.

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        size: (new height, new width), int32.
        align_corners: Whether the corner pixels of both lie upon each other.
        name: A name for the operation.
        half_pixel_centers: Whether the middles of the corner pixels do, as later releases have it.

    Returns:
        Images in the same layout.
    """
    return _centered(RESIZE_BICUBIC, images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(
    images: TensorLike,
    size: IntTensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images at another size, each pixel a copy of one; the dtype stays.

    See resize_bilinear. TensorFlow: tf.image.resize_nearest_neighbor.

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        size: (new height, new width), int32.
        align_corners: Whether the corner pixels of both lie upon each other.
        name: A name for the operation.
        half_pixel_centers: Whether the middles of the corner pixels do, as later releases have it.

    Returns:
        Images in the same layout.
    """
    return _centered(RESIZE_NEAREST, images, size, align_corners, half_pixel_centers, name)


def resize_area(
    images: TensorLike, size: IntTensorLike, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Images at another size, each pixel the mean of the area that it covers, float32; without a gradient.

    See resize_bilinear. TensorFlow: tf.image.resize_area.

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        size: (new height, new width), int32.
        align_corners: Whether the corner pixels of both lie upon each other.
        name: A name for the operation.

    Returns:
        Images in the same layout.
    """
    return apply(RESIZE_AREA, (images, size), {"align_corners": bool(align_corners)}, name).outputs[0]


# ---- boxes cut out -------------------------------------------------------------------------------------------------


def _box_count(op: Operation, boxes: int, owners: int) -> int | None:
    rows, columns = require_rank(op.inputs[boxes].dims, 2, "boxes") or (None, None)
    if columns not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {columns}: a box is [y1, x1, y2, x2].")
    (images,) = require_rank(op.inputs[owners].dims, 1, "box_ind") or (None,)
    (count,) = shapes.merge((rows,), (images,)) or (None,)
    return count


def _crop_infer(op: Operation) -> Signature:
    channels = (require_rank(op.inputs[0].dims, 4, "image") or ())[3]
    return [(dtypes.float32, sized(op, _box_count(op, 1, 2), 3, channels))]


def _crop_gradient(op: Operation, g: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
    image, boxes, owners, _ = op.inputs
    to_image = None
    if image.dtype.is_floating:
        known = image.dims
        size = array.shape(image) if known is None or None in known else list(known)
        attrs = {"T": image.dtype, "method": op.attrs["method"]}
        to_image = apply(CROP_GRAD_IMAGE, (g, boxes, owners, size), attrs).outputs[0]
    to_boxes = apply(CROP_GRAD_BOXES, (g, image, boxes, owners), {"method": "bilinear"}).outputs[0]
    return to_image, to_boxes, None, None


def _crop_image_gradient_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 4, "grads")
    _box_count(op, 1, 2)
    return [(op.attrs["T"], require_rank(partial_shape(op.inputs[3]), 4, "image_size"))]


def _crop_boxes_gradient_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 4, "grads")
    require_rank(op.inputs[1].dims, 4, "image")
    _box_count(op, 2, 3)
    return [(dtypes.float32, require_rank(op.inputs[2].dims, 2, "boxes"))]


CROP_AND_RESIZE = op_def(
    "CropAndResize",
    (f"image: T={PIXELS}", "boxes: float32", "box_ind: int32", "crop_size: int32"),
    infer=_crop_infer,
    gradient=_crop_gradient,
    outputs=("crops",),
)
CROP_GRAD_IMAGE = op_def(
    "CropAndResizeGradImage",
    ("grads: float32", "boxes: float32", "box_ind: int32", "image_size: int32"),
    infer=_crop_image_gradient_infer,
    gradient=NO_GRADIENT,
)
CROP_GRAD_BOXES = op_def(
    "CropAndResizeGradBoxes",
    ("grads: float32", f"image: T={PIXELS}", "boxes: float32", "box_ind: int32"),
    infer=_crop_boxes_gradient_infer,
    gradient=NO_GRADIENT,
)


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: IntTensorLike | None = None,
    crop_size: IntTensorLike | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: IntTensorLike | None = None,
) -> Tensor:
    """Boxes cut out of images [batch, height, width, channels] and brought to one size, float32.

    What lies outside of the image is `extrapolation_value`. Gradients flow to image and boxes. TensorFlow:
    tf.image.crop_and_resize.

    Args:
        image: An image [height, width, channels], or a batch of them.
        boxes: [number, 4] of (y1, x1, y2, x2), where 0 and 1 are the first and the last pixel; y1 > y2 turns
            a crop upside down. box_indices (or `box_ind`): the image of each box.
        box_ind: The image of each box, [number] of int32.
        crop_size: (height, width).
        method: "bilinear" or "nearest".
        extrapolation_value: The value outside of the image.
        name: A name for the operation.
        box_indices: A newer name of `box_ind`.

    Returns:
        [number, crop height, crop width, channels] of float32.

    Raises:
        ValueError: For another method; at the run OutOfRangeError for an image that is not there.
        InvalidArgumentError: For a size that is not positive.
    """
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"The method of crop_and_resize must be 'bilinear' or 'nearest', got {method!r}.")
    attrs = {"method": method, "extrapolation_value": float(extrapolation_value)}
    owners = deprecated(box_indices, box_ind, "box_indices", "box_ind")
    return apply(CROP_AND_RESIZE, (image, boxes, owners, crop_size), attrs, name).outputs[0]
