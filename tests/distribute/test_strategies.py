"""Protects the contract that every strategy keeps (gf.testing.check_strategy), and that the check sees what is wrong.

Promise 24: batch normalisation and every optimizer's slots under every strategy; the layers are in test_layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

import graphflow as gf
from tests.cluster.serving import serve_all, spec_of

D = gf.distribute


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[dict[str, list[str]], list[str]]]:
    """Two parameter servers and two workers in this process: their addresses, and the targets of the workers."""
    with ExitStack() as stack:
        found = spec_of(stack, ps=2, worker=2)
        servers = serve_all(stack, found, config=gf.ConfigProto(device_count={"CPU": 2}))
        yield found, [server.target for server in servers[2:]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.OneDeviceStrategy("/cpu:0"),
        lambda: D.MirroredStrategy(devices=["/cpu:0"]),
        lambda: D.MirroredStrategy(num_devices=3),
        lambda: D.InGraphStrategy(),
        lambda: D.ParameterServerStrategy(),
        lambda: D.ParameterServerStrategy(synchronous=True),
        lambda: D.ParameterServerStrategy(max_staleness=2),
        lambda: D.CollectiveAllReduceStrategy(num_devices=2),
    ],
    ids=["one_device", "mirrored_1", "mirrored_3", "in_graph", "ps", "ps_sync", "ps_bounded", "collective"],
)
def test_promise_25_strategies_of_one_process_keep_the_contract(make: Callable[[], Any]) -> None:
    gf.testing.check_strategy(make())


def test_in_graph_over_workers_and_parameter_servers(cluster: Any) -> None:
    addresses, targets = cluster
    gf.testing.check_strategy(D.InGraphStrategy(addresses), targets=targets[:1])


def test_in_graph_without_parameter_servers(cluster: Any) -> None:
    addresses, targets = cluster
    with_workers_only = {"worker": addresses["worker"]}
    gf.testing.check_strategy(
        D.InGraphStrategy(with_workers_only), targets=targets[:1], properties=["training", "checkpoints"]
    )


@pytest.mark.parametrize(
    ("arguments", "synchronous"),
    [({}, False), ({"synchronous": True}, True), ({"max_staleness": 3, "staleness_mode": "wait"}, False)],
    ids=["asynchronous", "synchronous", "bounded"],
)
def test_parameter_servers_between_two_workers(
    cluster: Any, arguments: dict[str, Any], synchronous: bool
) -> None:
    addresses, targets = cluster
    strategies = [D.ParameterServerStrategy(addresses, "worker", i, **arguments) for i in range(2)]
    gf.testing.check_strategy(strategies, targets=targets, synchronous=synchronous)


@pytest.mark.parametrize("devices", [1, 2])
def test_mirrored_over_workers(cluster: Any, devices: int) -> None:
    addresses, targets = cluster
    workers = {"worker": addresses["worker"]}
    strategies = [
        D.CollectiveAllReduceStrategy(workers, "worker", i, num_devices=devices, timeout=100.0)
        for i in range(2)
    ]
    gf.testing.check_strategy(strategies, targets=targets)


class _OneTowersGradient(D.MirroredStrategy):
    def reduce_towers(self, aggregation: int, value: Any, destinations: Any) -> Any:
        return self.reducer.broadcast(value.values[0], destinations)


class _NoUpdateOfCopies(D.MirroredStrategy):
    def apply_update(self, copy: Any, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return gf.no_op() if "replica" in copy.name else super().apply_update(copy, function, args)


class _TheSameForAll(D.MirroredStrategy):
    def split_dataset(self, dataset: Any) -> Sequence[Any]:
        return [dataset, dataset]


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (_OneTowersGradient, ["reduction", "training"]),
        (_NoUpdateOfCopies, ["training", "updates"]),
        (_TheSameForAll, ["datasets"]),
    ],
)
def test_promise_25_the_check_names_what_a_broken_strategy_does_wrong(broken: Any, named: list[str]) -> None:
    with pytest.raises(AssertionError) as raised:
        gf.testing.check_strategy(broken(num_devices=2), properties=["towers", *named])
    for name in named:
        assert f"{name}: AssertionError" in str(raised.value)
    assert "towers:" not in str(raised.value)
