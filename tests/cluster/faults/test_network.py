"""Protects training from the network: cuts and delays between the parameter server and the others (promise 5).

A proxy between the tasks, of which each knows the others only by the proxy's ports, makes them; no right of the system
administrator is needed for that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import graphflow as gf
from graphflow.cluster.ports import ReservedPorts
from tests.cluster.faults.lab import Lab
from tests.cluster.faults.proxy import Proxy

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lab needs Linux")


class _Net:
    """A lab whose ps is behind a proxy, and to whom the others are behind proxies, too."""

    def __init__(self, stack: ExitStack) -> None:
        real = stack.enter_context(ReservedPorts(3)).ports
        self.to_ps = stack.enter_context(Proxy(real[0]))
        self.from_ps = [stack.enter_context(Proxy(port)) for port in real[1:]]
        here = [f"127.0.0.1:{port}" for port in real]
        self.lab = stack.enter_context(Lab({"ps": [f"127.0.0.1:{self.to_ps.port}"], "worker": here[1:]}))
        behind = [f"127.0.0.1:{proxy.port}" for proxy in self.from_ps]
        self.lab.start("ps", cluster={"ps": here[:1], "worker": behind})
        for role in ("chief", "worker"):
            self.lab.start(role)
        self.train(0.0)

    def train(self, since: float) -> None:
        for process in (self.lab.latest["chief"], self.lab.latest["worker"]):
            self.lab.wait(
                lambda p=process: sum(at > since for at, _, _ in p.acknowledged) >= 5,
                f"{process.name} to train",
                40,
            )

    def end(self) -> None:
        """All end cleanly; every gradient that was acknowledged was applied, and none twice."""
        lab = self.lab
        for role in ("worker", "chief"):
            lab.tell(lab.latest[role], "finish")
            assert lab.ended(lab.latest[role]) == 0, lab.story()
        counts = gf.train.load_variable(f"{lab.folder}/model", "counts")
        assert counts.max() == 1
        assert all(counts[tag] for p in lab.processes.values() for _, tag, _ in p.acknowledged)


@pytest.fixture
def net() -> Iterator[_Net]:
    with ExitStack() as stack:
        yield _Net(stack)


def _now(net: _Net) -> float:
    return max(event.at for event in net.lab.events)


@pytest.mark.slow
@pytest.mark.parametrize("both_ways", [True, False])
def test_promise_5_a_cut_is_noticed_and_survived(net: _Net, both_ways: bool) -> None:
    proxies = [net.to_ps, *(net.from_ps if both_ways else [])]
    since = _now(net)
    for proxy in proxies:
        proxy.open.clear()
    found = net.lab.heard(
        "worker", "LOG /job:worker/replica:0/task:1: The task /job:ps/replica:0/task:0", since, 8
    )
    assert "is gone" in found.text
    for proxy in proxies:
        proxy.open.set()
    net.train(_now(net))
    net.end()


def test_a_delay_only_delays(net: _Net) -> None:
    for proxy in (net.to_ps, *net.from_ps):
        proxy.delay_seconds = 0.05
    net.train(_now(net))
    assert not net.lab.said("chief", "RECOVERY") and not net.lab.said("worker", "RECOVERY")
    net.end()
