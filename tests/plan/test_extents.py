"""Protects the rewrite of reshapes that change nothing: only what surely keeps every extent becomes its operand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.plan.ir import walk

Made = Callable[[Any, Any, Any], Any]
"""A reshape, from matrices x and y of unknown height and a vector of ids."""


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def _rows(ids: Any) -> Any:
    return gf.gather(gf.constant(np.arange(36.0).reshape(9, 4)), ids)


def _count(ids: Any) -> Any:
    return gf.reshape(gf.size(ids), [1])


def _planned(made: Made) -> tuple[list[str], Any]:
    """The types of the operations that are run, and what comes out for two rows and two ids."""
    x = gf.placeholder(gf.float64, [None, 4], name="x")
    y = gf.placeholder(gf.float64, [None, 4], name="y")
    ids = gf.placeholder(gf.int32, [None], name="ids")
    result = made(x, y, ids)
    with gf.Session() as session:
        plan, _ = session.plan(result, [x, y, ids])
        values = session.run(result, {x: np.ones((2, 4)), y: np.full((2, 4), 3.0), ids: [5, 1]})
    return [i.type for i in walk(plan)], values


@pytest.mark.parametrize(
    "made",
    [
        lambda x, y, ids: gf.reshape(gf.square(x), gf.shape(x)),
        lambda x, y, ids: gf.reshape(gf.tanh(x) * x + 1.0, gf.shape(x)),
        lambda x, y, ids: gf.reshape(x, [-1, 4]) + 1.0,
        lambda x, y, ids: gf.reshape(ids, _count(ids)) + 1,
        lambda x, y, ids: gf.reshape(2.0 * gf.square(_rows(ids)), gf.concat([_count(ids), [4]], 0)),
        lambda x, y, ids: gf.reshape(_rows(gf.reshape(ids, _count(ids))), gf.concat([_count(ids), [4]], 0)) + 1.0,
        lambda x, y, ids: gf.reshape(gf.fill(gf.shape(_rows(ids)), 2.0), gf.concat([_count(ids), [4]], 0)) + 1.0,
        lambda x, y, ids: gf.reshape(_rows(ids), gf.stack([gf.size(ids), 4])) + 1.0,
    ],
)  # fmt: skip
def test_a_reshape_to_the_same_extents_is_not_run(made: Made) -> None:
    types, values = _planned(made)
    assert "Reshape" not in types and "Size" not in types
    assert values.shape[0] == 2


@pytest.mark.parametrize(
    "made",
    [
        lambda x, y, ids: gf.reshape(x, gf.shape(y)),
        lambda x, y, ids: gf.reshape(x, gf.concat([_count(ids), [4]], 0)),
        lambda x, y, ids: gf.reshape(x * y, gf.shape(x)),
        lambda x, y, ids: gf.reshape(x, [-1, 2]),
        lambda x, y, ids: gf.reshape(x, [2, 4]),
        lambda x, y, ids: gf.reshape(x, [8]),
        lambda x, y, ids: gf.reshape(x, gf.stack([gf.size(x)])),
        lambda x, y, ids: gf.reshape(_rows(ids), gf.stack([gf.size(x[:, 0]), 4])),
        lambda x, y, ids: gf.reshape(gf.fill(gf.shape(x), 2.0), gf.shape(y)),
        lambda x, y, ids: gf.reshape(gf.transpose(x), gf.shape(x)),
        lambda x, y, ids: gf.reshape(_rows(gf.reshape(ids, [-1, 1])), gf.concat([_count(ids), [4]], 0)),
    ],
)
def test_every_other_reshape_is(made: Made) -> None:
    types, _ = _planned(made)
    assert "Reshape" in types


def test_a_variable_of_unknown_shape_may_change_between_two_reads() -> None:
    variable = gf.Variable(np.ones((2, 2)), validate_shape=False, name="variable")
    before = gf.shape(variable)
    with gf.control_dependencies([before]):
        longer = gf.assign(variable, np.ones((3, 2)), validate_shape=False)
    with gf.control_dependencies([longer]):
        late = gf.reshape(variable + 0.5, before)
    with gf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(gf.errors.InvalidArgumentError, match="eshape"):
            session.run(late)


def test_what_has_to_come_first_still_does() -> None:
    x = gf.placeholder(gf.float32, [None])
    printed: list[Any] = []
    with gf.control_dependencies([gf.py_func(lambda v: printed.append(v), [x], [], stateful=True)]):
        count = gf.size(x)
    result = gf.reshape(x, [count])
    with gf.Session() as session:
        session.run(result, {x: [1.0, 2.0]})
    assert len(printed) == 1


def test_the_gradient_of_a_mask_of_a_variable_reshapes_nothing() -> None:
    """What the rows wait for is what they are made of: the variable, which was read before."""
    kept = gf.Variable([True, False, True, True])
    table = gf.Variable(np.arange(12.0).reshape(4, 3))
    rows = gf.gradients(gf.boolean_mask(table, kept), table)[0]
    with gf.Session() as session:
        session.run([kept.initializer, table.initializer])
        plan, _ = session.plan(rows, [])
        shaped = [i.name for i in walk(plan) if i.type == "Reshape" and "gradients" in i.name]
        assert shaped == [] and "Size" not in [i.type for i in walk(plan)]
        np.testing.assert_array_equal(session.run(rows), np.array([[1.0] * 3, [0] * 3, [1] * 3, [1] * 3]))


def test_a_shape_that_waits_for_a_change_is_waited_for() -> None:
    counter = gf.Variable(0)
    x = gf.placeholder(gf.float32, [None])
    with gf.control_dependencies([gf.assign_add(counter, 1)]):
        count = gf.size(x)
    result = gf.reshape(x, gf.stack([count]))
    with gf.Session() as session:
        session.run(counter.initializer)
        session.run(result, {x: [1.0, 2.0]})
        assert session.run(counter) == 1
