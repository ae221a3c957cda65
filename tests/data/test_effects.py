"""What functions of datasets do, and not only give: writes of variables, checks and calls that nobody asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphflow as gf

Dataset = gf.data.Dataset


def _iterated(dataset: gf.data.Dataset, *first: Any) -> tuple[gf.Session, Any]:
    iterator = dataset.make_initializable_iterator()
    session = gf.Session()
    session.run([gf.global_variables_initializer(), *first])
    session.run(iterator.initializer)
    return session, iterator.get_next()


def test_a_function_changes_a_variable_with_each_element() -> None:
    with gf.Graph().as_default():
        counter = gf.Variable(0, name="counter")

        def count(x: gf.Tensor) -> gf.Tensor:
            counter.assign_add(1)
            return x

        session, following = _iterated(Dataset.range(3).map(count).cache().repeat(2))
        with session:
            seen = [session.run([following, counter])[0] for _ in range(3)]
            assert [int(n) for n in seen] == [0, 1, 2]
            assert session.run(counter) == 3
            assert [int(session.run(following)) for _ in range(3)] == [0, 1, 2]
            assert session.run(counter) == 3  # The second time they come from the cache.


def test_the_result_of_a_write_is_an_element() -> None:
    with gf.Graph().as_default():
        counter = gf.get_variable("counter", (), gf.int32, initializer=gf.zeros_initializer())
        session, following = _iterated(Dataset.from_tensors(0).repeat(4).map(lambda _: counter.assign_add(1)))
        with session:
            for turn in range(4):
                assert session.run(counter) == turn
                assert session.run(following) == turn + 1
            session.run(counter.assign(10))
            with pytest.raises(gf.errors.OutOfRangeError):
                session.run(following)


def test_reads_and_writes_of_a_variable_keep_their_order() -> None:
    with gf.Graph().as_default():
        level = gf.Variable(1)

        def step(x: gf.Tensor) -> tuple[gf.Tensor, ...]:
            before = level + 0
            level.assign(level * 2)
            between = gf.identity(level)
            level.assign_add(1)
            return before, between, gf.convert_to_tensor(level)

        session, following = _iterated(Dataset.range(2).map(step))
        with session:
            assert [tuple(int(v) for v in session.run(following)) for _ in range(2)] == [(1, 2, 3), (3, 6, 7)]


def test_a_variable_that_is_only_read_keeps_the_value_of_the_beginning() -> None:
    with gf.Graph().as_default():
        factor = gf.Variable(2, dtype=gf.int64)
        session, following = _iterated(Dataset.range(1, 4).map(lambda x: x * factor))
        with session:
            assert session.run(following) == 2
            session.run(factor.assign(100))
            assert session.run(following) == 4


def test_variables_made_in_a_function_are_the_programs() -> None:
    with gf.Graph().as_default():

        def count(_: gf.Tensor) -> gf.Tensor:
            with gf.variable_scope("inside", reuse=gf.AUTO_REUSE):
                made = gf.get_variable("counter", (), gf.int32, initializer=gf.zeros_initializer())
            return made.assign_add(1)

        dataset = Dataset.from_tensors(0).repeat(2).map(count)
        assert [v.op.name for v in gf.global_variables()] == ["inside/counter"]
        session, following = _iterated(dataset)
        with session:
            assert [int(session.run(following)) for _ in range(2)] == [1, 2]


def test_a_function_reads_and_adds_to_the_collections_around_it() -> None:
    with gf.Graph().as_default() as graph:
        variable = gf.Variable(1.0, name="w")
        graph.add_to_collection("notes", "one")

        def function(x: gf.Tensor) -> gf.Tensor:
            inner = gf.get_default_graph()
            assert inner.get_collection(gf.GraphKeys.GLOBAL_VARIABLES) == [variable]
            assert inner.get_collection("notes") == ["one"]
            inner.add_to_collection("notes", "two")
            return x

        Dataset.range(1).map(function)
        assert graph.get_collection("notes") == ["one"]


@pytest.mark.parametrize("ahead", [0, 2])
def test_a_check_that_nothing_takes_fails(ahead: int) -> None:
    def function(x: gf.Tensor) -> gf.Tensor:
        gf.debugging.assert_less(x, gf.constant(2, gf.int64), message="too large")
        return x

    with gf.Graph().as_default():
        dataset = Dataset.range(4).map(function)
        following = (dataset.prefetch(ahead) if ahead else dataset).make_one_shot_iterator().get_next()
        with gf.Session() as session:
            assert [int(session.run(following)) for _ in range(2)] == [0, 1]
            with pytest.raises(gf.errors.InvalidArgumentError, match="too large"):
                session.run(following)


def test_a_call_of_python_that_nothing_takes_is_made() -> None:
    seen = []

    def note(x: Any) -> Any:
        seen.append(int(x))
        return x

    def function(x: gf.Tensor) -> gf.Tensor:
        gf.py_func(note, [x], gf.int64)
        return x

    with gf.Graph().as_default():
        following = Dataset.range(3).map(function).make_one_shot_iterator().get_next()
        with gf.Session() as session:
            for _ in range(3):
                session.run(following)
    assert seen == [0, 1, 2]


def test_a_table_is_filled_by_a_function() -> None:
    with gf.Graph().as_default():
        table = gf.contrib.lookup.MutableHashTable(gf.int64, gf.int64, -1)

        def function(x: gf.Tensor) -> gf.Tensor:
            table.insert([x], [x * x])
            return x

        session, following = _iterated(Dataset.range(3).map(function))
        with session:
            for _ in range(3):
                session.run(following)
            assert session.run(table.lookup(gf.constant([1, 2, 3], gf.int64))).tolist() == [1, 4, -1]


def _in_branch(counter: gf.Variable) -> Callable[[gf.Tensor], gf.Tensor]:
    def function(x: gf.Tensor) -> gf.Tensor:
        return gf.cond(x > 1, lambda: gf.cast(counter.assign_add(1), gf.int64), lambda: x - x)

    return function


def test_a_branch_of_a_function_changes_a_variable() -> None:
    with gf.Graph().as_default():
        counter = gf.Variable(0)
        session, following = _iterated(Dataset.range(4).map(_in_branch(counter)))
        with session:
            assert [int(session.run(following)) for _ in range(4)] == [0, 0, 1, 2]
            assert session.run(counter) == 2


@pytest.mark.parametrize("calls", [None, 2])
def test_training_goes_on_while_a_thread_writes(calls: int | None) -> None:
    """A function that runs ahead in threads changes a variable while steps change and read others."""
    with gf.Graph().as_default():
        counter, weights = gf.Variable(0), gf.Variable(gf.zeros([1000]))

        def count(x: gf.Tensor) -> gf.Tensor:
            counter.assign_add(1)
            return x

        dataset = Dataset.range(200).map(count, num_parallel_calls=calls).prefetch(8)
        session, following = _iterated(dataset)
        step = weights.assign_add(gf.ones([1000]) * gf.cast(following, gf.float32))
        with session:
            for _ in range(200):
                session.run(step.op)
            assert session.run(counter) == 200
            assert session.run(weights).tolist() == [199.0 * 100] * 1000


@pytest.mark.parametrize("calls", [None, 2])
def test_a_function_that_comes_to_an_end_ends_the_elements(calls: int | None) -> None:
    """StopIteration of a Python function ends a map, whose batch is given, and is an error of map_and_batch."""

    def end(x: Any) -> Any:
        if x == 3:
            raise StopIteration
        return x

    def function(x: gf.Tensor) -> Any:
        return gf.py_func(end, [x], gf.int64)

    with gf.Graph().as_default():
        following = Dataset.range(9).map(function, calls).batch(2).make_one_shot_iterator().get_next()
        together = Dataset.range(9).apply(
            gf.data.experimental.map_and_batch(function, 2, num_parallel_calls=calls)
        )
        strict = together.make_one_shot_iterator().get_next()
        with gf.Session() as session:
            assert [session.run(following).tolist() for _ in range(2)] == [[0, 1], [2]]
            with pytest.raises(gf.errors.OutOfRangeError):
                session.run(following)
            assert session.run(strict).tolist() == [0, 1]
            with pytest.raises(gf.errors.InvalidArgumentError, match="produced OutOfRangeError"):
                session.run(strict)
