"""Protects training from the network: links that are cut, slow and lossy (promise 5), frames that nobody should send.

The tasks are on hosts with addresses of their own where the machine allows that, behind proxies elsewhere; the names of
the tests say which it was.
"""

from __future__ import annotations

import sys
import time

import pytest

from tests.cluster.faults import cells
from tests.cluster.faults.lab import Lab
from tests.cluster.faults.network import Network, network_kind

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lab needs Linux")

OVER = pytest.mark.parametrize("over", [network_kind() if sys.platform == "linux" else ""])


@OVER
def test_promise_5_a_cut_is_noticed_and_survived(over: str) -> None:
    outcome = cells.run("cut", "ps", "save")
    assert outcome.network == over
    assert outcome.noticed is not None and outcome.noticed <= 5  # The promise is a time.


@pytest.mark.slow
@OVER
def test_a_delay_only_delays(over: str) -> None:
    outcome = cells.run("delay", "all", "step")
    assert outcome.network == over
    assert not outcome.recoveries and outcome.noticed is None


def test_replayed_frames_are_not_carried_out_again() -> None:
    assert cells.run("replayed frames", "ps", "save").sent > 100


def _trained(lab: Lab) -> None:
    since = time.monotonic()
    for process in (lab.latest["chief"], lab.latest["worker"]):
        lab.wait(
            lambda p=process: sum(at > since for at, _, _ in p.acknowledged) >= 5,
            f"{process.name} to train",
            100,
        )


def test_promise_5_connections_that_are_reset_are_made_again() -> None:
    with Network(by_proxies=True) as network, Lab(network) as lab:
        for role in ("ps", "chief", "worker"):
            lab.start(role)
        for _ in range(2):
            _trained(lab)
            network.reset()
        _trained(lab)
        for role in ("worker", "chief"):
            lab.tell(lab.latest[role], "finish")
            assert lab.ended(lab.latest[role]) == 0, lab.story()
        assert cells.applied(lab, f"{lab.folder}/model") == (0, 0)
