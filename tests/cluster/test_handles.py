"""Protects branches and loops that use queues, iterators and arrays of another task: they run in that task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.cluster.serving import serve_all, spec_of

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def session() -> Iterator[Any]:
    """A session with the worker; the graph is built later, and is its graph."""
    with ExitStack() as stack, gf.Graph().as_default():
        target = serve_all(stack, spec_of(stack, ps=1, worker=1))[-1].target
        yield stack.enter_context(gf.Session(target, config=gf.ConfigProto(operation_timeout_in_ms=60_000)))


def _summed(read: Callable[[Any], Any], zero: Any) -> Any:
    return gf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + read(i)), [0, zero])[1]


def _array() -> Any:
    return gf.TensorArray(gf.float32, 3, clear_after_read=False).unstack([1.0, 2.0, 4.0])


@pytest.mark.parametrize("places", [(PS, WORKER), (WORKER, PS)])
@pytest.mark.parametrize("nested", [False, True])
def test_a_loop_reads_an_array_of_another_task(session: Any, places: tuple[str, str], nested: bool) -> None:
    with gf.device(places[0]):
        array = _array()
    with gf.device(places[1]):
        if nested:
            total = _summed(lambda i: _summed(array.read, 0.0), 0.0)
        else:
            total = _summed(array.read, 0.0)
    assert session.run(total) == (21.0 if nested else 7.0)


@pytest.mark.parametrize("places", [(PS, WORKER), (WORKER, PS)])
def test_an_array_and_its_gradients_are_in_one_task(session: Any, places: tuple[str, str]) -> None:
    with gf.device(places[0]):
        x = gf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        array = gf.TensorArray(gf.float32, 3).unstack(x)
    with gf.device(places[1]):
        total = _summed(lambda i: gf.reduce_sum(gf.square(array.read(i))), 0.0)
    with gf.device(places[0]):
        (gradient,) = gf.gradients(total * 0.5, x)
    np.testing.assert_allclose(session.run(gradient), [[1, 2], [3, 4], [5, 6]])


def test_a_loop_with_an_array_goes_to_the_variable_that_it_changes(session: Any) -> None:
    with gf.device(PS):
        v = gf.get_variable("v", [], initializer=gf.zeros_initializer())
    with gf.device(WORKER):
        array = _array()

        def body(i: Any) -> Any:
            with gf.control_dependencies([v.assign_add(array.read(i))]):
                return i + 1

        end = gf.while_loop(lambda i: i < 3, body, [0])
    session.run(v.initializer)
    session.run(end)
    assert session.run(v) == 7.0


def test_loops_with_one_array_that_change_variables_of_two_tasks_are_refused(session: Any) -> None:
    with gf.device(WORKER):
        array = _array()
    ends = []
    for place in (PS, WORKER):
        with gf.device(place):
            v = gf.get_variable(f"in_{place[5:7]}", [], initializer=gf.zeros_initializer())
        ends.append(_summed(lambda i, v=v: v.assign_add(array.read(i)), 0.0))
    with pytest.raises(gf.errors.InvalidArgumentError, match=r"in_ps:0 on /job:ps.*Put them on one task"):
        session.run(ends)


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_takes_from_the_queue_that_all_clients_share(session: Any, taken: bool) -> None:
    queue = gf.FIFOQueue(10, [gf.float32], shapes=[[]])
    with gf.device(WORKER):
        predicate = gf.placeholder(gf.bool, [])
        value = gf.cond(predicate, queue.dequeue, lambda: 5.0)
    session.run(queue.enqueue_many([[1.0, 2.0]]))
    assert session.run(value, {predicate: taken}) == (1.0 if taken else 5.0)
    assert session.run(queue.size()) == (1 if taken else 2)


@pytest.mark.parametrize("place", [PS, WORKER])
def test_a_loop_takes_elements_of_an_iterator_where_that_is(session: Any, place: str) -> None:
    with gf.device(place):
        iterator = gf.data.Dataset.range(10).make_initializable_iterator()
    with gf.device(WORKER if place == PS else PS):
        total = _summed(lambda i: iterator.get_next(), gf.constant(0, gf.int64))
    session.run(iterator.initializer)
    assert [session.run(total) for _ in range(3)] == [3, 12, 21]


def test_an_iterator_is_not_moved_by_the_branch_that_uses_it(session: Any) -> None:
    """Its initializer knows nothing of the branch, and makes it where the session is."""
    iterator = gf.data.Dataset.range(10).make_initializable_iterator()
    with gf.device(PS):
        predicate = gf.placeholder(gf.bool, [])
        value = gf.cond(predicate, iterator.get_next, lambda: gf.constant(-1, gf.int64))
    session.run(iterator.initializer)
    assert [session.run(value, {predicate: p}) for p in (True, False, True)] == [0, -1, 1]
