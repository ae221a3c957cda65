"""Protects the tools for GraphDefs: parts of a graph, and constants in place of variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture
def model() -> Any:
    with gf.Graph().as_default() as graph:
        x = gf.placeholder(gf.float32, [2], name="x")
        w = gf.Variable([1.0, 2.0], name="w")
        v = gf.Variable([5.0, 5.0], name="v")
        n = gf.Variable(0, name="n")
        total = gf.add(x * w, gf.identity(v.value(), name="passed"), name="total")
        checked = gf.check_numerics(gf.identity(total, name="again"), "bad", name="checked")
        gf.multiply(gf.while_loop(lambda i: i < 3.0, lambda i: i + w[0], [0.0]), checked, name="y")
        n.assign_add(1, name="count")
        gf.constant(1.0, name="unused")
    return graph


def run(graph_def: Any, name: str = "y:0") -> Any:
    with gf.Graph().as_default(), gf.Session() as session:
        (y,) = gf.import_graph_def(graph_def, return_elements=[name], name="")
        return session.run(y, {"x:0": [1.0, 10.0]})


def test_frozen_graphs_have_no_variables_and_give_the_same(model: gf.Graph) -> None:
    with gf.Session(graph=model) as session:
        session.run(["w/Assign", "v/Assign"])
        frozen = gf.graph_util.convert_variables_to_constants(session, model.as_graph_def(), ["y"])
        expected = session.run("y:0", {"x:0": [1.0, 10.0]})
    names = {node.name for node in frozen.node}
    assert {"y", "w", "v", "x"} <= names and names.isdisjoint({"unused", "n", "count", "w/Assign"})
    assert not any(node.op.startswith(("Variable", "Ref")) for node in frozen.node)
    np.testing.assert_array_equal(run(frozen), expected)
    assert frozen.versions.producer == model.as_graph_def().versions.producer


def test_some_variables_can_stay(model: gf.Graph) -> None:
    with gf.Session(graph=model) as session:
        session.run(["w/Assign", "v/Assign"])
        graph_def = model.as_graph_def()
        convert = gf.graph_util.convert_variables_to_constants
        only = convert(session, graph_def, ["y"], variable_names_whitelist=["v"])
        others = convert(session, graph_def, ["y"], variable_names_blacklist=["v"])
    kinds = [{n.name: n.op for n in g.node if n.name in ("v", "w")} for g in (only, others)]
    assert kinds == [{"v": "Const", "w": "VariableV2"}, {"v": "VariableV2", "w": "Const"}]


def test_what_writes_a_variable_cannot_be_frozen(model: gf.Graph) -> None:
    with gf.Session(graph=model) as session:
        session.run("n/Assign")
        with pytest.raises(ValueError, match="'count' writes the variable 'n'"):
            gf.graph_util.convert_variables_to_constants(session, model.as_graph_def(), ["count"])


def test_parts_of_a_graph(model: gf.Graph) -> None:
    part = gf.graph_util.extract_sub_graph(model.as_graph_def(), ["total"])
    assert [node.name for node in part.node] == [
        n.name
        for n in model.as_graph_def().node
        if n.name in {"x", "w", "v", "v/read", "passed", "mul", "total"}
    ]
    with pytest.raises(AssertionError, match="nothing is not in graph"):
        gf.graph_util.extract_sub_graph(model.as_graph_def(), ["nothing"])
    with pytest.raises(TypeError, match="dest_nodes must be a list"):
        gf.graph_util.extract_sub_graph(model.as_graph_def(), "total")


def test_nodes_that_only_pass_on_can_go(model: gf.Graph) -> None:
    with gf.Session(graph=model) as session:
        session.run(["w/Assign", "v/Assign"])
        frozen = gf.graph_util.convert_variables_to_constants(session, model.as_graph_def(), ["y"])
    smaller = gf.graph_util.remove_training_nodes(frozen, ["again"])
    names = {node.name for node in smaller.node}
    assert "again" in names and names.isdisjoint({"checked", "passed", "v/read"})
    np.testing.assert_array_equal(run(smaller), run(frozen))


def test_questions_about_nodes(model: gf.Graph) -> None:
    assert gf.graph_util.tensor_shape_from_node_def_name(model, "w").as_list() == [2]
    nodes = {node.name: node for node in model.as_graph_def().node}
    assert gf.graph_util.must_run_on_cpu(nodes["w"], pin_variables_on_cpu=True)
    assert not gf.graph_util.must_run_on_cpu(nodes["w"])
    assert gf.graph_util.must_run_on_cpu(model.get_operation_by_name("n/initial_value"))
