"""The ops that `make bench-ops` measures: each runs, forward and gradient, and compiled code agrees with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_cases import CASES, results

import graphflow as gf

ELEMENTS = 1000
DRAWN = {
    "dropout",
    "random_uniform",
    "random_normal",
    "truncated_normal",
    "multinomial",
    "random_shuffle",
    "candidate_sampler",
}
"""Their results are drawn: of these it is tested that they run."""

KINDS = [
    (name, dtype, gradient)
    for name, case in CASES.items()
    for dtype in case.dtypes
    for gradient in (False, True)
    if not gradient or (case.gradient and dtype == case.dtypes[0])
]
SAMPLE = 3
"""CI takes one of so many cases; `--everything` all."""
PARAMETERS = [
    pytest.param(
        name,
        dtype,
        gradient,
        id=f"{name}-{dtype}{'-gradient' if gradient else ''}",
        marks=pytest.mark.slow if number % SAMPLE else (),
    )
    for number, (name, dtype, gradient) in enumerate(KINDS)
]


def computed(name: str, dtype: str, gradient: bool, tier: str) -> list[Any]:
    """The values of a case after two runs in one tier."""
    with gf.Graph().as_default():
        fetches = results(gf, name, ELEMENTS, dtype, gradient)
        assert fetches, "the case has nothing to compute"
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            session.run(gf.global_variables_initializer())
            session.run(fetches)
            values = session.run(fetches)
            state = session.run(gf.global_variables())
    return [*values, *state]


@pytest.mark.parametrize(("name", "dtype", "gradient"), PARAMETERS)
def test_compiled_code_computes_what_numpy_does(name: str, dtype: str, gradient: bool) -> None:
    expected = computed(name, dtype, gradient, "never")
    found = computed(name, dtype, gradient, "always")
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        if name not in DRAWN and other is not None:
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)
