"""Protects what tasks know of a group of collectives, without a socket: its members, rounds, what a failure ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from graphflow import errors
from graphflow._core.collectives.group_events import TellJoined, TellLeft
from graphflow._core.collectives.rounds import LARGE, SEND, Round, share_of
from graphflow._core.common.machine import BrokenInvariant
from tests.collectives.group_world import Told, World, contribution, member, receiver


@pytest.mark.parametrize("tasks", [1, 2, 3, 5])
def test_members_meet_whatever_comes_first_and_have_one_order(tasks: int) -> None:
    for seed in range(20):
        world = World(tasks, seed)
        plans = [[(i, r) for r in range(3) for i in (1, 2)] for _ in range(tasks)]
        for plan in plans:
            world.random.shuffle(plan)
            plan.sort(key=lambda step: step[1])
        handles: list[dict[Any, Any]] = [{} for _ in range(tasks)]
        for step in range(6):
            for task in world.random.sample(range(tasks), tasks):
                instance, round_ = plans[task][step]
                value = 100 * instance + 10 * round_ + task
                handles[task][instance, round_] = world.begin(task, instance, value)
                for _ in range(world.random.randrange(4)):
                    world.deliver()
        world.settle()
        for task in range(tasks):
            for (instance, round_), handle in handles[task].items():
                assert world.complete(task, handle)
                assert world.end(task, handle) == [100 * instance + 10 * round_ + t for t in range(tasks)]
        assert all(not g.communicator.rounds for g in world.groups if g.communicator is not None)
        assert len({g.communicator.number for g in world.groups if g.communicator is not None}) == 1


def test_a_member_that_fails_ends_the_group_for_all_who_raise_once_and_meet_again() -> None:
    for seed in range(30):
        world = World(3, seed)
        for task in range(3):
            world.begin(task)
        world.settle()
        for task in range(3):
            group = world.groups[task]
            (handle,) = group.members[member(task)].open
            world.end(task, handle)
        broken = world.random.randrange(3)
        waiting = {
            task: world.begin(task) for task in range(3) if task != broken and world.random.random() < 0.5
        }
        world.leave(broken, errors.AbortedError(None, None, "it gave up"))
        world.settle()
        for task in set(range(3)) - {broken}:
            if task in waiting:
                with pytest.raises(errors.AbortedError, match="it gave up"):
                    world.complete(task, waiting[task])
                world.leave(task, errors.AbortedError(None, None, "as the other did"))
            else:
                with pytest.raises(errors.AbortedError, match="it gave up"):
                    world.begin(task)
            for _ in range(world.random.randrange(3)):
                world.deliver()
        handles = {task: world.begin(task, value=task) for task in range(3)}
        world.settle()
        assert all(world.complete(task, handles[task]) for task in range(3))
        assert [world.end(task, handles[task]) for task in range(3)] == [[0.0, 1.0, 2.0]] * 3


def test_a_member_that_leaves_quietly_is_waited_for() -> None:
    world = World(2)
    handles = [world.begin(task) for task in range(2)]
    world.settle()
    for task in range(2):
        world.end(task, handles[task])
    world.leave(0, None)
    world.settle()
    handle = world.begin(1)
    world.settle()
    assert not world.complete(1, handle)
    other = world.begin(0)
    world.settle()
    assert world.complete(0, other) and world.complete(1, handle)


def test_a_member_that_leaves_after_a_round_lets_the_others_complete_it() -> None:
    for seed in range(200):
        world = World(3, seed)
        handles = {task: world.begin(task, value=task) for task in range(3)}
        while handles or world.deliver():
            for task in list(handles):
                if world.complete(task, handles[task]):
                    assert world.end(task, handles.pop(task)) == [0.0, 1.0, 2.0]
                    world.leave(task, None)
            world.deliver()
        handles = {task: world.begin(task, value=task) for task in range(3)}
        world.settle()
        assert all(world.end(task, handles[task]) == [0.0, 1.0, 2.0] for task in range(3))


def test_a_member_that_gives_up_after_a_round_ends_the_others_beyond_it() -> None:
    for seed in range(100):
        world = World(3, seed)
        handles = {task: world.begin(task, value=task) for task in range(3)}
        while not world.complete(0, handles[0]):
            world.deliver()
        world.end(0, handles.pop(0))
        world.leave(0, errors.AbortedError(None, None, "its session was given up"))
        world.settle()
        for task in (1, 2):
            assert world.end(task, handles[task]) == [0.0, 1.0, 2.0]
            with pytest.raises(errors.AbortedError, match="was given up"):
                world.begin(task)


def test_a_member_that_gives_up_is_heard_of_by_one_who_waits_for_the_group_to_be_formed() -> None:
    world = World(3)
    handles = [world.begin(task) for task in range(2)]
    world.settle()
    world.leave(0, errors.AbortedError(None, None, "it waited for too long"))
    world.settle()
    with pytest.raises(errors.AbortedError, match="it waited for too long"):
        world.complete(1, handles[1])


def test_a_round_beyond_those_that_a_leaving_member_has_completed_ends() -> None:
    world = World(3)
    handles = [world.begin(task) for task in range(3)]
    world.settle()
    world.end(0, handles[0])
    beyond = world.begin(1)
    world.leave(0, None)
    world.settle()
    assert [world.end(task, handles[task]) for task in (1, 2)] == [[1.0, 1.0, 1.0]] * 2
    with pytest.raises(errors.AbortedError, match=r"task:0.* has left"):
        world.complete(1, beyond)


def test_a_task_that_is_gone_ends_a_round_that_another_one_has_completed_before_it_left() -> None:
    world = World(3)
    handles = [world.begin(task) for task in range(3)]
    while world.links[2, 1] or not world.complete(0, handles[0]):
        ways = [
            w for w, link in world.links.items() if link and (w != (2, 1) or isinstance(link[0], TellJoined))
        ]
        if not ways:
            break
        world.take(ways[0][1], world.links[ways[0]].popleft())
    world.end(0, handles[0])
    world.leave(0, None)
    world.take(1, world.links[0, 1].popleft())
    assert not world.complete(1, handles[1])
    world.links[2, 1].clear()
    world.lose(1, "/job:worker/replica:0/task:0", errors.UnavailableError(None, None, "0 is gone"))
    assert not world.complete(1, handles[1])
    world.lose(1, "/job:worker/replica:0/task:2", errors.UnavailableError(None, None, "2 is gone"))
    with pytest.raises(errors.UnavailableError, match="2 is gone"):
        world.complete(1, handles[1])


def test_who_broadcasts_and_leaves_has_been_heard_by_those_who_come_later() -> None:
    for seed in range(100):
        world = World(3, seed)
        first = [world.begin(task) for task in range(3)]
        world.settle()
        sent = world.begin(0, 2, 5.0, SEND)
        for task in world.random.sample(range(3), 3):
            world.end(task, first[task])
            for _ in range(world.random.randrange(3)):
                world.deliver()
        world.end_of_sender(0, sent)
        world.leave(0, None)
        for task in (1, 2):
            for _ in range(world.random.randrange(5)):
                world.deliver()
            handle, found = world.told[task].begin(member(task), 3, 2, receiver())
            world.tell(task, found)
            world.settle()
            communicator_and_round = world.told[task].round_of(member(task), handle)
            assert communicator_and_round is not None
            assert float(communicator_and_round[1].contributions[0].whole[0]) == 5.0
            world.told[task].end(member(task), handle)


def test_what_is_said_on_leaving_waits_for_the_word_of_who_forms_the_group() -> None:
    world = World(3)
    sent = world.begin(0, 2, 5.0, SEND)
    world.tell(1, world.told[1].begin(member(1), 3, 2, receiver())[1])
    handle, found = world.told[2].begin(member(2), 3, 2, receiver())
    world.tell(2, found)
    for way in [w for w in world.links if w != (1, 2)]:
        while world.links[way]:
            world.take(way[1], world.links[way].popleft())
    world.end_of_sender(0, sent)
    world.leave(0, None)
    world.take(2, world.links[0, 2].popleft())
    while world.links[0, 2]:
        world.take(2, world.links[0, 2].popleft())
    assert world.told[2].round_of(member(2), handle) is None
    world.settle()
    communicator_and_round = world.told[2].round_of(member(2), handle)
    assert communicator_and_round is not None and communicator_and_round[1].error is None
    assert float(communicator_and_round[1].contributions[0].whole[0]) == 5.0


def test_a_round_that_is_complete_stays_so_when_a_task_is_gone_after_it() -> None:
    world = World(2)
    handles = [world.begin(task, value=task) for task in range(2)]
    world.settle()
    gone = errors.UnavailableError(None, None, "task 0 is gone")
    world.tell(1, world.lose(1, "/job:worker/replica:0/task:0", gone))
    found = world.told[1].round_of(member(1), handles[1])
    assert found is not None and sorted(found[1].contributions) == [0, 1] and found[1].error is not None
    world.told[1].end(member(1), handles[1])
    with pytest.raises(errors.UnavailableError, match="task 0 is gone"):
        world.begin(1)
    world.begin(1)


def test_values_that_do_not_fit_are_an_error_that_names_both() -> None:
    world = World(2)
    first, _ = world.told[0].begin(member(0), 2, 1, contribution([1.0, 2.0])), None
    world.tell(0, first[1])
    handle, found = world.told[1].begin(member(1), 2, 1, contribution([1.0, 2.0, 3.0]))
    world.tell(1, found)
    world.settle()
    for task, own in ((0, first[0]), (1, handle)):
        with pytest.raises(errors.InvalidArgumentError, match=r"task:0.*float32\[2\].*task:1.*float32\[3\]"):
            world.complete(task, own)


def test_a_group_of_another_size_is_an_error_that_names_both() -> None:
    world = World(3)
    handle = world.begin(0)
    found = world.told[0].joined(member(1), 99, 2)
    assert [type(what) for what in found] == [TellLeft]
    with pytest.raises(errors.InvalidArgumentError, match=r"task:1.* one of 2 members.*task:0.* one of 3"):
        world.complete(0, handle)


def test_a_key_that_nothing_uses_may_be_used_for_a_group_of_another_size() -> None:
    group = Told(itertools.count(1))
    handle, _ = group.begin(member(0), 1, 1, contribution())
    group.end(member(0), handle)
    handle, found = group.begin(member(0), 2, 1, contribution())
    assert [type(what) for what in found] == [TellLeft, TellJoined] and group.group.size == 2
    assert group.round_of(member(0), handle) is None


def test_more_members_than_the_group_has_are_named() -> None:
    group = Told(itertools.count(1))
    group.begin(member(0), 2, 1, contribution())
    group.joined(member(1), 50, 2)
    handle = next(iter(group.group.members[member(0)].open))
    group.joined(member(2), 51, 2)
    with pytest.raises(errors.InvalidArgumentError, match=r"has 2 members.*task:0.*task:1.*task:2"):
        found = group.round_of(member(0), handle)
        assert found is None


def test_what_is_awaited_names_the_missing_and_where_they_were() -> None:
    world = World(3)
    tasks = [f"/job:worker/replica:0/task:{t}" for t in range(3)] + ["/job:ps/replica:0/task:0"]

    def came(round_: Round) -> Any:
        return tuple(round_.contributions)

    handle = world.begin(0)
    world.settle()
    text = world.groups[0].awaited(member(0), handle, came, tasks)
    assert "2 of 3 members" in text and "task:1, /job:worker/replica:0/task:2;" in text and "ps" not in text
    handles = [handle, world.begin(1), world.begin(2)]
    world.settle()
    for task in range(3):
        world.end(task, handles[task])
    handle = world.begin(0, 4)
    world.begin(1, 4)
    world.settle()
    text = world.groups[0].awaited(member(0), handle, came, tasks)
    assert text == (
        "1 of 3 members at step 1 of the instance 4: /job:worker/replica:0/task:2/device:CPU:0 (last heard of at step "
        "1 of the instance 1)"
    )


def lengths() -> Iterator[int]:
    yield from (0, 1, 63, 64, 65, 1000, LARGE // 4, 100_003)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_shares_are_all_of_a_value_and_apart(size: int) -> None:
    for length in lengths():
        places = [share_of(length, rank, size) for rank in range(size)]
        assert [n for place in places for n in range(length)[place]] == list(range(length))


def test_states_that_contradict_themselves_are_found() -> None:
    world = World(2)
    for task in range(2):
        world.begin(task)
    world.settle()
    group = world.groups[0]
    group.members[member(0)].number += 1
    with pytest.raises(BrokenInvariant, match="has joined with"):
        group.check()
