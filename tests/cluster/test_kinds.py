"""Protects that a kind of messages is declared once: what goes a way is taken there, and nothing else is answered."""

from __future__ import annotations

from typing import Final

import pytest

from graphflow._core.transport.frames.message import (
    QUESTIONS,
    REQUESTS,
    VERSION,
    Kind,
    Message,
    Way,
    kinds_that_go,
)
from tests.cluster.service_world import TASKS, Client, World, shown

PS, MASTER, _ = TASKS
OF_LINKS: Final = frozenset({Kind.HELLO, Kind.LOCAL_CHANNEL})
"""What is taken before it is known who sends it."""
NUMBERS: Final = {
    "HELLO": 1, "WELCOME": 2, "REGISTER": 3, "REGISTERED": 4, "RELEASE": 5, "RUN": 6, "RESULT": 7, "STEP": 8,
    "DONE": 9, "TENSOR": 10, "ABORT": 11, "FAILED": 12, "STATUS": 13, "STATUS_IS": 14, "RESET": 15, "STOP": 16,
    "OUTPUT": 17, "BYE": 18, "LOCAL_CHANNEL": 19, "TRACE": 20, "COLLECTIVE": 21, "TOOK": 22,
}  # fmt: skip
"""The kinds of version 3 of the protocol. Within a version a kind may be added here, and none may change."""


def test_no_kind_changes_its_number_within_a_version() -> None:
    assert VERSION == 3 and {kind.name: kind.value for kind in Kind} == NUMBERS


def test_requests_and_questions_are_those_that_are_declared_so() -> None:
    assert {Kind.STATUS, Kind.RESET, Kind.STOP} <= QUESTIONS < REQUESTS
    assert {Kind.RUN, Kind.REGISTER} <= REQUESTS
    assert all(kind.ways for kind in Kind)


def _client(world: World) -> Client:
    found = Client(world, MASTER, {}, 0)
    found.identity, found.request, found.state = b"a client", 0, "waits"
    world.clients[found.identity] = found
    found.send(Kind.HELLO, details={"token": shown(MASTER), "session": "a session"})
    world.settle()
    assert found.answers.popleft().kind is Kind.WELCOME
    return found


@pytest.mark.parametrize("kind", sorted(set(Kind) - OF_LINKS), ids=lambda kind: kind.name)
def test_what_a_client_may_send_is_taken_and_a_request_is_answered_once(kind: Kind) -> None:
    world = World(1)
    client = _client(world)
    client.send(kind)
    for _ in range(20):
        world.settle()
        world.pass_time(0.25)
    answers = [answer for answer in client.answers if answer.a == client.request]
    assert not any("no task takes" in str(answer.details) for answer in answers)
    assert len(answers) == (kind in REQUESTS)


def test_a_question_that_is_wrong_is_answered_and_ends_nothing_else() -> None:
    """The others do not take it, so it ends by a tick, which has more to do than this."""
    world = World(1)
    client = _client(world)
    world.nodes[MASTER].service.store.other("a resource", object)
    client.send(Kind.RESET, details={"containers": 5, "seconds": 1.0})
    for _ in range(20):
        world.settle()
        world.pass_time(0.25)
    (answer,) = [answer for answer in client.answers if answer.a == client.request]
    assert answer.kind is Kind.FAILED and "TypeError" in answer.details["message"]


@pytest.mark.parametrize("kind", sorted(kinds_that_go(Way.FROM_TASK) - OF_LINKS), ids=lambda kind: kind.name)
def test_what_a_task_may_send_is_taken_by_the_others(kind: Kind) -> None:
    world = World(1)
    _client(world)  # So that the tasks know each other.
    ps, master = world.nodes[PS], world.nodes[MASTER]
    way = ps.identity, MASTER
    own = int.from_bytes(ps.identity, "little") if Way.FROM_MASTER in kind.ways else 0
    world.link(way).queue.append([bytes(frame) for frame in Message(kind, own, 1).frames()])
    world.settle()
    assert "no task takes" not in master.dropped.latest
