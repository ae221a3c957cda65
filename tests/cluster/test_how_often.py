"""Protects how often and how long the tasks of a cluster do what no message asks for."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

import graphflow as gf
from graphflow import errors
from graphflow._core.cluster.protocol.deduplication import ChangeAsked, MakeChange
from graphflow._core.cluster.server.collectives import link as collective_link
from graphflow._core.cluster.server.collectives.link import CollectiveLink
from graphflow._core.cluster.server.deduplicator import Deduplicator
from graphflow._core.cluster.status import Status
from graphflow._core.common.request_ids import RequestId
from graphflow._core.transport.shared import SharedMemory
from tests.common.clock import Clock

WITHIN = 60.0
DAY_MS = 86_400_000


def test_rates_are_of_the_last_seconds_and_of_more_than_one_burst() -> None:
    """Ten steps come together every fifth second for a minute, and none for a minute after that."""
    clock = Clock()
    master: Any = SimpleNamespace(begun=0, in_flight=0)
    worker: Any = SimpleNamespace(begun=0, active=())
    sockets: Any = SimpleNamespace(
        messages_in=0, bytes_in=0, messages_out=0, bytes_out=0, dropped=SimpleNamespace(count=0),
        gate=SimpleNamespace(count=0, refused=SimpleNamespace(count=0, latest="")),
    )  # fmt: skip
    store: Any = SimpleNamespace(variables=lambda: [], others=lambda: {})
    links: Any = SimpleNamespace(sockets=sockets, address="here", incarnation=1, devices=[])
    sessions: Any = SimpleNamespace(sockets={}, sessions={})
    protocol: Any = SimpleNamespace(master=master, worker=worker, sessions=sessions)
    waits: Any = SimpleNamespace(facts=lambda now: {})
    found = Status(links, store, protocol, Deduplicator(), clock.monotonic, waits)
    rates = []
    for quarter in range(480):
        clock.now += 0.25
        if quarter < 240 and quarter % 20 == 0:
            master.begun += 10
        found.tick(clock.now)
        rates.append(found.facts()["steps"]["per_second_as_master"])
    assert all(1.0 <= rate <= 4.0 for rate in rates[120:240])
    assert rates[-1] == 0.0


def test_a_round_may_be_asked_to_wait_for_months_and_not_for_centuries() -> None:
    server = gf.train.Server.create_local_server()
    with gf.Graph().as_default():
        y = gf.constant(1.0) + 1.0
        with gf.Session(server.target, config=gf.ConfigProto(replica_wait_in_ms=30 * DAY_MS)) as session:
            assert session.run(y) == 2.0
        with (
            gf.Session(server.target, config=gf.ConfigProto(replica_wait_in_ms=36_500 * DAY_MS)) as session,
            pytest.raises(
                errors.OpError, match="replica_wait_in_ms is 3153600000000, not a number of at most"
            ),
        ):
            session.run(y)


class _Ends:
    """A run that is told to end when it has looked a few times."""

    def __init__(self, request: RequestId) -> None:
        self.request_id = request
        self.looks = 0

    def check(self) -> None:
        self.looks += 1
        if self.looks == 3:
            raise errors.CancelledError(None, None, "enough")


def test_who_waits_for_an_earlier_attempt_notices_its_own_end() -> None:
    deduplicator, request = Deduplicator(), RequestId("trainer", 1, 0, 0)
    deduplicator.begin(request, "step")
    begun = deduplicator.machine.handlers[ChangeAsked](ChangeAsked(0.0, request, (), {}))
    assert begun == [MakeChange(())]  # And it does not come to its end.
    found: list[BaseException] = []

    def wait() -> None:
        try:
            executable: Any = None
            changes: Any = SimpleNamespace(names=tuple)
            run: Any = _Ends(request)
            deduplicator.carry_out(executable, changes, run, ())
        except errors.CancelledError as error:
            found.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(WITHIN)
    assert [str(error) for error in found] == ["enough"]


def test_memory_of_collectives_is_looked_through_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(collective_link, "time", clock)
    tasks = ["/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"]
    link = CollectiveLink(tasks[0], tasks, SharedMemory(), lambda task, message: None, True)
    trims: list[float] = []
    monkeypatch.setattr(link.channels.listener, "trim", lambda: trims.append(clock.now))
    for _ in range(240):
        clock.now += 0.25
        link.trim()
    link.close()
    assert 4 <= len(trims) <= 60
