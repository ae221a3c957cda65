"""What a sample of an op is, and the draws and references that the tables share.

A reference is written apart from the kernels: a loop over Python numbers, or NumPy functions that the kernel does not
use. It takes the arrays of a sample's inputs and gives the array, or tuple of arrays, that the op must give.
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphflow._core.graph.op_def import OpDef, lookup

Array = Any
Random = np.random.Generator
Draw = Callable[[Random], Iterable["Sample"]]

SHAPES = ((3,), (), (2, 3), (0,), (1,), (2, 0, 3), (3, 1, 2))
PAIRS = (
    ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), ()), ((2, 3), ()), ((), (3,)), ((0,), ()), ((2, 0), (1,)),
    ((1,), (0,)), ((2, 1, 2), (3, 1)), ((1, 2), (2, 2)), ((1,), (1, 1)),
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """One use of an op.

    inputs: an array for each declared input, a list of arrays where it takes a list; of a variable, its value before.
    expected: the reference, None where there is no independent one. after: the reference of the variables' values
    after it. smooth: whether the op is differentiable at these inputs, so that differences tell the gradient; `varied`
    then holds the positions of the inputs that they are taken of, all floats where it is None. `through`: for ops whose
    results are not unique (eigenvectors), a function of the output arrays that is compared instead of them.
    symmetric: only half of each matrix is read, so the gradient is checked through (a + transposed a) / 2. static: the
    gradient exists for known shapes only, as in TensorFlow. constants: positions of inputs that are always constants.
    results: positions of the outputs that have a gradient, all floats where it is None. tolerance: how much more than
    rounding results may differ.
    """

    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    expected: Callable[..., Any] | None = None
    after: Callable[..., Any] | None = None
    smooth: bool = True
    varied: tuple[int, ...] | None = None
    through: Callable[..., Any] | None = None
    symmetric: bool = False
    static: bool = False
    results: tuple[int, ...] | None = None
    constants: tuple[int, ...] = ()
    tolerance: float = 1.0

    def __repr__(self) -> str:
        shapes = [
            [f"{a.dtype}{list(a.shape)}" for a in i] if isinstance(i, list) else f"{i.dtype}{list(i.shape)}"
            for i in self.inputs
        ]
        return f"{shapes} {dict(self.attrs)}"


def strings(values: Any) -> Array:
    """An array of bytes as string tensors hold them."""
    array = np.array(values, dtype=object)
    for index, item in np.ndenumerate(array):
        array[index] = item.encode() if isinstance(item, str) else item
    return array


def draw(random: Random, dtype: Any, shape: Sequence[int], low: float = -2.0, high: float = 2.0) -> Array:
    """Uniform numbers of a dtype; whole ones for integers."""
    dtype = np.dtype(dtype)
    if dtype.kind == "O":
        return strings(np.asarray(random.choice(["a", "b", "", "xyz"], shape)).tolist()).reshape(shape)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        least = max(math.ceil(low), 0) if dtype.kind == "u" else math.ceil(low)
        return np.asarray(random.integers(least, max(math.floor(high), least + 1) + 1, shape)).astype(dtype)
    if dtype.kind == "c":
        return np.asarray(random.uniform(low, high, shape) + 1j * random.uniform(low, high, shape)).astype(
            dtype
        )
    return np.asarray(random.uniform(low, high, shape)).astype(dtype)


def away_from_zero(random: Random, dtype: Any, shape: Sequence[int], low: float, high: float) -> Array:
    """Numbers of a magnitude in [low, high] and either sign."""
    drawn = draw(random, dtype, shape, low, high)
    if drawn.dtype.kind in "ub":
        return drawn
    return (drawn * random.choice([-1, 1], shape)).astype(drawn.dtype)


def distinct(random: Random, dtype: Any, shape: Sequence[int], step: float = 0.25) -> Array:
    """Different numbers, at least `step` apart, so that an order does not change within a difference's step."""
    size = math.prod(shape)
    return (
        ((random.permutation(size) - size // 2) * (1 if np.dtype(dtype).kind in "iu" else step))
        .reshape(shape)
        .astype(dtype)
    )


def cast_wrapping(value: Any, dtype: Any) -> Any:
    """A Python number as a dtype; integers wrap."""
    if np.dtype(dtype).kind in "iu":
        bits = 8 * np.dtype(dtype).itemsize
        return np.array(int(value) & (1 << bits) - 1, f"u{bits // 8}").astype(dtype)
    return np.array(value).astype(dtype)


def pointwise(function: Callable[..., Any], dtype: Any = None) -> Callable[..., Array]:
    """A loop over broadcast elements as Python numbers; the result has the first input's dtype, unless told."""

    def compute(*arrays: Array) -> Array:
        wide = np.broadcast_arrays(*arrays)
        result = np.empty(wide[0].shape, dtype or arrays[0].dtype)
        for place in np.ndindex(result.shape):
            result[place] = cast_wrapping(function(*(a[place].item() for a in wide)), result.dtype)
        return result

    return compute


def module_of(*values: Any) -> Any:
    """cmath for complex numbers, math for others."""
    return cmath if any(isinstance(v, complex) for v in values) else math


def arrays_of(
    random: Random, dtype: Any, shapes: Iterable[Sequence[int]], low: float = -2, high: float = 2
) -> tuple[Array, ...]:
    """One array for each shape."""
    return tuple(draw(random, dtype, shape, low, high) for shape in shapes)


def dtypes_of(op_type: str, position: int = 0) -> list[Any]:
    """NumPy's dtypes that an input may have, float64 first."""
    definition: OpDef = lookup(op_type)
    found = [d.as_numpy_dtype for d in definition.inputs[position].allowed if d.is_numpy_compatible]
    plain = [np.dtype(d) for d in found if d not in (object, np.object_)]
    if len(plain) < len(found):
        plain.append(np.dtype(object))
    known = [d for d in plain if d.name in _KNOWN or d.kind == "O"]
    return sorted(dict.fromkeys(known), key=lambda d: (d != np.float64, d.name))


_KNOWN = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
}  # fmt: skip


def over(dtypes: Sequence[Any], shapes: Sequence[Any], others: int = 2) -> Iterable[tuple[Any, Any]]:
    """Pairs of dtype and shape: every shape for the first dtype, `others` of them, in turn, for the rest."""
    yield from ((dtypes[0], shape) for shape in shapes)
    turn = itertools.cycle(shapes)
    for dtype in dtypes[1:]:
        yield from ((dtype, next(turn)) for _ in range(others))


def ints(*values: Any, dtype: Any = np.int32) -> Array:
    """A vector of int32."""
    return np.array(values, dtype)


def scalar(value: Any, dtype: Any = np.int32) -> Array:
    """A scalar of int32."""
    return np.array(value, dtype)


# ---- ops of one array -----------------------------------------------------------------------------------------------

DOUBLE, SINGLE, INT = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int32)
KINDS = [DOUBLE, SINGLE, INT, np.dtype(bool), np.dtype(object), np.dtype(np.complex128), np.dtype(np.uint8)]
NUMBERS = [d for d in KINDS if d.kind != "O"]
Case = tuple[Sequence[int], tuple[Any, ...], dict[str, Any]]
"""A shape, further inputs (arrays, or tuples for vectors of int32), and attributes."""


def differentiable(dtype: Any) -> bool:
    """Whether it is a dtype of floats or complex numbers."""
    return np.dtype(dtype).kind in "fc"


def of_one(
    reference: Callable[..., Any], cases: Iterable[Case], kinds: Sequence[Any] = KINDS, smooth: bool = True
) -> Draw:
    """Samples of an op of one array and integer inputs; the reference gets the arrays, and the attributes by name."""
    listed = list(cases)

    def generate(random: Random) -> Iterable[Sample]:
        for dtype, (shape, rest, attrs) in over(kinds, listed):

            def expected(*arrays: Any, attrs: dict[str, Any] = attrs) -> Any:
                return reference(*arrays, **attrs)

            others = tuple(r if isinstance(r, np.ndarray) else ints(*r) for r in rest)
            inputs = (draw(random, dtype, shape), *others)
            yield Sample(inputs, attrs, expected, smooth=differentiable(dtype) and smooth)

    return generate


def shapes_only(attrs: dict[str, Any] | None = None) -> list[Case]:
    """Cases without further inputs."""
    return [(shape, (), attrs or {}) for shape in SHAPES]
