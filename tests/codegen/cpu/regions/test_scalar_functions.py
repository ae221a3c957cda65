"""Protects: every function and operator of the scalar language gives NumPy's values, special ones included."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.cpu.regions.region import Region, RegionInput, RegionOutput, Statement
from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError, parse

Runner = Callable[..., list[np.ndarray]]

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])
lgamma = np.vectorize(lambda v: math.lgamma(v) if math.isfinite(v) and v != 0 else np.inf, otypes=[float])

# text, reference in float64, largest error in units in the last place of float32
UNARY: list[tuple[str, Callable[[Any], Any], float]] = [
    ("exp(x)", np.exp, 2),
    ("expm1(x)", np.expm1, 3),
    ("log(x)", np.log, 2),
    ("log1p(x)", np.log1p, 3),
    ("tanh(x)", np.tanh, 4),
    ("erf(x)", erf, 3),
    ("softplus(x)", lambda v: np.logaddexp(v, 0), 4),
    ("sqrt(x)", np.sqrt, 1),
    ("rsqrt(abs(x) + 1)", lambda v: 1 / np.sqrt(np.abs(v) + 1), 3),
    ("sin(x)", np.sin, 2),
    ("cos(x)", np.cos, 2),
    ("floor(x)", np.floor, 0),
    ("ceil(x)", np.ceil, 0),
    ("round(x)", np.rint, 0),
    ("abs(x)", np.abs, 0),
    ("sign(x)", np.sign, 0),
    ("x ** 2", np.square, 1),
    ("-x", np.negative, 0),
    ("erfc(x)", erfc, 4),
    ("atan(x)", np.arctan, 2),
]
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    1e-30,
    88.72,
    88.8,
    -87.5,
    -100,
    -103.2,
    -110,
    0.5,
    1.5,
    2.5,
    1e9,
]


def region_of(texts: list[str], dtypes: list[str], *names: str, dtype: str = "float32") -> Region:
    statements = tuple(Statement(f"y{k}", d, text) for k, (text, d) in enumerate(zip(texts, dtypes)))
    outputs = tuple(RegionOutput(s.target, s.dtype) for s in statements)
    return Region(1, tuple(RegionInput(name, dtype, (True,)) for name in names), statements, outputs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_match_numpy(run_region: Runner, dtype: str) -> None:
    random = np.random.RandomState(0)
    parts = [random.randn(3001) * scale for scale in (0.01, 1, 10, 40)]
    x = np.concatenate([*parts, SPECIAL]).astype(dtype)
    results = run_region(
        region_of([u[0] for u in UNARY], [dtype] * len(UNARY), "x", dtype=dtype), (x.size,), [x]
    )
    for (text, reference, ulps), got in zip(UNARY, results, strict=True):
        with np.errstate(all="ignore"):
            want = reference(x.astype(np.float64)).astype(dtype)
        finite = np.isfinite(want)
        np.testing.assert_array_equal(got[~finite], want[~finite], err_msg=text)
        spacing = np.maximum(np.spacing(np.abs(want[finite])), np.finfo(dtype).smallest_subnormal).astype(
            np.float64
        )
        error = np.abs(got[finite].astype(np.float64) - want[finite].astype(np.float64)) / spacing
        limit = ulps + 1 if dtype == "float32" else 8
        assert error.max() <= limit, (text, x[finite][error.argmax()], got[finite][error.argmax()])


def test_sigmoid_is_one_over_one_plus_exp(run_region: Runner) -> None:
    x = np.concatenate([np.linspace(-120, 120, 4001), [np.inf, -np.inf, np.nan]]).astype(np.float32)
    (got,) = run_region(region_of(["sigmoid(x)"], ["float32"], "x"), (x.size,), [x])
    want = 1 / (1 + np.exp(-x.astype(np.float64)))
    np.testing.assert_allclose(got, want, rtol=4e-7, atol=1e-38)


def test_results_do_not_depend_on_the_position_in_a_vector(run_region: Runner) -> None:
    values = np.random.RandomState(1).randn(37).astype(np.float32)
    texts = ["exp(x)", "tanh(x)", "log1p(abs(x))", "erf(x)", "expm1(x)", "softplus(x)"]
    region = region_of(texts, ["float32"] * len(texts), "x")
    whole = run_region(region, (values.size,), [values])
    for position in range(values.size):
        single = run_region(region, (1,), [values[position : position + 1]])
        assert [float(s[0]) for s in single] == [float(w[position]) for w in whole]


BINARY: list[tuple[str, str, Callable[[Any, Any], Any]]] = [
    ("max(x, y)", "float32", np.maximum),
    ("min(x, y)", "float32", np.minimum),
    ("x + y * 3", "float32", lambda x, y: x + y * np.float32(3)),
    ("x / y", "float32", np.divide),
    ("x // y", "float32", lambda x, y: np.floor(x / y)),
    ("x < y", "bool", np.less),
    ("not x >= y or x == 0", "bool", lambda x, y: ~(x >= y) | (x == 0)),
    ("0 < x <= y", "bool", lambda x, y: (x > 0) & (x <= y)),
    ("x if x > y else y - 1", "float32", lambda x, y: np.where(x > y, x, y - np.float32(1))),
    ("isnan(x) or isinf(y)", "bool", lambda x, y: np.isnan(x) | np.isinf(y)),
    ("pow(x, y)", "float32", np.power),
    ("cast(x > y, int32) * 2", "int32", lambda x, y: (x > y).astype(np.int32) * 2),
    ("cast(x, float64) * wide", "float64", lambda x, y: x.astype(np.float64) * y.astype(np.float64)),
    ("truncatemod(x, y)", "float32", np.fmod),
]


def test_operators_match_numpy(run_region: Runner) -> None:
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -2.5]
    random = np.random.RandomState(2).randn(2, 201).astype(np.float32) * 3
    grid = np.array([(a, b) for a in special for b in special], np.float32).T
    x, y = np.concatenate([random, grid], axis=1)
    region = region_of(
        ["cast(y, float64)", *(b[0] for b in BINARY)], ["float64", *(b[1] for b in BINARY)], "x", "y"
    )
    statements = (Statement("wide", "float64", "cast(y, float64)"), *region.statements[1:])
    region = Region(1, region.inputs, statements, tuple(RegionOutput(s.target, s.dtype) for s in statements))
    results = run_region(region, (x.size,), [x, y])
    for (text, _, reference), got in zip(BINARY, results[1:], strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(got, reference(x, y), rtol=3e-7, err_msg=text)


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8"])
def test_integers_wrap_and_divide_like_numpy(run_region: Runner, dtype: str) -> None:
    information = np.iinfo(dtype)
    values = [information.min, information.min + 1, -7, -1, 0, 1, 2, 7, information.max]
    values = [v for v in values if v >= information.min]
    x, y = np.array([(a, b) for a in values for b in values if b != 0], dtype=dtype).T
    texts = ["x + y", "x * y", "x // y", "x % y", "abs(x)", "sign(x)", "x ** 3", "max(x, y)", "-x", "x & y"]
    references: list[Callable[[Any, Any], Any]] = [
        *(
            np.add,
            np.multiply,
            np.floor_divide,
            np.remainder,
            lambda x, y: np.abs(x),
            lambda x, y: np.sign(x),
        ),
        *(lambda x, y: x * x * x, np.maximum, lambda x, y: -x, np.bitwise_and),
    ]
    results = run_region(region_of(texts, [dtype] * len(texts), "x", "y", dtype=dtype), (x.size,), [x, y])
    for text, reference, got in zip(texts, references, results, strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, reference(x, y), err_msg=f"{text} {x} {y}")


def test_integer_division_by_zero_is_reported_unless_guarded(run_region: Runner) -> None:
    x, y = np.array([6, 7, 8], np.int32), np.array([2, 0, 3], np.int32)
    run_region(region_of(["x // y"], ["int32"], "x", "y", dtype="int32"), (3,), [x, y], expect_status=1)
    run_region(region_of(["x % y"], ["int32"], "x", "y", dtype="int32"), (3,), [x, y], expect_status=1)
    guarded = region_of(["x // y if y != 0 else 0"], ["int32"], "x", "y", dtype="int32")
    np.testing.assert_array_equal(run_region(guarded, (3,), [x, y])[0], [3, 0, 2])


def test_casts_from_float_are_defined_everywhere(run_region: Runner) -> None:
    x = np.array([1.9, -1.9, 3e9, -3e9, np.nan, np.inf, 200.0], np.float32)
    texts = ["cast(x, int32)", "cast(x, int64)", "cast(x, bool)", "cast(x, uint8)"]
    got = run_region(region_of(texts, ["int32", "int64", "bool", "uint8"], "x"), (x.size,), [x])
    lowest = np.iinfo(np.int32).min
    np.testing.assert_array_equal(got[0], [1, -1, lowest, lowest, lowest, lowest, 200])
    np.testing.assert_array_equal(got[1][:4], [1, -1, 3000000000, -3000000000])
    assert got[1][4] == np.iinfo(np.int64).min
    np.testing.assert_array_equal(got[2], [True] * 7)
    assert got[3][0] == 1 and got[3][6] == 200


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("x + z", "float32", "unknown name 'z'"),
        ("x + i", "float32", "expected float32"),
        ("i / 2", "int32", "cast the operands"),
        ("i + 1.5", "int32", "literal 1.5"),
        ("foo(x)", "float32", "no function 'foo'"),
        ("x.real", "float32", "not part of the language"),
        ("x +", "float32", "invalid syntax"),
        ("x", "complex64", "no dtype complex64"),
        ("__import__('os')", "float32", "no function '__import__'"),
    ],
)
def test_what_is_outside_the_language_says_why(text: str, dtype: str, message: str) -> None:
    with pytest.raises(ScalarTextError, match=message.replace("(", r"\(")):
        parse(text, dtype, {"x": "float32", "i": "int32"})
