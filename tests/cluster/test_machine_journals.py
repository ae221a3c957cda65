"""Protects the journal of rounds and groups of collectives: what it shows of a wait, and that it is played again."""

from __future__ import annotations

import gc
import itertools
import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.machine_journals import MachineJournals, machine_blocks, replay_machines
from graphflow._core.cluster.protocol.replay import Differs, Incomplete
from graphflow._core.collectives.group_events import (
    ContributionCame,
    MemberLeaves,
    OperationBegun,
    ResultAwaited,
    SendContribution,
)
from graphflow._core.collectives.group_journal import GroupJournal, event_of
from graphflow._core.collectives.groups import Group
from graphflow._core.common.machine_journal import MachineJournal
from graphflow._core.resources.rounds.events import ChoiceAwaited
from graphflow._core.resources.rounds.machine import RoundMachine
from graphflow._core.resources.store import ResourceStore
from graphflow.cli.main import main
from tests.cluster.serving import serve, spec_of
from tests.collectives.group_world import World, contribution, member
from tests.resources.rounds.test_sync_rounds import Rounds

LIMIT = 60.0
WORKER, OTHER = (f"/job:worker/replica:0/task:{n}" for n in range(2))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found, gf.Graph().as_default():
        yield found


def _in_thread(stack: ExitStack, session: gf.Session, fetch: Any) -> None:
    """A run that waits in a thread until its session is closed."""

    def run() -> None:
        with suppress(gf.errors.OpError, RuntimeError):
            session.run(fetch)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    stack.callback(thread.join, LIMIT)
    stack.callback(session.close)


def _until(asks: Callable[[], Any]) -> Any:
    limit = time.monotonic() + LIMIT
    while True:
        found = asks()
        if found:
            return found
        assert time.monotonic() < limit
        time.sleep(0.05)


def _journal(target: str, capsys: pytest.CaptureFixture[str], task: int = 0) -> dict[str, Any]:
    assert main(["status", target, "--journal", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["tasks"][task]["journal"]
    return found


def test_a_round_and_a_collective_that_wait_stand_in_the_journal_and_are_played_again(
    stack: ExitStack, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_of(stack, worker=2)
    first, second = (serve(stack, spec, "worker", n) for n in range(2))
    with gf.device("/job:worker/task:0"):
        step = gf.train.get_or_create_global_step()
        weight = gf.get_variable("weight", [], gf.float32, gf.zeros_initializer())
    optimizer = gf.train.SyncReplicasOptimizer(gf.train.GradientDescentOptimizer(0.1), 2, 2)
    with gf.device("/job:worker/task:0"):
        train = optimizer.minimize(gf.square(weight - 1.0), global_step=step)
    reduced = []
    for n in range(2):
        with gf.device(f"/job:worker/task:{n}"):
            reduced.append(gf.distribute.all_reduce(gf.constant([1.0]), 3, group_key=7, instance_key=1))
    session = stack.enter_context(gf.Session(first.target))
    session.run(gf.global_variables_initializer())
    _in_thread(stack, gf.Session(first.target), train)
    for server, mine in zip((first, second), reduced, strict=True):
        _in_thread(stack, gf.Session(server.target), mine)

    def shown() -> str | None:
        assert main(["status", second.target, "--journal"]) == 0
        text = capsys.readouterr().out
        return text if "ChoiceAwaited(" in text and text.count("MemberJoined(") >= 2 else None

    text = _until(shown)
    lines = text.splitlines()
    (began,) = [n for n, line in enumerate(lines) if "ReplicaBegan(" in line]
    assert "rounds 'sync_replicas/" in lines[began] and WORKER in lines[began]
    assert lines[began + 1].startswith("      -> GiveTicket(ticket=Ticket(round=0, ")
    assert any("GradientsBrought(run=None, ticket=Ticket(round=0, " in line for line in lines[began:])
    joined = [line for line in lines if "MemberJoined(" in line]
    assert all("group 7: " in line and "size=3" in line for line in joined)
    assert {f"member='{w}/" in "".join(joined) for w in (WORKER, OTHER)} == {True}
    assert any("-> TellJoined(member='" in line for line in lines)

    assert main(["status", second.target, "--journal", "--all"]) == 0
    events = [line for line in capsys.readouterr().out.splitlines() if " s: " in line]
    ages = [round(float(line.split()[2]), 3) for line in events]
    assert ages == sorted(ages) and any("ReplicaBegan(" in line for line in events)

    rounds, group = replay_machines(_journal(second.target, capsys))
    assert isinstance(rounds, RoundMachine) and len(rounds.waiting) == 1 and rounds.needed == 2
    assert isinstance(group, Group) and len(group.joined) == 2 and group.communicator is None


def _played(world: World) -> list[tuple[Group, dict[str, Any]]]:
    """Each group of a world, with its journal through JSON."""
    found = []
    for told in world.told:
        journal = GroupJournal(None, None)
        again = Group(7)
        for n, (event, _) in enumerate(told.record):
            journal.keep(float(n), 7, event, again.handle(event))
        data = {"machines": MachineJournals(ResourceStore(), journal).data()}
        found.append((told.group, json.loads(json.dumps(data))))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_groups_that_meet_and_lose_each_other_are_played_again_from_json(seed: int) -> None:
    world = World(3, seed)
    for turn in range(6):
        for task in world.random.sample(range(3), 3):
            if world.random.random() < 0.2:
                world.cut(*world.random.sample(range(3), 2))
            with suppress(gf.errors.OpError):
                world.begin(
                    task, value=turn, terms=world.random.choice(["all_reduce, add, id"] * 5 + ["max"])
                )
            for _ in range(world.random.randrange(4)):
                world.deliver()
        world.settle()
        if world.random.random() < 0.3:
            world.leave(
                world.random.randrange(3),
                world.random.choice([None, gf.errors.AbortedError(None, None, "no")]),
            )
            world.settle()
    for group, data in _played(world):
        (again,) = replay_machines(data)
        assert isinstance(again, Group)
        assert (again.size, again.joined, again.last_seen) == (group.size, group.joined, group.last_seen)
        assert {m: (s.number, s.counts) for m, s in again.members.items()} == {
            m: (s.number, s.counts) for m, s in group.members.items()
        }


def test_rounds_are_played_again_and_a_look_that_changes_nothing_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained = Rounds(2, 3)
    trained.rounds.journal = MachineJournal(None, None)
    for _ in range(20):
        trained.whole_round([0, 1])
    late = trained.begin(2)
    trained.whole_round([0, 1])
    assert not trained.arrive(2, late).counted
    first, _ = trained.begin(0), trained.begin(0)
    with pytest.raises(gf.errors.AbortedError, match="Another run of the same replica"):
        trained.arrive(0, first)
    looks, handle = [0], trained.rounds.machine.handle

    def counted(event: Any) -> Any:
        looks[0] += type(event) is ChoiceAwaited
        return handle(event)

    monkeypatch.setattr(trained.rounds.machine, "handle", counted)
    trained.wait(2, waits := trained.begin(2))
    _until(lambda: trained.store.wake() or looks[0] > 20)
    monkeypatch.undo()
    _, entries = trained.rounds.journal.read()
    kept = [e for _, _, e, said in entries if isinstance(e, ChoiceAwaited) and not said]
    assert len([e for e in kept if e.attempt == waits.attempt]) == 1
    trained.store.other("sync_rounds/sync", lambda: trained.rounds)
    data = json.loads(json.dumps({"machines": MachineJournals(trained.store, GroupJournal()).data()}))
    entries = data["machines"][0]["entries"]
    names = [each["type"] for entry in entries for each in entry[2:]]
    assert {"RoundApplied", "CountUp", "WaitEnded", "GiveChoice", "WakeWaiting", "RefuseRun"} <= set(names)
    (again, *_) = replay_machines(data)
    machine = trained.rounds.machine
    assert isinstance(again, RoundMachine)
    assert (again.last, again.begun, again.dropped, again.members, again.current) == (
        machine.last, machine.begun, machine.dropped, machine.members, machine.current
    )  # fmt: skip
    ((number, attempt),) = again.waiting.items()
    assert number == waits.attempt and attempt.arrived and attempt.slot.endswith("task:2")
    assert trained.arrive(1, trained.begin(1)) == trained.result(waits)


def test_a_replay_says_where_something_else_happens_and_what_is_not_whole() -> None:
    world = World(2)
    for task in range(2):
        world.begin(task)
    world.settle()
    (_, data), _ = _played(world)
    entries = data["machines"][0]["entries"]
    (place,) = [n for n, entry in enumerate(entries) if entry[2]["type"] == "MemberJoined"]
    before = entries.pop(place)
    entries.insert(0, before)
    with pytest.raises(Differs, match=r"^Event 0, MemberJoined.*expected SendContribution.*got nothing"):
        replay_machines(data)
    data["machines"][0]["forgotten"] = 2
    with pytest.raises(Incomplete, match="first 2"):
        replay_machines(data)


def test_a_journal_of_groups_keeps_no_value_and_no_look() -> None:
    journal = GroupJournal()
    kept: list[weakref.ref[Any]] = []

    def live() -> None:
        group = Group(7)

        def tell(event: Any) -> list[Any]:
            found = group.handle(event)
            journal.keep(0.0, 7, event, found)
            return found

        def brought() -> Any:
            value = np.ones(1000, np.float32)
            found = contribution(value)
            kept.extend([weakref.ref(value), weakref.ref(found.whole)])
            return found

        (*_, given) = tell(OperationBegun(member(0), 1, 1, brought(), 5))
        for _ in range(50):
            (shown,) = tell(ResultAwaited(member(0), given.handle))
        tell(ContributionCame(shown.communicator.number, 0, (1, 1), brought()))
        tell(MemberLeaves(member(0), gf.errors.AbortedError(None, None, "it ended")))

    live()
    gc.collect()
    assert [ref() for ref in kept] == [None] * 4
    forgotten, entries = journal.read()
    names = [type(event_of(kept)).__name__ for _, _, (_, kept), _ in entries]
    assert forgotten == 0 and names == ["OperationBegun", "ContributionCame", "MemberLeaves"]
    assert entries[0][3][1][0] is SendContribution
    blocks = machine_blocks(MachineJournals(ResourceStore(), journal).data(), 2.0)
    assert blocks[0][1][0].startswith(
        "-2.000 s: group 7: OperationBegun(member='/job:worker/replica:0/task:0/"
    )
    assert "dtype='float32', terms='all_reduce, add, id'" in blocks[0][1][0]


def test_what_comes_often_does_not_push_out_who_has_joined() -> None:
    world = World(2)
    handles = [world.begin(task) for task in range(2)]
    world.settle()
    for _ in range(400):
        for task in range(2):
            world.end(task, handles[task])
        handles = [world.begin(task) for task in range(2)]
        world.settle()
    told = world.told[0]
    journal, again = GroupJournal(), Group(7)
    for n, (event, _) in enumerate(told.record):
        journal.keep(float(n), 7, event, again.handle(event))
    forgotten, entries = journal.read()
    names = [type(event_of(kept)).__name__ for _, _, (_, kept), _ in entries]
    assert forgotten == journal.handled - len(entries) > 500 and len(entries) <= 512
    assert {"MemberJoined", "OperationBegun", "ContributionCame"} <= set(names)
    assert [entry[0] for entry in entries] == sorted(entry[0] for entry in entries)


def test_a_journal_that_is_read_while_events_come_has_no_gap() -> None:
    journal, over = MachineJournal(None, None), threading.Event()

    def add() -> None:
        for n in range(20_000):
            journal.add(float(n), n, (), n % 3 == 0)
        over.set()

    thread = threading.Thread(target=add, daemon=True)
    thread.start()
    while not over.is_set():
        forgotten, entries = journal.read()
        assert forgotten == 0 and [entry[0] for entry in entries[-200:]] == list(
            range(max(1, len(entries) - 199), len(entries) + 1)
        )
    thread.join(LIMIT)
    assert len(journal.read()[1]) == 20_000


def test_the_word_that_a_task_is_gone_brings_the_last_events_of_rounds_and_leaves_room_for_others(
    stack: ExitStack,
) -> None:
    server = serve(stack, {"ps": ["localhost:0"], **spec_of(stack, worker=1)}, "ps")
    step = gf.train.get_or_create_global_step()
    weight = gf.get_variable("weight", [], gf.float32, gf.zeros_initializer())
    optimizer = gf.train.SyncReplicasOptimizer(gf.train.GradientDescentOptimizer(0.1), 1, 1)
    train = optimizer.minimize(gf.square(weight - 1.0), global_step=step)
    with gf.Session(server.target, config=gf.ConfigProto(device_filters=["/job:ps"])) as session:
        session.run(gf.global_variables_initializer())
        for _ in range(40):
            session.run(train)
    with pytest.raises(gf.errors.UnavailableError, match="do not answer") as caught:
        gf.Session(server.target, gf.Graph(), gf.ConfigProto(connect_timeout_in_ms=4000))
    lines = caught.value.journal
    heads = [n for n, line in enumerate(lines) if ": rounds '" in line]
    of_rounds = [line for n in heads for line in [lines[n], *_said(lines[n + 1 :])]]
    assert 0 < len(of_rounds) <= 12 and len(lines) <= 32
    assert any("RoundApplied(" in line for line in of_rounds) and "    -> CountUp()" in of_rounds
    assert any("SessionGreeted(" in line for line in lines)
    ages = [float(line.split()[0]) for line in lines if " s: " in line]
    assert ages == sorted(ages)


def _said(lines: Sequence[str]) -> list[str]:
    """The instructions with which these lines begin."""
    return list(itertools.takewhile(lambda line: line.startswith("    -> "), lines))
