"""Protects sparse training on a GPU: rows that repeat are summed, without a part of the step on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both, plans, session

pytestmark = pytest.mark.device
TABLE = np.random.default_rng(2).normal(size=(9, 3)).astype("f")
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "Adagrad": lambda: gf.train.AdagradOptimizer(0.1),
    "Adam": lambda: gf.train.AdamOptimizer(0.1),
    "Ftrl": lambda: gf.train.FtrlOptimizer(0.1),
    "GradientDescent": lambda: gf.train.GradientDescentOptimizer(0.07),
    "Momentum": lambda: gf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: gf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "RMSProp": lambda: gf.train.RMSPropOptimizer(0.1),
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def trained(optimizer: Any, indices: Any) -> Any:
    """The table after a step."""
    table = gf.Variable(TABLE)
    rows = gf.nn.embedding_lookup(table, indices)
    step = optimizer.minimize(gf.reduce_sum(gf.square(rows - 0.5)))
    with gf.control_dependencies([step]):
        return table.read_value()


@pytest.mark.parametrize("ids", [[1, 5, 1, 8, 1, 5, 0], [3], [2, 2, 2, 2, 2]], ids=["some", "one", "alike"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_gpu_agrees_with_the_cpu(name: str, ids: list[int]) -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        indices = gf.placeholder(gf.int64 if len(ids) == 1 else gf.int32, [None])
        return [trained(OPTIMIZERS[name](), indices)], {indices: ids}

    cpu, gpu = on_both(build)
    assert not np.array_equal(cpu[0][0], cpu[1][0])
    for got, wanted in zip(gpu, cpu, strict=True):
        np.testing.assert_allclose(got[0], wanted[0], 2e-5, 2e-5)


def test_other_numbers_of_different_rows_need_no_other_plan() -> None:
    with gf.device("/gpu:0"):
        indices = gf.placeholder(gf.int32, [4])
        table = trained(gf.train.AdagradOptimizer(0.1), indices)
    with session() as one:
        one.run(gf.global_variables_initializer())
        for ids in ([0, 1, 2, 3], [4, 4, 4, 4], [5, 5, 6, 6]):
            one.run(table, {indices: ids})
        assert len(plans(one)) == 2  # The other is that of the initial values.
        assert not plans(one)[-1].on_host


@pytest.mark.parametrize("wrong", [9, -1])
def test_an_index_out_of_range_is_an_error_and_changes_nothing(wrong: int) -> None:
    with gf.device("/gpu:0"):
        indices = gf.placeholder(gf.int32, [3])
        table = gf.Variable(TABLE)
        values = gf.placeholder(gf.float32, [3, 3])
        optimizer = gf.train.AdagradOptimizer(0.1)
        step = optimizer.apply_gradients([(gf.IndexedSlices(values, indices), table)])
    with session() as one:
        one.run(gf.global_variables_initializer())
        one.run(step, {indices: [0, 1, 0], values: np.ones([3, 3])})
        before = one.run(table)
        with pytest.raises(gf.errors.InvalidArgumentError, match=rf"the index {wrong} is not in \[0, 9\)"):
            one.run(step, {indices: [0, wrong, 0], values: np.ones([3, 3])})
        np.testing.assert_array_equal(one.run(table), before)


def test_different_rows_that_something_else_takes_are_the_hosts() -> None:
    with gf.device("/gpu:0"):
        rows, _ = gf.unique(gf.placeholder_with_default([3, 1, 3], [3]))
    with session(allow_soft_placement=True) as one:
        assert [one.run(rows).tolist() for _ in range(2)] == [[3, 1]] * 2
