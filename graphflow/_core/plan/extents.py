"""Which extents of values are surely the same, though nobody knows them before the run.

The gradient of a lookup gives the rows the shape that the ids say. The rows have that shape already; only the number of
ids is not known. An extent is followed through operations that keep it to the value that it comes from, and is named by
that value and axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from graphflow._core.graph.shapes import Dims
from graphflow._core.plan.ir import Instruction

Extent: TypeAlias = int | tuple[str, int]
"""A number, or a value and an axis along which that is as long."""
_FAR: Final = 50
"""Operations through which an extent is followed."""


class Makers(dict[str, Instruction]):
    """The instruction that makes each value of a level of a plan, and what is known of the values from outside of it.

    given: the shape of each value that comes from outside and is no variable, as far as it is known.
    """

    def __init__(self, makers: Mapping[str, Instruction], given: Mapping[str, Dims]) -> None:
        super().__init__(makers)
        self.given = given


def extents(i: Instruction, position: int, makers: Makers, far: int = _FAR) -> list[Extent] | None:
    """The extents of an input of an instruction; None if its rank is not known, or if it may change its shape."""
    name = i.inputs[position]
    dims = _dims(i, position, makers)
    if dims is None:
        return None
    maker = makers.get(name)
    return [_extent(name, maker, axis, makers, far) if dim is None else dim for axis, dim in enumerate(dims)]


def elements(i: Instruction, position: int, makers: Makers, far: int = _FAR) -> list[Extent] | None:
    """What the elements of an input are, which is a vector or scalar of extents; None if that is not known."""
    maker = makers.get(i.inputs[position])
    if maker is None or not far:
        return None
    if maker.is_constant:
        value = maker.attrs["value"]
        return [int(n) for n in value.flat] if value.ndim < 2 and value.dtype.kind == "i" else None
    found = _ELEMENTS.get(maker.type)
    return None if found is None else found(maker, makers, far - 1)


def _of_shape(i: Instruction, makers: Makers, far: int) -> list[Extent] | None:
    return extents(i, 0, makers, far)


def _of_size(i: Instruction, makers: Makers, far: int) -> list[Extent] | None:
    found = extents(i, 0, makers, far)
    return None if found is None or len(found) != 1 else found


def _of_reshape(i: Instruction, makers: Makers, far: int) -> list[Extent] | None:
    found = elements(i, 0, makers, far)
    return found if i.shapes[0] == (1,) and found is not None and len(found) == 1 else None


def _of_concat(i: Instruction, makers: Makers, far: int) -> list[Extent] | None:
    parts = [elements(i, p, makers, far) for p in range(len(i.inputs) - 1)]
    return None if None in parts else [element for part in parts if part is not None for element in part]


def _of_pack(i: Instruction, makers: Makers, far: int) -> list[Extent] | None:
    parts = [elements(i, p, makers, far) for p in range(len(i.inputs))]
    scalars = [part[0] for part in parts if part is not None and len(part) == 1]
    return scalars if i.shapes[0] == (len(parts),) and len(scalars) == len(parts) else None


_ELEMENTS: Final = {
    "Shape": _of_shape,
    "Size": _of_size,
    "Reshape": _of_reshape,
    "ConcatV2": _of_concat,
    "Pack": _of_pack,
}
"""What the elements of a result are, by the type of what makes it."""


def _dims(i: Instruction, position: int, makers: Makers) -> Dims:
    """What is known of the shape of an input; nothing of a variable's, whose value is read at another time."""
    name = i.inputs[position]
    maker = makers.get(name)
    if maker is not None:
        return None if maker.is_variable else maker.shapes[maker.outputs.index(name)]
    return makers.given.get(name)


def _extent(name: str, maker: Instruction | None, axis: int, makers: Makers, far: int) -> Extent:
    """An extent of a value that is not known as a number."""
    found = None
    if maker is not None and far:
        follow = _EXTENTS.get(maker.type)
        if follow is not None:
            found = follow(maker, axis, makers, far - 1)
        elif maker.definition is not None and maker.definition.scalar is not None:
            found = _of_all(maker, axis, makers, far - 1)
    return (name, axis) if found is None else found


def _of_inputs(i: Instruction, inputs: Iterable[int], axis: int, makers: Makers, far: int) -> Extent | None:
    """The extent that the inputs of an elementwise operation have in common, if they are not repeated along it."""
    dims = i.shapes[0]
    assert dims is not None
    found: set[Extent] = set()
    for position in inputs:
        own = extents(i, position, makers, far)
        if own is None:
            return None
        there = axis - len(dims) + len(own)
        if there >= 0 and own[there] != 1:
            found.add(own[there])
    return found.pop() if len(found) == 1 else None


def _of_all(i: Instruction, axis: int, makers: Makers, far: int) -> Extent | None:
    return _of_inputs(i, range(len(i.inputs)), axis, makers, far)


def _of_pattern(i: Instruction, axis: int, makers: Makers, far: int) -> Extent | None:
    """The extent of what is repeated like the second input."""
    return _of_inputs(i, (1,), axis, makers, far)


def _of_gather(i: Instruction, axis: int, makers: Makers, far: int) -> Extent | None:
    """The extent of what is looked up along the first axis: the ids', then the rows'."""
    ids = extents(i, 1, makers, far)
    if ids is None or elements(i, 2, makers) != [0] or i.attrs.get("batch_dims"):
        return None
    return ids[axis] if axis < len(ids) else None


def _of_told(position: int) -> Callable[[Instruction, int, Makers, int], Extent | None]:
    """The extent of what has the shape that an input says; an open one is not said."""

    def found(i: Instruction, axis: int, makers: Makers, far: int) -> Extent | None:
        told = elements(i, position, makers, far)
        if told is None or axis >= len(told) or told[axis] == -1:
            return None
        return told[axis]

    return found


_EXTENTS: Final = {
    "Fill": _of_told(0),
    "GatherV2": _of_gather,
    "Reshape": _of_told(1),
    "BroadcastLike": _of_pattern,
    **dict.fromkeys(("Identity", "StopGradient", "PreventGradient"), _of_all),
}
"""What an extent of a result is the same as, by the type of what makes it; of elementwise operations that of inputs."""
