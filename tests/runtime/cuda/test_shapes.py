"""Protects that arithmetic and checks of shapes are settled before a plan runs; what waits for them still waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from both_devices import plans, session

import graphflow as gf

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


@pytest.mark.parametrize("shape", [(), (2, 1), (2, 3)])
def test_a_weighted_loss_of_fed_weights_needs_no_host(shape: tuple[int, ...]) -> None:
    with gf.device("/gpu:0"):
        x, weights = gf.placeholder(gf.float32, [None, 3]), gf.placeholder(gf.float32, None)
        loss = gf.losses.absolute_difference(gf.zeros_like(x), x, weights)
    with session() as one:
        for _ in range(2):
            assert one.run(loss, {x: np.full([2, 3], -3.0), weights: np.full(shape, 2.0)}) == pytest.approx(6)
        assert plans(one)
        assert not plans(one)[-1].on_host


def test_weights_that_do_not_fit_are_an_error_in_every_run() -> None:
    with gf.device("/gpu:0"):
        x, weights = gf.placeholder(gf.float32, [None, 3]), gf.placeholder(gf.float32, None)
        loss = gf.losses.absolute_difference(gf.zeros_like(x), x, weights)
    with session(allow_soft_placement=True) as one:
        for _ in range(3):
            with pytest.raises(gf.errors.InvalidArgumentError, match=r"can not be broadcast"):
                one.run(loss, {x: np.ones([2, 3]), weights: np.ones([3, 1])})


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_what_waits_for_a_size_waits_for_what_the_size_waits_for(device: str) -> None:
    def doubled(x: Any) -> Any:
        return gf.size(x) * 2

    with gf.device(device):
        x = gf.placeholder(gf.float32, [None])
        variable = gf.Variable(1.0)
        with gf.control_dependencies([variable.assign_add(1.0)]):
            size = doubled(x)
        with gf.control_dependencies([size]):
            value = variable.read_value()
    with session(compiled="always", allow_soft_placement=True) as one:
        one.run(gf.global_variables_initializer())
        assert [one.run(value, {x: np.ones(5)}) for _ in range(3)] == [2, 3, 4]
