"""Boxes in images: drawn, sampled, chosen among, and glimpses of a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.random_seed import get_seed
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.image.resizing import sized
from graphflow._core.ops.rules import require_rank


def _draw_infer(op: Operation) -> Signature:
    images, boxes = op.inputs[:2]
    require_rank(boxes.dims, 3, "boxes")
    if len(op.inputs) > 2:
        require_rank(op.inputs[2].dims, 2, "colors")
    if images.dims is not None:
        channels = require_rank(images.dims, 4, "images")[-1]  # type: ignore[index]
        if channels not in (None, 1, 3, 4):
            raise ValueError(f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got {channels}.")
    return [(images.dtype, images.dims)]


DRAW_BOXES = op_def(
    "DrawBoundingBoxes",
    ("images: T=float16|float32(float32)", "boxes: float32"),
    infer=_draw_infer,
    gradient=NOT_DIFFERENTIABLE,
)
DRAW_COLOURED_BOXES = op_def(
    "DrawBoundingBoxesV2",
    ("images: T=float16|float32(float32)", "boxes: float32", "colors: float32"),
    infer=_draw_infer,
    gradient=NO_GRADIENT,
)


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Tensor:
    """Images [batch, height, width, 1, 3 or 4] with frames of boxes drawn into them (tf.image.draw_bounding_boxes).

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        boxes: [batch, number, 4] of (y_min, x_min, y_max, x_max), where 1 is the last pixel; those outside
            are left out.
        name: A name for the operation.
        colors: [number, channels], taken in turn; without it ten colours are.

    Returns:
        Images in the same layout.
    """
    if colors is None:
        return apply(DRAW_BOXES, (images, boxes), None, name).outputs[0]
    return apply(DRAW_COLOURED_BOXES, (images, boxes, colors), None, name).outputs[0]


# ---- a box to crop -------------------------------------------------------------------------------------------------


def _sample_infer(op: Operation) -> Signature:
    size = op.inputs[0]
    (count,) = require_rank(size.dims, 1, "image_size") or (None,)
    if count not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {count}: image_size is [height, width, channels].")
    last = (require_rank(op.inputs[1].dims, 3, "bounding_boxes") or (None,))[-1]
    if last not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {last}: a box is [y_min, x_min, y_max, x_max].")
    require_rank(op.inputs[2].dims, 0, "min_object_covered")
    return [(size.dtype, (count,)), (size.dtype, (count,)), (dtypes.float32, (1, 1, 4))]


SAMPLE_BOX = op_def(
    "SampleDistortedBoundingBoxV2",
    ("image_size: T=uint8|int8|int16|int32|int64", "bounding_boxes: float32", "min_object_covered: float32"),
    infer=_sample_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    outputs=("begin", "size", "bboxes"),
)


def sample_distorted_bounding_box(
    image_size: IntTensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(begin, size, box) of a random part of an image that holds enough of one of its objects, for gf.slice.

    The part covers at least `min_object_covered` of a box, has width / height in `aspect_ratio_range` (0.75,
    1.33) and `area_range` (0.05, 1) of the image; after `max_attempts` (100) it is the whole image. Without
    boxes the image is the object if `use_image_if_no_bounding_boxes`, otherwise InvalidArgumentError at the
    run. The same seeds give TensorFlow's parts (tf.image.sample_distorted_bounding_box).

    Args:
        image_size: (height, width, channels).
        bounding_boxes: [batch, number, 4] of (y_min, x_min, y_max, x_max) in [0, 1].
        seed: The op's own seed; with the graph's it decides what is drawn.
        seed2: A second seed.
        min_object_covered: The least share of a box that it holds.
        aspect_ratio_range: The range of width over height.
        area_range: The range of its share of the image.
        max_attempts: After how many draws the whole image is taken.
        use_image_if_no_bounding_boxes: Whether no box means the whole image, else an error.
        name: A name for the operation.
    """
    ratios = [0.75, 1.33] if aspect_ratio_range is None else [float(r) for r in aspect_ratio_range]
    areas = [0.05, 1.0] if area_range is None else [float(a) for a in area_range]
    attempts = 100 if max_attempts is None else int(max_attempts)
    if len(ratios) != 2 or not 0 < ratios[0] < ratios[1]:
        raise ValueError(f"aspect_ratio_range must be two rising positive numbers, got {ratios}.")
    if len(areas) != 2 or not 0 < areas[0] < areas[1] <= 1:
        raise ValueError(f"area_range must be two rising numbers in (0, 1], got {areas}.")
    if attempts <= 0:
        raise ValueError(f"max_attempts must be positive, got {attempts}.")
    with op_scope(name, "sample_distorted_bounding_box", [image_size, bounding_boxes]):
        attrs = {
            "seed": int(seed or 0),
            "seed2": int(seed2 or 0),
            "aspect_ratio_range": ratios,
            "area_range": areas,
            "max_attempts": attempts,
            "use_image_if_no_bounding_boxes": bool(use_image_if_no_bounding_boxes),
        }
        op = apply(SAMPLE_BOX, (image_size, bounding_boxes, min_object_covered), attrs)
        return op.outputs[0], op.outputs[1], op.outputs[2]


# ---- boxes that overlap --------------------------------------------------------------------------------------------


def _chosen_infer(op: Operation) -> Signature:
    boxes, scores = op.inputs[:2]
    rows, columns = require_rank(boxes.dims, 2, "boxes") or (None, None)
    if columns not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {columns}: a box is [y1, x1, y2, x2].")
    shapes.merge((rows,), require_rank(scores.dims, 1, "scores"))
    for extra in op.inputs[2:]:
        require_rank(extra.dims, 0, "a limit")
    padded = constant_value(op.inputs[2]) if op.attrs.get("pad_to_max_output_size") else None
    count = None if padded is None else int(padded)
    found: list[tuple[DType, Dims]] = [(dtypes.int32, (count,))]
    if op.op_def is SUPPRESS_SCORED:
        found.append((scores.dtype, (count,)))
    if op.op_def is not SUPPRESS:
        found.append((dtypes.int32, ()))
    return found


def _overlaps_infer(op: Operation) -> Signature:
    overlaps, scores = op.inputs[:2]
    rows, columns = require_rank(overlaps.dims, 2, "overlaps") or (None, None)
    for size in (rows, columns):
        shapes.merge((size,), require_rank(scores.dims, 1, "scores"))
    for extra in op.inputs[2:]:
        require_rank(extra.dims, 0, "a limit")
    return [(dtypes.int32, (None,))]


_BOXES = ("boxes: T=float16|float32(float32)", "scores: T", "max_output_size: int32")
SUPPRESS = op_def(
    "NonMaxSuppressionV3",
    (*_BOXES, "iou_threshold: T_threshold=float16|float32(float32)", "score_threshold: T_threshold"),
    infer=_chosen_infer,
    gradient=NO_GRADIENT,
    dynamic_shape=True,
    outputs=("selected_indices",),
)
SUPPRESS_PADDED = op_def(
    "NonMaxSuppressionV4",
    (*_BOXES, "iou_threshold: T_threshold=float16|float32(float32)", "score_threshold: T_threshold"),
    infer=_chosen_infer,
    gradient=NO_GRADIENT,
    dynamic_shape=True,
    outputs=("selected_indices", "valid_outputs"),
)
SUPPRESS_SCORED = op_def(
    "NonMaxSuppressionV5",
    (*_BOXES, "iou_threshold: T", "score_threshold: T", "soft_nms_sigma: T"),
    infer=_chosen_infer,
    gradient=NO_GRADIENT,
    dynamic_shape=True,
    outputs=("selected_indices", "selected_scores", "valid_outputs"),
)
SUPPRESS_OVERLAPS = op_def(
    "NonMaxSuppressionWithOverlaps",
    (
        "overlaps: float32", "scores: float32", "max_output_size: int32", "overlap_threshold: float32",
        "score_threshold: float32",
    ),
    infer=_overlaps_infer,
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
    outputs=("selected_indices",),
)  # fmt: skip
_NO_LIMIT = float("-inf")


def _limits(dtype: Any = None, **values: Any) -> list[Tensor]:
    """Limits as tensors with these names."""
    return [convert_to_tensor(value, dtype=dtype, name=name) for name, value in values.items()]


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntTensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    name: str | None = None,
) -> Tensor:
    """The numbers of the boxes of highest score that overlap little with each other, best first, int32.

    A box is left out whose intersection over union with one that is taken is more than `iou_threshold`, or
    whose score is not above `score_threshold`. TensorFlow: tf.image.non_max_suppression.

    Args:
        boxes: [number, 4], any two opposite corners (y1, x1, y2, x2).
        scores: The score of each box, [number] of floats.
        max_output_size: The most that are taken, an int32 scalar.
        iou_threshold: The overlap, intersection over union, from which a box is left out.
        score_threshold: Boxes of a lower score are left out.
        name: A name for the operation.
    """
    with op_scope(name, "non_max_suppression", [boxes, scores]):
        limits = _limits(iou_threshold=iou_threshold, score_threshold=score_threshold)
        return apply(SUPPRESS, (boxes, scores, max_output_size, *limits)).outputs[0]


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntTensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """non_max_suppression, with zeros up to max_output_size if wanted, and how many are valid.

    TensorFlow: tf.image.non_max_suppression_padded.

    Args:
        boxes: [number, 4].
        scores: The score of each box, [number] of floats.
        max_output_size: The most that are taken, an int32 scalar.
        iou_threshold: The overlap, intersection over union, from which a box is left out.
        score_threshold: Boxes of a lower score are left out.
        pad_to_max_output_size: Whether zeros fill the result.
        name: A name for the operation.
    """
    with op_scope(name, "non_max_suppression_padded", [boxes, scores]):
        limits = _limits(iou_threshold=iou_threshold, score_threshold=score_threshold)
        attrs = {"pad_to_max_output_size": bool(pad_to_max_output_size)}
        op = apply(SUPPRESS_PADDED, (boxes, scores, max_output_size, *limits), attrs)
        return op.outputs[0], op.outputs[1]


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntTensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """non_max_suppression, and the scores of the boxes that are taken.

    With `soft_nms_sigma` a box's score falls by exp(-overlap ** 2 / (2 * sigma)) for each that is taken before it
    (Bodla and others, 2017). TensorFlow: tf.image.non_max_suppression_with_scores.

    Args:
        boxes: [number, 4].
        scores: The score of each box, [number] of floats.
        max_output_size: The most that are taken, an int32 scalar.
        iou_threshold: The overlap, intersection over union, from which a box is left out.
        score_threshold: Boxes of a lower score are left out.
        soft_nms_sigma: The deviation by which scores are lowered; 0 leaves boxes out.
        name: A name for the operation.
    """
    with op_scope(name, "non_max_suppression_with_scores", [boxes, scores]):
        limits = _limits(
            iou_threshold=iou_threshold, score_threshold=score_threshold, soft_nms_sigma=soft_nms_sigma
        )
        attrs = {"pad_to_max_output_size": False}
        op = apply(SUPPRESS_SCORED, (boxes, scores, max_output_size, *limits), attrs)
        return op.outputs[0], op.outputs[1]


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: IntTensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    name: str | None = None,
) -> Tensor:
    """non_max_suppression of things whose overlaps are given, [number, number].

    TensorFlow: tf.image.non_max_suppression_overlaps.

    Args:
        overlaps: The overlap of each pair, [number, number].
        scores: The score of each box, [number] of floats.
        max_output_size: The most that are taken, an int32 scalar.
        overlap_threshold: From which a box is left out.
        score_threshold: Boxes of a lower score are left out.
        name: A name for the operation.
    """
    with op_scope(name, "non_max_suppression_overlaps", [overlaps, scores]):
        limit = convert_to_tensor(overlap_threshold, name="overlap_threshold")
        values = (overlaps, scores, max_output_size, limit, score_threshold)
        return apply(SUPPRESS_OVERLAPS, values).outputs[0]


def _combined_infer(op: Operation) -> Signature:
    batch, number, kinds, corners = require_rank(op.inputs[0].dims, 4, "boxes") or (None,) * 4
    others = require_rank(op.inputs[1].dims, 3, "scores") or (None,) * 3
    if corners not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {corners}: a box is [y1, x1, y2, x2].")
    if None not in (kinds, others[2]) and kinds not in (1, others[2]):
        raise ValueError(f"boxes must be of 1 or {others[2]} classes, as the scores, got {kinds}.")
    for extra in op.inputs[2:]:
        require_rank(extra.dims, 0, "a limit")
    (batch, _) = shapes.merge((batch, number), others[:2]) or (None, None)
    each, total = (constant_value(value) for value in op.inputs[2:4])
    if total is not None and total <= 0:
        raise ValueError(f"max_total_size should be > 0, got {int(total)}.")
    count = None if total is None else int(total)
    if op.attrs["pad_per_class"]:
        classes = others[2]
        unknown = each is None or classes is None or count is None
        count = None if unknown else min(count or 0, int(each) * (classes or 0))
    found = (batch, count)
    return [
        (dtypes.float32, (*found, 4)),
        (dtypes.float32, found),
        (dtypes.float32, found),
        (dtypes.int32, (batch,)),
    ]


SUPPRESS_COMBINED = op_def(
    "CombinedNonMaxSuppression",
    (
        "boxes: float32", "scores: float32", "max_output_size_per_class: int32", "max_total_size: int32",
        "iou_threshold: float32", "score_threshold: float32",
    ),
    infer=_combined_infer,
    gradient=NO_GRADIENT,
    outputs=("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"),
)  # fmt: skip


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: IntTensorLike,
    max_total_size: IntTensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """non_max_suppression of each class of each image: boxes, scores, classes (float32) and how many are valid.

    The results are the `max_total_size` best of all classes, best first, and zeros behind; with
    `pad_per_class` not more than all classes may have. `clip_boxes` brings boxes into [0, 1]. TensorFlow:
    tf.image.combined_non_max_suppression.

    Args:
        boxes: [batch, number, classes or 1, 4].
        scores: [batch, number, classes].
        max_output_size_per_class: The most of one class.
        max_total_size: The most of all classes.
        iou_threshold: The overlap, intersection over union, from which a box is left out.
        score_threshold: Boxes of a lower score are left out.
        pad_per_class: Whether the result is no longer than its classes can fill.
        clip_boxes: Whether boxes are cut to [0, 1].
        name: A name for the operation.
    """
    with op_scope(name, "combined_non_max_suppression", [boxes, scores]):
        limits = _limits(dtypes.float32, iou_threshold=iou_threshold, score_threshold=score_threshold)
        values = (boxes, scores, max_output_size_per_class, max_total_size, *limits)
        attrs = {"pad_per_class": bool(pad_per_class), "clip_boxes": bool(clip_boxes)}
        op = apply(SUPPRESS_COMBINED, values, attrs)
        return op.outputs[0], op.outputs[1], op.outputs[2], op.outputs[3]


# ---- glimpses ------------------------------------------------------------------------------------------------------


def _glimpse_infer(op: Operation) -> Signature:
    images, _, offsets = op.inputs
    batch, _, _, channels = require_rank(images.dims, 4, "input") or ()
    rows, columns = require_rank(offsets.dims, 2, "offsets") or (None, None)
    if columns not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {columns}: an offset is (y, x).")
    (count,) = shapes.merge((batch,), (rows,)) or (None,)
    return [(dtypes.float32, sized(op, count, 1, channels))]


EXTRACT_GLIMPSE = op_def(
    "ExtractGlimpse",
    ("input: float32", "size: int32", "offsets: float32"),
    infer=_glimpse_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    outputs=("glimpse",),
)


def extract_glimpse(
    input: TensorLike,
    size: IntTensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of each image [batch, height, width, channels], float32 (tf.image.extract_glimpse).

    What is outside of the image is noise: uniform between the image's least and largest value, or normal with
    its mean and deviation. The noise takes the graph's seed.

    Args:
        input: Images.
        size: (height, width).
        offsets: [batch, 2], the (y, x) of each window's middle: from the image's middle, 1 being half of it,
            if `centered` and `normalized`; in pixels if not normalized; from the corner if not centered.
        centered: Whether (0, 0) is the middle.
        normalized: Whether offsets are in [-1, 1] and not pixels.
        uniform_noise: Whether noise outside is uniform.
        name: A name for the operation.
    """
    graph_seed, op_seed = get_seed(None)
    attrs = {
        "centered": bool(centered),
        "normalized": bool(normalized),
        "uniform_noise": bool(uniform_noise),
        "noise": "uniform",
        "seed": graph_seed or 0,
        "seed2": op_seed or 0,
    }
    return apply(EXTRACT_GLIMPSE, (input, size, offsets), attrs, name).outputs[0]
