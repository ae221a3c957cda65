"""Protects the places to which queues, iterators and readers take elements back of steps that end before their time."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.plan.ir import Origin
from graphflow._core.resources import readers
from graphflow._core.resources.datasets.base import Context, DatasetBase, Element, Elements
from graphflow._core.resources.datasets.batching import BatchDataset
from graphflow._core.resources.datasets.iterators import IteratorResource
from graphflow._core.resources.datasets.sources import RangeTable, TableDataset
from graphflow._core.resources.datasets.states import State
from graphflow._core.resources.datasets.threads import PrefetchDataset
from graphflow._core.resources.datasets.transforms import ZipDataset
from graphflow._core.resources.queue_config import QueueConfig
from graphflow._core.resources.queue_kinds import KINDS
from graphflow._core.resources.queues import Queue
from graphflow._core.resources.readers import Reader
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.threads import ThreadPool
from graphflow.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from tests.cluster.giving_up import until

ORDERS = list(itertools.permutations(range(3)))
ORIGIN = Origin("d", "Dataset", ("model.py", 1))


@pytest.fixture
def store() -> Iterator[ResourceStore]:
    made = ResourceStore()
    yield made
    made.close()


def step(store: ResourceStore) -> StepContext:
    return StepContext(store, (1, 1), lambda context: None)


def fifo(*elements: Any, capacity: int = 100, kind: str = "int64") -> Queue:
    queue = KINDS["FIFOQueue"]("q", QueueConfig("FIFOQueue", (as_dtype(kind),), ((),), capacity))
    given: Any = step(ResourceStore())
    queue.enqueue(given, [(element,) for element in elements])
    return queue


def in_the_background(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Does it in a thread; its result, or error, is in the list."""
    found: list[Any] = []

    def do() -> None:
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    return thread, found


# ---- what is the same of all of them --------------------------------------------------------------------------------


class Source:
    """A queue, an iterator or a reader with the numbers up to `count`."""

    def __init__(self, kind: str, store: ResourceStore, folder: Path, count: int) -> None:
        self.kind = kind
        self.store = store
        self.made: Any
        if kind == "queue":
            self.made = fifo(*map(np.int64, range(count)))
        elif kind == "iterator":
            table = TableDataset(ORIGIN, RangeTable(0, 1, count))
            self.made = IteratorResource(ORIGIN, store, lambda name: table)
        else:
            paths = [folder / f"{kind}{k}" for k in range(3)]
            for k, path in enumerate(paths):
                path.write_text("".join(f"{n}\n" for n in range(count) if n * 3 // count == k))
            self.names = fifo(*(np.array(str(path).encode(), object) for path in paths), kind="string")
            self.names.close(step(store), False)
            self.made = Reader(kind, readers.lines(0))

    def take(self, run: Any, most: int) -> list[int]:
        if self.kind == "queue":
            return [int(e[0]) for e in self.made.dequeue(run, most, True)]
        if self.kind == "iterator":
            return [int(self.made.get_next(run)[0]) for _ in range(most)]
        return [int(value) for _, value in self.made.read(run, self.names, most)]

    def rest(self) -> list[int]:
        found: list[int] = []
        if self.kind == "queue":
            return self.take(step(self.store), self.made.size)
        while True:
            try:
                found += self.take(step(self.store), 1)
            except OutOfRangeError:
                return found


@pytest.fixture(params=["queue", "iterator", "reader"])
def source(request: pytest.FixtureRequest, store: ResourceStore, tmp_path: Path) -> Source:
    return Source(request.param, store, tmp_path, 12)


@pytest.mark.parametrize("order", ORDERS)
def test_elements_go_back_to_the_places_that_they_had(source: Source, order: tuple[int, ...]) -> None:
    steps = [step(source.store) for _ in range(3)]
    first = source.take(steps[0], 2) + source.take(steps[1], 1) + source.take(steps[2], 3)
    assert first == [*range(len(first))] and len(first) > 3
    kept = source.take(step(source.store), 1)
    for which in order[:2]:
        steps[which].end(True)
    last = steps[order[2]]
    assert (again := source.take(last, 1)) == [min(n for n in range(12) if n not in kept + _held(order[2]))]
    last.end(True)
    assert sorted(source.rest() + kept) == [*range(12)]
    assert again[0] not in kept


def _held(which: int) -> list[int]:
    """What the step had taken before."""
    return [[0, 1], [2], [3, 4, 5]][which]


def test_what_came_back_comes_in_order(source: Source) -> None:
    first, second = step(source.store), step(source.store)
    source.take(first, 2)
    source.take(second, 1)
    second.end(True)
    first.end(True)
    assert source.rest() == [*range(12)]


def test_what_a_step_has_used_does_not_go_back(source: Source) -> None:
    run = step(source.store)
    taken = source.take(run, 1)
    run.begin_change()
    run.end(True)
    assert taken + source.rest() == [*range(12)]


def test_a_step_that_is_over_takes_nothing_and_changes_nothing(source: Source) -> None:
    run = step(source.store)
    run.end(True)
    for _ in range(2):
        with pytest.raises(CancelledError):
            source.take(run, 1)
    with pytest.raises(CancelledError):
        run.begin_change()
    assert source.rest() == [*range(12)]


def test_a_checkpoint_holds_what_has_come_back(source: Source, tmp_path: Path) -> None:
    run = step(source.store)
    taken = source.take(run, 2) + source.take(run, 1)
    assert taken == [0, 1, 2]
    run.end(True)
    state = source.made.get_state()
    restored = Source(source.kind, source.store, tmp_path, 12)
    restored.rest()
    restored.made.set_state(state)
    if source.kind == "reader":
        restored.names = source.names
    assert restored.rest() == [*range(12)]


def test_what_is_taken_before_a_restore_does_not_come_back_after_it(source: Source) -> None:
    state = source.made.get_state()
    if source.kind == "reader":
        source.take(step(source.store), 1)
        state = source.made.get_state()
    run = step(source.store)
    taken = source.take(run, 1)
    source.made.set_state(state)
    run.end(True)
    assert source.rest() == [*range(taken[0], 12)]


# ---- queues ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
def test_an_element_is_in_one_of_two_queues(store: ResourceStore, full: bool) -> None:
    source, target = fifo(np.int64(7)), fifo(*[np.int64(1)] * full, capacity=1)
    run: Any = step(store)

    def move() -> None:
        target.enqueue(run, source.dequeue(run, 1))

    thread, found = in_the_background(move)
    until(lambda: bool(target.get_state()["waiting"]) if full else not thread.is_alive())
    run.end(True)
    thread.join()
    assert isinstance(found[0], CancelledError) == full
    assert (source.size, target.size) == (int(full), 1)
    assert [int(e[0]) for e in (source if full else target).dequeue(step(store), 1)] == [7]


# ---- iterators ------------------------------------------------------------------------------------------------------


class _Slow(DatasetBase):
    """Numbers of which each but the first comes when it is let."""

    def __init__(self) -> None:
        super().__init__(ORIGIN)
        self.let = threading.Semaphore(1)
        self.asked = 0

    def walk(self, context: Context) -> Elements:
        return _SlowElements(self)


class _SlowElements(Elements):
    fresh = True

    def __init__(self, dataset: _Slow) -> None:
        self._dataset = dataset
        self._given = -1

    def next(self, run: Any) -> Element | None:
        self._dataset.asked += 1
        assert self._dataset.let.acquire(timeout=60)
        self._given += 1
        return (np.int64(self._given),) if self._given < 12 else None

    def get_state(self) -> State:
        return {}

    def set_state(self, state: Any) -> None:
        pass


def _waiting(kind: str) -> tuple[_Slow, DatasetBase]:
    """A dataset that waits for a thread, and what keeps that up."""
    slow = _Slow()
    ahead = PrefetchDataset(ORIGIN, slow, 1)
    if kind == "zip":
        return slow, ZipDataset(ORIGIN, [TableDataset(ORIGIN, RangeTable(0, 1, 12)), ahead])
    return slow, BatchDataset(ORIGIN, ahead, 2, False) if kind == "batch" else ahead


@pytest.mark.parametrize("kind", ["zip", "batch", "alone"])
def test_a_walk_that_is_given_up_while_it_waits_loses_nothing(store: ResourceStore, kind: str) -> None:
    slow, dataset = _waiting(kind)
    iterator = IteratorResource(ORIGIN, store, lambda name: dataset)
    got: list[int] = []
    if kind != "batch":
        got += [int(n) for n in iterator.get_next(step(store))]
    run = step(store)
    thread, found = in_the_background(lambda: iterator.get_next(run))
    until(lambda: slow.asked >= 2 and bool(store.waiting()))
    run.end(True)
    if kind == "alone":  # Nothing is lost by ending it at once.
        thread.join(100)
    for _ in range(12):
        slow.let.release()
    thread.join(100)
    assert isinstance(found[0], CancelledError)
    while True:
        try:
            got += [int(n) for value in iterator.get_next(step(store)) for n in np.ravel(value)]
        except OutOfRangeError:
            break
    assert got == [n for n in range(12) for _ in range(2 if kind == "zip" else 1)]


@pytest.mark.parametrize("kind", ["zip", "batch", "alone"])
def test_a_run_of_a_program_that_ends_in_time_leaves_nothing_half_taken(
    store: ResourceStore, kind: str
) -> None:
    slow, dataset = _waiting(kind)
    pool = ThreadPool()
    store.planner = SimpleNamespace(threads=lambda: pool)
    iterator = IteratorResource(ORIGIN, store, lambda name: dataset)
    got: list[int] = []
    if kind != "batch":
        got += [int(n) for n in iterator.get_next(RunContext(store, time.monotonic() + 60))]
    for _ in range(2):
        with pytest.raises(DeadlineExceededError):
            iterator.get_next(RunContext(store, time.monotonic() + 0.2))
    for _ in range(12):
        slow.let.release()
    while True:
        try:
            found = iterator.get_next(RunContext(store, time.monotonic() + 60))
        except OutOfRangeError:
            break
        got += [int(n) for value in found for n in np.ravel(value)]
    assert got == [n for n in range(12) for _ in range(2 if kind == "zip" else 1)]
    assert iterator._lock.acquire(timeout=60) and not store.waiting()
    pool.close()


def test_an_iterator_begins_anew_while_a_walk_that_was_given_up_waits(store: ResourceStore) -> None:
    _, dataset = _waiting("zip")
    iterator = IteratorResource(ORIGIN, store, lambda name: dataset)
    iterator.get_next(step(store))
    run = step(store)
    thread, found = in_the_background(lambda: iterator.get_next(run))
    until(lambda: bool(store.waiting()))
    run.end(True)
    began = time.monotonic()
    iterator.initialize(TableDataset(ORIGIN, RangeTable(100, 1, 2)), step(store))
    assert time.monotonic() - began < 30
    thread.join(100)
    assert isinstance(found[0], CancelledError)
    assert [int(iterator.get_next(step(store))[0]) for _ in range(2)] == [100, 101]


def test_what_was_taken_before_an_iterator_began_anew_does_not_come_back(store: ResourceStore) -> None:
    dataset = TableDataset(ORIGIN, RangeTable(0, 1, 2))
    iterator = IteratorResource(ORIGIN, store, lambda name: dataset)
    back, later = step(store), step(store)
    iterator.get_next(back)
    iterator.get_next(later)
    back.end(True)
    iterator.initialize(dataset, step(store))
    later.end(True)
    assert [int(iterator.get_next(step(store))[0]) for _ in range(2)] == [0, 1]
    with pytest.raises(OutOfRangeError):
        iterator.get_next(step(store))


def test_the_last_element_comes_back_after_the_end(store: ResourceStore) -> None:
    dataset = TableDataset(ORIGIN, RangeTable(0, 1, 2))
    iterator = IteratorResource(ORIGIN, store, lambda name: dataset)
    iterator.get_next(step(store))
    last = step(store)
    iterator.get_next(last)
    with pytest.raises(OutOfRangeError):
        iterator.get_next(step(store))
    last.end(True)
    again = IteratorResource(ORIGIN, store, lambda name: dataset)
    again.set_state(iterator.get_state())
    again.initialize(dataset, step(store))  # As the program does that goes on from the checkpoint.
    for made in (iterator, again):
        assert int(made.get_next(step(store))[0]) == 1
        with pytest.raises(OutOfRangeError):
            made.get_next(step(store))


# ---- readers --------------------------------------------------------------------------------------------------------


def test_who_waits_for_a_file_gets_the_record_that_comes_back(store: ResourceStore, tmp_path: Path) -> None:
    source = Source("reader", store, tmp_path, 12)
    source.names = fifo(np.array(str(tmp_path / "reader0").encode(), object), kind="string")
    run, other = step(store), step(store)
    assert source.take(run, 9) == [0, 1, 2, 3]
    thread, found = in_the_background(lambda: source.take(other, 9))
    until(lambda: bool(store.waiting()))
    run.end(True)
    thread.join(100)
    assert found == [[0, 1, 2, 3]]


def test_records_of_two_files_do_not_come_together(store: ResourceStore, tmp_path: Path) -> None:
    source = Source("reader", store, tmp_path, 12)
    run = step(store)
    taken = [source.take(run, 9) for _ in range(2)]
    assert taken == [[0, 1, 2, 3], [4, 5, 6, 7]]
    run.end(True)
    assert source.made.produced == 0
    assert [source.take(step(store), n) for n in (3, 9, 9, 9)] == [[0, 1, 2], [3], taken[1], [8, 9, 10, 11]]
    assert source.made.produced == 12


def test_a_reader_that_begins_again_takes_nothing_back(store: ResourceStore, tmp_path: Path) -> None:
    source = Source("reader", store, tmp_path, 12)
    back, later = step(store), step(store)
    source.take(back, 1)
    source.take(later, 1)
    back.end(True)
    source.made.reset()
    later.end(True)
    assert source.rest() == [*range(4, 12)]
    assert source.made.produced == 8
