"""Protects: polynomials in place of the C library's functions are right for every float there is, not only near one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.cpu.regions.region import Region, RegionInput, RegionOutput, Statement

Runner = Callable[..., list[np.ndarray]]


def region_of(texts: list[str], dtype: str, *names: str) -> Region:
    statements = tuple(Statement(f"y{k}", dtype, text) for k, text in enumerate(texts))
    outputs = tuple(RegionOutput(s.target, s.dtype) for s in statements)
    return Region(1, tuple(RegionInput(name, dtype, (True,)) for name in names), statements, outputs)


def any_floats(count: int, dtype: str, seed: int) -> Any:
    """Numbers of every exponent: their bits are drawn."""
    random = np.random.RandomState(seed)
    bytes_ = np.dtype(dtype).itemsize
    return np.frombuffer(random.bytes(count * bytes_), dtype).copy()


def errors_in_units(got: Any, want: Any) -> Any:
    """The distance in units in the last place of the true value, where that is finite and no denormal."""
    usual = np.isfinite(want) & (np.abs(want) >= np.finfo(got.dtype).tiny)
    spacing = np.spacing(np.abs(want[usual]).astype(got.dtype)).astype(want.dtype)
    return np.abs(got[usual].astype(want.dtype) - want[usual]) / spacing


FUNCTIONS: list[tuple[str, Callable[[Any], Any], float, float]] = [
    ("sin(x)", np.sin, 2.0, 2.0),
    ("cos(x)", np.cos, 2.0, 2.0),
    ("exp(x)", np.exp, 2.5, 1.5),
    ("expm1(x)", np.expm1, 3.0, 2.5),
    ("log(x)", np.log, 2.5, 1.5),
    ("log1p(x)", np.log1p, 3.0, 2.5),
    ("tanh(x)", np.tanh, 5.0, 3.5),
    ("sigmoid(x)", lambda v: 1 / (1 + np.exp(-v)), 4.0, 3.5),
]
"""The text, the function, and the largest error in units in the last place, of float32 and of float64."""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_floats(run_region: Runner, dtype: str) -> None:
    wide = np.longdouble if dtype == "float64" else np.float64
    everyday = np.random.RandomState(3).randn(20_000) * np.logspace(-6, 3, 20_000)
    x = np.concatenate([any_floats(100_000, dtype, 1), everyday.astype(dtype), np.array([0.0, -0.0], dtype)])
    texts = [text for text, *_ in FUNCTIONS]
    results = run_region(region_of(texts, dtype, "x"), (x.size,), [x])
    for (text, reference, *limits), got in zip(FUNCTIONS, results, strict=True):
        with np.errstate(all="ignore"):
            want = reference(x.astype(wide))
            rounded = want.astype(dtype)
        infinite = ~np.isfinite(rounded)
        largest = np.finfo(dtype).max
        near_the_end = np.isinf(rounded) & (np.abs(got) > 0.99 * largest)
        wrong = infinite & ~near_the_end & ~((got == rounded) | (np.isnan(got) & np.isnan(rounded)))
        assert not wrong.any(), (text, x[wrong][:5], got[wrong][:5], rounded[wrong][:5])
        limit = limits[0] if dtype == "float32" else limits[1]
        error = errors_in_units(got[~infinite], want[~infinite])
        assert error.max() <= limit, (text, error.max())


def test_angles_beside_multiples_of_a_quarter_turn(run_region: Runner) -> None:
    turns = np.concatenate([np.arange(1, 2000), 2 ** np.arange(11, 127, dtype=np.float64)])
    nearest = 16367173 * 2.0**72  # No float32 is nearer to one.
    borders = 2.0 ** np.arange(20, 128)
    near = np.concatenate([turns * (np.pi / 2), borders, [nearest]]).astype(np.float32)
    x = np.concatenate(
        [near, -near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf))]
    )
    sine, cosine = run_region(region_of(["sin(x)", "cos(x)"], "float32", "x"), (x.size,), [x])
    # Of these angles the C library's float64 is right to the last bits of a float32.
    assert errors_in_units(sine, np.sin(x.astype(np.float64))).max() <= 2
    assert errors_in_units(cosine, np.cos(x.astype(np.float64))).max() <= 2


def test_angles_of_almost_nothing(run_region: Runner) -> None:
    x = np.array([0.0, 1e-45, 1e-40, 1.17549435e-38, 1e-31, 1e-29, 1e-10], np.float32)
    x = np.concatenate([x, -x])
    sine, cosine = run_region(region_of(["sin(x)", "cos(x)"], "float32", "x"), (x.size,), [x])
    np.testing.assert_array_equal(sine, x)
    np.testing.assert_array_equal(np.signbit(sine), np.signbit(x))
    np.testing.assert_array_equal(cosine, np.ones_like(x))


def test_powers_of_all_floats(run_region: Runner) -> None:
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1e30,
        -1e30,
        np.inf,
        -np.inf,
        np.nan,
        16777217.0,
    ]
    grid = np.array([(a, b) for a in special for b in special], np.float32).T
    random = np.random.RandomState(4)
    usual = np.stack([random.gamma(2, 2, 50_000), random.randn(50_000) * 8]).astype(np.float32)
    whole = np.stack([random.randn(20_000) * 3, random.randint(-9, 10, 20_000)]).astype(np.float32)
    drawn = np.stack([any_floats(50_000, "float32", 5), any_floats(50_000, "float32", 6)])
    x, y = np.concatenate([grid, usual, whole, drawn], axis=1)
    (got,) = run_region(region_of(["pow(x, y)"], "float32", "x", "y"), (x.size,), [x, y])
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64))
        rounded = want.astype(np.float32)
    exact = ~np.isfinite(rounded) | (rounded == 0)
    wrong = exact & ~(
        (got == rounded) & (np.signbit(got) == np.signbit(rounded)) | (np.isnan(got) & np.isnan(rounded))
    )
    assert not wrong.any(), (x[wrong][:5], y[wrong][:5], got[wrong][:5], rounded[wrong][:5])
    assert errors_in_units(got[~exact], want[~exact]).max() <= 0.501


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_do_not_depend_on_the_position(run_region: Runner, dtype: str) -> None:
    values = (np.random.RandomState(1).randn(37) * 5).astype(dtype)
    texts = [
        "sin(x)",
        "cos(x)",
        "pow(abs(x), x)",
        "exp(x)",
        "log(abs(x))",
        "tanh(x)",
        "expm1(x)",
        "log1p(abs(x))",
    ]
    region = region_of(texts, dtype, "x")
    whole = run_region(region, (values.size,), [values])
    for position in range(values.size):
        single = run_region(region, (1,), [values[position : position + 1]])
        assert [float(s[0]) for s in single] == [float(w[position]) for w in whole]
