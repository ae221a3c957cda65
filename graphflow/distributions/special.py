"""The distribution function of the standard normal distribution, its logarithm and its inverse, made of public ops.

The logarithm far below zero, where the function itself underflows, is its asymptotic series. The inverse is by
Wichura's algorithm AS 241 (Applied Statistics 37, 1988), exact to 16 digits. Every branch is computed for every
number, so each sees only arguments in which it is finite: a gradient through a branch that is not taken must be zero,
not NaN.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from graphflow._core.graph.dtypes import float64
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.math.arithmetic import maximum, minimum
from graphflow._core.ops.math.comparison import equal
from graphflow._core.ops.math.numeric import abs_
from graphflow._core.ops.math.special import erfc
from graphflow._core.ops.math.transcendental import log, log1p, sqrt, square

_MIDDLE = (
    (
        2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
        13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080,
    ),
    (
        5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
        5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1.0,
    ),
)  # fmt: skip
_TAIL = (
    (
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
        3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
        6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0,
    ),
)  # fmt: skip
_FAR_TAIL = (
    (
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
        2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720,
    ),
    (
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
        1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0,
    ),
)  # fmt: skip
"""Numerators and denominators of AS 241, the highest power first."""


def salted(seed: int | None, salt: str) -> int | None:
    """The seed of the second op that a sample takes: TensorFlow's, so that samples are the same there."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


def ndtr(x: Tensor) -> Tensor:
    """The standard normal distribution function (tensorflow.python.ops.distributions.special_math.ndtr)."""
    return 0.5 * erfc(x * -math.sqrt(0.5))


def log_ndtr(x: Tensor) -> Tensor:
    """The logarithm of ndtr, without loss of digits on either side (special_math.log_ndtr)."""
    bound = -20.0 if x.dtype is float64 else -10.0
    near = maximum(x, bound)
    upper = log1p(-ndtr(-maximum(x, 0.0)))
    middle = log(ndtr(minimum(near, 0.0)))
    far = minimum(x, bound)
    step = 1.0 / square(far)
    series = 1.0 - step * (1.0 - step * (3.0 - step * 15.0))
    lower = -0.5 * square(far) - log(-far) - 0.5 * math.log(2 * math.pi) + log(series)
    return where_v2(x > 0.0, upper, where_v2(x > bound, middle, lower))


def _ratio(coefficients: tuple[Sequence[float], Sequence[float]], x: Tensor) -> Tensor:
    above, below = (_polynomial(powers, x) for powers in coefficients)
    return above / below


def _polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    total = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * x + coefficient
    return total


def ndtri(p: Tensor) -> Tensor:
    """The inverse of ndtr: -inf at 0, inf at 1, NaN outside of both (special_math.ndtri)."""
    q = p - 0.5
    central = abs_(q) <= 0.425
    inner = where_v2(central, q, 0.0 * ones_like(q))
    middle = inner * _ratio(_MIDDLE, 0.180625 - square(inner))
    inside = (p > 0.0) & (p < 1.0)
    rest = where_v2(inside & ~central, minimum(p, 1.0 - p), 0.05 * ones_like(p))
    r = sqrt(-log(rest))
    tail = where_v2(r <= 5.0, _ratio(_TAIL, minimum(r, 5.0) - 1.6), _ratio(_FAR_TAIL, maximum(r, 5.0) - 5.0))
    value = where_v2(central, middle, where_v2(q < 0.0, -tail, tail))
    edges = where_v2(equal(p, 0.0), -math.inf, where_v2(equal(p, 1.0), math.inf, math.nan * ones_like(p)))
    return where_v2(inside, value, edges)
