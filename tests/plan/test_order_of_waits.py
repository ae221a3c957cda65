"""Protects the place of what may wait in a plan: what fails without it ends the run, and nobody waits for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.common.records import dataclass
from graphflow.contrib.framework import nest


@dataclass(frozen=True)
class Waiting:
    """What waits for ever: a tensor or operation, and the name of what waits."""

    fetch: Any
    name: str


def _dequeue() -> Waiting:
    taken = gf.FIFOQueue(1, [gf.float32], [[]]).dequeue(name="wait")
    return Waiting(taken, "wait")


def _enqueue() -> Waiting:
    queue = gf.FIFOQueue(1, [gf.float32], [[]])
    return Waiting(queue.enqueue_many([[1.0, 2.0]], name="wait"), "wait")


def _take() -> Waiting:
    accumulator = gf.ConditionalAccumulator(gf.float32, [])
    return Waiting(accumulator.take_grad(1, name="wait"), "wait")


def _read() -> Waiting:
    _, value = gf.TextLineReader().read(gf.FIFOQueue(1, [gf.string], [[]]), name="wait")
    return Waiting(value, "wait")


def _in_a_branch() -> Waiting:
    queue = gf.FIFOQueue(1, [gf.float32], [[]])
    taken = gf.cond(gf.placeholder_with_default(True, []), queue.dequeue, lambda: 0.0)
    return Waiting(taken, "cond/Merge")


WAITS: list[Callable[[], Waiting]] = [_dequeue, _enqueue, _take, _read, _in_a_branch]


def _asserted() -> Any:
    with gf.control_dependencies([gf.Assert(False, ["no"])]):
        return gf.constant(1.0)


def _in_a_failing_branch() -> Any:
    return gf.cond(gf.placeholder_with_default(True, []), _asserted, lambda: 2.0)


def _wrong_index() -> Any:
    return gf.gather([1.0], gf.placeholder_with_default(3, []))


def _function_that_raises() -> Any:
    def fail() -> float:
        raise ValueError("no")

    return gf.py_func(fail, [], gf.float64)


def _value_of_a_write() -> Any:
    variable = gf.Variable([1.0], name="written", collections=[])
    return gf.group(variable.initializer, gf.assign(variable, [_wrong_index()]))


FAILURES: list[Callable[[], Any]] = [
    _asserted, _in_a_failing_branch, _wrong_index, _function_that_raises, _value_of_a_write,
]  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("wait", WAITS)
def test_what_fails_ends_a_run_that_would_wait(
    wait: Callable[[], Waiting], failure: Callable[[], Any]
) -> None:
    """As in TensorFlow, where both are tried at once; the deadline is for a test that fails."""
    with gf.Graph().as_default(), gf.Session() as session:
        fetches = [wait().fetch, failure()]
        with pytest.raises((gf.errors.InvalidArgumentError, gf.errors.UnknownError)):
            session.run(fetches, options=gf.RunOptions(timeout_in_ms=20_000))


def test_what_only_the_values_behind_a_wait_need_stays_behind_it() -> None:
    """It is compiled together with what takes it: a mask of dropout, the gradient of a regularizer."""
    with gf.Graph().as_default(), gf.Session() as session:
        weights = gf.constant([1.0, 2.0])
        taken = gf.FIFOQueue(1, [gf.float32], [[2]]).dequeue(name="wait")
        mask = gf.random_uniform([2], name="mask")
        both = gf.add(taken * mask, gf.exp(weights), name="both")
        order = [i.name for i in session.plan([both, gf.exp(mask, name="apart")], [])[0].instructions]
        assert order.index("apart") < order.index("wait") < order.index("mul") < order.index("both")
        order = [i.name for i in session.plan([both], [])[0].instructions]
        assert order.index("wait") < order.index("mask/RandomUniform")


def test_a_read_comes_before_a_write_on_both_sides_of_a_wait() -> None:
    """run([loss, step]) gives the loss before the step, whatever the step waits for."""
    with gf.Graph().as_default(), gf.Session() as session:
        queue = gf.FIFOQueue(1, [gf.float32], [[]])
        variable = gf.Variable(5.0)
        session.run([variable.initializer, queue.enqueue(2.0)])
        write = variable.assign(100.0)
        loss = queue.dequeue() * variable
        found = session.run(nest.flatten({"a": write, "b": loss, "c": variable * 1.0}))
        assert found == [100.0, 10.0, 5.0]
