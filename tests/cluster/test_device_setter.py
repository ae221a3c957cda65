"""Protects the device functions of between-graph replication: which task a variable goes to, and what is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from graphflow._core.cluster.client.device_setter import (
    GreedyLoadBalancingStrategy,
    RandomStrategy,
    byte_size_load_fn,
    replica_device_setter,
)
from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.core import constant
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.variable import Variable


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as fresh:
        yield fresh


def variables(graph: Graph, count: int, **arguments: Any) -> list[Variable]:
    with graph.device(replica_device_setter(**arguments)):
        return [Variable(float(i), name=f"v{i}") for i in range(count)]


def test_variables_and_their_parts_go_to_the_ps_in_turn(graph: Graph) -> None:
    made = variables(graph, 3, ps_tasks=2)
    assert [v.device for v in made] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    for v in made:
        assert v.initializer.device == v.value().device == v.device
        assert v.initial_value.device == "/job:worker"


@pytest.mark.parametrize("cluster", [{"ps": ["a:1", "b:1"]}, ClusterSpec({"ps": {0: "a:1", 5: "b:1"}})])
def test_the_cluster_says_how_many_tasks_there_are(graph: Graph, cluster: Any) -> None:
    assert [v.device[-1] for v in variables(graph, 3, cluster=cluster, ps_tasks=7)] == ["0", "1", "0"]


@pytest.mark.parametrize(
    "arguments", [{}, {"cluster": {"worker": ["a:1"]}}, {"cluster": {"ps": []}, "ps_tasks": 3}]
)
def test_without_ps_there_is_no_device_function(arguments: dict[str, Any]) -> None:
    assert replica_device_setter(**arguments) is None


def test_what_the_user_asks_for_is_kept(graph: Graph) -> None:
    with graph.device(replica_device_setter(ps_tasks=2)):
        with graph.device("/job:elsewhere/task:4"):
            elsewhere = Variable(0.0)
        with graph.device("/cpu:1"):
            completed = Variable(0.0)
    assert elsewhere.device == "/job:elsewhere/task:4" and completed.device == "/job:ps/task:0/device:CPU:1"
    setter = replica_device_setter(ps_tasks=2, merge_devices=False)
    with graph.device(setter), graph.device("/cpu:1"):
        assert Variable(0.0).device == "/device:CPU:1"


def test_other_ops_can_be_placed_on_the_ps(graph: Graph) -> None:
    with graph.device(replica_device_setter(ps_tasks=2, ps_ops=["Const"], worker_device="/job:w/task:1")):
        assert constant(1.0).device == "/job:ps/task:0"
        assert get_variable("v", []).device == "/job:w/task:1"


def test_a_strategy_that_cannot_be_called_is_an_error() -> None:
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        replica_device_setter(ps_tasks=1, ps_strategy=3)  # type: ignore[arg-type]


def test_the_greedy_strategy_balances_what_round_robin_does_not(graph: Graph) -> None:
    loads = dict.fromkeys(("/job:ps/task:0", "/job:ps/task:1"), 0)
    strategy = GreedyLoadBalancingStrategy(2, byte_size_load_fn)
    with graph.device(replica_device_setter(ps_tasks=2, ps_strategy=strategy)):
        for index, size in enumerate([1000, 10, 1000, 10, 1000, 10, 1000, 10]):
            v = get_variable(f"v{index}", [size])
            loads[v.device] += byte_size_load_fn(v.op)
    assert max(loads.values()) <= 1.02 * min(loads.values())


def test_the_random_strategy_agrees_between_processes_and_spreads(graph: Graph) -> None:
    names = [constant(0.0, name=f"c{i}").op for i in range(60)]
    placed = [RandomStrategy(3, seed=5)(op) for op in names]
    assert placed == [RandomStrategy(3, seed=5)(op) for op in names]
    assert placed[:6] == [1, 1, 2, 0, 0, 2]
    assert min(Counter(placed).values()) > 10 and placed != [RandomStrategy(3)(op) for op in names]


def test_the_load_of_what_has_no_known_size_is_an_error(graph: Graph) -> None:
    from graphflow._core.ops.array.array import placeholder, split

    with pytest.raises(ValueError, match="not fully defined"):
        byte_size_load_fn(placeholder("float32", [None]).op)
    with pytest.raises(ValueError, match="single output, it has 2"):
        byte_size_load_fn(split(constant([1.0, 2.0]), 2)[0].op)
