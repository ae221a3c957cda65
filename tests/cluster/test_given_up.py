"""Protects elements of queues from clients that give up or die: what was taken for them goes back, to its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.resources.queue_config import QueueConfig
from graphflow._core.resources.queue_kinds import KINDS
from graphflow._core.transport.frames.message import Kind, Message
from tests.cluster.giving_up import Cluster, dies, gives_up, until

ELEMENTS = 8
MAKE: dict[str, Callable[[], Any]] = {
    "fifo": lambda: gf.FIFOQueue(100, gf.int64, [[]], shared_name="q"),
    "padding": lambda: gf.PaddingFIFOQueue(100, gf.int64, [[]], shared_name="q"),
    "priority": lambda: gf.PriorityQueue(100, gf.int64, [[]], shared_name="q"),
    "shuffle": lambda: gf.RandomShuffleQueue(100, 0, gf.int64, [[]], shared_name="q", seed=1),
}
IN_ORDER = {"fifo", "padding", "priority"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(stack, monkeypatch)


class Program:
    """A graph with a queue of a kind on the ps."""

    def __init__(self, kind: str, many: str) -> None:
        with gf.Graph().as_default() as self.graph:
            with gf.device("/job:ps/task:0"):
                queue = MAKE[kind]()
                self.x = gf.placeholder(gf.int64, [])
                self.put = queue.enqueue((self.x, self.x) if kind == "priority" else self.x)
                one = queue.dequeue()
                self.size = queue.size()
                three = queue.dequeue_many(3) if many != "up_to" else queue.dequeue_up_to(3)
                self.total = gf.Variable(np.int64(0), name="total")
                value = one[-1] if isinstance(one, list | tuple) else one
                self.add = self.total.assign_add(value)
                self.init = self.total.initializer
            self.one = value
            taken = value if many == "one" else three[-1] if isinstance(three, list | tuple) else three
            with gf.device("/job:worker/task:0"):
                self.take = gf.identity(taken)
                self.sum = gf.add(taken, 100)

    def fill(self, session: Any) -> None:
        for number in range(ELEMENTS):
            session.run(self.put, {self.x: number})

    def rest(self, session: Any) -> list[int]:
        return [int(session.run(self.one)) for _ in range(int(session.run(self.size)))]


@pytest.mark.parametrize("master", [0, 1], ids=["ps", "worker"])
@pytest.mark.parametrize("many", ["one", "many", "up_to"])
@pytest.mark.parametrize("kind", MAKE)
def test_what_a_client_did_not_get_in_time_goes_back_to_its_place(
    cluster: Cluster, kind: str, many: str, master: int
) -> None:
    program = Program(kind, many)
    with gf.Session(cluster.servers[master].target, program.graph) as session:
        program.fill(session)
        session.run(program.sum)  # Registered, so that the time is over while the result is on its way.
        taken = ELEMENTS - int(session.run(program.size))
        assert taken == (1 if many == "one" else 3)
        cluster.withheld.set()
        for fetch in (program.sum, program.sum):
            gives_up(session, fetch)
        assert cluster.kept_back >= 1
        cluster.withheld.clear()
        until(lambda: int(session.run(program.size)) == ELEMENTS - taken)
        rest = program.rest(session)
        assert (rest if kind in IN_ORDER else sorted(rest)) == (
            [*range(taken, ELEMENTS)] if kind in IN_ORDER else sorted(rest)
        )
        assert len(set(rest)) == ELEMENTS - taken
    until(cluster.nothing_is_kept)


def test_two_clients_that_give_up_one_after_the_other_keep_the_order(cluster: Cluster) -> None:
    program = Program("fifo", "many")
    with gf.Session(cluster.servers[1].target, program.graph) as session:
        program.fill(session)
        session.run(program.one)
        cluster.withheld.set()
        first = threading.Thread(target=gives_up, args=(session, program.take))
        first.start()
        until(lambda: cluster.kept_back > 0)
        gives_up(session, program.one)
        first.join()
        cluster.withheld.clear()
        until(lambda: int(session.run(program.size)) == ELEMENTS - 1)
        assert program.rest(session) == [*range(1, ELEMENTS)]


@pytest.mark.parametrize("master", [0, 1], ids=["ps", "worker"])
def test_what_was_taken_for_a_client_that_dies_goes_back(cluster: Cluster, master: int) -> None:
    program = Program("fifo", "many")
    target = cluster.servers[master].target
    with gf.Session(target, program.graph) as session:
        program.fill(session)
        dying = gf.Session(target, program.graph)
        cluster.withheld.set()
        dies(dying, program.take, cluster)
        cluster.withheld.clear()
        until(lambda: int(session.run(program.size)) == ELEMENTS)
        assert program.rest(session) == [*range(ELEMENTS)]
        dying.close()
    until(cluster.nothing_is_kept)


def test_what_has_changed_a_variable_stays_taken(cluster: Cluster) -> None:
    program = Program("fifo", "one")
    with gf.Session(cluster.servers[1].target, program.graph) as session:
        session.run(program.init)
        program.fill(session)
        session.run(program.add)
        cluster.withheld.set()
        gives_up(session, program.add)
        cluster.withheld.clear()
        time.sleep(0.5)
        total, rest = int(session.run(program.total)), program.rest(session)
        assert sum(rest) + total == sum(range(ELEMENTS)) and total == 1
    until(cluster.nothing_is_kept)


def test_whatever_the_moment_each_element_comes_once_and_in_order(cluster: Cluster) -> None:
    program = Program("fifo", "one")
    count, got = 150, []
    with gf.Session(cluster.servers[1].target, program.graph) as session:
        ended = threading.Event()

        def put() -> None:
            for number in range(count):
                session.run(program.put, {program.x: number})
                time.sleep(0.002 * (number % 4))
            ended.set()

        thread = threading.Thread(target=put)
        thread.start()
        limit = time.monotonic() + 200
        attempt = 0
        while len(got) < count:
            assert time.monotonic() < limit, got
            attempt += 1
            options = gf.RunOptions(timeout_in_ms=1 + attempt % 9 + attempt // 200)
            with suppress(gf.errors.DeadlineExceededError):
                got.append(int(session.run(program.sum, options=options)) - 100)
        thread.join()
    assert got == [*range(count)]
    until(cluster.nothing_is_kept)


def test_nothing_is_kept_of_runs_whose_clients_have_their_results(cluster: Cluster) -> None:
    program = Program("fifo", "many")
    with gf.Session(cluster.servers[1].target, program.graph) as session:
        for _ in range(40):
            program.fill(session)
            session.run([program.take, program.one])
            program.rest(session)
        until(cluster.nothing_is_kept)


# ---- the queues -----------------------------------------------------------------------------------------------------


class _Run:
    """A run that keeps what gives back."""

    def __init__(self) -> None:
        self.takings: list[Callable[[], None]] = []

    def took(self, give_back: Callable[[], None]) -> None:
        self.takings.append(give_back)

    def begin_change(self) -> None:
        pass


@pytest.mark.parametrize("kind", KINDS)
def test_elements_go_back_to_the_places_that_they_had_in_any_order(kind: str) -> None:
    dtype = as_dtype("int64")
    components = 2 if kind == "PriorityQueue" else 1
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]):
        queue = KINDS[kind]("q", QueueConfig(kind, (dtype,) * components, ((),) * components, 100))
        run: Any = _Run()
        for number in range(10):
            queue.enqueue(run, [(np.int64(number),) * components])
        for size in (2, 1, 3):
            queue.dequeue(run, size)
        queue.enqueue(run, [(np.int64(10),) * components])
        for which in order:
            run.takings[which]()
        found = [int(queue.dequeue(run, 1)[0][-1]) for _ in range(11)]
        assert (sorted(found) if kind == "RandomShuffleQueue" else found) == [*range(11)]


def test_a_message_of_the_client_says_that_it_has_what_was_taken() -> None:
    assert Message.of(Message(Kind.TOOK, 7).frames()).a == 7
