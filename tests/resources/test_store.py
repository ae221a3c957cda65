"""Protects the values of variables against runs that overlap, and the threads that parts run on."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import errors
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.threads import ThreadPool

HERE = ("here.py", 1)


def filled(store: ResourceStore, name: str, values: Any, dims: Any = None) -> VariableCell:
    cell = store.variable(name, gf.float32, HERE, dims)
    cell.assign(np.asarray(values, np.float32))
    return cell


def test_alone_a_change_happens_in_place_and_otherwise_in_a_new_buffer() -> None:
    store = ResourceStore()
    cell = filled(store, "v", [1.0, 2.0])
    store.enter()
    buffer = cell.get()
    cell.update(lambda old, out: np.add(old, 1.0, out=out))
    assert cell.get() is buffer and buffer.tolist() == [2.0, 3.0]
    store.enter()  # a second run is active: what it may be reading stays as it is
    cell.update(lambda old, out: np.add(old, 1.0, out=out))
    cell.modify(lambda array: array.__setitem__(0, 9.0))
    VariableCell.change_together([cell], lambda arrays: arrays[0].__setitem__(1, 8.0))
    assert buffer.tolist() == [2.0, 3.0] and cell.get().tolist() == [9.0, 8.0]
    store.leave()
    store.leave()


def test_a_run_waits_until_a_change_in_place_is_done() -> None:
    store = ResourceStore()
    cell = filled(store, "v", [1.0])
    inside, go_on = threading.Event(), threading.Event()
    seen: list[list[float]] = []

    def change(array: Any) -> None:
        inside.set()
        go_on.wait(60)
        array[:] = 2.0

    def read() -> None:
        store.enter()
        seen.append(cell.get().tolist())
        store.leave()

    store.enter()
    writer = threading.Thread(target=lambda: cell.modify(change))
    writer.start()
    inside.wait(60)
    reader = threading.Thread(target=read)
    reader.start()
    reader.join(0.05)
    assert not seen
    go_on.set()
    writer.join()
    reader.join()
    assert seen == [[2.0]]


def test_variables_change_together_from_many_threads_without_a_deadlock() -> None:
    store = ResourceStore()
    a, b = filled(store, "a", [0.0]), filled(store, "b", [0.0])

    def step(arrays: list[Any]) -> None:
        for array in arrays:
            array += 1.0

    def work(cells: list[VariableCell]) -> None:
        for _ in range(200):
            VariableCell.change_together(cells, step)

    threads = [threading.Thread(target=work, args=(cells,)) for cells in ([a, b], [b, a], [a, b])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert a.get().tolist() == b.get().tolist() == [600.0]


def test_an_assignment_checks_the_shape_unless_told_not_to() -> None:
    store = ResourceStore()
    cell = filled(store, "v", [[1.0, 2.0]], (None, 2))
    cell.assign(np.zeros((3, 2), np.float32))
    with pytest.raises(errors.InvalidArgumentError, match=r"'v' has shape \(\?, 2\), the value \(3,\)"):
        cell.assign(np.zeros(3, np.float32))
    cell.assign(np.zeros(3, np.float32), validate_shape=False)
    assert cell.get().shape == (3,)


def test_a_value_is_copied_when_it_is_assigned() -> None:
    store = ResourceStore()
    given = np.ones(3, np.float32)
    cell = filled(store, "v", given)
    given[:] = 7.0
    assert cell.get().tolist() == [1.0] * 3


def test_other_resources_are_made_once() -> None:
    store = ResourceStore()
    assert store.other("random", list) is store.other("random", list)
    assert set(store.others()) == {"random"} and [c.name for c in store.variables()] == []


def test_threads_are_reused_and_never_run_out() -> None:
    pool = ThreadPool()
    gate, done = threading.Event(), threading.Semaphore(0)
    seen: list[int] = []

    def work() -> None:
        seen.append(threading.get_ident())
        done.release()

    def block() -> None:
        done.release()
        gate.wait(60)

    for _ in range(30):  # all of them wait at the same time
        pool.submit(block)
    for _ in range(30):
        assert done.acquire(timeout=60)
    pool.submit(work)
    assert done.acquire(timeout=60)
    gate.set()
    pool.close()
    assert seen and all(t.daemon for t in threading.enumerate() if t.name == "graphflow")


def test_scattering_a_variable_into_itself_reads_it_as_it_was() -> None:
    with gf.Graph().as_default():
        v = gf.Variable([[1.0], [2.0], [3.0]])
        moved = gf.scatter_update(v, [1, 2, 0], v)
        doubled = gf.scatter_add(v, [0, 0, 1], v)
        with gf.Session() as session:
            session.run(v.initializer)
            assert session.run(moved).reshape(-1).tolist() == [3.0, 1.0, 2.0]
            assert session.run(doubled).reshape(-1).tolist() == [7.0, 3.0, 2.0]


def test_who_waits_for_a_change_in_place_has_a_deadline_and_leaves_no_trace() -> None:
    store = ResourceStore()
    store.enter()
    assert store.begin_in_place()
    with pytest.raises(errors.DeadlineExceededError, match="changes variables in place"):
        store.enter(RunContext(store, time.monotonic() + 0.02))
    cancelled = RunContext(store)
    cancelled.cancel()
    with pytest.raises(errors.CancelledError):
        store.enter(cancelled)
    store.end_in_place()
    assert store.begin_in_place()  # the run that has it is the only one
    store.end_in_place()
