"""Graphs of which a run fails with some feeds: the error names the operation, and no variable changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import graphflow as gf


class Failing(NamedTuple):
    """What is fetched, what is fed so that it works and so that it fails, and the operation that fails then."""

    fetches: Any
    good: dict[Any, Any]
    bad: dict[Any, Any]
    operation: str


def _division() -> tuple[Any, Any, Any, dict[Any, Any], dict[Any, Any]]:
    x, y = (gf.placeholder(gf.int32, [9]) for _ in range(2))
    good = {x: np.arange(9), y: np.ones(9)}
    return x, y, gf.floordiv(x, y, name="wrong"), good, {**good, y: np.arange(9)[::-1]}


def _rows() -> tuple[Any, Any, dict[Any, Any], dict[Any, Any]]:
    ids = gf.placeholder(gf.int32, [6])
    variable = gf.Variable(np.arange(1.0, 10.0, dtype=np.float32))
    return variable, ids, {ids: [0, 1, 2, 3, 4, 5]}, {ids: [0, 8, 2, 3, 4, 9]}


def assigned_quotient() -> Failing:
    _, _, quotient, good, bad = _division()
    return Failing(gf.Variable([0] * 9).assign_add(quotient).op, good, bad, "wrong")


def assigned_beside_a_quotient() -> Failing:
    x, _, quotient, good, bad = _division()
    return Failing([gf.Variable([0] * 9).assign_add(x).op, quotient], good, bad, "wrong")


def assigned_after_a_quotient_that_nobody_takes() -> Failing:
    _, _, quotient, good, bad = _division()
    variable = gf.Variable([0] * 9)
    with gf.control_dependencies([quotient]):
        return Failing(variable.assign_add([1] * 9).op, good, bad, "wrong")


def run_for_its_effect() -> Failing:
    x, _, quotient, good, bad = _division()
    return Failing([gf.cast(x, gf.float32) * 2.0, quotient.op], good, bad, "wrong")


def assigned_scalars() -> Failing:
    x, y = (gf.placeholder(gf.int32, []) for _ in range(2))
    one, other = gf.Variable(1), gf.Variable(1.0)
    quotient = gf.floormod(x, y, name="wrong")
    writes = gf.group(one.assign_add(quotient), other.assign_add(gf.cast(x, gf.float32)))
    return Failing(writes, {x: 7, y: 3}, {x: 7, y: 0}, "wrong")


def assigned_beside_rows() -> Failing:
    variable, ids, good, bad = _rows()
    other = gf.Variable([1.0, 2.0])
    rows = gf.gather(variable * 2.0, ids, name="wrong")
    return Failing([other.assign_add([1.0, 1.0]).op, rows], good, bad, "wrong")


def assigned_what_only_the_host_assigns() -> Failing:
    variable, ids, good, bad = _rows()
    flags = gf.Variable([False, True])
    rows = gf.gather(variable * 2.0, ids, name="wrong")
    with gf.control_dependencies([rows]):
        return Failing([flags.assign(gf.logical_not(flags)).op, rows], good, bad, "wrong")


def changed_rows(change: str) -> Callable[[], Failing]:
    def build() -> Failing:
        variable, ids, good, bad = _rows()
        updates = gf.cast(ids, gf.float32) + 2.0
        return Failing(getattr(gf, change)(variable, ids, updates, name="wrong").op, good, bad, "wrong")

    return build


def changed_elements() -> Failing:
    variable = gf.Variable(np.ones([3, 3], np.float32))
    ids = gf.placeholder(gf.int32, [2, 2])
    change = gf.scatter_nd_add(variable, ids, [1.0, 2.0], name="wrong")
    return Failing(change.op, {ids: [[0, 1], [2, 2]]}, {ids: [[0, 1], [2, 3]]}, "wrong")


def sparse_training(optimizer: str) -> Callable[[], Failing]:
    def build() -> Failing:
        variable, ids, good, bad = _rows()
        dense = gf.Variable([1.0, 2.0])
        gradient = gf.IndexedSlices(gf.cast(ids, gf.float32), ids, gf.constant([9]))
        gradients = [(gradient, variable), (dense * 1.0, dense)]
        trained = getattr(gf.train, optimizer)(0.1).apply_gradients(gradients)
        return Failing(trained, good, bad, "update_Variable")

    return build


def classes() -> Failing:
    labels = gf.placeholder(gf.int32, [4])
    logits = gf.Variable(np.arange(12.0, dtype=np.float32).reshape(4, 3))
    loss = gf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="wrong")
    step = gf.train.GradientDescentOptimizer(0.1).minimize(gf.reduce_sum(loss))
    return Failing(step, {labels: [0, 1, 2, 0]}, {labels: [0, 1, 3, 0]}, "wrong")


def one_quotient_of_several() -> Failing:
    x, y = (gf.placeholder(gf.int32, [9]) for _ in range(2))
    others = gf.cast(x / (x + 1), gf.int32) + gf.floordiv(x, y + 10) + gf.floormod(x, x + 1)
    quotient = gf.floordiv(others, y, name="wrong")
    good = {x: np.arange(9), y: np.ones(9)}
    return Failing(
        gf.floordiv(others + quotient, 3) % (y + 9), good, {**good, y: np.arange(9)[::-1]}, "wrong"
    )


def one_quotient_of_several_scalars() -> Failing:
    x, y = (gf.placeholder(gf.int32, []) for _ in range(2))
    found = gf.floormod(gf.floordiv(x, y + 1), y, name="wrong")
    return Failing(found + gf.floordiv(x, y + 2), {x: 7, y: 3}, {x: 7, y: 0}, "wrong")


def quotient_by_wrong_rows() -> Failing:
    _, ids, good, bad = _rows()
    rows = gf.gather(gf.range(9) + 1 + 0 * ids[0], ids, name="wrong")
    return Failing(gf.floordiv(gf.constant([1] * 6), rows), good, bad, "wrong")


FAILING: dict[str, Callable[[], Failing]] = {
    **{
        f.__name__: f
        for f in (
            *(assigned_quotient, assigned_beside_a_quotient, assigned_after_a_quotient_that_nobody_takes),
            *(run_for_its_effect, assigned_scalars, assigned_beside_rows, changed_elements, classes),
            *(assigned_what_only_the_host_assigns, quotient_by_wrong_rows),
            *(one_quotient_of_several, one_quotient_of_several_scalars),
        )
    },
    **{name: changed_rows(name) for name in ("scatter_add", "scatter_update", "scatter_mul", "scatter_max")},
    **{name: sparse_training(name) for name in ("GradientDescentOptimizer", "AdagradOptimizer")},
}


def check(build: Callable[[], Failing], **options: Any) -> str:
    """Runs that work, then one that fails and leaves all variables as they were, then one that works again.

    The message of the one that fails.
    """
    fetches, good, bad, operation = build()
    with gf.Session(config=gf.ConfigProto(allow_soft_placement=True, **options)) as session:
        session.run(gf.global_variables_initializer())
        for _ in range(3):
            session.run(fetches, good)
        before = session.run(gf.global_variables())
        for _ in range(2):
            with pytest.raises(gf.errors.InvalidArgumentError, match=rf"'.*{operation}.*':") as raised:
                session.run(fetches, bad)
            for value, expected in zip(session.run(gf.global_variables()), before, strict=True):
                np.testing.assert_array_equal(value, expected)
        session.run(fetches, good)
    return str(raised.value)
