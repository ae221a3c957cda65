"""What functions of images ask of their arguments: while the graph is built if shapes are known, else at the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.assertions import assert_greater_equal, assert_positive
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.flow_basics import with_dependencies
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import math
from graphflow._core.ops.state.variable import Variable

Size = Any
"""A number of pixels: an int, or a tensor if it is known at the run only."""


def is_tensor(value: Any) -> bool:
    """Whether a number is known at the run only."""
    return isinstance(value, Tensor | Variable)


def as_image(image: TensorLike, name: str = "image") -> Tensor:
    """The image as a tensor."""
    return convert_to_tensor(image, name=name)


def image_checks(image: Tensor) -> list[Operation]:
    """Operations that check, if the shape does not say it, that an image has three axes or more and is not empty.

    ValueError if the shape says that it is not so.
    """
    shape = image.shape
    if shape.ndims is not None and shape.ndims < 3:
        raise ValueError(f"'image' must be at least three-dimensional, got shape {shape} of {image.name!r}.")
    if shape.ndims is not None and 0 in shape.as_list():
        raise ValueError(f"All dims of 'image.shape' must be > 0, got {shape} of {image.name!r}.")
    if shape.is_fully_defined():
        return []
    return [
        assert_positive(array.shape(image), ["all dims of 'image.shape' must be > 0."]),
        assert_greater_equal(array.rank(image), 3, message="'image' must be at least three-dimensional."),
    ]


def after(checks: Sequence[Operation], value: Any) -> Tensor:
    """The value, once it has been checked."""
    result: Tensor = with_dependencies(checks, value)
    return result


def checked_image(image: Tensor) -> Tensor:
    """The image, once it is known to be one."""
    return after(image_checks(image), image)


def condition(holds: Any, message: str) -> list[Operation]:
    """ValueError if a condition does not hold; if it is a tensor, an operation that raises at the run."""
    if is_tensor(holds):
        return [assert_(holds, [message])]
    if not holds:
        raise ValueError(message)
    return []


def sizes_of(image: Tensor, rank: int) -> list[Size]:
    """The sizes of an image: ints if they are known, else tensors."""
    if image.shape.is_fully_defined():
        return list(image.shape.as_list())
    known = image.shape.with_rank(rank).as_list()
    found = array.unstack(array.shape(image), rank)
    return [here if here is not None else there for here, there in zip(known, found, strict=True)]


def static(sizes: Sequence[Size]) -> list[int | None]:
    """What of some sizes is known while the graph is built."""
    return [None if is_tensor(size) else size for size in sizes]


def batched(image: Tensor, what: str = "image") -> tuple[Tensor, bool]:
    """Images with an axis for the batch, and whether they had one; ValueError unless of three or four axes."""
    rank = image.shape.ndims
    if rank == 4:
        return image, True
    if rank not in (None, 3):
        raise ValueError(
            f"'{what}' must have either 3 or 4 dimensions, got shape {image.shape} of {image.name!r}."
        )
    image = array.expand_dims(image, 0)
    if rank is None:
        image.set_shape([None] * 4)
    return image, False


def unbatched(image: Tensor, is_batch: bool) -> Tensor:
    """Without the axis that `batched` added."""
    return image if is_batch else array.squeeze(image, axis=[0])


def flat_rank(image: Tensor) -> int:
    """3 or 4, the number of axes, 3 if it is not known; ValueError for another."""
    rank = image.shape.ndims
    if rank not in (None, 3, 4):
        raise ValueError(
            f"'image' must have either 3 or 4 dimensions, got shape {image.shape} of {image.name!r}."
        )
    return rank or 3


def same_shape(image: Tensor, result: Tensor) -> Tensor:
    """The result, of the image's static shape, or of three axes if nothing is known."""
    result.set_shape(TensorShape([None] * 3) if image.shape.ndims is None else image.shape)
    return result


def larger(x: Size, y: Size) -> Size:
    """The larger of two sizes."""
    return math.maximum(x, y) if is_tensor(x) or is_tensor(y) else max(x, y)


def smaller(x: Size, y: Size) -> Size:
    """The smaller of two sizes."""
    return math.minimum(x, y) if is_tensor(x) or is_tensor(y) else min(x, y)


def same(x: Size, y: Size) -> Any:
    """Whether two sizes are the same."""
    return math.equal(x, y) if is_tensor(x) or is_tensor(y) else x == y
