"""Partially known shapes.

Shape rules work on `Dims`, a tuple of int or None, or None if not even the rank is known. `TensorShape` and
`Dimension` are the face that TensorFlow 1 programs know.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

import graphflow.protos as protos

Dims: TypeAlias = "tuple[int | None, ...] | None"


class Dimension:
    """One extent of a TensorShape: `value` is an int, or None if unknown.

    Arithmetic with an unknown extent is unknown; comparison with one gives None.

    Args:
        value: An int, None or a Dimension.
    """

    __slots__ = ("_value",)

    def __init__(self, value: int | np.integer[Any] | str | Dimension | None) -> None:
        if isinstance(value, Dimension):
            value = value._value
        if value is not None:
            number = int(value)
            if number != value and not isinstance(value, str | bytes):
                raise ValueError(f"Ambiguous dimension: {value}")
            value = number
            if value < 0:
                raise ValueError(f"Dimension {value} must be >= 0")
        self._value: int | None = value

    @property
    def value(self) -> int | Any:
        """The extent, or None; typed as `int | Any` for programs that know it."""
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: object) -> Any:
        value = _extent(other)
        if value is NotImplemented:
            return NotImplemented
        return None if self._value is None or value is None else self._value == value

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented or same is None else not same

    def __lt__(self, other: Any) -> Any:
        return _compare(self, other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return _compare(self, other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return _compare(self, other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return _compare(self, other, lambda a, b: a >= b)

    def __int__(self) -> int:
        if self._value is None:
            raise TypeError("The extent of this dimension is unknown, so it is no int.")
        return self._value

    __index__ = __int__

    def __add__(self, other: Any) -> Dimension:
        return _combine(self, other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dimension:
        return _combine(self, other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Dimension:
        return _combine(self, other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Dimension:
        return _combine(self, other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Dimension:
        return _combine(self, other, lambda a, b: a // b)

    __div__ = __floordiv__

    def __rfloordiv__(self, other: Any) -> Dimension:
        return _combine(self, other, lambda a, b: b // a)

    def __mod__(self, other: Any) -> Dimension:
        return _combine(self, other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> Dimension:
        return _combine(self, other, lambda a, b: b % a)

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and {type(other).__name__!r}, please use // instead"
        )

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: {type(other).__name__!r} and 'Dimension', please use // instead"
        )

    def __reduce__(self) -> tuple[Any, tuple[int | None]]:
        return Dimension, (self._value,)

    def is_compatible_with(self, other: int | Dimension | None) -> bool:
        """Whether both may be the same extent.

        Args:
            other: A Dimension, or what one is made of.
        """
        value = Dimension(other)._value
        return self._value is None or value is None or self._value == value

    def merge_with(self, other: int | Dimension | None) -> Dimension:
        """The more precise of two extents.

        Args:
            other: A Dimension, or what one is made of.

        Returns:
            The one that is known.

        Raises:
            ValueError: If they differ.
        """
        other = Dimension(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")
        return Dimension(self._value if self._value is not None else other._value)


def _extent(other: object) -> Any:
    if isinstance(other, Dimension):
        return other.value
    if other is None or type(other) is int:
        return other
    try:
        return Dimension(other).value  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return NotImplemented


def _combine(dimension: Dimension, other: Any, function: Any) -> Dimension:
    value = _extent(other)
    if value is NotImplemented:
        return NotImplemented  # type: ignore[no-any-return]
    return Dimension(None if dimension.value is None or value is None else function(dimension.value, value))


def _compare(dimension: Dimension, other: Any, function: Any) -> Any:
    value = _extent(other)
    if value is NotImplemented:
        return NotImplemented
    return None if dimension.value is None or value is None else function(dimension.value, value)


def as_dims(shape: Any) -> Dims:
    """Dims of whatever describes a shape: None, an int, a sequence of int, None or Dimension, a TensorShape."""
    if shape is None:
        return None
    if isinstance(shape, TensorShape):
        return shape.raw
    if isinstance(shape, Dimension):
        return (shape.value,)
    if hasattr(shape, "__array__") and not isinstance(shape, list | tuple):
        shape = shape.tolist()
    if isinstance(shape, int):
        return (Dimension(shape).value,)
    if isinstance(shape, str):
        raise TypeError(f"Cannot make a shape of the string {shape!r}.")
    if hasattr(shape, "dim"):
        if getattr(shape, "unknown_rank", False):
            return None
        return tuple(None if d.size < 0 else d.size for d in shape.dim)
    return tuple(d if d is None or type(d) is int and d >= 0 else Dimension(d).value for d in shape)


class TensorShape:
    """A shape of which rank and extents may be unknown.

    Indexing gives a Dimension, slicing a TensorShape; `as_list()` gives ints and Nones.

    Args:
        dims: A list of sizes, each an int, None or a Dimension; None for an unknown rank.

    Examples:
        >>> shape = gf.TensorShape([None, 3])
        >>> shape.ndims, shape.as_list(), shape.is_compatible_with([5, 3])
        (2, [None, 3], True)
    """

    __slots__ = ("raw",)

    def __init__(self, dims: ShapeLike = None) -> None:
        self.raw: Dims = as_dims(dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """The extents as Dimension objects, or None if the rank is unknown."""
        return None if self.raw is None else [Dimension(d) for d in self.raw]

    @property
    def ndims(self) -> int | None:
        """The rank, or None."""
        return None if self.raw is None else len(self.raw)

    rank = ndims

    def as_list(self) -> list[int | Any]:
        """The extents as a list, None if unknown. Typed as Dimension.value is.

        Raises:
            ValueError: If the rank is.
        """
        if self.raw is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.raw)

    def num_elements(self) -> int | None:
        """The product of the extents, or None."""
        return size_of(self.raw)

    def is_fully_defined(self) -> bool:
        """Whether every extent is known."""
        return self.raw is not None and None not in self.raw

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless every extent is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError if the rank is known and another.

        Args:
            rank: The number of axes.
        """
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises ValueError if both ranks are known and differ.

        Args:
            other: A TensorShape, or what one is made of.
        """
        other = as_shape(other)
        if None not in (self.ndims, other.ndims) and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether both may be the same shape.

        Args:
            other: A TensorShape, or what one is made of.
        """
        return compatible(self.raw, as_dims(other))

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ValueError unless both may be the same shape.

        Args:
            other: A TensorShape, or what one is made of.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """The more precise of two shapes.

        Args:
            other: A TensorShape, or what one is made of.

        Raises:
            ValueError: If they differ.
        """
        return TensorShape(merge(self.raw, as_dims(other)))

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """What this shape and another have in common: the extents in which they differ are unknown.

        Args:
            other: A TensorShape, or what one is made of.

        Returns:
            A shape that both fit; one of unknown rank if their ranks differ.
        """
        return TensorShape(relax(self.raw, as_dims(other)))

    def as_proto(self) -> Any:
        """This shape as TensorFlow's TensorShapeProto message, in which an unknown extent is -1."""
        message = protos.tensor_shape_pb2.TensorShapeProto
        if self.raw is None:
            return message(unknown_rank=True)
        return message(dim=[message.Dim(size=-1 if size is None else size) for size in self.raw])

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """This shape followed by another.

        Args:
            other: A TensorShape, or what one is made of.
        """
        other_dims = as_dims(other)
        return TensorShape(None if self.raw is None or other_dims is None else self.raw + other_dims)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, known to have that rank; ValueError otherwise.

        Args:
            rank: The number of axes.
        """
        try:
            return self.merge_with([None] * rank)
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape.

        Args:
            rank: The number of axes.

        Raises:
            ValueError: If its rank is known and smaller.
        """
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape.

        Args:
            rank: The number of axes.

        Raises:
            ValueError: If its rank is known and greater.
        """
        if self.ndims is not None and self.ndims > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def __len__(self) -> int:
        if self.raw is None:
            raise ValueError("Cannot take the length of Shape with unknown rank.")
        return len(self.raw)

    def __bool__(self) -> bool:
        return self.raw is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self.raw is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(d) for d in self.raw])

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    @overload
    def __getitem__(self, key: int) -> Dimension: ...
    def __getitem__(self, key: int | slice) -> Dimension | TensorShape:
        if self.raw is not None:
            return TensorShape(self.raw[key]) if isinstance(key, slice) else Dimension(self.raw[key])
        if not isinstance(key, slice):
            return Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step not in (None, 1) or stop is None or start < 0 or stop < 0:
            return TensorShape(None)
        return TensorShape([None] * max(0, stop - start))

    def __eq__(self, other: object) -> bool:
        try:
            return self.raw == as_dims(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"TensorShape({None if self.raw is None else list(self.raw)})"

    def __str__(self) -> str:
        return text(self.raw)

    def __reduce__(self) -> tuple[Any, tuple[Dims]]:
        return TensorShape, (self.raw,)


ShapeLike: TypeAlias = (
    TensorShape | Dimension | int | np.integer[Any] | np.ndarray[Any, Any]
    | Sequence[int | np.integer[Any] | Dimension | None] | None
)  # fmt: skip
"""A shape known while the graph is built, as gf.placeholder and gf.get_variable take it.

A list or tuple of extents, each an int, a Dimension, or None if unknown; a TensorShape; an int for a vector; None if
not even the rank is known. No tensor: that is an IntTensorLike."""


def as_shape(shape: Any) -> TensorShape:
    """A TensorShape of whatever describes a shape."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(ndims: int | None = None) -> TensorShape:
    """A shape of unknown extents, with a rank or without."""
    return TensorShape(None if ndims is None else [None] * ndims)


def text(dims: Dims) -> str:
    """How a shape is written in messages: (2, ?, 3), or <unknown>."""
    if dims is None:
        return "<unknown>"
    inner = ", ".join("?" if d is None else str(d) for d in dims)
    return f"({inner},)" if len(dims) == 1 else f"({inner})"


def size_of(dims: Dims) -> int | None:
    """The number of elements, or None if an extent is unknown."""
    if dims is None:
        return None
    size = 1
    for d in dims:
        if d is None:
            return None
        size *= d
    return size


def compatible(a: Dims, b: Dims) -> bool:
    """Whether two shapes may be the same."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def merge(a: Dims, b: Dims) -> Dims:
    """The shape that fits both of two partial shapes, with all that either knows; ValueError if they differ."""
    if a is None:
        return b
    if b is None or a == b:
        return a
    if not compatible(a, b):
        raise ValueError(f"Shapes {text(a)} and {text(b)} are not compatible")
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def relax(a: Dims, b: Dims) -> Dims:
    """The partial shape that both fit: what the two have in common."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def broadcast(a: Dims, b: Dims) -> Dims:
    """The shape of an elementwise result, by NumPy's rule; ValueError if the shapes do not broadcast."""
    if a is None or b is None:
        return None
    if a == b and None not in a:
        return a
    result: list[int | None] = []
    for i in range(max(len(a), len(b))):
        x = a[len(a) - 1 - i] if i < len(a) else 1
        y = b[len(b) - 1 - i] if i < len(b) else 1
        if x == 1:
            result.append(y)
        elif y == 1 or x == y:
            result.append(x)
        elif x is None or y is None:
            result.append(x if y is None else y)
        else:
            raise ValueError(
                f"Dimensions must be equal or 1 to broadcast, but shapes are {text(a)} and {text(b)}"
            )
    return tuple(reversed(result))


def walked(place: slice, size: int) -> tuple[int, int, int]:
    """Start, count and step of a slice of an axis, by Python's rule; ValueError for a step of 0."""
    step = 1 if place.step is None else operator.index(place.step)
    if step == 0:
        raise ValueError("A slice has no step of 0.")
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def within(given: int | None, otherwise: int) -> int:
        if given is None:
            return otherwise
        if given < 0:
            given = given + size
        return low if given < low else high if given > high else given

    start = within(place.start, low if step > 0 else high)
    stop = within(place.stop, high if step > 0 else low)
    if step > 0:
        return start, (stop - start + step - 1) // step if start < stop else 0, step
    return start, (start - stop - step - 1) // -step if stop < start else 0, step


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; ValueError if it is outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise ValueError(
            f"{what} = {axis} not in [{-rank}, {rank}): it is out of range for a tensor of rank {rank}."
        )
    return axis + rank if axis < 0 else axis


def concatenated(parts: Iterable[Dims]) -> Dims:
    """The shapes one after the other; None if one is unknown."""
    result: tuple[int | None, ...] = ()
    for part in parts:
        if part is None:
            return None
        result += part
    return result


def from_values(values: Sequence[int | None] | None) -> Dims:
    """Dims from a partly known shape vector, in which -1 stands for unknown."""
    return None if values is None else tuple(None if v is None or v < 0 else v for v in values)
