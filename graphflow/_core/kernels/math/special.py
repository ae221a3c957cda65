"""NumPy kernels of the error function, the gamma function and their kin, which NumPy itself lacks.

Everything is computed in float64. Methods: erf and erfc by the rational approximations of W. J. Cody (1969);
log-gamma by Stirling's series above 8 and recurrence below it; digamma and zeta by their asymptotic (Euler-Maclaurin)
series; incomplete gamma and beta functions by series and continued fractions (Lentz's method, after Press et al.,
Numerical Recipes, chapter 6); Bessel functions by their power series and asymptotic expansions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.registry import simple, takes

Array = Any
_TINY = 1e-300
_EPSILON = 1e-16
_LONGEST = 500

# Cody's coefficients, highest power first.
_ERF_P = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_ERF_Q = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_MIDDLE_P = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1, 2.98635138197400131e2,
    8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
)  # fmt: skip
_MIDDLE_Q = (
    1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
    3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
)  # fmt: skip
_LARGE_P = (
    1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
    1.60837851487422766e-2, 6.58749161529837803e-4,
)  # fmt: skip
_LARGE_Q = (
    1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
    2.33520497626869185e-3,
)  # fmt: skip
# B(2k) / (2k)!, of the Euler-Maclaurin formula.
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
)  # fmt: skip


def _in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function computed in float64, on operands broadcast together, and brought back to the dtype."""

    def compute(*operands: Array) -> Array:
        wide = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in operands))
        return np.asarray(function(*wide)).astype(operands[0].dtype)

    return compute


def _erf_small(x: Array) -> Array:
    square = x * x
    return x * np.polyval(_ERF_P, square) / np.polyval(_ERF_Q, square)


def _erfc_positive(x: Array) -> Array:
    """erfc for x above 0.46875."""
    bounded = np.clip(x, 0.46875, 30.0)
    middle = np.polyval(_MIDDLE_P, bounded) / np.polyval(_MIDDLE_Q, bounded)
    inverse = 1 / (bounded * bounded)
    tail = inverse * np.polyval(_LARGE_P, inverse) / np.polyval(_LARGE_Q, inverse)
    large = (1 / math.sqrt(math.pi) - tail) / bounded
    # exp(-x * x) in two factors, because x * x itself is rounded.
    coarse = np.trunc(bounded * 16) / 16
    decay = np.exp(-coarse * coarse) * np.exp(-(bounded - coarse) * (bounded + coarse))
    return decay * np.where(bounded <= 4, middle, large)


def _erf(x: Array) -> Array:
    size = np.abs(x)
    outside = np.copysign(1 - _erfc_positive(size), x)
    return np.where(np.isnan(x), x, np.where(size <= 0.46875, _erf_small(np.clip(x, -0.5, 0.5)), outside))


def _erfc(x: Array) -> Array:
    size = np.abs(x)
    outside = _erfc_positive(size)
    result = np.where(
        size <= 0.46875, 1 - _erf_small(np.clip(x, -0.5, 0.5)), np.where(x > 0, outside, 2 - outside)
    )
    return np.where(np.isnan(x), x, result)


def _stirling(x: Array) -> Array:
    """log(gamma(x)) for x of at least 8."""
    series = np.zeros_like(x)
    for k in range(len(_BERNOULLI), 0, -1):
        series = series / (x * x) + _BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
    return (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series / x


def _lgamma_positive(x: Array) -> Array:
    product, raised = np.ones_like(x), np.array(x)
    for _ in range(8):
        low = raised < 8
        product = np.where(low, product * raised, product)
        raised = np.where(low, raised + 1, raised)
    result = _stirling(raised) - np.log(product)
    return np.where(np.isin(x, (1.0, 2.0)), 0.0, result)


def _lgamma(x: Array) -> Array:
    whole = np.floor(x) == x
    negative = x < 0.5
    mirrored = np.where(negative, 1 - x, x)
    result = _lgamma_positive(np.where(np.isfinite(mirrored), mirrored, 1.0))
    # Euler's reflection formula; the sine of the fraction, which is exact.
    sine = np.abs(np.sin(math.pi * (x - np.floor(x))))
    reflected = math.log(math.pi) - np.log(np.where(sine > 0, sine, 1)) - result
    result = np.where(negative, reflected, result)
    result = np.where(whole & (x <= 0), np.inf, result)
    return np.where(np.isnan(x), x, np.where(np.isinf(x), np.inf, result))


def _digamma_positive(x: Array) -> Array:
    total, raised = np.zeros_like(x), np.array(x)
    for _ in range(10):
        low = raised < 10
        total = np.where(low, total - 1 / raised, total)
        raised = np.where(low, raised + 1, raised)
    series = np.zeros_like(x)
    for k in range(len(_BERNOULLI), 0, -1):
        series = (series + _BERNOULLI[k - 1] / (2 * k)) / (raised * raised)
    return total + np.log(raised) - 0.5 / raised - series


def _digamma(x: Array) -> Array:
    negative = x <= 0
    usable = np.where(negative, 1 - x, x)
    result = _digamma_positive(np.where(np.isfinite(usable), usable, 1.0))
    fraction = x - np.floor(x)
    tangent = np.tan(math.pi * np.where(fraction > 0, fraction, 0.25))
    result = np.where(negative, result - math.pi / tangent, result)
    result = np.where(negative & (fraction == 0), np.inf, result)
    return np.where(np.isnan(x), x, np.where(np.isposinf(x), np.inf, result))


def _zeta(x: Array, q: Array) -> Array:
    usable = (x > 1) & ((q > 0) | (np.floor(x) == x) & (np.floor(q) != q)) & np.isfinite(x) & np.isfinite(q)
    s, start = np.where(usable, x, 2.0), np.where(usable, q, 1.0)
    total, base = np.zeros_like(s), np.array(start)
    for _ in range(12):
        total = total + np.power(base, -s)
        base = base + 1
    while np.any(low := base < 10):
        total = np.where(low, total + np.power(base, -s), total)
        base = np.where(low, base + 1, base)
    total = total + base * np.power(base, -s) / (s - 1) + 0.5 * np.power(base, -s)
    factor = s * np.power(base, -s - 1)
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli / math.factorial(2 * k) * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / (base * base)
    result = np.where(usable, total, np.nan)
    result = np.where((x == 1) | (x > 1) & (q <= 0) & (np.floor(q) == q), np.inf, result)
    return np.where(np.isnan(x) | np.isnan(q), np.nan, np.where(np.isinf(q) & (x > 1), 0.0, result))


def _polygamma(a: Array, x: Array) -> Array:
    order = np.where((a >= 1) & (np.floor(a) == a), a, 1.0)
    sign = np.where(order % 2 == 1, 1.0, -1.0)
    higher = sign * np.exp(_lgamma(order + 1)) * _zeta(order + 1, x)
    result = np.where(a == 0, _digamma(x), higher)
    return np.where((a < 0) | (np.floor(a) != a), np.nan, result)


def _gamma_scale(a: Array, x: Array) -> Array:
    return np.exp(a * np.log(x) - x - _lgamma(a))


def _igamma_series(a: Array, x: Array) -> Array:
    term = 1 / a
    total, denominator = np.array(term), np.array(a)
    for _ in range(_LONGEST):
        denominator = denominator + 1
        term = term * x / denominator
        total = total + term
        if not np.any(np.abs(term) > np.abs(total) * _EPSILON):
            break
    return total * _gamma_scale(a, x)


def _igamma_fraction(a: Array, x: Array) -> Array:
    b = x + 1 - a
    c, d = np.full_like(a, 1 / _TINY), 1 / np.where(b == 0, _TINY, b)
    result = np.array(d)
    for i in range(1, _LONGEST):
        step = -i * (i - a)
        b = b + 2
        d, c = step * d + b, b + step / c
        d, c = 1 / np.where(np.abs(d) < _TINY, _TINY, d), np.where(np.abs(c) < _TINY, _TINY, c)
        change = d * c
        result = result * change
        if not np.any(np.abs(change - 1) > _EPSILON):
            break
    return result * _gamma_scale(a, x)


def _lower_gamma(a: Array, x: Array, complement: bool) -> Array:
    usable = (a > 0) & (x > 0) & np.isfinite(x) & np.isfinite(a)
    by_series = x < a + 1
    low = _igamma_series(np.where(usable, a, 1.0), np.where(usable & by_series, x, 0.5))
    high = _igamma_fraction(np.where(usable & ~by_series, a, 0.5), np.where(usable & ~by_series, x, 3.0))
    result = np.where(by_series, 1 - low, high) if complement else np.where(by_series, low, 1 - high)
    ends = np.where(x == 0, float(complement), float(not complement))
    edge = (a > 0) & ((x == 0) | np.isposinf(x))
    return np.where(usable, result, np.where(edge, ends, np.nan))


def _beta_fraction(a: Array, b: Array, x: Array) -> Array:
    c = np.ones_like(a)
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / np.where(np.abs(d) < _TINY, _TINY, d)
    result = np.array(d)
    for m in range(1, _LONGEST):
        change = np.ones_like(a)
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 + step * d, 1 + step / c
            d, c = 1 / np.where(np.abs(d) < _TINY, _TINY, d), np.where(np.abs(c) < _TINY, _TINY, c)
            change = d * c
            result = result * change
        if not np.any(np.abs(change - 1) > _EPSILON):
            break
    return result / a


def _betainc(a: Array, b: Array, x: Array) -> Array:
    usable = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    a_, b_, x_ = np.where(usable, a, 1.0), np.where(usable, b, 1.0), np.where(usable, x, 0.5)
    scale = np.exp(_lgamma(a_ + b_) - _lgamma(a_) - _lgamma(b_) + a_ * np.log(x_) + b_ * np.log1p(-x_))
    direct = x_ < (a_ + 1) / (a_ + b_ + 2)
    first, second = np.where(direct, a_, b_), np.where(direct, b_, a_)
    value = scale * _beta_fraction(first, second, np.where(direct, x_, 1 - x_))
    result = np.where(direct, value, 1 - value)
    edge = (a > 0) & (b > 0) & ((x == 0) | (x == 1))
    return np.where(usable, result, np.where(edge, x, np.nan))


def _scaled_bessel(order: int) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        size = np.abs(x)
        small = np.minimum(size, 30.0)
        quarter = small * small / 4
        term = np.exp(-small) * (small / 2) ** order
        total = np.array(term)
        for k in range(1, 80):
            term = term * quarter / (k * (k + order))
            total = total + term
        large = np.maximum(size, 30.0)
        series, part = np.ones_like(large), np.ones_like(large)
        for k in range(1, 15):
            part = -part * (4 * order * order - (2 * k - 1) ** 2) / (k * 8 * large)
            series = series + part
        result = np.where(size <= 30, total, series / np.sqrt(2 * math.pi * large))
        return np.where(np.isnan(x), x, np.copysign(result, x) if order else result)

    return compute


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Erf": _erf,
    "Erfc": _erfc,
    "Lgamma": _lgamma,
    "Digamma": _digamma,
    "Zeta": _zeta,
    "Polygamma": _polygamma,
    "Igamma": lambda a, x: _lower_gamma(a, x, False),
    "Igammac": lambda a, x: _lower_gamma(a, x, True),
    "Betainc": _betainc,
    "BesselI0e": _scaled_bessel(0),
    "BesselI1e": _scaled_bessel(1),
}
for _name, _function in _FUNCTIONS.items():
    simple(_name, _in_double(_function))
simple("NextAfter", np.nextafter)

# Each is some dozens of passes over the elements, or a series to its end.
takes(35, "Erf", "Erfc", "Lgamma")
takes(50, "Digamma", "Zeta")
takes(100, "BesselI0e", "BesselI1e")
takes(200, "Polygamma")
takes(400, "Igamma", "Igammac")
takes(8000, "Betainc")
