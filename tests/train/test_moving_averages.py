"""Protects ExponentialMovingAverage: its numbers, its names in a checkpoint, and averages of tensors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from graphflow._core.graph import dtypes
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.math.math import multiply
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Ones
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_collections import global_variables_initializer
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow._core.session import Session
from graphflow.train.moving_averages import ExponentialMovingAverage
from graphflow.train.optimizers.slots import make_slot


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as fresh:
        yield fresh


def test_an_average_begins_at_the_initial_value_and_follows(graph: Graph) -> None:
    v = Variable([1.0, 2.0], name="v")
    averages = ExponentialMovingAverage(0.9)
    update = averages.apply()
    grow = v.assign_add([1.0, 1.0])
    average = averages.average(v)
    assert average is not None and not average.trainable
    expected, value = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    with Session() as session:
        session.run(global_variables_initializer())
        for _ in range(3):
            session.run(grow)
            session.run(update)
            value = value + 1.0
            expected = expected - 0.1 * (expected - value)
            np.testing.assert_allclose(session.run(average), expected, rtol=1e-6)
    assert graph.get_collection("moving_average_variables") == [v]


def test_the_decay_is_smaller_while_updates_are_few() -> None:
    v, step = Variable(0.0, name="v"), Variable(0, name="step", trainable=False)
    averages = ExponentialMovingAverage(0.99, num_updates=step)
    update = averages.apply([v])
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(v.assign(10.0))
        session.run(update)
        assert session.run(averages.average(v)) == pytest.approx(10.0 * (1 - 1 / 10), rel=1e-6)


@pytest.mark.parametrize("zero_debias", [False, True])
def test_the_average_of_a_tensor_begins_at_zero_and_may_be_corrected(zero_debias: bool) -> None:
    constant_tensor = multiply(Variable(4.0), 2.0)
    averages = ExponentialMovingAverage(0.5, zero_debias=zero_debias)
    update = averages.apply([constant_tensor])
    found = []
    with Session() as session:
        session.run(global_variables_initializer())
        for _ in range(3):
            session.run(update)
            found.append(float(session.run(averages.average(constant_tensor))))
    assert found == ([8.0, 8.0, 8.0] if zero_debias else [4.0, 6.0, 7.0])


def test_averages_have_names_to_restore_them_by() -> None:
    with variable_scope("layer"):
        v, w = get_variable("v", [2]), get_variable("w", [2], trainable=False)
    averages = ExponentialMovingAverage(0.9, name="EMA")
    assert averages.average(v) is None and averages.average_name(v) == "layer/v/EMA"
    averages.apply()
    assert (
        averages.average(v) is not None
        and averages.average(v).op.name == averages.average_name(v) == "layer/v/EMA"
    )
    names = averages.variables_to_restore()
    assert names["layer/v/EMA"] is v and names["layer/w"] is w and "layer/v" not in names
    assert set(averages.variables_to_restore([])) == {"layer/v", "layer/w", "layer/v/EMA"}


def test_only_floats_are_averaged() -> None:
    with pytest.raises(TypeError, match=r"step.* is int32"):
        ExponentialMovingAverage(0.9).apply([Variable(0, name="step")])


def test_a_slot_is_named_inside_the_scope_and_knows_its_part(graph: Graph) -> None:
    v = get_variable("v", [4, 2], dtypes.float64, initializer=Ones(), partitioner=lambda shape, dtype: [2, 1])
    part = list(v)[1]
    with graph.name_scope("ops"):
        slot = make_slot(part, part.initialized_value(), "Momentum")
    with variable_scope("again"):
        other = make_slot(part, 0.0, "Momentum")
    assert slot.op.name == "v/part_1/Momentum" and other.op.name == "again/v/part_1/Momentum"
    assert make_slot(part, 0.0, "Momentum").op.name == "v/part_1/Momentum_1"
    info = slot.get_save_slice_info()
    assert info is not None and (info.full_name, info.spec) == ("v/Momentum", "4 2 2,2:0,2")
    assert slot.op.colocation_groups() == [b"loc:@v/part_1"] and other.dtype is dtypes.float64
