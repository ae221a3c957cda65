"""Protects the subgraphs of a task: each is read once, is there until somebody ends it, its members have one owner."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from graphflow import errors
from graphflow._core.cluster.protocol.journal import Journal
from graphflow._core.cluster.protocol.replay import replay_data
from graphflow._core.cluster.protocol.subgraphs import (
    DropSubgraph,
    FreeKept,
    KeepSubgraph,
    LeaveGroups,
    OwnerGone,
    PartnerUnreachable,
    ReadSubgraph,
    RefuseSubgraph,
    SubgraphOffered,
    SubgraphRead,
    SubgraphReleased,
    SubgraphsEnded,
    SubgraphUnreadable,
)
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.common.machine import BrokenInvariant, Event, Instruction

OWN, PS, OTHER = (f"/job:{job}/replica:0/task:{i}" for job, i in (("worker", 0), ("ps", 0), ("worker", 1)))
MASTER, SECOND = 7, 8
ERROR = {"code": errors.UNAVAILABLE, "message": "gone", "op": None}
CPU = 1, f"{OWN}/device:CPU:0"
GPU = 1, f"{OWN}/device:GPU:0"


class Told:
    """The protocol of a task, which is checked after each event and keeps all of them."""

    def __init__(self) -> None:
        self.protocol = TaskProtocol(OWN, "a1", {PS: "ps:1", OTHER: "other:1"}, 0.0, Journal(None))
        self.subgraphs = self.protocol.subgraphs

    def __call__(self, event: Event) -> list[Instruction]:
        found = self.protocol.handle(event)
        self.protocol.check()
        return found

    def offer(self, number: int, session: str = "s", master: int = MASTER) -> list[Instruction]:
        return self(SubgraphOffered(0.0, (master, number), session))

    def read(
        self, number: int, members: Any = (), partners: Any = (), master: int = MASTER
    ) -> list[Instruction]:
        return self(SubgraphRead(0.0, (master, number), tuple(members), tuple(partners)))

    def register(
        self, number: int, session: str = "s", master: int = MASTER, **more: Any
    ) -> list[Instruction]:
        assert self.offer(number, session, master) == [ReadSubgraph((master, number), session)]
        return self.read(number, master=master, **more)


@pytest.fixture
def tell() -> Told:
    return Told()


def test_a_subgraph_that_comes_twice_is_read_once(tell: Told) -> None:
    assert tell.offer(3) == [ReadSubgraph((MASTER, 3), "s")] and tell.offer(3) == []
    assert tell.read(3) == [KeepSubgraph((MASTER, 3))]
    assert tell.offer(3) == [] and tell.read(3) == [] and tell.offer(2) == []
    assert tell.register(3, master=SECOND) == [KeepSubgraph((SECOND, 3))]


def test_what_cannot_be_read_is_refused_once_and_may_come_again(tell: Told) -> None:
    tell.offer(3)
    assert tell(SubgraphUnreadable(0.0, (MASTER, 3), ERROR)) == [RefuseSubgraph((MASTER, 3), ERROR)]
    assert tell(SubgraphUnreadable(0.0, (MASTER, 3), ERROR)) == [] and not tell.subgraphs.registered
    assert tell.register(3) == [KeepSubgraph((MASTER, 3))]


def test_what_a_partner_shares_that_is_out_of_reach_is_dropped_and_its_masters_are_told(tell: Told) -> None:
    tell.register(3, partners=(PS, OTHER))
    tell.register(4, partners=(OTHER,))
    tell.register(4, master=SECOND, partners=(PS,))
    assert tell(PartnerUnreachable(0.0, PS, ERROR)) == [
        DropSubgraph((MASTER, 3), ERROR), DropSubgraph((SECOND, 4), ERROR),
    ]  # fmt: skip
    assert tell(PartnerUnreachable(0.0, PS, ERROR)) == [] and list(tell.subgraphs.registered) == [(MASTER, 4)]
    assert tell.offer(3) == []  # It was here.


def test_a_release_and_the_end_of_a_master_take_subgraphs_quietly(tell: Told) -> None:
    for number in (3, 4):
        tell.register(number)
    tell.register(3, master=SECOND)
    tell.offer(5)
    assert tell(SubgraphReleased(0.0, (MASTER, 3))) == [] == tell(SubgraphReleased(0.0, (MASTER, 9)))
    assert tell(SubgraphsEnded(0.0, MASTER)) == [] and list(tell.subgraphs.registered) == [(SECOND, 3)]
    assert tell.read(5) == []  # Its master ended while it was read.


def test_a_member_takes_part_for_one_session_and_the_earlier_one_is_through_with_it(tell: Told) -> None:
    assert tell.register(1, "a", members=[CPU, GPU]) == [KeepSubgraph((MASTER, 1))]
    assert tell.register(2, "a", members=[CPU]) == [KeepSubgraph((MASTER, 2))]
    assert tell.register(3, "b", members=[CPU]) == [LeaveGroups((CPU,), True), KeepSubgraph((MASTER, 3))]
    assert tell(OwnerGone(0.0, MASTER, "a", False)) == [
        FreeKept(MASTER, "a"), LeaveGroups((GPU,), False),
    ]  # fmt: skip
    assert tell.register(1, "b", SECOND, members=[CPU])[0] == LeaveGroups((CPU,), True)
    assert tell(OwnerGone(0.0, MASTER, None, True)) == [FreeKept(MASTER, None)]
    assert tell.subgraphs.members == {CPU: (SECOND, "b")}


@pytest.mark.parametrize("seed", range(40))
def test_whatever_comes_in_whatever_order_each_subgraph_is_kept_or_refused_once_and_a_replay_agrees(
    seed: int,
) -> None:
    chance, tell = random.Random(seed), Told()
    pending: list[tuple[int, int]] = []
    read: list[Any] = []
    kept: list[Any] = []
    owners: dict[Any, Any] = {}
    for step in range(600):
        master, number = chance.choice((MASTER, SECOND)), step // 4 + chance.randrange(1, 8)
        members = tuple(m for m in (CPU, GPU) if chance.random() < 0.3)
        partners = tuple(t for t in (PS, OTHER) if chance.random() < 0.5)
        some = pending.pop(chance.randrange(len(pending))) if pending else (master, number)
        event: Event = chance.choice([
            *[SubgraphOffered(0.0, (master, number), chance.choice("ab"))] * 6,
            *[SubgraphRead(0.0, some, members, partners)] * 6, SubgraphUnreadable(0.0, some, ERROR),
            SubgraphReleased(0.0, (master, number)), PartnerUnreachable(0.0, chance.choice((PS, OTHER)), ERROR),
            SubgraphsEnded(0.0, master), OwnerGone(0.0, master, chance.choice(("a", "b", None)), True),
        ])  # fmt: skip
        before = dict(tell.subgraphs.members)
        for i in tell(event):
            if isinstance(i, ReadSubgraph):
                pending.append(i.executable)
                read.append(i.executable)
            elif isinstance(i, KeepSubgraph):
                kept.append(i.executable)
            elif isinstance(i, LeaveGroups):
                owners.update({m: before[m] for m in i.members})
                assert all(tell.subgraphs.members.get(m) != before[m] for m in i.members)
            elif isinstance(i, DropSubgraph):
                assert i.executable in kept and i.executable not in tell.subgraphs.registered
    assert len(kept) == len(set(kept)) and set(kept) <= set(read) and len(kept) > 20 and owners
    again = replay_data(json.loads(json.dumps(tell.protocol.journal_data(0.0)))).subgraphs
    assert (again.registered, again.reading, again.members, again.latest) == (
        tell.subgraphs.registered, tell.subgraphs.reading, tell.subgraphs.members, tell.subgraphs.latest,
    )  # fmt: skip


def test_states_that_contradict_themselves_are_found(tell: Told) -> None:
    tell.register(3)
    tell.subgraphs.reading[MASTER, 3] = "s"
    with pytest.raises(BrokenInvariant, match="is being read"):
        tell.subgraphs.check()
    tell.subgraphs.reading.clear()
    tell.subgraphs.registered[MASTER, 9] = ()
    with pytest.raises(BrokenInvariant, match="never registered"):
        tell.subgraphs.check()
