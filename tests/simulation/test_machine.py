"""Protects what a simulated cluster is told: units, and what cannot be."""

from __future__ import annotations

import math
from random import Random

import pytest

import graphflow as gf
from graphflow._core.simulation.machine import rate, seconds, stragglers


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("10Gbit", 1.25e9),
        ("1Gbit/s", 1.25e8),
        ("100MB/s", 1e8),
        ("100 Mbit", 1.25e7),
        (5e6, 5e6),
        ("2e3", 2e3),
    ],
)
def test_rates(text: str, wanted: float) -> None:
    assert rate(text, "link") == pytest.approx(wanted)


def test_no_limit_is_none() -> None:
    assert rate(None, "link") == math.inf


@pytest.mark.parametrize(
    ("text", "wanted"), [("50us", 50e-6), ("2 ms", 2e-3), ("1s", 1.0), (0.25, 0.25), ("10ns", 1e-8)]
)
def test_times(text: str, wanted: float) -> None:
    assert seconds(text, "latency") == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"workers": 0}, "needs a worker"),
        ({"link": "10 parsecs"}, "link is '10 parsecs'"),
        ({"link": "10 Mbps"}, "write it in bits or bytes"),
        ({"link": 0}, "must be above 0"),
        ({"latency": "soon"}, "latency is 'soon'"),
        ({"latency": "5Gbit"}, "its unit must be one of"),
        ({"hosts": 0}, "hosts is 0"),
        ({"cores": 0}, "cores is 0"),
        ({"speed": {"worker": 0}}, "speed is"),
        ({"stragglers": "often"}, "stragglers is 'often'"),
    ],
)
def test_what_cannot_be_says_what_and_why(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        gf.distribute.SimulatedCluster(**arguments)  # type: ignore[arg-type]


def test_stragglers() -> None:
    drawn = [stragglers("exponential:0.5")(Random(n)) for n in range(2000)]
    assert min(drawn) >= 1 and sum(drawn) / len(drawn) == pytest.approx(1.5, abs=0.05)
    assert stragglers("lognormal:0")(Random(1)) == 1.0
    assert stragglers(None)(Random(1)) == 1.0
    assert stragglers(lambda random: 3.0)(Random(1)) == 3.0


def test_tasks_go_to_hosts_in_turn() -> None:
    cluster = gf.distribute.SimulatedCluster(ps=1, workers=3, hosts=2)
    assert cluster.tasks()[:2] == ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"]
    assert [cluster.host_of(n) for n in range(4)] == [0, 1, 0, 1]
    assert cluster.spec().num_tasks("worker") == 3
