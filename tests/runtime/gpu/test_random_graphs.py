"""Protects that a GPU gives what the CPU gives, of graphs that nobody thought of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import plans, session
from tests.runtime.gpu.random_graphs import draw

pytestmark = pytest.mark.device


def outcome(seed: int, device: str) -> list[Any]:
    """What runs give, of all and of parts, and the variables after them; or the class of the error."""
    with gf.Graph().as_default(), gf.device(device):
        gf.set_random_seed(seed)
        drawn = draw(seed)
        fetches = [drawn.fetches, drawn.targets]
        with session(compiled="never", allow_soft_placement=True) as one:
            one.run(gf.global_variables_initializer())
            try:
                found = [v for _ in range(3) for v in one.run(fetches, drawn.feeds)[0]]
                found += one.run(drawn.fetches[:4], drawn.feeds) + one.run(drawn.fetches[4:], drawn.feeds)
            except gf.errors.OpError as error:
                found = [np.array(type(error).__name__)]
            assert device == "/cpu:0" or plans(one)
            return [*found, *one.run(gf.global_variables())]


def check(seed: int) -> None:
    found, expected = outcome(seed, "/gpu:0"), outcome(seed, "/cpu:0")
    for value, reference in zip(found, expected, strict=True):
        value, reference = np.asarray(value), np.asarray(reference)
        assert (value.dtype, value.shape) == (reference.dtype, reference.shape), seed
        if value.dtype.kind == "f":
            bound = 2e-4 if value.dtype == np.float32 else 1e-10
            np.testing.assert_allclose(value, reference, bound, bound, err_msg=str(seed))
        else:
            np.testing.assert_array_equal(value, reference, err_msg=str(seed))


@pytest.mark.parametrize("seed", range(8))
def test_the_gpu_agrees_with_the_cpu(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_the_gpu_agrees_with_the_cpu_more_often() -> None:
    for seed in range(100, 400):
        check(seed)
