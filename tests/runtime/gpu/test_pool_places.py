"""Protects the places of the largest that a pool on a GPU tells: ties, NaN, infinities, paddings, gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both

pytestmark = pytest.mark.device
RANDOM = np.random.default_rng(6)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def images(kind: str) -> Any:
    x = np.asarray(RANDOM.integers(-2, 3, (2, 5, 7, 3)), "f")
    if kind == "odd":
        x[0, 1, 2, 0] = x[1, 4, 6, 2] = np.nan
        x[0, 0, 0, 1] = np.inf
        x[1, 2, 3, 1] = -np.inf
    return x


@pytest.mark.parametrize("kind", ["ties", "odd"])
@pytest.mark.parametrize("with_batch", [False, True])
@pytest.mark.parametrize(
    ("size", "step", "padding"),
    [((2, 2), (2, 2), "VALID"), ((3, 2), (1, 3), "SAME"), ((1, 1), (1, 1), "SAME")],
)
def test_places_are_the_cpus(
    size: tuple[int, int], step: tuple[int, int], padding: str, with_batch: bool, kind: str
) -> None:
    value = images(kind)

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, value.shape)
        found: list[Any] = []
        for places in (gf.int64, gf.int32):
            found += gf.nn.max_pool_with_argmax(
                x, [1, *size, 1], [1, *step, 1], padding, Targmax=places, include_batch_in_index=with_batch
            )
        return [*found, gf.gradients(gf.square(found[0]) / 2, x)[0]], {x: value}

    cpu, gpu = on_both(build, 2)
    for got, wanted in zip(gpu[-1], cpu[-1], strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
