"""Protects a cluster in which messages are late, ways are cut and tasks die: who goes on is never stuck, a run counts
once, and what has ended leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from graphflow._core.cluster.protocol.membership import Hello, MemberState, SayHello
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.shared import SharedMemoryError
from tests.cluster.service_world import TASKS, Client, Node, Plan, World, plans, shown

PS, MASTER, OTHER = TASKS
BOTH_COUNT = [MASTER, OTHER, PS]


@pytest.fixture(scope="module")
def planned() -> Iterator[Mapping[str, Plan]]:
    with pytest.MonkeyPatch.context() as patch:
        yield plans(patch)


def _leftovers(world: World) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for task, node in world.nodes.items():
        s = node.service
        tables = {
            "executables": s.protocol.master.executables, "steps": s.protocol.master.steps,
            "unsettled": s.protocol.master.unsettled, "plans": s.registrar.plans,
            "registering": s.protocol.registrations.open,
            "parts": s.protocol.worker.parts, "subgraphs": s.protocol.subgraphs.registered,
            "being read": s.protocol.subgraphs.reading, "members": s.protocol.subgraphs.members,
            "active": s.protocol.worker.active,
            "contexts": s.steps.contexts, "kept": s.subgraphs.kept, "tasks of": s.registrar.tasks_of,
            "greeting": s.protocol.welcomes.waiting,
            "sessions": s.protocol.sessions.sessions, "sockets": s.protocol.sessions.sockets,
            "queries": s.protocol.queries.open, "answers": s.admin.gathered,
        }  # fmt: skip
        found.update({f"{name} of {task}": list(t) for name, t in tables.items() if t})
    return found


def _counted(world: World) -> float:
    (cell,) = world.nodes[PS].store.variables()
    return float(cell.value)


def _end(world: World) -> None:
    """Long enough that who is not heard of is forgotten."""
    for _ in range(80):
        world.settle()
        world.pass_time(0.25)
    world.settle()
    assert not _leftovers(world)
    for node in world.nodes.values():
        node.replay()


@pytest.mark.parametrize(
    ("cuts", "kills", "asks"),
    [(0.0, 0.0, 0.0), (0.05, 0.0, 0.0), (0.3, 0.0, 0.0), (0.05, 0.02, 0.0), (0.1, 0.0, 0.03)],
    ids=["quiet", "cut now and then", "cut all the time", "killed", "reset and aborted"],
)
def test_whatever_is_cut_and_dies_all_come_to_their_end(
    planned: Mapping[str, Plan], cuts: float, kills: float, asks: float
) -> None:
    for seed in range(8):
        world = World(seed)
        chance = world.random
        clients = [Client(world, master, planned, 5) for master in TASKS]
        clients[0].initialize = True
        first = True
        for step in range(20_000):
            unruly = step < 500
            if chance.random() < 0.02:
                world.pass_time(0.25)
                for client in clients:
                    client.alive()
            if unruly and not first and chance.random() < cuts:
                world.cut(chance.choice(sorted(world.links)))
            if unruly and not first and chance.random() < kills:
                task = chance.choice(TASKS)
                if task in world.nodes:
                    world.kill(task)
            if unruly and not first and chance.random() < asks:
                _reset_or_abort(world, chance.choice(clients), f"reset {step}")
            if len(world.nodes) < len(TASKS) and (not unruly or chance.random() < 0.1):
                world.start(next(t for t in TASKS if t not in world.nodes))
            for client in clients[:1] if first else clients:
                if chance.random() < 0.5:
                    client.go_on()
            first = first and clients[0].run == 0
            for _ in range(chance.randrange(4)):
                world.step()
            if not unruly and all(client.state == "done" for client in clients):
                break
        stuck = [(client.master, client.log[-6:]) for client in clients if client.state != "done"]
        assert not stuck, f"seed {seed}"
        if not kills and not asks:
            assert _counted(world) == 15.0, f"seed {seed}"
        _end(world)


@pytest.fixture
def world() -> World:
    return World(1)


def _reset_or_abort(world: World, client: Client, session: str) -> None:
    """Somebody resets the cluster, or a client wants its last request no more; a message comes twice."""
    if world.random.random() < 0.3:
        resets = Client(world, client.master, {}, 0)
        resets.identity, resets.request = session.encode(), 0
        resets.send(Kind.HELLO, details={"token": shown(client.master), "session": session, "observer": True})
        resets.send(Kind.RESET)
    elif client.state == "waits" and client.identity in world.clients:
        frames = Message(Kind.ABORT, client.request).frames()
        world.link((client.identity, client.master)).queue.append([bytes(f) for f in frames])
    twice = (Kind.REGISTER, Kind.RUN, Kind.STEP, Kind.TENSOR, Kind.REGISTERED, Kind.ABORT)
    for _, link in sorted(world.links.items(), key=lambda item: item[0]):
        if link.queue and Message.of(link.queue[0]).kind in twice and world.random.random() < 0.1:
            link.queue.appendleft(link.queue[0])


def _counting(world: World, planned: Mapping[str, Plan], runs: int = 3) -> Client:
    """A client of MASTER whose first run is through."""
    client = Client(world, MASTER, planned, runs)
    client.initialize = True
    while client.run == 0:
        world.step()
        client.go_on()
    return client


def _say_hello(node: Node, to: str, asks: int = 0) -> None:
    """A task says hello, whatever it knows."""
    node.service.links.carry_out[SayHello](SayHello(to, Hello(asks, 0, False, (), ())), None)


def _until(world: World, kind: Kind, sender: str, to: str) -> None:
    """Goes on until a message of that kind is next on a way."""
    link = world.link((world.nodes[sender].identity, to))
    while not link.queue or Message.of(link.queue[0]).kind is not kind:
        assert world.step()


def test_a_step_whose_values_are_lost_between_two_tasks_that_its_master_reaches_ends(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = _counting(world, planned)
    _until(world, Kind.TENSOR, OTHER, PS)
    world.lose(OTHER, PS)
    world.settle(client)
    assert any(
        f"as {OTHER} sees it" in str(entry) or f"as {PS} sees it" in str(entry) for entry in client.log
    )
    assert client.state == "done" and _counted(world) == 3.0
    _end(world)


def test_values_that_were_lost_before_their_step_has_begun_end_it_too(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = _counting(world, planned)
    step = world.link((world.nodes[MASTER].identity, PS))
    _until(world, Kind.STEP, MASTER, PS)
    held, step.queue = step.queue, type(step.queue)()
    _until(world, Kind.TENSOR, OTHER, PS)
    world.lose(OTHER, PS)
    world.settle()
    held.extend(step.queue)
    step.queue = held
    world.settle(client)
    assert client.state == "done" and _counted(world) == 3.0
    _end(world)


def test_who_cannot_read_a_message_says_that_what_was_there_is_gone(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = _counting(world, planned)
    _until(world, Kind.STEP, MASTER, PS)
    world.link((world.nodes[MASTER].identity, PS)).queue.popleft()
    world.nodes[PS].service.handshake.unreadable(
        world.nodes[MASTER].identity, SharedMemoryError("no more files")
    )
    assert world.nodes[MASTER].identity in world.nodes[PS].channels_closed
    world.settle(client)
    assert client.state == "done" and _counted(world) == 3.0
    _end(world)


def test_who_says_goodbye_does_not_see_its_local_channel_end(
    world: World, planned: Mapping[str, Plan]
) -> None:
    _counting(world, planned)
    world.nodes[OTHER].service.links.say_goodbye()
    world.settle()
    for task in (PS, MASTER):
        node = world.nodes[task]
        departed = node.service.protocol.membership.members[OTHER].state is MemberState.DEPARTED
        assert departed and not node.channels_closed


def test_the_hello_of_a_task_that_has_ended_may_come_after_that_of_the_one_in_its_place(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = _counting(world, planned)
    old = world.nodes[OTHER]
    _say_hello(old, PS, asks=1)
    late = (old.identity, PS)
    hello = world.link(late).queue.pop()
    world.kill(OTHER)
    world.start(OTHER)
    world.settle(client)
    world.link(late).queue.append(hello)
    again = Client(world, MASTER, planned, 2)
    world.settle(again)
    assert client.state == again.state == "done"
    _end(world)


def test_a_hello_that_was_said_before_the_other_was_forgotten_counts_for_nothing(world: World) -> None:
    one, other = (world.nodes[task].service for task in (PS, OTHER))
    one.links.want(OTHER)
    world.settle()
    assert one.links.is_there(OTHER) and other.links.is_there(PS)
    _say_hello(world.nodes[OTHER], PS)
    one.lost(OTHER)
    world._deliver((world.nodes[OTHER].identity, PS))
    assert not one.links.is_there(OTHER)
    world.settle()
    assert one.links.is_there(OTHER) and other.links.is_there(PS)


def _ask(world: World, master: str, kind: Kind, session: str) -> list[str]:
    """The states of all tasks, as they answer to a question."""
    client = Client(world, master, {}, 0)
    client.identity, client.request, client.state = session.encode(), 0, "waits"
    world.clients[client.identity] = client
    client.send(Kind.HELLO, details={"token": shown(client.master), "session": session, "observer": True})
    world.settle()
    client.send(kind)
    for _ in range(20):
        world.settle()
        world.pass_time(0.25)
    return [str(task["state"]) for task in client.answers[-1].details["tasks"]]


def test_a_task_that_was_started_again_is_answered_as_often_as_it_asks(world: World) -> None:
    for n in range(3):
        assert _ask(world, PS, Kind.STATUS, f"before {n}") == ["serving"] * 3
    world.kill(PS)
    for task in (MASTER, OTHER):
        world._lose((world.nodes[task].identity, PS))
    world.settle()
    world.start(PS)
    for n in range(3):
        assert _ask(world, PS, Kind.STATUS, f"after {n}") == ["serving"] * 3
    assert _ask(world, PS, Kind.RESET, "reset") == ["reset"] * 3


def test_what_a_session_said_elsewhere_while_it_was_closed_does_not_begin_it_anew(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = _counting(world, planned, 1)
    world.settle(client)
    assert client.state == "done"
    greeting = client.greeting
    for details in (greeting, greeting | {"alive": True}):
        frames = [bytes(f) for f in Message(Kind.HELLO, 1, details=details).frames()]
        world.link((b"late     ", MASTER)).queue.append(frames)
    world.settle()
    assert not _leftovers(world)


def test_all_clients_that_were_forgotten_at_once_are_told(world: World, planned: Mapping[str, Plan]) -> None:
    clients = [Client(world, MASTER, planned, 0) for _ in range(200)]
    for number, client in enumerate(clients):
        client.identity, client.request = b"forgotten %d" % number, 0
        world.clients[client.identity] = client
        client.send(Kind.RUN, 1)
    for _ in range(20):
        world.settle()
        world.pass_time(0.25)
    assert all(client.answers[0].details["stranger"] for client in clients)


def test_a_registration_under_way_ends_with_the_session_that_a_reset_ends(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = Client(world, MASTER, planned, 1)
    service = world.nodes[MASTER].service
    while not service.protocol.registrations.open:
        world.step()
        client.go_on()
    service.reset({})
    assert not service.protocol.registrations.open
    while client.log[-1][0] != "FAILED":
        world.step()
        client.go_on()
    assert "Session.reset()" in client.log[-1][3]


def test_a_reset_that_is_late_ends_the_steps_of_sessions_that_were_made_meanwhile(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = _counting(world, planned)
    _until(world, Kind.TENSOR, OTHER, PS)
    world.nodes[PS].service.reset({"containers": []})
    world.settle(client)
    assert any("Session.reset()" in str(entry) for entry in client.log)
    assert client.state == "done" and _counted(world) == 3.0
    _end(world)


def test_a_registration_that_is_not_wanted_any_more_is_released(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = Client(world, MASTER, planned, 1)
    service = world.nodes[MASTER].service
    while not service.protocol.registrations.open:
        world.step()
        client.go_on()
    frames = Message(Kind.ABORT, client.request).frames()
    world.link((client.identity, MASTER)).queue.append([bytes(f) for f in frames])
    world.settle()
    assert not service.protocol.registrations.open and not service.protocol.master.executables
    assert not any(node.service.protocol.worker.parts for node in world.nodes.values())


def test_a_step_that_comes_twice_or_without_its_plan_leaves_nothing(
    world: World, planned: Mapping[str, Plan]
) -> None:
    client = _counting(world, planned, 1)
    world.settle(client)
    ps, master = world.nodes[PS].service, world.nodes[MASTER]
    peer = ps.protocol.membership.sockets[master.identity]
    incarnation = int.from_bytes(master.identity, "little")
    step = 1 << 20
    ps.from_peer(
        peer, Message(Kind.TENSOR, incarnation, step, tensors=[np.zeros(1, np.int32), np.float32(1)])
    )
    for _ in range(2):
        ps.from_peer(peer, Message(Kind.STEP, incarnation, step, 1))
    assert not ps.protocol.worker.active
    world.settle()
    assert not _leftovers(world) and not ps.protocol.worker.early
