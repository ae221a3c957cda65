"""Protects that arithmetic and checks of shapes are settled before a plan runs; what waits for them still waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import plans, session

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


UNFIT: dict[str, tuple[Any, ...]] = {
    "sum": (lambda x, y: x + y, ([2], [2]), ([None], [3])),
    "sums": (lambda x, y: gf.add_n([x, y]), ([2], [2]), ([None], [3])),
    "difference": (gf.squared_difference, ([2, 3], [2, 3]), ([None, None], [2, 2])),
    "choice": (lambda x, y: gf.where(x > 0, x, y), ([2], [2]), ([None], [3])),
    "bias": (gf.nn.bias_add, ([2, 3], [2, 3]), ([None], [2])),
    "product": (gf.matmul, ([2, None], [2, 3]), ([None, 3], [2, 3])),
    "batches": (gf.matmul, ([4, 2, 3], [4, 2, 3]), ([None, 3, 3], [2, 3, 3])),
    "stack": (lambda x, y: gf.stack([x, y]), ([2], [2]), ([None], [3])),
    "concatenation": (lambda x, y: gf.concat([x, y], 1), ([2, 1], [2, 1]), ([None, 1], [3, 1])),
    "relu's gradient": (lambda x, y: gf.gradients(gf.nn.relu(x), x, y)[0], ([2], [2]), ([None], [3])),
    "largest": (lambda x, y: gf.nn.top_k(x, 5)[0] + y, ([None], [3]), ([5], [5])),
    "running sum": (lambda x, y: gf.cumsum(x, 1) + y, ([2], [2]), ([2], [2])),
    "classes": (
        lambda x, y: gf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        *(([2, 3], [2, 3]), ([None, None], [2, 4])),
    ),
    "convolution": (
        lambda x, w: gf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"),
        *(([1, 4, 4, None], [1, 4, 4, 2]), ([2, 2, 3, 2], [2, 2, 3, 2])),
    ),
    "shape": (lambda x, y: gf.reshape(x, [2, 3]) + y, ([None], [5]), ([], [])),
    "spread": (lambda x, y: gf.broadcast_to(x, [2, 3]) + y, ([None], [4]), ([], [])),
    "parts": (lambda x, y: gf.split(x, [1, 2])[0] + y, ([None], [4]), ([], [])),
    "roll": (lambda x, y: gf.roll(x, 1, 1) + y, ([2], [2]), ([2], [2])),
}
"""What is computed of two values, and for each of them the shape that the graph says and the one that is fed."""


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_is_the_error_of_the_cpu_in_every_run(name: str) -> None:
    function, *shapes = UNFIT[name]
    told: dict[str, set[str]] = {"/cpu:0": set(), "/gpu:0": set()}
    for device, found in told.items():
        with gf.Graph().as_default(), gf.device(device):
            inputs = [gf.placeholder(gf.float32, said) for said, _ in shapes]
            result = function(*inputs)
            feeds = {x: np.ones(fed, np.float32) for x, (_, fed) in zip(inputs, shapes, strict=True)}
            with session() as one:
                for _ in range(3):
                    with pytest.raises(gf.errors.InvalidArgumentError) as error:
                        one.run(result, feeds)
                    found.add(str(error.value))
    assert told["/cpu:0"] == told["/gpu:0"]


def test_constants_without_elements_do_not_cut_a_plan() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [1, 1])
        one = gf.reshape(x, []) * 2.0
        drawn = gf.random_uniform([], seed=1)
        filled = gf.fill([], one + drawn)
        turned = (
            gf.transpose(filled, gf.constant([], gf.int32)) + gf.reduce_sum(x, []) + gf.reduce_max(one, [])
        )
        repeated = gf.tile(turned, [1, 1]) + gf.tile(one, gf.constant([], gf.int32))
        variable = gf.Variable([[3.0]])
        step = variable.assign_add(repeated + gf.broadcast_to(filled, []))
    with session() as session_:
        session_.run(variable.initializer)
        for _ in range(3):
            session_.run(step.op, {x: [[2.0]]})
        assert session_.run(one, {x: [[2.0]]}) == 4.0
        assert [plan.on_host for plan in plans(session_)] == [[]] * len(plans(session_))
        assert len(plans(session_)[-2]._segments) == 1
