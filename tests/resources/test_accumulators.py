"""Protects accumulators: what counts and what came too late, who waits for what, what a run gives back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.resources.accumulators import (
    Accumulator,
    AccumulatorConfig,
    DenseAccumulator,
    SparseAccumulator,
)
from graphflow._core.resources.store import ResourceStore
from graphflow.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from tests.cluster.serving import serve_all, spec_of

LIMIT = 60.0
FLOAT = as_dtype("float32")


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as made:
        yield made


@pytest.fixture
def store() -> Iterator[ResourceStore]:
    made = ResourceStore()
    yield made
    made.close()


def step(store: ResourceStore) -> StepContext:
    return StepContext(store, (1, 1), lambda context: None)


def dense(mean: bool = True) -> DenseAccumulator:
    return DenseAccumulator("a", AccumulatorConfig("ConditionalAccumulator", FLOAT, None, mean))


def sparse() -> SparseAccumulator:
    return SparseAccumulator("a", AccumulatorConfig("SparseConditionalAccumulator", FLOAT, (None, 2), True))


def of(*values: float) -> tuple[Any, ...]:
    return (np.array(values, np.float32),)


def test_a_run_that_is_given_up_puts_its_gradients_back(store: ResourceStore) -> None:
    accumulator, run = dense(), step(store)
    accumulator.apply(step(store), 0, of(1.0, 3.0))
    accumulator.apply(step(store), 0, of(3.0, 5.0))
    np.testing.assert_array_equal(accumulator.take(run, 2), [2.0, 4.0])
    accumulator.apply(step(store), 1, of(5.0, 7.0))
    run.end(True)
    assert accumulator.count == 3
    np.testing.assert_array_equal(accumulator.take(step(store), 3), [3.0, 5.0])
    assert accumulator.count == 0


def test_a_run_that_has_used_its_gradients_puts_nothing_back(store: ResourceStore) -> None:
    accumulator, run = dense(), step(store)
    accumulator.apply(step(store), 0, of(1.0))
    accumulator.take(run, 1)
    run.begin_change()
    run.end(True)
    assert accumulator.count == 0


def test_a_run_that_is_over_takes_nothing(store: ResourceStore) -> None:
    accumulator, run = dense(), step(store)
    accumulator.apply(step(store), 0, of(1.0))
    run.end(True)
    with pytest.raises(CancelledError):
        accumulator.take(run, 1)
    with pytest.raises(CancelledError):
        accumulator.apply(run, 0, of(1.0))
    assert accumulator.count == 1


@pytest.mark.parametrize("make", [dense, sparse])
def test_a_state_is_restored(store: ResourceStore, make: Callable[[], Accumulator[Any]]) -> None:
    gradient = (np.array([3, 1]), np.array([[1, 2], [3, 4]], np.float32)) if make is sparse else of(1.0, 2.0)
    first, second = make(), make()
    first.set_step(step(store), 5)
    first.apply(step(store), 5, gradient)
    second.set_state(first.get_state())
    for accumulator in (first, second):
        accumulator.apply(step(store), 4, gradient)
        accumulator.apply(step(store), 5, gradient)
    assert first.count == second.count == 2
    for one, other in zip(first.take(step(store), 2), second.take(step(store), 2), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="is not one of"):
        first.set_state({"count": np.array(1)})


def test_rows_are_added_by_index_and_each_is_the_mean_of_those_that_have_it(store: ResourceStore) -> None:
    accumulator = sparse()
    rows = np.array([[1, 1], [2, 2], [4, 4]], np.float32)
    accumulator.apply(step(store), 0, (np.array([7, 2, 7]), rows))
    accumulator.apply(step(store), 0, (np.array([7]), rows[:1]))
    indices, values, dims = accumulator.take(step(store), 2)
    assert indices.tolist() == [2, 7] and dims.tolist() == [-1, 2]
    assert values.tolist() == [[2, 2], [3, 3]]


def test_who_waits_says_what_has_come() -> None:
    accumulator = gf.ConditionalAccumulator(gf.float32, [], name="loss")
    late, mine, take = accumulator.apply_grad(1.0), accumulator.apply_grad(2.0, 3), accumulator.take_grad(2)
    with gf.Session() as session:
        session.run(accumulator.set_global_step(3))
        session.run([late, mine])
        session.run(late)
        with pytest.raises(DeadlineExceededError) as found:
            session.run(take, options=gf.RunOptions(timeout_in_ms=100))
        assert "ConditionalAccumulator 'loss': 1 of 2 have been applied for step 3; 2 came too late" in str(
            found.value
        )
        assert session.run(accumulator.num_accumulated()) == 1


def test_workers_apply_to_a_parameter_server_and_the_chief_takes() -> None:
    with ExitStack() as stack:
        servers = serve_all(stack, spec_of(stack, ps=1, worker=2))
        with gf.device("/job:ps/task:0"):
            accumulator = gf.ConditionalAccumulator(gf.float32, [2], shared_name="g")
            rows = gf.SparseConditionalAccumulator(gf.float32, [None, 1], shared_name="r")
        adds = []
        for index in range(2):
            with gf.device(f"/job:worker/task:{index}"):
                value = gf.constant([1.0, 2.0]) * float(index + 1)
                slices = gf.IndexedSlices(gf.constant([[4.0]]), gf.constant([index]))
                adds.append([accumulator.apply_grad(value), rows.apply_indexed_slices_grad(slices)])
        with gf.device("/job:worker/task:0"):
            taken = [accumulator.take_grad(20) * 1.0, rows.take_indexed_slices_grad(20).values]
        count = accumulator.num_accumulated()
        config = gf.ConfigProto(operation_timeout_in_ms=60_000)
        sessions = [stack.enter_context(gf.Session(s.target, config=config)) for s in servers[1:]]
        found: list[Any] = []
        chief = threading.Thread(target=lambda: found.extend(sessions[0].run(taken)), daemon=True)
        chief.start()
        workers = [
            threading.Thread(target=lambda w=w: [sessions[w].run(adds[w]) for _ in range(10)], daemon=True)
            for w in range(2)
        ]
        for thread in workers:
            thread.start()
        for thread in (*workers, chief):
            thread.join(LIMIT)
        np.testing.assert_array_equal(found[0], [1.5, 3.0])
        np.testing.assert_array_equal(found[1], [[4.0], [4.0]])
        assert sessions[1].run(count) == 0


def test_one_name_is_of_one_kind() -> None:
    first = gf.ConditionalAccumulator(gf.float32, [], shared_name="a")
    second = gf.ConditionalAccumulator(gf.float32, [], shared_name="a", reduction_type="SUM")
    with gf.Session() as session:
        session.run(first.apply_grad(1.0))
        with pytest.raises(InvalidArgumentError, match="Use another shared_name"):
            session.run(second.apply_grad(1.0))
