"""Protects division without dividing: exact for every index, in larger spaces too, and for any number of divisors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphflow._core.codegen.gpu.division import factor_and_shift, with_divisions

INDEX = st.integers(0, 2**31 - 1)
DIVISOR = st.one_of(st.integers(1, 2**31), st.integers(0, 31).map(lambda k: 2**k))
SOURCE = """
def kernel(count, x, n, m):
    i = 5 + count
    q = quotient(i, n)
    x[0] = q
    x[1] = remainder(i, q, n)
    r = quotient(q, m)
    x[2] = r
"""


@given(INDEX, DIVISOR)
def test_a_factor_and_a_shift_divide(index: int, divisor: int) -> None:
    factor, shift = factor_and_shift(divisor)
    for i in (index, max(0, index // divisor * divisor - 1), index // divisor * divisor, 2**31 - 1):
        assert i * factor >> shift == i // divisor
        assert i * factor < 2**63
    assert factor < 2**32


@pytest.mark.parametrize("bound", [10**6, 2**31, 2**31 + 1, 2**40])
@pytest.mark.parametrize("divisors", [(7, 3), (1, 1), (1 << 20, 5), (0, 3)])
def test_texts_divide_in_spaces_of_any_size(bound: int, divisors: tuple[int, int]) -> None:
    count = bound - 6
    text, arguments = with_divisions(SOURCE, [count, None, *divisors], bound)
    found = [0] * 3
    names: dict[str, Any] = {}
    exec(text, names)
    if 0 in divisors:  # Such a space is empty, and nothing is launched: the numbers only must be made.
        return
    names["kernel"](count, found, *arguments[2:])
    n, m = divisors
    assert found == [(count + 5) // n, (count + 5) % n, (count + 5) // n // m]
    assert ("//" in text) == (bound > 2**31)


@pytest.mark.device
def test_kernels_divide_in_large_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    import graphflow as gf
    from graphflow._core.codegen.gpu import division

    monkeypatch.setattr(division, "_LIMIT", 8)
    x = np.arange(2 * 3 * 5 * 4, dtype=np.float32).reshape(2, 3, 5, 4)
    with gf.Graph().as_default(), gf.device("/gpu:0"):
        fed = gf.placeholder(gf.float32, x.shape)
        fetches = [
            gf.transpose(fed, [2, 0, 3, 1]) + 1.0,
            gf.reduce_sum(fed, [0, 2]),
            gf.nn.max_pool(fed, [1, 2, 2, 1], [1, 1, 2, 1], "SAME"),
            gf.gather(fed, [4, 0], axis=2),
        ]
        with gf.Session() as session:
            for _ in range(3):
                a, b, c, d = session.run(fetches, {fed: x})
    np.testing.assert_array_equal(a, x.transpose(2, 0, 3, 1) + 1)
    np.testing.assert_array_equal(b, x.sum((0, 2)))
    padded = np.pad(x, ((0, 0), (0, 1), (0, 1), (0, 0)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 2), (1, 2))[:, :, ::2]
    np.testing.assert_array_equal(c, windows.max((-2, -1)))
    np.testing.assert_array_equal(d, x[:, :, [4, 0]])
