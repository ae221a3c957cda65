"""Protects tasks that run for weeks: nothing is left of clients, threads, sessions, graphs and tasks that ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.protocol.sessions import MOST_SESSIONS
from tests.cluster.serving import serve, serve_all, spec_of
from tests.left_over import nothing_stays, threads_and_files

ROUNDS = 100
FEW = 20
"""What there may be more of afterwards than before: what is only freed now and then."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def _tables(server: gf.train.Server) -> dict[str, int]:
    """The size of everything in a task that could grow."""
    service = server._service
    assert len(service.protocol.sessions.departed) <= MOST_SESSIONS  # It has a limit, and forgets the oldest.
    owners: dict[str, Any] = {
        "service": service, "master": service.protocol.master, "worker": service.protocol.worker,
        "queries": service.protocol.queries,
        "sessions": service.protocol.sessions, "registrations": service.protocol.registrations,
        "membership": service.protocol.membership, "welcomes": service.protocol.welcomes,
        "strangers": service.protocol.strangers,
         "admin": service.admin, "registrar": service.registrar, "handshake": service.handshake,
         "steps": service.steps, "subgraphs": service.subgraphs, "reports": service.reports, "to": service.links,
        "sockets": service.sockets, "links": service.sockets.peers, "sharing": service.sharing,
        "runs": service.steps.deduplicator.machine.runs, "takings": service.steps.takings,
        "files": service.sockets._files,
        "store": service.store, "groups": service.groups,
    }  # fmt: skip
    found = {}
    for owner, thing in owners.items():
        for name, value in vars(thing).items():
            if name == "departed":
                continue
            if isinstance(value, dict | list | set) or type(value).__name__ in (
                "deque",
                "WeakSet",
                "OrderedDict",
            ):
                found[f"{owner}.{name}"] = len(value)
    return found


def _counts(servers: list[gf.train.Server]) -> dict[str, int]:
    found = threads_and_files() | {"mappings": Path("/proc/self/maps").read_text().count("memfd")}
    for place, server in enumerate(servers):
        found |= {f"{place} {name}": size for name, size in _tables(server).items()}
    return found


def _stays(servers: list[gf.train.Server], once: Callable[[], None], rounds: int = ROUNDS) -> None:
    """Does it some times, then many times more: nothing may have grown by that."""
    nothing_stays(once, rounds, lambda: _counts(servers), FEW)


def _graph() -> tuple[gf.Graph, Any, Any]:
    with gf.Graph().as_default() as graph:
        with gf.device("/job:ps/task:0"):
            v = gf.get_variable("v", [1000], initializer=gf.zeros_initializer())
            step = v.assign_add(gf.ones([1000]))
        with gf.device("/job:worker/task:0"):
            total = gf.reduce_sum(step)
        return graph, v.initializer, total


@pytest.mark.parametrize("tcp_only", [False, True], ids=["local_channels", "tcp"])
def test_nothing_is_left_of_threads(stack: ExitStack, tcp_only: bool) -> None:
    config = gf.ConfigProto(tcp_only=tcp_only, compiled="never")
    servers = serve_all(stack, spec_of(stack, ps=1, worker=1), config=config)
    graph, init, total = _graph()
    session = stack.enter_context(gf.Session(servers[1].target, graph, config=config))
    session.run(init)

    def once() -> None:
        thread = threading.Thread(target=session.run, args=(total,))
        thread.start()
        thread.join()

    _stays(servers, once)


@pytest.mark.parametrize("tcp_only", [False, True], ids=["local_channels", "tcp"])
def test_nothing_is_left_of_sessions_and_their_graphs(stack: ExitStack, tcp_only: bool) -> None:
    config = gf.ConfigProto(tcp_only=tcp_only, compiled="never")
    servers = serve_all(stack, spec_of(stack, ps=1, worker=1), config=config)

    def once() -> None:
        graph, init, total = _graph()
        with gf.Session(servers[1].target, graph, config=config) as session:
            session.run(init)
            session.run(total)

    _stays(servers, once)


def test_nothing_is_left_of_who_only_asks(stack: ExitStack) -> None:
    servers = serve_all(stack, spec_of(stack, ps=1, worker=1))
    _stays(servers, lambda: gf.train.cluster_status(servers[0].target, 20.0) and None)


def test_nothing_is_left_of_runs_that_fail_or_are_given_up(stack: ExitStack) -> None:
    config = gf.ConfigProto(compiled="never")
    servers = serve_all(stack, spec_of(stack, ps=1, worker=1), config=config)
    with gf.Graph().as_default() as graph:
        with gf.device("/job:ps/task:0"):
            queue = gf.FIFOQueue(10, gf.float32, [[]], shared_name="empty")
            x = gf.placeholder(gf.int32, [])
            wrong = gf.gather([1.0, 2.0], x)
        with gf.device("/job:worker/task:0"):
            taken = gf.identity(queue.dequeue())
    session = stack.enter_context(gf.Session(servers[1].target, graph, config=config))

    def once() -> None:
        with pytest.raises(gf.errors.InvalidArgumentError):
            session.run(wrong, {x: 7})
        with pytest.raises(gf.errors.DeadlineExceededError):
            session.run(taken, options=gf.RunOptions(timeout_in_ms=5))

    _stays(servers, once)


def test_nothing_is_left_of_tasks_that_are_started_again(
    stack: ExitStack,
) -> None:
    config = gf.ConfigProto(compiled="never")
    spec = spec_of(stack, ps=1, worker=1)
    worker = serve(stack, spec, "worker", config=config)

    def once() -> None:
        ps = gf.train.Server(spec, "ps", 0, config=config)
        graph, init, total = _graph()
        with gf.Session(worker.target, graph, config=config) as session:
            session.run(init)
            session.run(total)
        ps.stop()
        del ps

    _stays([worker], once, 45)
