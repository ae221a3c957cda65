"""Protects resource_variable_ops.ResourceVariable: what it makes is one, and whatever is one is an instance of it."""

from __future__ import annotations

import graphflow as gf
from graphflow.as_tensorflow.inside.variables import ResourceVariable, is_resource_variable


def test_it_makes_a_resource_variable_and_all_of_these_are_instances() -> None:
    made = ResourceVariable([1.0, 2.0], name="made")
    other = gf.get_variable("other", [2], use_resource=True)
    reference = gf.Variable([1.0])
    assert isinstance(made, gf.Variable) and made.op.name == "made"
    for variable, expected in ((made, True), (other, True), (reference, False), (gf.constant(1.0), False)):
        assert is_resource_variable(variable) is isinstance(variable, ResourceVariable) is expected


def test_its_value_stays_what_it_was_where_it_was_read() -> None:
    variable = ResourceVariable(1.0)
    before = variable + 0.0
    with gf.control_dependencies([before]):
        step = variable.assign_add(1.0)
    with gf.Session() as session:
        session.run(variable.initializer)
        assert session.run([before, step]) == [1.0, 2.0]
