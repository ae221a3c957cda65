"""Protects staging areas: order, keys, parts, room by number and by bytes, what is refused, what a run gives back.

The values are those of TensorFlow 1.15.5, where they are not left open there: what is staged is a copy here, and the
first key of a map that is not ordered is that which came first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.resources.staged.areas import Bounds, StagingBuffer, StagingMap
from graphflow._core.resources.store import ResourceStore
from graphflow.contrib.staging import StagingArea
from graphflow.contrib.staging.map_area import MapStagingArea

INVALID = gf.errors.InvalidArgumentError


@pytest.fixture
def session() -> Iterator[gf.Session]:
    with gf.Graph().as_default(), gf.Session() as session:
        yield session


def numbers(count: int) -> Any:
    return np.arange(count, dtype=np.uint8)


def waits(session: gf.Session, operation: Any, feeds: Any = None) -> None:
    """Asserts that an operation waits, and gives up."""
    with pytest.raises(gf.errors.DeadlineExceededError):
        session.run(operation, feeds, gf.RunOptions(timeout_in_ms=200))


# ---- in order ----------------------------------------------------------------------------------------------------


def test_what_was_put_first_is_taken_first_and_a_peek_leaves_it(session: gf.Session) -> None:
    value = gf.placeholder(gf.int32, [])
    area = StagingArea([gf.int32], shapes=[[]])
    put, size, first, third = area.put([value]), area.size(), area.get(), area.peek(2)
    for number in range(3):
        session.run(put, {value: number})
    assert session.run(third) == [2] and session.run(size) == 3
    assert [session.run(first) for _ in range(3)] == [[0], [1], [2]]
    session.run(put, {value: 9})
    session.run(area.clear())
    assert session.run(size) == 0
    waits(session, first)


def test_a_memory_limit_bounds_the_bytes_that_wait(session: gf.Session) -> None:
    value = gf.placeholder(gf.uint8)
    area = StagingArea([gf.uint8], memory_limit=500)
    put, get = area.put([value]), area.get()
    for _ in range(2):
        session.run(put, {value: numbers(200)})
    waits(session, put, {value: numbers(200)})
    assert session.run(area.size()) == 2
    session.run(get)
    session.run(put, {value: numbers(200)})
    with pytest.raises(gf.errors.ResourceExhaustedError, match=r"501 bytes .* memory limit of 500 bytes"):
        session.run(put, {value: numbers(501)})


def test_a_capacity_bounds_the_elements_that_wait(session: gf.Session) -> None:
    area = StagingArea([gf.int32], capacity=1)
    put, get = area.put([gf.constant(1)]), area.get()
    session.run(put)
    waits(session, put)
    thread = threading.Thread(target=lambda: session.run(put))
    thread.start()
    session.run(get)
    thread.join(60)
    assert session.run(area.size()) == 1


def test_areas_of_one_shared_name_are_one(session: gf.Session) -> None:
    first, second = StagingArea([gf.int32], shared_name="s"), StagingArea([gf.int32], shared_name="s")
    session.run(first.put([gf.constant(4)]))
    assert session.run(second.get()) == [4]
    assert (first.name, StagingArea([gf.int32]).name) == ("s", "StagingArea")


def test_what_is_staged_is_a_copy(session: gf.Session) -> None:
    variable = gf.Variable([1.0, 2.0])
    area = StagingArea([gf.float32])
    session.run(variable.initializer)
    session.run(area.put([variable.value()]))
    session.run(variable.assign([5.0, 6.0]))
    assert session.run(area.get())[0].tolist() == [1.0, 2.0]


def test_the_operations_are_where_the_area_was_made(session: gf.Session) -> None:
    with gf.device("/cpu:0"):
        area = StagingArea([gf.int32])
    with gf.device("/cpu:1"):
        put, (got,) = area.put([gf.constant(1)]), area.get()
    assert put.device.endswith("CPU:0") and got.device.endswith("CPU:1") and got.op.type == "Identity"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StagingArea([gf.int32], shapes=[[], []]), "shapes must be the same length as dtypes"),
        (lambda: StagingArea([gf.int32], names=["a", "b"]), "names must be the same length as dtypes"),
        (lambda: StagingArea([gf.int32], memory_limit=-1), "memory_limit must be >= 0"),
        (lambda: StagingArea([gf.int32]).put([gf.constant(1.0)]), "Datatypes do not match"),
        (lambda: StagingArea([gf.int32], [[2]]).put([gf.constant(1)]), "incompatible"),
        (lambda: StagingArea([gf.int32]).put({"a": gf.constant(1)}), "must have names"),
        (lambda: StagingArea([gf.int32], names=["a"]).put([gf.constant(1)]), "must enqueue a dictionary"),
        (lambda: StagingArea([gf.int32], names=["a"]).put({"b": gf.constant(1)}), "do not match names"),
        (lambda: MapStagingArea([gf.int32]).put(1, [gf.constant(1)]), "Indices must be supplied"),
        (lambda: MapStagingArea([gf.int32]).put(1, [gf.constant(1)], [0, 1]), "Number of indices '2'"),
        (lambda: MapStagingArea([gf.int32]).get(1, []), "Empty indices"),
        (lambda: MapStagingArea([gf.int32]).get(1, ["a"]), "not created with names"),
        (lambda: MapStagingArea([gf.int32], names=["a"]).get(1, ["b"]), "'b' not in"),
    ],
)
def test_what_does_not_fit_is_refused_where_it_is_written(make: Any, message: str) -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match=message):
        make()


# ---- under keys ------------------------------------------------------------------------------------------------------


def test_an_element_comes_and_goes_in_parts(session: gf.Session) -> None:
    area = MapStagingArea([gf.float32, gf.int32], names=["x", "n"])
    sizes = [area.size(), area.incomplete_size()]
    session.run(area.put(5, {"x": gf.constant(1.5)}))
    assert session.run(sizes) == [0, 1]
    session.run(area.put(5, {"n": gf.constant(2)}))
    assert session.run(sizes) == [1, 0]
    assert session.run(area.peek(5)) == {"x": 1.5, "n": 2}
    key, part = area.get(5, ["x"])
    assert key == 5 and session.run(part) == {"x": 1.5}
    with pytest.raises(INVALID, match="Tensor at index '0' for key '5' has already been removed"):
        session.run(part)
    assert session.run(area.get(indices=["n"])) == (5, {"n": 2})
    assert session.run(sizes) == [0, 0]


@pytest.mark.parametrize(("ordered", "keys"), [(True, [1, 2, 3]), (False, [3, 1, 2])])
def test_the_first_key_is_the_smallest_or_the_one_that_came_first(
    session: gf.Session, ordered: bool, keys: list[int]
) -> None:
    area = MapStagingArea([gf.int32], ordered=ordered)
    for key in (3, 1, 2):
        session.run(area.put(key, [gf.constant(10 * key)], [0]))
    get = area.get()
    assert [session.run(get) for _ in range(3)] == [(key, [10 * key]) for key in keys]


def test_what_lies_under_a_key_stays_and_a_part_comes_once(session: gf.Session) -> None:
    area = MapStagingArea([gf.int32, gf.int32])
    for value in (1, 2):
        session.run(area.put(1, [gf.constant(value)] * 2, [0, 1]))
    assert session.run(area.get(1)[1]) == [1, 1]
    session.run(area.put(2, [gf.constant(3)], [0]))
    with pytest.raises(INVALID, match="index '0' for key '2' was already initialized"):
        session.run(area.put(2, [gf.constant(3)], [0]))
    with pytest.raises(INVALID, match="Indices are not strictly ordered"):
        session.run(area.put(3, [gf.constant(3)] * 2, [1, 0]))


def test_incomplete_elements_count_by_bytes_and_not_by_number(session: gf.Session) -> None:
    value = gf.placeholder(gf.uint8)
    area = MapStagingArea([gf.uint8, gf.uint8], capacity=1, memory_limit=500)
    for key in range(2):
        session.run(area.put(key, [value], [0]), {value: numbers(200)})
    waits(session, area.put(2, [value], [0]), {value: numbers(200)})
    session.run(area.put(0, [value], [1]), {value: numbers(10)})
    waits(session, area.put(1, [value], [1]), {value: numbers(10)})
    session.run(area.clear())
    assert session.run([area.size(), area.incomplete_size()]) == [0, 0]
    waits(session, area.get(0)[1])


# ---- runs that are given up ------------------------------------------------------------------------------------------


def test_runs_that_are_given_up_put_back_what_they_took() -> None:
    store = ResourceStore()

    def step(number: int) -> StepContext:
        return StepContext(store, (1, number), lambda context: None)

    buffer, by_key = StagingBuffer("b", Bounds(0, 0)), StagingMap("m", Bounds(0, 0), False)
    for number in range(3):
        buffer.put(step(1), [np.array(number)])
        by_key.put(step(1), number, {0: np.array(number), 1: np.array(-number)}, 2)
    run = step(2)
    buffer.take(run)
    by_key.take(run, None, [0])
    by_key.take(run, None, [1])
    run.end(True)
    assert [int(buffer.take(step(3))[0]) for _ in range(3)] == [0, 1, 2]
    assert [by_key.take(step(3), None, [0, 1])[0] for _ in range(3)] == [0, 1, 2]
    store.close()
