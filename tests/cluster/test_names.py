"""Protects tasks from the name service: a name that hangs, is unknown or has moved disturbs nobody but who needs it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import zmq

import graphflow as gf
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.transport import names as names_module
from graphflow._core.transport.names import Names, resolve
from graphflow._core.transport.routes import own_endpoint
from graphflow.cli.main import main
from tests.cluster.serving import serve, spec_of
from tests.left_over import new_threads

LOST = "lost.example"
"""A name of the tests' own; RFC 2606 keeps it from being anybody's."""
LOST_WAYS = pytest.mark.parametrize(
    "answer", [pytest.param(None, id="hangs"), pytest.param([], id="unknown")]
)
_REAL = socket.getaddrinfo


class NameService:
    """A name service: what each name means now, where None is an answer that never comes; others go to the real one."""

    def __init__(self) -> None:
        self.addresses: dict[str, list[str] | None] = {}
        self.asked: list[str] = []
        self.ended = threading.Event()

    def getaddrinfo(self, host: Any, *arguments: Any, **options: Any) -> Any:
        if host not in self.addresses:
            return _REAL(host, *arguments, **options)
        self.asked.append(host)
        found = self.addresses[host]
        if found is None:
            self.ended.wait(100)
            found = []
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            (socket.AF_INET6 if ":" in a else socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, 0))
            for a in found
        ]

    def gethostbyname(self, host: str) -> str:
        return str(self.getaddrinfo(host, None)[0][4][0])


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameService]:
    found = NameService()
    monkeypatch.setattr(socket, "getaddrinfo", found.getaddrinfo)
    monkeypatch.setattr(socket, "gethostbyname", found.gethostbyname)
    monkeypatch.setattr(names_module, "FRESH_NAME_SECONDS", 0.2)
    monkeypatch.setattr(names_module, "LOOK_UP_SECONDS", 1.0)
    names_module.NAMES.forget()
    yield found
    found.ended.set()
    names_module.NAMES.forget()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ZeroMQ was told to connect to."""
    found: list[str] = []
    real = zmq.Socket.connect

    def connect(self: Any, address: Any) -> Any:
        if not str(address).startswith("inproc"):
            found.append(str(address))
        return real(self, address)

    monkeypatch.setattr(zmq.Socket, "connect", connect)
    return found


def _config(*filters: str, seconds: float = 60.0, keys: str = "") -> gf.ConfigProto:
    return gf.ConfigProto(
        device_filters=list(filters),
        connect_timeout_in_ms=int(1000 * seconds),
        cluster_keys=keys,
        tcp_only=True,
    )


def _counting(job: str, index: int = 0) -> tuple[gf.Graph, Any, Any]:
    """A graph that counts a variable of a task up: the graph, its initializer and the step."""
    with gf.Graph().as_default() as graph:
        with gf.device(f"/job:{job}/task:{index}"):
            count = gf.Variable(0, name="count")
            step = count.assign_add(1)
        return graph, count.initializer, step


@LOST_WAYS
def test_a_name_that_is_lost_stalls_nobody_and_is_named_to_who_needs_it(
    service: NameService, stack: ExitStack, connected: list[str], answer: list[str] | None
) -> None:
    spec = spec_of(stack, ps=1, worker=2)
    port = spec["ps"][0].rpartition(":")[2]
    spec["ps"] = [f"{LOST}:{port}"]
    service.addresses[LOST] = ["127.0.0.1"]
    ps = serve(stack, spec, "ps", config=_config())
    workers = [serve(stack, spec, "worker", i, config=_config()) for i in range(2)]
    graph, init, step = _counting("worker", 1)
    needing_graph, needing_init, needing_step = _counting("ps")
    target = workers[0].target
    healthy = stack.enter_context(gf.Session(target, graph, config=_config("/job:worker")))
    needing = stack.enter_context(gf.Session(target, needing_graph, config=_config()))
    healthy.run(init)
    needing.run(needing_init)
    assert needing.run(needing_step) == 1

    service.addresses[LOST] = answer
    ps.stop()
    with pytest.raises(gf.errors.OpError, match="/job:ps/replica:0/task:0"):
        needing.run(needing_step)
    said: list[str] = []

    def needs() -> None:
        for _ in range(2):
            try:
                gf.Session(target, needing_graph, config=_config(seconds=4)).close()
            except gf.errors.UnavailableError as error:
                said.append(error.message)

    thread = threading.Thread(target=needs)
    thread.start()
    longest, count = 0.0, 0
    limit = gf.RunOptions(
        timeout_in_ms=60_000
    )  # A thread that waits for the name would hold a step up for longer.
    while thread.is_alive():
        begun = time.monotonic()
        healthy.run(step, options=limit)
        longest, count = max(longest, time.monotonic() - begun), count + 1
    thread.join()
    assert count > 100 and longest < 30
    assert len(said) == 2
    for text in said:
        assert f"/job:ps/replica:0/task:0 at {LOST}" in text and f"{LOST!r} cannot be resolved" in text
    assert not [end for end in connected if LOST in end or "localhost" in end]

    # Once the name is there again, at another address, so is the task.
    spec_there = {**spec, "ps": [f"127.0.0.2:{port}"]}
    serve(stack, spec_there, "ps", config=_config())
    service.addresses[LOST] = ["127.0.0.2"]
    service.ended.set()
    with gf.Session(target, needing_graph, config=_config()) as again:
        again.run(needing_init)
        assert again.run(needing_step) == 1
    assert f"tcp://127.0.0.2:{port}" in connected


@LOST_WAYS
def test_a_client_is_told_that_the_name_of_its_server_cannot_be_resolved(
    service: NameService, capsys: pytest.CaptureFixture[str], answer: list[str] | None
) -> None:
    service.addresses[LOST] = answer
    begun = time.monotonic()
    with pytest.raises(gf.errors.UnavailableError, match=f"{LOST!r} cannot be resolved"):
        gf.Session(f"zmq://{LOST}:2222", gf.Graph(), config=_config(seconds=4))
    with pytest.raises(gf.errors.UnavailableError, match=f"{LOST!r} cannot be resolved"):
        gf.train.cluster_status(f"zmq://{LOST}:2222", 4.0)
    assert main(["status", f"zmq://{LOST}:2222"]) == 2
    assert f"{LOST!r} cannot be resolved" in capsys.readouterr().err
    with pytest.raises(
        OSError, match=f"/job:ps.* cannot listen at {LOST}:0: the name '{LOST}' cannot be resolved"
    ):
        gf.train.Server({"ps": [f"{LOST}:0"]})
    assert time.monotonic() - begun < 100


def test_a_client_waits_for_a_name_that_is_not_there_yet(service: NameService, stack: ExitStack) -> None:
    server = serve(stack, {"local": ["127.0.0.1:0"]}, "local")
    service.addresses[LOST] = []
    known = threading.Timer(1.5, lambda: service.addresses.update({LOST: ["127.0.0.1"]}))
    known.start()
    with gf.Session(
        f"zmq://{LOST}:{server.target.rpartition(':')[2]}", gf.Graph(), config=_config()
    ) as session:
        assert session.list_devices()
    known.join()


@pytest.mark.parametrize(
    "elsewhere",
    ["192.0.2.1", *(pytest.param(a, marks=pytest.mark.slow) for a in ("2001:db8::1", "0.0.0.0", "::"))],
)
def test_the_token_never_goes_beyond_this_machine_whatever_a_name_becomes(
    service: NameService, stack: ExitStack, connected: list[str], elsewhere: str
) -> None:
    spec = spec_of(stack, ps=1, worker=1)
    port = spec["ps"][0].rpartition(":")[2]
    spec["ps"] = [f"{LOST}:{port}"]
    service.addresses[LOST] = ["127.0.0.1"]
    ps = serve(stack, spec, "ps")
    worker = serve(stack, spec, "worker")
    graph, init, step = _counting("ps")
    session = stack.enter_context(gf.Session(worker.target, graph))
    session.run(init)
    client = stack.enter_context(gf.Session(f"zmq://{LOST}:{port}", graph, config=_config()))
    client.run(init)
    service.addresses[LOST] = [elsewhere]
    time.sleep(0.3)
    ps.stop()
    for each in (session, client):
        with pytest.raises(gf.errors.OpError):
            each.run(step)
    with pytest.raises(gf.errors.UnavailableError, match=f"{LOST} .* is beyond this machine"):
        gf.Session(worker.target, graph, config=_config(seconds=4))
    with pytest.raises((gf.errors.UnavailableError, PermissionError), match="is beyond this machine"):
        gf.Session(f"zmq://{LOST}:{port}", graph, config=_config(seconds=4))
    with pytest.raises(PermissionError, match="is beyond this machine"):
        gf.train.Server({"ps": [f"{LOST}:0"]})
    assert {end.rpartition(":")[0] for end in connected} == {"tcp://127.0.0.1"}


def test_of_several_addresses_the_one_that_answers_is_used(service: NameService, stack: ExitStack) -> None:
    port = stack.enter_context(ReservedPorts(1)).ports[0]
    spec = {"ps": [f"127.0.0.3:{port}"]}
    serve(stack, spec, "ps")
    service.addresses[LOST] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    with gf.Session(f"zmq://{LOST}:{port}", gf.Graph(), config=_config()) as session:
        assert session.list_devices()
    others = spec_of(stack, worker=1)
    worker = serve(stack, {"ps": [f"{LOST}:{port}"], **others}, "worker")
    graph, init, step = _counting("worker")
    with gf.Session(worker.target, graph, config=_config("/job:worker")) as session:
        session.run(init)
        assert session.run(step) == 1
    # The ps knows no worker, and says so to who asks it; it was reached for that.
    with pytest.raises(gf.errors.UnavailableError, match=r"worker/replica:0/task:0 is not in the cluster of"):
        gf.Session(worker.target, gf.Graph(), config=_config(seconds=4))


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_both_families_of_addresses_are_served(service: NameService, stack: ExitStack) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = serve(stack, {"local": ["[::1]:0"]}, "local")
    port = server.target.rpartition(":")[2]
    assert server.target == f"zmq://[::1]:{port}"
    service.addresses[LOST] = ["127.0.0.1", "::1"]
    for host in ("[::1]", LOST):
        with gf.Session(f"zmq://{host}:{port}", gf.Graph(), config=_config()) as session:
            assert session.list_devices()
    assert [task["state"] for task in gf.train.cluster_status(f"zmq://[::1]:{port}")] == ["serving"]


# ---- looking up -----------------------------------------------------------------------------------------------------


def test_one_thread_looks_a_host_up_however_many_ask(service: NameService) -> None:
    found = Names()
    service.addresses[LOST] = None
    before = set(threading.enumerate())
    for _ in range(500):
        assert found.look_up(LOST).pending
    assert service.asked == [LOST] and len(new_threads(before)) == 1
    limit = time.monotonic() + 60
    while not found.look_up(LOST).error:
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert service.asked == [LOST]
    service.ended.set()
    while found.look_up(LOST).pending:
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_the_last_good_answer_stays_in_use_while_there_is_no_newer_one(service: NameService) -> None:
    found = Names()
    service.addresses[LOST] = ["127.0.0.1"]
    deadline = time.monotonic() + 60
    assert found.wait(LOST, deadline).addresses == ("127.0.0.1",)
    service.addresses[LOST] = []
    while not found.look_up(LOST).error:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert found.look_up(LOST).addresses == ("127.0.0.1",)
    service.addresses[LOST] = ["127.0.0.2"]
    while found.look_up(LOST).addresses != ("127.0.0.2",):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_task_that_comes_back_asks_anew_where_it_is(
    service: NameService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others of its process were told the former address a moment ago, or have just asked."""
    monkeypatch.setattr(names_module, "FRESH_NAME_SECONDS", 1000.0)
    monkeypatch.setattr(names_module, "LOOK_UP_SECONDS", 60.0)
    service.addresses[LOST] = ["127.0.0.2"]
    deadline = time.monotonic() + 60
    assert names_module.NAMES.wait(LOST, deadline).addresses == ("127.0.0.2",)
    service.addresses[LOST] = ["127.0.0.3"]
    assert names_module.NAMES.wait(LOST, deadline).addresses == ("127.0.0.2",)
    assert own_endpoint(f"{LOST}:4000", None) == "tcp://127.0.0.3:4000"
    assert names_module.NAMES.wait(LOST, deadline).addresses == ("127.0.0.3",)
    assert service.asked == [LOST] * 2


@dataclass(frozen=True)
class Hangs:
    """A resolver that never says where a task is."""

    name: str
    ended: threading.Event

    def __call__(self) -> str:
        self.ended.wait(100)
        return "127.0.0.1:1"


def test_who_never_says_where_a_task_is_keeps_few_threads_however_often_it_is_followed() -> None:
    found, ended, before = Names(), threading.Event(), set(threading.enumerate())
    for _ in range(20):
        found.follow("ps-0.run:1", Hangs("one resolver", ended))
        assert found.locate("ps-0.run:1").pending
    assert len(new_threads(before)) == 1
    for number in range(20):
        found.follow("ps-0.run:1", Hangs(f"resolver {number}", ended))
        assert found.locate("ps-0.run:1").pending
    assert len(new_threads(before)) == 4
    ended.set()
    for thread in new_threads(before):
        thread.join(60)
    found.follow("ps-0.run:1", lambda: "127.0.0.1:2")
    limit = time.monotonic() + 60
    while found.locate("ps-0.run:1").addresses != ("127.0.0.1:2",):
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(24, "Too many open files"),
        RecursionError("x"),
        KeyError("x"),
        TimeoutError("x"),
    ],
)
def test_a_look_up_that_fails_in_any_way_is_tried_again(
    service: NameService, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    found = Names()
    deadline = time.monotonic() + 60

    def fails(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    assert "cannot be resolved" in found.wait(LOST, deadline).error
    monkeypatch.setattr(socket, "getaddrinfo", service.getaddrinfo)
    service.addresses[LOST] = ["127.0.0.1"]
    while found.look_up(LOST).addresses != ("127.0.0.1",):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_is_kept_of_hosts_is_bounded(service: NameService) -> None:
    found = Names()
    deadline = time.monotonic() + 60
    for number in range(1500):
        service.addresses[f"h{number}.example"] = []
        while found.look_up(f"h{number}.example").pending:
            assert time.monotonic() < deadline
            time.sleep(0.0001)
    assert len(found) <= 1024


@pytest.mark.parametrize("host", ["a" * 300, "ä" * 70, "..", "a\0b", "no-such-name.invalid"])
def test_a_host_that_cannot_be_one_is_an_error_in_words(host: str) -> None:
    addresses, error = resolve(host)
    assert addresses == () and "cannot be resolved" in error
