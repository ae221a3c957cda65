"""Protects training from a task that lives on where its engine cannot reach it, and believes to be the present one.

A ps serves under a lease. It is cut off or stands still, another life of it begins elsewhere, and then it comes back:
it must have been silent from before the other one began, and what it says afterwards must count for nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.protocol.lease import LeaseState
from graphflow._core.cluster.resolvers.moving import Place
from graphflow._core.transport.names import NAMES
from tests.cluster.faults.proxy import Proxy
from tests.cluster.folder_resolver import FolderClusterResolver
from tests.cluster.serving import serve

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it uses 127.0.0.2 and signals")

JOBS = {"ps": 1, "worker": 1}
LEASE = 2.0
LONG_LEASE = 8.0
"""One that a process on a busy machine has renewed in time: where a life is to serve on without a gap."""
WITHIN = 120.0


def resolver(folder: Path, job: str, **options: Any) -> FolderClusterResolver:
    return FolderClusterResolver(folder, JOBS, job, 0, **{"lease_seconds": LEASE, **options}).begin()


def until(there: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + WITHIN
    while not there():
        assert time.monotonic() < limit, f"waited for {what}"
        time.sleep(0.02)


class Counter:
    """A graph that counts on the ps, and sessions on it."""

    def __init__(self) -> None:
        with gf.device("/job:ps/task:0"):
            self.value = gf.Variable(0.0)
            self.count = self.value.assign_add(1.0)

    def session(self, target: str) -> gf.Session:
        """A session, as soon as one can be made whose variable can be asked for."""
        limit = time.monotonic() + WITHIN
        while True:
            try:
                found = gf.Session(target, config=gf.ConfigProto(connect_timeout_in_ms=3000))
                found.run(gf.is_variable_initialized(self.value))
                return found
            except gf.errors.OpError:
                assert time.monotonic() < limit
                time.sleep(0.1)


@pytest.fixture
def counter() -> Iterator[Counter]:
    with gf.Graph().as_default():
        yield Counter()


def straight_to(place: str, name: str) -> str:
    """An address that leads to that place, whichever life of the ps is the present one; it has the port of its name."""
    address = f"straight:{name.rpartition(':')[2]}"
    NAMES.follow(address, lambda: place)
    return address


def refusal(counter: Counter, address: str) -> str:
    """What a session is told that goes straight to the ps; "" if it is served."""
    filters = gf.ConfigProto(device_filters=["/job:ps"], connect_timeout_in_ms=3000)
    try:
        with gf.Session(f"zmq://{address}", config=filters) as session:
            session.run(counter.value)
    except gf.errors.OpError as error:
        return error.message
    return ""


def test_a_ps_that_its_engine_cannot_reach_refuses_and_serves_again_with_what_it_has(
    tmp_path: Path, counter: Counter
) -> None:
    with ExitStack() as stack:
        ps = serve(stack, resolver(tmp_path, "ps"), None, None)
        worker = serve(stack, resolver(tmp_path, "worker"), None, None)
        session = counter.session(worker.target)
        session.run(counter.value.initializer)
        direct = counter.session(ps.target)
        assert session.run(counter.count) == 1.0
        cut = tmp_path / "cut-ps-0-1"
        cut.touch()
        lease = ps._service.protocol.lease
        until(lambda: lease.state is LeaseState.LAPSED, "the lease to lapse")
        with pytest.raises(
            gf.errors.UnavailableError, match="The lease of /job:ps/replica:0/task:0 has lapsed"
        ):
            direct.run(counter.count)
        with pytest.raises(gf.errors.OpError):
            session.run(counter.count)
        assert "has lapsed" in refusal(counter, ps.target.removeprefix("zmq://"))
        cut.unlink()
        until(lambda: lease.state is LeaseState.HELD, "the lease to be renewed")
        assert counter.session(worker.target).run(counter.count) == 2.0, "a run counted while it was silent"
        assert direct.run(counter.count) == 3.0


def test_a_ps_behind_a_cut_link_changes_nothing_once_another_has_its_place(
    tmp_path: Path, counter: Counter
) -> None:
    """All its links go through a proxy but one: that of a program beside it, which it would serve for ever."""
    with ExitStack() as stack:

        def through_proxy(address: str) -> str:
            proxies.append(stack.enter_context(Proxy("127.0.0.2", int(address.rpartition(":")[2]))))
            return proxies[0].address

        proxies: list[Proxy] = []
        cut_off = resolver(tmp_path, "ps", published_at=through_proxy)
        first = serve(stack, cut_off, None, None)
        beside = straight_to(first._place.address, first.target)
        worker = serve(stack, resolver(tmp_path, "worker"), None, None)
        session = counter.session(worker.target)
        session.run(counter.value.initializer)
        assert session.run(counter.count) == 1.0
        # The cable is out: neither its engine nor the other tasks reach it, nor it them.
        (tmp_path / "cut-ps-0-1").touch()
        for way in (proxies[0].there, proxies[0].back):
            way.disturb(cut=True)
        assert refusal(counter, beside) == "", "its lease had lapsed at once"
        lease = first._service.protocol.lease
        second = resolver(tmp_path, "ps")  # Waits until the other is silent.
        ends = (
            lease.until
        )  # Its thread may not have run since, but looks at the clock before it takes a message.
        assert ends <= time.monotonic() or lease.silent, "another life has begun while this one serves"
        assert "has lapsed" in refusal(counter, beside)
        serve(stack, second, None, None)
        session = counter.session(worker.target)
        session.run(counter.value.assign(100.0))
        # The link is mended: what the other one had on its way comes through.
        (tmp_path / "cut-ps-0-1").unlink()
        for way in (proxies[0].there, proxies[0].back):
            way.disturb()
        until(lambda: cut_off.ended, "the first to be told")
        for number in range(1, 200):
            assert session.run(counter.count) == 100.0 + number
        assert lease.state is LeaseState.TAKEN
        with pytest.raises(gf.errors.AbortedError, match="was started again elsewhere"):
            first.join()
        assert worker._service.protocol.membership.members["/job:ps/replica:0/task:0"].life == 2


def test_a_ps_that_stood_still_comes_back_to_nobody(tmp_path: Path, counter: Counter) -> None:
    """SIGSTOP and SIGCONT: it does not notice that time has passed, and goes on in the middle of what it did."""
    words = [sys.executable, "-m", "tests.cluster.fenced_ps", str(tmp_path), str(LONG_LEASE)]
    with ExitStack() as stack:

        def start(life: int) -> subprocess.Popen[str]:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            stack.callback(process.communicate, timeout=60)
            stack.callback(process.kill)
            assert process.stdout is not None and process.stdout.readline() == f"life {life}\n"
            return process

        stopped = start(1)
        worker = serve(stack, resolver(tmp_path, "worker", lease_seconds=LONG_LEASE), None, None)
        places = FolderClusterResolver(tmp_path, JOBS)
        session = counter.session(worker.target)
        session.run(counter.value.initializer)
        assert session.run(counter.count) == 1.0
        place = places.place("ps", 0)
        assert isinstance(place, Place)
        old = straight_to(place.address, places.cluster_spec().task_address("ps", 0))
        with places.engine_free():
            os.kill(stopped.pid, signal.SIGSTOP)
            os.waitpid(stopped.pid, os.WUNTRACED)
        start(2)
        session = counter.session(worker.target)
        session.run(counter.value.assign(100.0))
        os.kill(stopped.pid, signal.SIGCONT)
        direct = "unheard"
        for number in range(1, 300):
            assert session.run(counter.count) == 100.0 + number, "the other life has changed something"
            if number == 10:
                direct = refusal(counter, old)
        assert direct, "an earlier life has answered"
        assert stopped.stdout is not None
        assert "was started again elsewhere" in stopped.stdout.read()
        assert stopped.wait(60) == 0
        place = places.place("ps", 0)
        assert place is not None and place.life == 2


def test_a_task_whose_engine_does_not_answer_from_the_start_is_silent_until_it_does(tmp_path: Path) -> None:
    """Between its beginning and the first question another life may have begun."""
    ps = resolver(tmp_path, "ps")
    cut = tmp_path / f"cut-ps-0-{ps.life}"
    cut.touch()
    with ExitStack() as stack:
        server = serve(stack, ps, None, None)
        lease = server._service.protocol.lease
        until(lambda: lease.state is LeaseState.LAPSED, "the task to be silent")
        cut.unlink()
        until(lambda: lease.state is LeaseState.HELD, "the task to serve")
