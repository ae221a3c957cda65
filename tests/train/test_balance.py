"""Protects promise 18: variables over parameter servers by bytes, at most 1.2 times the mean on one, and reported."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.train.balance import bytes_by_task, imbalance
from tests.cluster.serving import serve_all, spec_of


def build(strategy: Any, tasks: int, variables: Sequence[tuple[str, Sequence[int]]]) -> None:
    """Variables of these names and shapes, over the tasks of a job ps."""
    setter = gf.train.replica_device_setter(ps_tasks=tasks, ps_strategy=strategy)
    partitioner = getattr(strategy, "partitioner", None)
    with gf.device(setter), gf.variable_scope("model", partitioner=partitioner):
        for name, shape in variables:
            gf.get_variable(name, list(shape), initializer=gf.zeros_initializer())


def ps_bytes(tasks: int) -> dict[str, int]:
    names = [f"/job:ps/replica:0/task:{i}/device:CPU:0" for i in range(tasks)]
    return bytes_by_task(gf.global_variables(), names)["ps"]


WIDE_AND_DEEP: list[tuple[str, Sequence[int]]] = [
    ("table", (50_000, 64)),
    *[(f"w{i}", (512, 512)) for i in range(3)],
    *[(f"b{i}", (512,)) for i in range(3)],
    ("head", (512, 1000)),
    ("step", ()),
]


@pytest.mark.parametrize("tasks", [2, 3, 5, 16])
def test_promise_18_one_large_variable_does_not_make_one_hot_ps(tasks: int) -> None:
    with gf.Graph().as_default():
        strategy = gf.train.ByteBalancedStrategy(tasks)
        build(strategy, tasks, WIDE_AND_DEEP)
        sizes = ps_bytes(tasks)
    assert list(strategy.bytes) == list(sizes.values())
    assert imbalance(sizes) <= 1.2
    with gf.Graph().as_default():
        build(None, tasks, WIDE_AND_DEEP)
        assert imbalance(ps_bytes(tasks)) > 1.5, "in turn they are not balanced"


def test_promise_18_any_variables_that_can_be_cut_are_balanced() -> None:
    choose = random.Random(5)
    for _ in range(30):
        tasks = choose.randint(2, 8)
        shapes = [(choose.randint(1, 3000), choose.randint(1, 300)) for _ in range(choose.randint(1, 12))]
        shapes.append((tasks * 500, 200))  # There is enough to cut.
        choose.shuffle(shapes)
        with gf.Graph().as_default():
            strategy = gf.train.ByteBalancedStrategy(tasks, min_slice_bytes=16 << 10)
            build(strategy, tasks, [(f"v{i}", shape) for i, shape in enumerate(shapes)])
            assert imbalance(ps_bytes(tasks)) <= 1.2, (tasks, shapes)


def test_promise_18_small_variables_stay_whole_and_go_where_there_is_least() -> None:
    with gf.Graph().as_default():
        strategy = gf.train.ByteBalancedStrategy(2)
        build(strategy, 2, [("a", (10, 10)), ("b", (5, 10)), ("c", (5, 10)), ("d", (1,))])
        assert [v.device for v in gf.global_variables()] == [f"/job:ps/task:{i}" for i in (0, 1, 1, 0)]
    with pytest.raises(ValueError, match="at least 1"):
        gf.train.ByteBalancedStrategy(0)


def test_a_variable_with_a_short_first_axis_is_cut_along_its_longest() -> None:
    with gf.Graph().as_default():
        strategy = gf.train.ByteBalancedStrategy(4)
        build(strategy, 4, [("wide", (2, 100_000))])
        assert [v.shape.as_list() for v in gf.global_variables()] == [[2, 25_000]] * 4
        assert imbalance(ps_bytes(4)) == 1.0


@pytest.fixture
def cluster() -> Iterator[tuple[dict[str, list[str]], str]]:
    """Three ps and a worker; the cluster, and the worker's target."""
    with ExitStack() as stack:
        spec = spec_of(stack, ps=3, worker=1)
        yield spec, serve_all(stack, spec)[-1].target


def test_promise_18_the_bytes_of_each_ps_are_reported(
    cluster: tuple[dict[str, list[str]], str], caplog: pytest.LogCaptureFixture
) -> None:
    _, target = cluster
    for balanced in (True, False):
        caplog.clear()
        with gf.Graph().as_default(), caplog.at_level(logging.INFO, "graphflow"):
            strategy = gf.train.ByteBalancedStrategy(3) if balanced else None
            build(strategy, 3, [("table", (20_000, 64)), ("w", (64, 64))])
            gf.train.get_or_create_global_step()
            with gf.train.MonitoredTrainingSession(target, is_chief=True) as session:
                assert session.run(gf.get_default_graph().get_tensor_by_name("global_step:0")) == 0
        (record,) = [r for r in caplog.records if "Bytes of variables" in r.getMessage()]
        text = record.getMessage()
        assert all(f"/job:ps/task:{i} " in text for i in range(3)) and "times the mean" in text
        assert ("ByteBalancedStrategy" in text) == (record.levelno == logging.WARNING) == (not balanced)
        held = [
            sum(v["bytes"] for v in task["variables"])
            for task in gf.train.cluster_status(target)
            if "/job:ps/" in task["task"]
        ]
        if balanced:
            assert len(held) == 3 and max(held) / (sum(held) / 3) <= 1.2
        gf.Session.reset(target)


def test_promise_14_what_is_balanced_over_three_ps_restores_whole_and_over_two(
    cluster: tuple[dict[str, list[str]], str], tmp_path: Path
) -> None:
    _, target = cluster
    shape = [3_001, 40]

    def values(tasks: int, where: str, restore: str = "") -> Any:
        with gf.Graph().as_default():
            strategy = gf.train.ByteBalancedStrategy(tasks) if tasks else None
            setter = gf.train.replica_device_setter(ps_tasks=tasks, ps_strategy=strategy)
            partitioner = strategy.partitioner if strategy else None
            with gf.device(setter), gf.variable_scope("model", partitioner=partitioner):
                table = gf.get_variable("table", shape, initializer=gf.random_normal_initializer(seed=3))
            step = gf.train.MomentumOptimizer(0.1, 0.9).minimize(
                gf.reduce_sum(gf.square(gf.convert_to_tensor(table)))
            )
            saver = gf.train.Saver()
            assert len(list(table) if tasks else [table]) == max(1, tasks)
            with gf.Session(where) as session:
                if restore:
                    saver.restore(session, restore)
                else:
                    session.run(gf.global_variables_initializer())
                    session.run(step)
                    saver.save(session, str(tmp_path / "model"))
                return session.run(gf.convert_to_tensor(table))

    trained = values(3, target)
    for tasks, where in ((0, ""), (2, target)):
        gf.Session.reset(target)  # Where they were trained they are there in three slices.
        assert np.array_equal(values(tasks, where, str(tmp_path / "model")), trained)
    names = {name for name, _ in gf.train.list_variables(str(tmp_path / "model"))}
    assert names == {"model/table", "model/table/Momentum"}
