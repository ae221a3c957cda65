"""Samples of the elementwise ops: a row is where to draw the inputs from and what the op means for Python numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import (
    PAIRS,
    SHAPES,
    Draw,
    Random,
    Sample,
    away_from_zero,
    draw,
    dtypes_of,
    module_of,
    over,
    pointwise,
)

Domain = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """domains: where each input is drawn from; a pair (low, high) with low > 0 and `signed` takes either sign."""

    domains: tuple[Domain, ...]
    function: Callable[..., Any]
    smooth: bool = True
    result: Any = None
    signed: bool = False
    attrs: Mapping[str, Any] = field(default_factory=dict)
    varied: tuple[int, ...] | None = None
    tolerance: float = 1.0
    specials: bool = True


WIDE: Domain = (-2.0, 2.0)
POSITIVE: Domain = (0.3, 2.5)
INNER: Domain = (-0.8, 0.8)
SPECIALS = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, -2.0, 1e-30, 3e4)


def _samples(name: str, row: Row) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        dtypes = [d for d in dtypes_of(name) if d.kind != "O"]
        if len(row.domains) == 1 or name.endswith("Grad"):
            shapes: list[Any] = [(s,) * len(row.domains) for s in SHAPES]
        else:
            shapes = [(*p, *p[:1] * (len(row.domains) - 2)) for p in PAIRS]
        draws = away_from_zero if row.signed else draw
        expected = pointwise(row.function, row.result)
        for dtype, shape in over(dtypes, shapes):
            inputs = tuple(draws(random, dtype, s, *d) for s, d in zip(shape, row.domains))
            smooth = row.smooth and dtype.kind in "fc"
            yield Sample(
                inputs, row.attrs, expected, smooth=smooth, varied=row.varied, tolerance=row.tolerance
            )
        for dtype in dtypes if row.specials else ():
            if dtype.kind == "f" and dtype.itemsize > 2:
                special = np.array(SPECIALS, dtype)
                left, right = (a.copy() for a in np.meshgrid(special, special))
                sides = (special,) if len(row.domains) == 1 else (left, right, left)[: len(row.domains)]
                yield Sample(sides, row.attrs, smooth=False)

    return generate


def _conjugated(function: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient function dy * f(y): TensorFlow conjugates y."""
    return lambda y, dy: function(y.conjugate(), dy)


def _truncated(x: Any, y: Any) -> Any:
    return (
        float(math.trunc(x / y))
        if isinstance(x, float)
        else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    )


def _divided(x: Any, y: Any) -> Any:
    return _truncated(x, y) if isinstance(x, int) else x / y


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + module_of(x).exp(-x))


def _sign(x: Any) -> Any:
    return 0 if x == 0 else x / abs(x) if not isinstance(x, int) else x // abs(x)


def _simple(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(module_of(x), name)(x)


def _digamma(x: float) -> float:
    """By recurrence to large x and the logarithm's mean value there."""
    total = 0.0
    while x < 200:
        total -= 1 / x
        x += 1
    return total + math.log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x**4)


def _hurwitz_zeta(s: float, q: float) -> float:
    terms = 300
    total = sum((q + n) ** -s for n in range(terms))
    end = q + terms
    return total + end ** (1 - s) / (s - 1) + end**-s / 2 + s * end ** (-s - 1) / 12


def _integral(function: Callable[[float], float], low: float, high: float) -> float:
    """Gauss-Legendre with 60 points."""
    points, weights = np.polynomial.legendre.leggauss(60)
    middle, half = (high + low) / 2, (high - low) / 2
    return half * float(sum(w * function(middle + half * p) for p, w in zip(points, weights)))


def _igamma(a: float, x: float) -> float:
    # With t = s ** 8 the singularity at 0 is so weak that the quadrature does not see it.
    whole = _integral(lambda s: 8 * s ** (8 * a - 1) * math.exp(-(s**8)), 0, x**0.125)
    return whole / math.gamma(a)


def _betainc(a: float, b: float, x: float) -> float:
    part = _integral(lambda s: 8 * s ** (8 * a - 1) * (1 - s**8) ** (b - 1), 0, x**0.125)
    return part * math.gamma(a + b) / math.gamma(a) / math.gamma(b)


def _bessel(order: int) -> Callable[[float], float]:
    def compute(x: float) -> float:
        def part(t: float) -> float:
            return math.exp(x * math.cos(t) - abs(x)) * math.cos(order * t)

        return _integral(part, 0, math.pi) / math.pi

    return compute


_ALPHA = 1.6732632423543772
_SCALE = 1.0507009873554805

ROWS: dict[str, Row] = {
    # ---- two operands
    "Add": Row((WIDE, WIDE), lambda x, y: x + y),
    "AddV2": Row((WIDE, WIDE), lambda x, y: x + y),
    "Sub": Row((WIDE, WIDE), lambda x, y: x - y),
    "Mul": Row((WIDE, WIDE), lambda x, y: x * y),
    "RealDiv": Row((POSITIVE, POSITIVE), _divided, signed=True),
    "Div": Row((POSITIVE, POSITIVE), _divided, signed=True),
    "TruncateDiv": Row((POSITIVE, POSITIVE), _divided, signed=True, smooth=False),
    "FloorDiv": Row((POSITIVE, POSITIVE), lambda x, y: x // y if not isinstance(x, complex) else x / y, signed=True,
                    smooth=False, specials=False),
    "DivNoNan": Row((WIDE, POSITIVE), lambda x, y: x / y),
    "MulNoNan": Row((WIDE, WIDE), lambda x, y: x * y if y else 0),
    "FloorMod": Row(((0.3, 0.9), (1.0, 1.9)), lambda x, y: x - (x // y) * y, signed=True, specials=False),
    "TruncateMod": Row(((1.3, 1.9), (0.7, 1.0)), lambda x, y: x - _truncated(x, y) * y, signed=True, specials=False),
    "Pow": Row((POSITIVE, (0.2, 2.5)), lambda x, y: x**y, specials=False),
    "Maximum": Row((WIDE, WIDE), max),
    "Minimum": Row((WIDE, WIDE), min),
    "SquaredDifference": Row((WIDE, WIDE), lambda x, y: (x - y) ** 2 if not isinstance(x, complex) else
                             (x - y) * (x - y).conjugate()),
    "Xlogy": Row((WIDE, POSITIVE), lambda x, y: x * module_of(y).log(y)),
    "Xdivy": Row((WIDE, POSITIVE), lambda x, y: x / y),
    "Atan2": Row((POSITIVE, POSITIVE), math.atan2, signed=True),
    "Complex": Row((WIDE, WIDE), complex),
    "Equal": Row(((0, 2), (0, 2)), lambda x, y: x == y, result=bool),
    "NotEqual": Row(((0, 2), (0, 2)), lambda x, y: x != y, result=bool),
    "Less": Row(((0, 2), (0, 2)), lambda x, y: x < y, result=bool),
    "LessEqual": Row(((0, 2), (0, 2)), lambda x, y: x <= y, result=bool),
    "Greater": Row(((0, 2), (0, 2)), lambda x, y: x > y, result=bool),
    "GreaterEqual": Row(((0, 2), (0, 2)), lambda x, y: x >= y, result=bool),
    "LogicalAnd": Row((WIDE, WIDE), lambda x, y: x and y),
    "LogicalOr": Row((WIDE, WIDE), lambda x, y: x or y),
    "LogicalNot": Row((WIDE,), lambda x: not x),
    "BitwiseAnd": Row(((-99, 99), (-99, 99)), lambda x, y: x & y),
    "BitwiseOr": Row(((-99, 99), (-99, 99)), lambda x, y: x | y),
    "BitwiseXor": Row(((-99, 99), (-99, 99)), lambda x, y: x ^ y),
    "LeftShift": Row(((-99, 99), (0, 6)), lambda x, y: x << y),
    "RightShift": Row(((-99, 99), (0, 6)), lambda x, y: x >> y),
    "Invert": Row(((-99, 99),), lambda x: ~x),
    "NextAfter": Row((WIDE, WIDE), math.nextafter, specials=True),
    # ---- one operand
    "Neg": Row((WIDE,), lambda x: -x),
    "Abs": Row((POSITIVE,), abs, signed=True),
    "Sign": Row((POSITIVE,), _sign, signed=True),
    "Sqrt": Row((POSITIVE,), _simple("sqrt")),
    "Rsqrt": Row((POSITIVE,), lambda x: 1 / module_of(x).sqrt(x)),
    "Square": Row((WIDE,), lambda x: x * x),
    "Reciprocal": Row((POSITIVE,), lambda x: _divided(type(x)(1), x), signed=True),
    "Exp": Row((WIDE,), _simple("exp")),
    "Expm1": Row((WIDE,), lambda x: math.expm1(x) if isinstance(x, float) else module_of(x).exp(x) - 1),
    "Log": Row((POSITIVE,), _simple("log")),
    "Log1p": Row((POSITIVE,), lambda x: module_of(x).log(1 + x)),
    "Sin": Row((WIDE,), _simple("sin")),
    "Cos": Row((WIDE,), _simple("cos")),
    "Tan": Row((INNER,), _simple("tan")),
    "Asin": Row((INNER,), _simple("asin")),
    "Acos": Row((INNER,), _simple("acos")),
    "Atan": Row((INNER,), _simple("atan")),
    "Sinh": Row((WIDE,), _simple("sinh")),
    "Cosh": Row((WIDE,), _simple("cosh")),
    "Tanh": Row((WIDE,), _simple("tanh")),
    "Asinh": Row((WIDE,), _simple("asinh")),
    "Acosh": Row(((1.2, 3.0),), _simple("acosh")),
    "Atanh": Row((INNER,), _simple("atanh")),
    "Sigmoid": Row((WIDE,), _sigmoid),
    "Softplus": Row((WIDE,), lambda x: math.log1p(math.exp(x))),
    "Floor": Row((WIDE,), math.floor),
    "Ceil": Row((WIDE,), math.ceil),
    "Rint": Row((WIDE,), round),
    "IsNan": Row((WIDE,), math.isnan, result=bool),
    "IsInf": Row((WIDE,), math.isinf, result=bool),
    "IsFinite": Row((WIDE,), math.isfinite, result=bool),
    "Erf": Row((WIDE,), math.erf),
    "Erfc": Row((WIDE,), math.erfc),
    "Lgamma": Row((POSITIVE,), math.lgamma),
    "Digamma": Row((POSITIVE,), _digamma),
    "BesselI0e": Row((WIDE,), _bessel(0)),
    "BesselI1e": Row((WIDE,), _bessel(1)),
    "Zeta": Row(((2.0, 4.0), POSITIVE), _hurwitz_zeta, varied=(1,)),
    "Igamma": Row(((1.0, 3.0), POSITIVE), _igamma, tolerance=100),
    "Igammac": Row(((1.0, 3.0), POSITIVE), lambda a, x: 1 - _igamma(a, x), tolerance=100),
    "Betainc": Row(((1.0, 3.0), (1.0, 3.0), (0.1, 0.9)), _betainc, varied=(2,), tolerance=100),
    "ComplexAbs": Row((WIDE,), abs),
    "Conj": Row((WIDE,), lambda x: x.conjugate()),
    "Angle": Row((WIDE,), lambda x: math.atan2(x.imag, x.real)),
    "Real": Row((WIDE,), lambda x: x.real),
    "Imag": Row((WIDE,), lambda x: x.imag),
    # ---- gradients
    "SqrtGrad": Row((POSITIVE, WIDE), _conjugated(lambda y, dy: dy / (2 * y))),
    "RsqrtGrad": Row((POSITIVE, WIDE), _conjugated(lambda y, dy: dy * y**3 / -2)),
    "ReciprocalGrad": Row((POSITIVE, WIDE), _conjugated(lambda y, dy: -dy * y * y)),
    "TanhGrad": Row((WIDE, WIDE), _conjugated(lambda y, dy: dy * (1 - y * y))),
    "SigmoidGrad": Row((WIDE, WIDE), _conjugated(lambda y, dy: dy * y * (1 - y))),
    # ---- activations
    "Relu": Row((POSITIVE,), lambda x: max(x, 0), signed=True),
    "ReluGrad": Row((POSITIVE, POSITIVE), lambda g, x: g if x > 0 else 0, signed=True, varied=(0, 1)),
    "Relu6": Row(((0.3, 9.7),), lambda x: min(max(x, 0), 6), signed=True),
    "Relu6Grad": Row((POSITIVE, (0.3, 9.7)), lambda g, x: g if 0 < x < 6 else 0, signed=True),
    "LeakyRelu": Row((POSITIVE,), lambda x: x if x > 0 else 0.25 * x, signed=True, attrs={"alpha": 0.25}),
    "LeakyReluGrad": Row((POSITIVE, POSITIVE), lambda g, x: g if x > 0 else 0.25 * g, signed=True,
                         attrs={"alpha": 0.25}),
    "Elu": Row((POSITIVE,), lambda x: x if x > 0 else math.exp(x) - 1, signed=True),
    "EluGrad": Row((POSITIVE, (0.2, 0.9)), lambda g, y: g if y > 0 else g * (y + 1), signed=True),
    "Selu": Row((POSITIVE,), lambda x: _SCALE * (x if x > 0 else _ALPHA * (math.exp(x) - 1)), signed=True),
    "SeluGrad": Row((POSITIVE, (0.2, 0.9)), lambda g, y: g * _SCALE if y > 0 else g * (y + _SCALE * _ALPHA),
                    signed=True),
    "Softsign": Row((POSITIVE,), lambda x: x / (1 + abs(x)), signed=True),
    "SoftsignGrad": Row((POSITIVE, POSITIVE), lambda g, x: g / (1 + abs(x)) ** 2, signed=True),
}  # fmt: skip


def _of_parts(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """Complex numbers to reals of half the size."""
    return lambda x: pointwise(function, x.real.dtype)(x)


def _real_results(name: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        expected = pointwise(ROWS[name].function) if name == "Conj" else _of_parts(ROWS[name].function)
        for dtype, shape in over([np.dtype(np.complex128), np.dtype(np.complex64)], SHAPES):
            yield Sample((draw(random, dtype, shape),), {}, expected)

    return generate


def _complex(random: Random) -> Iterable[Sample]:
    for dtype, shapes in over([np.dtype(np.float64), np.dtype(np.float32)], PAIRS):
        wide = np.result_type(dtype, np.complex64)
        yield Sample(
            (draw(random, dtype, shapes[0]), draw(random, dtype, shapes[1])), {}, pointwise(complex, wide)
        )


def _round(random: Random) -> Iterable[Sample]:
    for dtype, shape in over(dtypes_of("Round"), SHAPES):
        expected = pointwise(
            lambda x: complex(round(x.real), round(x.imag)) if isinstance(x, complex) else round(x)
        )
        yield Sample((draw(random, dtype, shape),), {}, expected)


def _polygamma(random: Random) -> Iterable[Sample]:
    def reference(n: float, x: float) -> float:
        if n == 0:
            return _digamma(x)
        return (-1) ** (int(n) + 1) * math.factorial(int(n)) * _hurwitz_zeta(n + 1, x)

    for dtype, shapes in over([np.dtype(np.float64), np.dtype(np.float32)], PAIRS):
        order = np.asarray(random.integers(0, 4, shapes[0]).astype(dtype))
        x = draw(random, dtype, shapes[1], 0.5, 3)
        yield Sample((order, x), {}, pointwise(reference), varied=(1,), tolerance=10)


def _approximate_equal(random: Random) -> Iterable[Sample]:
    for dtype, shape in over(dtypes_of("ApproximateEqual"), SHAPES):
        x, y = draw(random, dtype, shape), draw(random, dtype, shape)
        yield Sample((x, y), {"tolerance": 0.7}, pointwise(lambda a, b: abs(a - b) < 0.7, bool))


def _population_count(random: Random) -> Iterable[Sample]:
    def reference(x: Any) -> Any:
        bits = 8 * x.dtype.itemsize
        return pointwise(lambda v: bin(v & (1 << bits) - 1).count("1"), np.uint8)(x)

    for dtype, shape in over(dtypes_of("PopulationCount"), SHAPES):
        yield Sample((draw(random, dtype, shape, -100, 100),), {}, reference)


def _cast(random: Random) -> Iterable[Sample]:
    import graphflow as gf

    names = [
        "float64", "float32", "float16", "int8", "int32", "int64", "uint8", "bool", "complex64", "complex128", "uint16",
    ]  # fmt: skip
    shapes = iter(SHAPES * len(names) * len(names))
    for source in names:
        for target in names:
            low = -3 if np.dtype(target).kind in "ifc" else 0

            def reference(x: Any, target: str = target) -> Any:
                kind = np.dtype(target).kind

                def convert(v: Any) -> Any:
                    v = v.real if isinstance(v, complex) and kind != "c" and kind != "b" else v
                    return bool(v) if kind == "b" else math.trunc(v) if kind in "iu" else v

                return pointwise(convert, np.dtype(target))(x)

            drawn = draw(random, source, next(shapes), low, 3.5)
            smooth = {np.dtype(source).kind, np.dtype(target).kind} <= {"f"}
            yield Sample((drawn,), {"DstT": gf.as_dtype(target), "Truncate": False}, reference, smooth=smooth)


def _many(name: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        import graphflow as gf

        for count, (dtype, shape) in enumerate(over(dtypes_of(name), SHAPES)):
            values = [draw(random, dtype, shape, 0, 9) for _ in range(count % 3 + 1)]
            attrs: dict[str, Any] = {"N": len(values)}
            if name == "AccumulateNV2":
                attrs["shape"] = gf.TensorShape(shape)
            yield Sample((values,), attrs, lambda *all: pointwise(lambda *v: sum(v))(*all))

    return generate


def _strings_too(name: str) -> Draw:
    numbers = _samples(name, ROWS[name])

    def generate(random: Random) -> Iterable[Sample]:
        yield from numbers(random)
        for a, b in PAIRS:
            x, y = draw(random, object, a), draw(random, object, b)
            if name == "Add":
                yield Sample((x, y), {}, _loop_over_strings(ROWS[name].function, object))
            else:
                yield Sample((x, y), {}, _loop_over_strings(ROWS[name].function, bool))

    return generate


def _loop_over_strings(function: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    def compute(x: Any, y: Any) -> Any:
        result = np.empty(np.broadcast_shapes(x.shape, y.shape), dtype)
        wide = [np.broadcast_to(a, result.shape) for a in (x, y)]
        for place in np.ndindex(result.shape):
            result[place] = function(wide[0][place], wide[1][place])
        return result

    return compute


TABLE: dict[str, Draw] = {name: _samples(name, row) for name, row in ROWS.items()}
TABLE |= {name: _real_results(name) for name in ("ComplexAbs", "Conj", "Angle", "Real", "Imag")}
TABLE |= {name: _many(name) for name in ("AddN", "AccumulateNV2")}
TABLE |= {name: _strings_too(name) for name in ("Add", "Equal", "NotEqual")}
TABLE |= {
    "Complex": _complex, "Round": _round, "Polygamma": _polygamma, "ApproximateEqual": _approximate_equal,
    "PopulationCount": _population_count, "Cast": _cast,
}  # fmt: skip
