"""Protects the global step: that there is one, how it is found, and what cannot be one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphflow._core.graph import dtypes
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow._core.session import Session
from graphflow.train import steps


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as fresh:
        yield fresh


def test_it_is_made_once_at_the_root(graph: Graph) -> None:
    assert steps.get_global_step() is None
    with graph.name_scope("inner"):
        step = steps.get_or_create_global_step()
    assert step.name == "global_step:0" and step.dtype is dtypes.int64 and not step.trainable
    assert steps.get_or_create_global_step() is step and steps.get_global_step(graph) is step
    with pytest.raises(ValueError, match="already exists"):
        steps.create_global_step()
    with Session() as session:
        session.run(step.initializer)
        assert steps.global_step(session, step) == 0


def test_it_is_made_in_the_graph_that_is_given() -> None:
    other = Graph()
    assert steps.create_global_step(other).graph is other and steps.get_global_step() is None


def test_it_is_found_by_its_name() -> None:
    step = Variable(5, name="global_step", trainable=False)
    found = steps.get_global_step()
    assert found is not None and found.op is step.op


def test_what_is_no_integer_scalar_cannot_be_it(graph: Graph) -> None:
    for value, message in ((1.0, "integer type: float32"), ([1, 2], r"not scalar: \(2,\)")):
        with pytest.raises(TypeError, match=message):
            steps.assert_global_step(Variable(value))
    with pytest.raises(TypeError, match="Variable or Tensor"):
        steps.assert_global_step("global_step")


def test_of_two_none_is_it(graph: Graph) -> None:
    with variable_scope("a"):
        steps.create_global_step()
    graph.add_to_collection("global_step", Variable(0))
    assert steps.get_global_step() is None
