"""The bounds within which the results of the two tiers must agree.

Integers, truth values and strings must be equal; strings that are made of floats, such as summaries, are not compared.
Floats may differ by rounding. The bound is the unit of their dtype for each operation on the longest way through the
plan, in proportion to the value itself and to the size of its array as a whole: a sum that is almost zero has the error
of its terms. A variable that is written is judged by its change, since a wrong gradient is small beside the weight.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from graphflow._core.common.arrays import finfo, is_bfloat16, kind_of
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.graph.dtypes import bfloat16
from graphflow._core.plan.ir import Plan, walk

_LEAST_UNITS: Final = 16.0
_UNITS_OF_VALUE: Final = 4.0
_SPREADS: Final = 4.0
"""The factor by which results may be further apart than the trials of rounding (rounding.py) were."""


def made_of_floats(plan: Plan) -> frozenset[str]:
    """The values of a plan that may have been computed from floats."""
    found = {
        output
        for i in walk(plan)
        for output, dtype in zip(i.outputs, i.dtypes, strict=True)
        if dtype.is_floating
    }
    for i in walk(plan):  # In order, so that what goes in comes before what comes out.
        if not found.isdisjoint(i.free_variables()):
            found.update(i.outputs)
    return frozenset(found)


@dataclass(frozen=True)
class Difference:
    """How two arrays differ: the elements beyond the bound, the largest distance, and the size of what it is of."""

    name: str
    apart: int
    of: int
    distance: float
    size: float
    detail: str = ""

    def __str__(self) -> str:
        if self.detail:
            return self.detail
        share = f"{self.apart} of {self.of} elements differ" if self.of > 1 else "the value differs"
        return f"{share} by up to {self.distance:.3g}, where values are about {self.size:.3g}"


def roundings(plan: Plan, known: Known) -> float:
    """How many units of rounding the results of a plan may differ by: from its depth and its longest sums."""
    depths: dict[str, int] = {}

    def depth_of(part: Plan) -> int:
        deepest = 0
        for i in part.instructions:
            own = 1 + sum(depth_of(body) for body in i.bodies)
            depth = own + max([depths.get(name, 0) for name in i.inputs], default=0)
            depths.update(dict.fromkeys(i.outputs, depth))
            deepest = max(deepest, depth)
        return deepest

    longest = max([math.prod(shape) for shape, _ in known.values()], default=1)
    return _LEAST_UNITS + depth_of(plan) + 0.25 * math.sqrt(longest)


def coarsest_unit(plan: Plan) -> float:
    """The unit of bfloat16 if a plan has values of it, 0 if not: an error of float32 may turn the rounding of those."""
    narrow = any(dtype is bfloat16 for i in walk(plan) for dtype in i.dtypes)
    return float(bfloat16.finfo.eps) if narrow else 0.0


@dataclass(frozen=True)
class Reach:
    """How far the trials of rounding have moved each element of a value.

    distance: the largest finite one; for integers and the like, how many trials changed the element. lost: whether a
    trial made the element infinite or no number.
    """

    distance: Any
    lost: Any


def difference(
    name: str,
    mine: Any,
    theirs: Any,
    units: float,
    before: Any = None,
    spread: Reach | None = None,
    coarsest: float = 0.0,
) -> Difference | None:
    """How what compiled code gave differs from what NumPy gave; None if it agrees.

    units: as from roundings(). before: the value of a variable before both runs. spread: the result of the trials.
    coarsest: as from coarsest_unit().
    """
    if mine is None or theirs is None:
        return None if mine is theirs else _unlike(name, mine, theirs)
    mine, theirs = _array(mine), _array(theirs)
    if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
        return _unlike(name, mine, theirs)
    if kind_of(theirs.dtype) not in "fc":
        apart = np.not_equal(mine, theirs)
        if spread is not None:
            apart &= spread.distance == 0
        return _judged(name, apart, _distance(mine, theirs), theirs)
    finite = np.isfinite(mine) & np.isfinite(theirs)
    with np.errstate(all="ignore"):
        same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
        if same.all():
            return None
        info = finfo(theirs.dtype)
        unit = max(float(info.eps), coarsest)
        if is_bfloat16(theirs.dtype):
            mine, theirs = mine.astype(np.float32), theirs.astype(np.float32)
            before = None if before is None else before.astype(np.float32)
        distance = np.where(same, 0.0, np.abs(mine - theirs))
        change = theirs if before is None else theirs - before
        whole = np.abs(np.where(np.isfinite(change), change, 0))
        scale = math.sqrt(float(np.mean(np.square(whole, dtype=np.float64))))
        allowed = units * unit * (whole + scale) + float(info.tiny) * units
        if before is not None:
            allowed = allowed + _UNITS_OF_VALUE * unit * (np.abs(theirs) + np.abs(before))
        if spread is not None:
            allowed = allowed + _SPREADS * spread.distance
        apart = ~same & ~(distance <= allowed)
        if spread is not None:  # What rounding makes infinite or no number at all may be either.
            apart &= finite | ~spread.lost
    return _judged(name, apart, distance, whole)


def _array(value: Any) -> Any:
    """A value as an array; a string is one object, whatever it ends in."""
    return np.array(value, object) if isinstance(value, bytes | str) else np.asarray(value)


def _judged(name: str, apart: Any, distance: Any, sizes: Any) -> Difference | None:
    count = int(np.count_nonzero(apart))
    if not count:
        return None
    beyond = distance[apart]
    largest = float(np.max(beyond)) if np.all(np.isfinite(beyond)) else math.inf
    numbers = sizes.dtype.kind in "biufc"
    size = float(np.sqrt(np.mean(np.square(np.abs(sizes.astype(np.complex128)))))) if numbers else 0.0
    return Difference(name, count, int(apart.size), largest, size)


def _distance(mine: Any, theirs: Any) -> Any:
    if mine.dtype.kind in "iub":
        return np.abs(mine.astype(np.float64) - theirs.astype(np.float64))
    return np.where(np.not_equal(mine, theirs), 1.0, 0.0)


def _unlike(name: str, mine: Any, theirs: Any) -> Difference:
    def text(value: Any) -> str:
        return "nothing" if value is None else f"{value.dtype.name}{list(value.shape)}"

    return Difference(name, 1, 1, 0.0, 0.0, f"it is {text(mine)} in place of {text(theirs)}")
