"""Protects barriers: what is complete and in which order it leaves, what a closed one refuses, what a run gives back.

The values are those of TensorFlow 1.15.5, and so is what is refused, which some of it finds later.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.ops.distributed.barriers import Barrier
from graphflow._core.resources.queue_config import QueueConfig
from graphflow._core.resources.staged.barriers import Barrier as HeldBarrier
from graphflow._core.resources.store import ResourceStore

FIRST = -(2**63)
CANCELLED = gf.errors.CancelledError
INVALID = gf.errors.InvalidArgumentError


@pytest.fixture
def session() -> Iterator[gf.Session]:
    with gf.Graph().as_default(), gf.Session() as session:
        yield session


def pairs() -> Barrier:
    return Barrier((gf.string, gf.int32), shapes=((), ()))


def test_complete_elements_leave_in_the_order_in_which_their_keys_came(session: gf.Session) -> None:
    barrier = pairs()
    for component, keys, values in (
        (0, ["k1", "k2"], ["a", "b"]),
        (1, ["k1"], [1]),
        (0, ["k3"], ["c"]),
        (1, ["k3"], [3]),
        (1, ["k2"], [2]),
    ):
        session.run(barrier.insert_many(component, keys, values))
    indices, keys, values = session.run(barrier.take_many(2))
    assert indices.tolist() == [FIRST, FIRST] and keys.tolist() == [b"k1", b"k2"]
    assert values[0].tolist() == [b"a", b"b"] and values[1].tolist() == [1, 2]
    assert session.run([barrier.ready_size(), barrier.incomplete_size()]) == [1, 0]
    indices, keys, values = session.run(barrier.take_many(1))
    assert (indices.tolist(), keys.tolist(), values[1].tolist()) == ([FIRST + 1], [b"k3"], [3])


def test_insertions_that_bring_no_key_are_not_counted(session: gf.Session) -> None:
    barrier = pairs()
    for component, key, value in ((0, "a", "x"), (1, "a", 1), (0, "b", "y"), (1, "b", 2)):
        session.run(barrier.insert_many(component, [key], [value]))
    assert session.run(barrier.take_many(2)[0]).tolist() == [FIRST, FIRST + 1]


def test_shapes_are_known_of_what_is_taken(session: gf.Session) -> None:
    barrier = Barrier((gf.float32, gf.int64), shapes=((2,), ()))
    indices, keys, (first, second) = barrier.take_many(3)
    assert [t.shape.as_list() for t in (indices, keys, first, second)] == [[3], [3], [3, 2], [3]]
    indices, _, (first, _) = barrier.take_many(3, allow_small_batch=True)
    assert [t.shape.as_list() for t in (indices, first)] == [[None], [None, 2]]


def test_a_closed_barrier_completes_what_it_has_begun(session: gf.Session) -> None:
    barrier = pairs()
    session.run(barrier.insert_many(0, ["a", "b", "c"], ["x", "y", "z"]))
    session.run(barrier.insert_many(1, ["a"], [1]))
    session.run(barrier.close())
    with pytest.raises(CANCELLED, match="is closed, but attempted to insert a brand new key: b'd'"):
        session.run(barrier.insert_many(0, ["d"], ["w"]))
    with pytest.raises(CANCELLED, match="already closed"):
        session.run(barrier.close())
    assert session.run(barrier.take_many(3, allow_small_batch=True)[1]).tolist() == [b"a"]
    session.run(barrier.insert_many(1, ["b"], [2]))
    with pytest.raises(
        gf.errors.OutOfRangeError, match=r"insufficient elements \(requested 4, total size 2\)"
    ):
        session.run(barrier.take_many(4)[0])
    session.run(barrier.close(cancel_pending_enqueues=True))
    with pytest.raises(CANCELLED, match="is closed"):
        session.run(barrier.insert_many(1, ["c"], [3]))
    assert session.run(barrier.incomplete_size()) == 0
    assert session.run(barrier.take_many(1)[1]).tolist() == [b"b"]


@pytest.mark.parametrize(
    ("component", "keys", "values", "message"),
    [
        (0, ["a"], ["again"], r"Key b'a' already has a value for component 0"),
        (0, ["n", "n"], ["x", "y"], r"Key b'n' already has a value for component 0"),
        (1, ["x"], [[1, 2]], r"Shape mismatch in component 1"),
        (1, ["x"], np.zeros([1, 0], np.int32), "Tensors with no elements are not supported"),
    ],
)
def test_what_does_not_fit_is_refused_whole(
    session: gf.Session, component: int, keys: Any, values: Any, message: str
) -> None:
    barrier = pairs()
    session.run(barrier.insert_many(0, ["a"], ["first"]))
    with pytest.raises(INVALID, match=message):
        session.run(barrier.insert_many(component, keys, values))
    assert session.run([barrier.ready_size(), barrier.incomplete_size()]) == [0, 1]


def test_a_row_is_needed_for_each_key(session: gf.Session) -> None:
    keys = gf.placeholder(gf.string)
    insert = pairs().insert_many(0, keys, ["x"])
    with pytest.raises(INVALID, match=r"There are 2 keys .* values of shape \[1\]"):
        session.run(insert, {keys: ["a", "b"]})


def test_what_cannot_be_is_refused_where_it_is_written(session: gf.Session) -> None:
    with pytest.raises(ValueError, match=r"received shape '\(0,\)' at index 1"):
        Barrier((gf.float32, gf.float32), shapes=((1,), (0,)))
    with pytest.raises(ValueError, match=r"Dimension 0 .* shapes \(2,\) and \(1,\)"):
        pairs().insert_many(0, ["a", "b"], ["x"])
    with pytest.raises(ValueError, match="2 types and 1 shapes"):
        Barrier((gf.float32, gf.float32), shapes=((1,),))
    with pytest.raises(ValueError, match=r"component_index = 2 is not in \[0, 2\)"):
        pairs().insert_many(2, ["a"], [1])


def test_barriers_of_one_shared_name_are_one_and_must_agree(session: gf.Session) -> None:
    first, second = (Barrier(gf.int32, shapes=(), shared_name="s", name=name) for name in ("one", "two"))
    session.run(first.insert_many(0, ["a"], [7]))
    assert session.run(second.take_many(1)[2][0]).tolist() == [7]
    with pytest.raises(INVALID, match="shared barrier 's' has component types"):
        session.run(Barrier(gf.float32, shapes=(), shared_name="s").ready_size())


def test_elements_of_different_shapes_are_not_put_together(session: gf.Session) -> None:
    barrier = Barrier(gf.int32)
    session.run(barrier.insert_many(0, ["a"], [[1, 2]]))
    session.run(barrier.insert_many(0, ["b"], [[1, 2, 3]]))
    with pytest.raises(INVALID, match=r"has shapes \[\[2\], \[3\]\]"):
        session.run(barrier.take_many(2)[2])


def test_a_run_waits_for_what_others_complete(session: gf.Session) -> None:
    barrier = pairs()
    take = barrier.take_many(2)
    insert = [barrier.insert_many(0, ["a", "b"], ["x", "y"]), barrier.insert_many(1, ["a", "b"], [1, 2])]
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(session.run(take)))
    thread.start()
    for operation in insert:
        session.run(operation)
    thread.join(60)
    assert found[0][1].tolist() == [b"a", b"b"]


def test_a_run_that_is_given_up_puts_its_elements_back() -> None:
    store = ResourceStore()
    run = StepContext(store, (1, 1), lambda context: None)
    held = HeldBarrier("b", QueueConfig("Barrier", (as_dtype("int32"),), ((),), -1))
    held.insert(run, 0, [b"a", b"b", b"c"], np.array([1, 2, 3], np.int32))
    taker = StepContext(store, (1, 2), lambda context: None)
    assert [element.key for element in held.take(taker, 2, False)] == [b"a", b"b"]
    taker.end(True)
    assert held.ready_size == 3
    assert [element.key for element in held.take(run, 3, False)] == [b"a", b"b", b"c"]
    store.close()
