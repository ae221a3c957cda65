"""Protects the threads that run parts: nothing waits for a thread, and those that a burst of work has needed end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from graphflow._core.runtime import threads

LIMIT = 60.0


@pytest.fixture
def pool() -> Iterator[threads.ThreadPool]:
    made = threads.ThreadPool()
    yield made
    made.close()


def names_of(pool: threads.ThreadPool, count: int) -> set[int]:
    """The threads that run so many tasks which all wait for each other."""
    together, found = threading.Barrier(count + 1), set()

    def task() -> None:
        found.add(threading.get_ident())
        together.wait(LIMIT)

    for _ in range(count):
        pool.submit(task)
    together.wait(LIMIT)
    return found


def alive(found: set[int]) -> int:
    return sum(thread.ident in found for thread in threading.enumerate())


def one_by_one(pool: threads.ThreadPool) -> int:
    """The thread that runs a task, when it has become idle again."""
    done, found = threading.Event(), []

    def task() -> None:
        found.append(threading.get_ident())
        done.set()

    pool.submit(task)
    assert done.wait(LIMIT)
    return found[0]


def test_tasks_that_wait_for_each_other_all_run(pool: threads.ThreadPool) -> None:
    assert len(names_of(pool, 20)) == 20


def test_those_of_a_burst_end_though_there_is_always_work(
    pool: threads.ThreadPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "IDLE_THREAD_SECONDS", 0.5)
    burst = names_of(pool, 16)
    deadline = time.monotonic() + LIMIT
    while alive(burst) > 2 and time.monotonic() < deadline:
        one_by_one(pool)
        time.sleep(0.005)
    assert alive(burst) <= 2


def test_what_comes_as_a_thread_ends_is_done(
    pool: threads.ThreadPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "IDLE_THREAD_SECONDS", 0.001)
    for _ in range(300):
        one_by_one(pool)
        time.sleep(0.001)


def test_a_closed_pool_keeps_no_thread(pool: threads.ThreadPool) -> None:
    burst = names_of(pool, 4)
    pool.close()
    deadline = time.monotonic() + LIMIT
    while alive(burst) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(burst)
    one_by_one(pool)  # A step that ends may still hand over its last part.
