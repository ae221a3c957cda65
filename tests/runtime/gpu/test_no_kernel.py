"""Protects uses of ops that have a kernel on a GPU, but none for that use: an error that says what to do, or the CPU's
work between copies, named where a user looks for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import plans, session

pytestmark = pytest.mark.device
DATA = np.arange(6, dtype=np.int32).reshape(2, 3)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def test_without_soft_placement_it_is_an_error() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.int32, [2, 3])
        y = gf.matmul(x, x, transpose_b=True, name="whole") + 1
    with session() as one:
        for _ in range(2):
            with pytest.raises(gf.errors.InvalidArgumentError) as told:
                one.run(y, {x: DATA})
            message = str(told.value)
            assert "MatMul 'whole': no kernel on /job:localhost/replica:0/task:0/device:GPU:0" in message
            assert "int32[2,3], int32[2,3] giving int32[2,2]" in message
            assert "allow_soft_placement=True" in message
            assert "/cpu:0" in message
            assert "test_no_kernel.py" in message
            assert told.value.op is y.op.inputs[0].op


def test_shapes_that_only_a_run_shows_are_no_way_around_it() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.int32, [None, None])
        y = gf.matmul(x, x, transpose_b=True, name="whole")
    with session() as one, pytest.raises(gf.errors.InvalidArgumentError, match="no kernel on"):
        one.run(y, {x: DATA})


def test_with_soft_placement_it_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.int32, [2, 3])
        y = gf.matmul(x, x, transpose_b=True, name="whole") + 1
    with session(allow_soft_placement=True, log_device_placement=True) as one:
        for _ in range(3):
            np.testing.assert_array_equal(one.run(y, {x: DATA}), DATA @ DATA.T + 1)
        assert plans(one)[-1].on_host == ["MatMul 'whole'"]
        assert "on the CPU: MatMul 'whole'" in one.explain(y, [x])
    lines = capfd.readouterr().err.splitlines()
    moved = "whole: (MatMul): /job:localhost/replica:0/task:0/device:CPU:0"
    assert lines.count(moved) == 1


def test_it_is_an_error_inside_a_loop() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.int32, [2, 2])

        def body(i: gf.Tensor, z: gf.Tensor) -> tuple[gf.Tensor, gf.Tensor]:
            return i + 1, gf.matmul(z, x, name="whole")

        y = gf.while_loop(lambda i, z: i < 2, body, [0, x])[1]
    with (
        session() as one,
        pytest.raises(gf.errors.InvalidArgumentError, match="MatMul 'while/whole': no ker"),
    ):
        one.run(y, {x: [[1, 2], [3, 4]]})


def test_shapes_and_what_has_no_elements_are_no_errors() -> None:
    with gf.device("/gpu:0"):
        x, n = gf.placeholder(gf.float32, [None, 3]), gf.placeholder(gf.int32, [])
        filled = gf.reshape(gf.fill(gf.stack([gf.shape(x)[0], 3]), 2.0), [-1]) + 1.0
        total = gf.reduce_sum(x) + gf.cast(gf.reduce_sum(gf.range(n)), gf.float32)
    with session() as one:
        for rows in (2, 0):
            for _ in range(2):
                values = one.run([filled, total], {x: np.ones([rows, 3]), n: 3})
                np.testing.assert_array_equal(values[0], np.full(3 * rows, 3.0))
                assert values[1] == 3 * rows + 3
