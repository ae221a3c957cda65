"""Protects groups of collectives where tasks meet, part and give up at any moment: who goes on is never stuck."""

from __future__ import annotations

from typing import Any

import pytest

from graphflow import errors
from tests.collectives.group_world import World

GAVE_UP = errors.AbortedError(None, None, "it gave up")


def test_who_is_said_once_more_to_have_joined_has_not_joined_anew() -> None:
    world = World(2)
    handles = [world.begin(task) for task in range(2)]
    world.settle()
    for task in range(2):
        world.end(task, handles[task])
    world.meet(0, 1)  # What task 0 says is still on its way when task 1 leaves.
    world.leave(1, None)
    world.settle()
    world.leave(0, None)
    world.settle()
    handles = [world.begin(task, value=task) for task in range(2)]
    world.settle()
    assert [world.end(task, handles[task]) for task in range(2)] == [[0.0, 1.0]] * 2


@pytest.mark.parametrize("tasks", [2, 3, 4])
def test_sessions_after_each_other_find_together_though_tasks_meet_all_the_time(tasks: int) -> None:
    for seed in range(60):
        world = World(tasks, seed)
        random = world.random
        rounds = [random.randrange(1, 4) for _ in range(4)]
        at = [[0, 0] for _ in range(tasks)]
        handles: list[Any] = [None] * tasks
        for _ in range(3000):
            world.deliver()
            if random.random() < 0.1:
                world.meet(*random.sample(range(tasks), 2))
            task = random.randrange(tasks)
            session, round_ = at[task]
            if session == len(rounds):
                continue
            value = 100 * session + 10 * round_
            if handles[task] is None:
                handles[task] = world.begin(task, 1 + round_ % 2, value + task)
            elif world.complete(task, handles[task]):
                assert world.end(task, handles[task]) == [value + t for t in range(tasks)]
                handles[task] = None
                at[task] = [session, round_ + 1]
                if round_ + 1 == rounds[session]:
                    world.leave(task, None)
                    at[task] = [session + 1, 0]
        assert at == [[len(rounds), 0]] * tasks, f"stuck with the seed {seed}"
        if seed < 10:
            world.replay()


@pytest.mark.parametrize("tasks", [2, 3, 4])
@pytest.mark.parametrize("cuts", [0.0, 0.03], ids=["connected", "cut_off"])
@pytest.mark.parametrize("leaves", [None, GAVE_UP], ids=["closes", "gives_up"])
def test_after_leaving_in_the_middle_all_find_together_again(
    tasks: int, cuts: float, leaves: errors.OpError | None
) -> None:
    for seed in range(40):
        world = World(tasks, seed)
        random = world.random
        handles: list[Any] = [None] * tasks
        completed = [0] * tasks
        for step in range(800):
            unruly = step < 120
            for _ in range(random.randrange(3 if unruly else 12)):
                world.deliver()
            task = random.randrange(tasks)
            if unruly and random.random() < cuts:
                world.cut(*random.sample(range(tasks), 2))
            elif unruly and random.random() < 0.05:
                world.meet(*random.sample(range(tasks), 2))
            elif unruly and random.random() < 0.05:
                world.leave(task, leaves)
                handles[task] = None
            try:
                if handles[task] is None:
                    handles[task] = world.begin(task, value=task)
                elif world.complete(task, handles[task]):
                    assert world.end(task, handles[task]) == list(range(tasks))
                    handles[task] = None
                    completed[task] += not unruly
            except errors.OpError as error:
                if handles[task] is not None:
                    world.leave(task, error)
                handles[task] = None
        assert min(completed) > 1, f"stuck with the seed {seed}"
        if seed < 10:
            world.replay()


def test_who_waits_hears_that_a_session_was_closed_in_the_middle_of_an_operation() -> None:
    world = World(3)
    handles = [world.begin(task) for task in range(2)]
    world.settle()
    world.leave(0, None)
    world.settle()
    with pytest.raises(errors.AbortedError, match=r"task:0.*closed in the middle of an operation"):
        world.complete(1, handles[1])
