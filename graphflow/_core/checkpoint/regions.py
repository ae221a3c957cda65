"""Parts of tensors: boxes within a full shape, and TensorFlow's text for them ("4 10 0,2:0,10")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

import graphflow.errors as errors
from graphflow._core.common.records import dataclass

MOST_AXES = 32
_AXIS = re.compile(r"-|(\d{1,18}),(\d{1,18})")


@dataclass(frozen=True)
class Region:
    """A box of a tensor: where it begins and how long it is along each axis."""

    offsets: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.lengths)

    @property
    def text(self) -> str:
        """TensorFlow's text: "offset,length" along each axis, with colons between."""
        return ":".join(f"{o},{n}" for o, n in zip(self.offsets, self.lengths, strict=True))

    def overlap(self, other: Region) -> Region | None:
        """The box that both have, None if that is empty."""
        offsets = tuple(map(max, self.offsets, other.offsets))
        ends = (
            min(a + m, b + n)
            for a, m, b, n in zip(self.offsets, self.lengths, other.offsets, other.lengths, strict=True)
        )
        lengths = tuple(end - offset for end, offset in zip(ends, offsets, strict=True))
        return Region(offsets, lengths) if all(n > 0 for n in lengths) else None

    def within(self, around: Region) -> tuple[slice, ...]:
        """The index that takes this box from an array which holds the box `around`."""
        return tuple(
            slice(o - a, o - a + n)
            for o, a, n in zip(self.offsets, around.offsets, self.lengths, strict=True)
        )


def whole(shape: Sequence[int]) -> Region:
    """The box that is all of a tensor."""
    return Region((0,) * len(shape), tuple(shape))


def parse_region(text: str, shape: Sequence[int]) -> Region:
    """The box that a text means within a tensor of this shape; ValueError if there is none."""
    axes = text.split(":", MOST_AXES) if text else []
    if len(axes) != len(shape):
        raise ValueError(f"the slice {text!r} has {len(axes)} axes, the tensor {len(shape)}")
    offsets, lengths = [], []
    for axis, full in zip(axes, shape, strict=True):
        found = _AXIS.fullmatch(axis)
        if found is None:
            raise ValueError(f'the slice {text!r} is not made of "-" and "offset,length"')
        offset, length = (0, full) if axis == "-" else (int(found[1]), int(found[2]))
        if offset + length > full:
            raise ValueError(f"the slice {text!r} does not lie in the shape {list(shape)}")
        offsets.append(offset)
        lengths.append(length)
    return Region(tuple(offsets), tuple(lengths))


def parse_spec(text: str) -> tuple[tuple[int, ...], Region]:
    """Full shape and box of a text such as "4 10 0,2:-"; InvalidArgumentError if it is no such text."""
    *sizes, box = text.split(" ", MOST_AXES + 1)
    try:
        if not all(re.fullmatch(r"\d{1,18}", size) for size in sizes):
            raise ValueError("the full shape is not made of whole numbers")
        shape = tuple(map(int, sizes))
        return shape, parse_region(box, shape)
    except ValueError as error:
        raise errors.InvalidArgumentError(
            None, None, f'shape_and_slices has {text!r}, where a text such as "4 10 0,2:-" belongs: {error}.'
        ) from None


def uncovered(region: Region, parts: Sequence[Region]) -> bool:
    """Whether a box has elements that lie in none of `parts`, which do not overlap one another."""
    overlaps = filter(None, (part.overlap(region) for part in parts))
    return sum(overlap.size for overlap in overlaps) < region.size


def overlapping(parts: Sequence[Region]) -> tuple[int, int] | None:
    """The positions of two boxes that overlap, or None."""
    import numpy as np

    if len(parts) < 2:
        return None
    begins = np.array([part.offsets for part in parts])
    ends = begins + np.array([part.lengths for part in parts])
    for number in range(len(parts) - 1):
        low = np.maximum(begins[number], begins[number + 1 :])
        high = np.minimum(ends[number], ends[number + 1 :])
        hits = np.flatnonzero((low < high).all(axis=1))
        if hits.size:
            return number, number + 1 + int(hits[0])
    return None


def slabs(region: Region, parts: Sequence[Region]) -> Iterator[tuple[int, Region]]:
    """The positions of the boxes that a box meets, and what it has of each."""
    for number, part in enumerate(parts):
        overlap = part.overlap(region)
        if overlap is not None:
            yield number, overlap
