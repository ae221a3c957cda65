"""The ops that `make bench-ops` measures, fed with operands of sizes that vary: compiled plans agree with NumPy's.

A compiled plan is filled in for new sizes; whatever in a rule depends on a size must be noticed, so that it is made
anew. No rule here was written for the sizes, and no size for a rule. Optimizers and writes are in test_templates.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_cases import CASES, Operands

import graphflow as gf
from tests.runtime.compiled.test_measured_ops import DRAWN

ELEMENTS = [1000] * 6 + [700, 1400, 300, 2600, 700, 90, 1300, 1000, 40, 2600, 512, 2048]
"""Of the first operand in each run. The first ones bring the plan to compiled code."""
WRITERS = {
    *("assign", "assign_add", "scatter_add"),
    *("gradient_descent", "momentum", "adam", "adagrad", "rmsprop", "ftrl"),
    *(
        "sparse_gradient_descent",
        "sparse_momentum",
        "sparse_adam",
        "sparse_adagrad",
        "sparse_rmsprop",
        "sparse_ftrl",
    ),
}
FIXED = {"unstack", "candidate_sampler"}
"""They need a size when they are built."""
KINDS = [
    (name, gradient)
    for name, case in CASES.items()
    for gradient in ([False, True] if case.gradient else [False])
    if name not in WRITERS | FIXED
]
SAMPLE = 6
"""CI takes one of so many cases."""
PARAMETERS = [
    pytest.param(
        name,
        gradient,
        id=f"{name}{'-gradient' if gradient else ''}",
        marks=pytest.mark.slow if number % SAMPLE else (),
    )
    for number, (name, gradient) in enumerate(KINDS)
]


class Fed(Operands):
    """Operands that are placeholders without sizes."""

    def __init__(self, dtype: str, sized: bool = False) -> None:
        super().__init__(gf, dtype)
        self.sized = sized
        self.arrays: list[Any] = []
        self.holders: list[Any] = []

    def _holder(self, array: Any) -> Any:
        self.arrays.append(array)
        self.holders.append(
            gf.placeholder(array.dtype.name, array.shape if self.sized else [None] * array.ndim)
        )
        return self.holders[-1]

    def numbers(self, *shape: int, low: float = -2.0, high: float = 2.0, dtype: str | None = None) -> Any:
        dtype = dtype or self.dtype
        floating = "float" in dtype
        drawn = self.source.uniform(low, high, shape) if floating else self.source.randint(1, 41, shape)
        self.made.append(self._holder(drawn.astype(dtype)))
        return self.made[-1]

    def indices(self, count: int, *shape: int) -> Any:
        return self._holder(self.source.randint(0, count, shape).astype(np.int32))

    def booleans(self, *shape: int) -> Any:
        return self._holder(self.source.uniform(size=shape) < 0.5)


def _arrays(name: str, elements: int) -> list[Any]:
    """What a case takes at a size."""
    with gf.Graph().as_default():
        operands = Fed(CASES[name].dtypes[0], sized=True)
        CASES[name].build(gf, operands, elements)
        return operands.arrays


def _ran(name: str, gradient: bool, tier: str) -> list[Any]:
    """What each run gives, or the kind of its error."""
    found: list[Any] = []
    with gf.Graph().as_default():
        gf.set_random_seed(1)
        operands = Fed(CASES[name].dtypes[0])
        made = CASES[name].build(gf, operands, ELEMENTS[0])
        fetches = list(made) if isinstance(made, list | tuple) else [made]
        if gradient:
            floating = [v for v in operands.made if v.dtype.is_floating]
            fetches = [gf.convert_to_tensor(g) for g in gf.gradients(fetches, floating) if g is not None]
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            session.run(gf.global_variables_initializer())
            for elements in ELEMENTS:
                feeds = dict(zip(operands.holders, _arrays(name, elements), strict=True))
                try:
                    found.append(session.run(fetches, feeds))
                except gf.errors.OpError as error:
                    found.append(type(error))
    return found


@pytest.mark.parametrize(("name", "gradient"), PARAMETERS)
def test_sizes_that_vary(name: str, gradient: bool) -> None:
    expected = _ran(name, gradient, "never")
    for tier in ("auto", "always"):
        for elements, mine, theirs in zip(ELEMENTS, _ran(name, gradient, tier), expected, strict=True):
            if isinstance(theirs, type):
                assert mine is theirs, elements
                continue
            for one, other in zip(mine, theirs, strict=True):
                assert np.shape(one) == np.shape(other), elements
                if name not in DRAWN:
                    np.testing.assert_allclose(
                        one, other, rtol=3e-4, atol=3e-4, err_msg=f"{elements}, {tier}"
                    )
