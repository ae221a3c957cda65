"""Protects assertions about numbers that are near each other, and about what Python values are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize(
    ("x", "y", "options", "near"),
    [
        ([1.0, 2.0], [1.0, 2.0], {}, True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-5], {}, False),
        ([1.0, 2.0], [1.0 + 1e-6, 2.0], {}, True),
        ([1.0, 2.0], [1.1, 2.1], {"atol": 0.2}, True),
        ([10.0], [11.0], {"rtol": 0.1}, True),
        ([10.0], [12.0], {"rtol": 0.1}, False),
        (np.float64(1.0), np.float64(1.0 + 1e-10), {}, False),
        ([], [], {}, True),
        ([[1.0], [2.0]], [1.0, 2.0], {"atol": 1.0}, True),
    ],
)
def test_numbers_are_near_within_tolerances(x: Any, y: Any, options: dict[str, Any], near: bool) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        check = gf.assert_near(gf.constant(x), gf.constant(y), message="so far apart", **options)
        if near:
            session.run(check)
        else:
            with pytest.raises(gf.errors.InvalidArgumentError, match="so far apart"):
                session.run(check)


def test_one_value_is_no_collection() -> None:
    for values in ([1], (), {"a": 1}, iter([1])):
        gf.assert_proper_iterable(values)
    for value in (gf.constant([1]), np.ones(2), "text", b"text", 3):
        with pytest.raises(TypeError, match="Expected a list of values"):
            gf.assert_proper_iterable(value)


def test_tensors_have_one_float_dtype() -> None:
    half, double = gf.constant(1.0, gf.float16), gf.constant(1.0, gf.float64)
    assert gf.assert_same_float_dtype() is gf.float32
    assert gf.assert_same_float_dtype([half, None, half]) is gf.float16
    assert gf.assert_same_float_dtype([double], gf.float64) is gf.float64
    for tensors, dtype in (
        ([half, double], None),
        ([half], gf.float32),
        ([gf.constant(1)], None),
        ([], gf.int32),
    ):
        with pytest.raises(ValueError, match="Expected"):
            gf.assert_same_float_dtype(tensors, dtype)


def test_kinds_of_python_values_have_tensorflows_names() -> None:
    assert isinstance(np.int32(1), gf.compat.integral_types) and not isinstance(1.0, gf.compat.integral_types)
    assert isinstance(np.float32(1), gf.compat.real_types) and isinstance(1j, gf.compat.complex_types)
    assert isinstance("a", gf.compat.bytes_or_text_types)
