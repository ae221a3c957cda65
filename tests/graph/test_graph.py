"""Protects the graph as data: names, scopes, devices, control dependencies, collections, GraphDef, and its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


# ---- names --------------------------------------------------------------------------------------------------------


def test_names_are_made_unique_whatever_their_case() -> None:
    names = [gf.constant(1, name=n).op.name for n in ("a", "a", "A", "a_1", "b", "a", "Const", None)]
    assert names == ["a", "a_1", "A_2", "a_1_1", "b", "a_3", "Const", "Const_1"]


def test_name_scopes_nest_repeat_and_are_entered_again() -> None:
    with gf.name_scope("outer") as outer:
        assert outer == "outer/"
        with gf.name_scope("inner") as inner:
            assert inner == "outer/inner/" and gf.constant(1).name == "outer/inner/Const:0"
        with gf.name_scope("inner"):
            assert gf.constant(1).name == "outer/inner_1/Const:0"
        with gf.name_scope(inner):
            assert gf.constant(1).name == "outer/inner/Const_1:0"
        with gf.name_scope(None, "default"):
            assert gf.get_default_graph().get_name_scope() == "outer/default"
    with gf.name_scope("outer"):
        assert gf.constant(1).name == "outer_1/Const:0"


@pytest.mark.parametrize("name", ["with space", "-minus", "a:b", "_under", "a\n", "é"])
def test_a_bad_name_is_a_value_error(name: str) -> None:
    with pytest.raises(ValueError, match="valid name"):
        gf.constant(1, name=name)


def test_a_name_is_a_string_and_names_one_operation() -> None:
    with pytest.raises(TypeError, match="string"):
        gf.constant(1, name=5)  # type: ignore[arg-type]
    gf.no_op(name="taken")
    with pytest.raises(ValueError, match="Duplicate node name"):
        gf.no_op(name="taken/")


def test_elements_are_found_by_name(graph: gf.Graph) -> None:
    x = gf.constant(1.0, name="x")
    assert graph.get_tensor_by_name("x:0") is x and graph.get_operation_by_name("x") is x.op
    assert graph.as_graph_element("x:0") is x and graph.as_graph_element(x.op) is x.op
    for call, error in (
        (lambda: graph.get_tensor_by_name("y:0"), KeyError),
        (lambda: graph.get_tensor_by_name("x:1"), KeyError),
        (lambda: graph.get_tensor_by_name("x:z"), ValueError),
        (lambda: graph.get_tensor_by_name("x"), ValueError),
        (lambda: graph.get_operation_by_name("x:0"), ValueError),
        (lambda: graph.get_operation_by_name("y"), KeyError),
        (lambda: graph.get_operation_by_name(x), TypeError),
        (lambda: graph.as_graph_element(3), TypeError),
        (lambda: gf.Graph().as_graph_element(x), ValueError),
    ):
        with pytest.raises(error):
            call()


# ---- devices ------------------------------------------------------------------------------------------------------


def test_device_scopes_merge_innermost_first() -> None:
    with gf.device("/job:worker/task:1"):
        with gf.device("/cpu:0"):
            assert gf.no_op().device == "/job:worker/task:1/device:CPU:0"
            with gf.device("/task:2"):
                assert gf.no_op().device == "/job:worker/task:2/device:CPU:0"
            with gf.device(None):
                assert gf.no_op().device == ""
            with gf.device(gf.DeviceSpec(job="ps")):
                assert gf.no_op().device == "/job:ps/task:1/device:CPU:0"
        with gf.device(""):
            assert gf.no_op().device == "/job:worker/task:1"
    assert gf.no_op().device == ""


def test_device_functions_see_the_operation() -> None:
    seen: list[str] = []

    def choose(op: gf.Operation) -> str:
        seen.append(op.type)
        return "/job:ps" if op.type == "VariableV2" else "/job:worker"

    with gf.device(choose):
        v = gf.Variable(1.0, name="v")
        with gf.device("/cpu:3"):
            inner = gf.no_op()
    assert v.device == "/job:ps" and inner.device == "/job:worker"
    assert v.initializer.device == "/job:ps" and "NoOp" in seen


@pytest.mark.parametrize("name", ["/job:", "/what:1", "/cpu:x", "/cpu:0/gpu:0", "/device:CPU:0/device:CPU:1"])
def test_a_bad_device_is_a_value_error(name: str) -> None:
    with pytest.raises(ValueError, match=r"device"), gf.device(name):
        pass


def test_colocation_follows_the_other_operation() -> None:
    with gf.device("/cpu:5"):
        a = gf.constant(1.0, name="a")
    with gf.device("/cpu:2"), gf.colocate_with(a):
        b = gf.identity(a)
    assert b.device == "/device:CPU:5" and b.op.colocation_groups() == [b"loc:@a"]
    with pytest.raises(ValueError, match="ignore_existing"), gf.colocate_with(None):
        pass


# ---- control dependencies -----------------------------------------------------------------------------------------


def test_what_comes_after_slices_comes_after_their_rows() -> None:
    rows = gf.ones([1, 2], name="rows")
    with gf.control_dependencies([gf.IndexedSlices(rows, gf.constant([0]), gf.constant([3, 2]))]):
        assert gf.constant(1).op.control_inputs == [rows.op]


def test_control_dependencies_collect_and_are_cleared() -> None:
    a, b = gf.no_op(name="a"), gf.constant(1, name="b")
    with gf.control_dependencies([a]):
        with gf.control_dependencies([b, a]):
            assert gf.no_op().control_inputs == [a, b.op]
        with gf.control_dependencies(None):
            assert gf.no_op().control_inputs == []
    assert gf.no_op().control_inputs == []


def test_what_follows_already_is_not_told_again() -> None:
    first = gf.no_op(name="first")
    x = gf.constant(1.0)
    with gf.control_dependencies([first, x.op]):
        y = gf.negative(x)
        z = gf.negative(y)
    assert y.op.control_inputs == [first] and z.op.control_inputs == []


@pytest.mark.parametrize("bad", [3, "name", [3], [None]])
def test_bad_control_inputs_are_refused(bad: Any) -> None:
    with pytest.raises((TypeError, KeyError, ValueError)), gf.control_dependencies(bad):
        pass


# ---- collections and data -----------------------------------------------------------------------------------------


def test_collections() -> None:
    a, b = gf.constant(1, name="s/a"), gf.constant(2, name="b")
    gf.add_to_collection("mine", a)
    gf.add_to_collections(["mine", "other"], b)
    assert gf.get_collection("mine") == [a, b] and gf.get_collection("mine", "s/") == [a]
    gf.get_collection("mine").clear()
    assert gf.get_collection("mine") == [a, b]
    gf.get_collection_ref("mine").append(3)
    assert gf.get_collection("mine")[2] == 3 and gf.get_collection("none") == []
    assert set(gf.get_default_graph().get_all_collection_keys()) == {"mine", "other"}
    gf.get_default_graph().clear_collection("mine")
    assert gf.get_collection("mine") == []


def test_a_graph_as_data(graph: gf.Graph) -> None:
    with gf.device("/cpu:1"):
        values, _ = gf.nn.top_k(gf.constant([1.0, 2.0], name="c"), name="top")
    with gf.control_dependencies([values]):
        gf.identity(values, name="end")
    with gf.control_dependencies([gf.no_op(name="n")]):
        gf.identity(gf.nn.top_k(values, name="t2")[1], name="second")
    nodes = {node.name: node for node in graph.as_graph_def().node}
    assert nodes["top"].op == "TopKV2" and nodes["top"].device == "/device:CPU:1"
    assert nodes["end"].input == ["top"] and nodes["second"].input == ["t2:1"]
    assert "^n" in nodes["t2/k"].input and nodes["c"].attr["dtype"].type == gf.float32.as_datatype_enum
    assert [n.name for n in graph.as_graph_def(from_version=len(nodes) - 1).node] == ["second"]
    shapes = {n.name: n.attr["_output_shapes"] for n in graph.as_graph_def(add_shapes=True).node}
    assert [d.size for d in shapes["c"].list.shape[0].dim] == [2]


def test_a_finalized_graph_says_where(graph: gf.Graph) -> None:
    x = gf.constant(1.0)
    graph.finalize()
    for change in (lambda: x + 1.0, lambda: gf.add_to_collection("c", x)):
        with pytest.raises(RuntimeError, match=r"finalized.*test_graph\.py:\d+"):
            change()
    with gf.Session() as session:
        assert session.run(x) == 1.0
    assert graph.finalized and graph.version == 1


def test_a_foreign_tensor_is_refused() -> None:
    x = gf.constant(1.0)
    with gf.Graph().as_default():
        y = gf.constant(2.0)
        with pytest.raises(ValueError, match="another graph"):
            gf.add(x, y)
        assert gf.negative(x).graph is x.graph


def test_reset_default_graph_is_refused_inside_a_graph() -> None:
    with pytest.raises(AssertionError):
        gf.reset_default_graph()


def test_threads_build_one_graph_without_losing_anything(graph: gf.Graph) -> None:
    def build(number: int) -> None:
        with graph.as_default(), graph.name_scope(f"thread{number}"):
            for _ in range(100):
                gf.constant(number)

    threads = [threading.Thread(target=build, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [op.name for op in graph.get_operations()]
    assert len(names) == len(set(names)) == 800
    assert sorted(names)[0] == "thread0/Const"


# ---- operations and tensors ---------------------------------------------------------------------------------------


def test_operations_know_their_place(graph: gf.Graph) -> None:
    x = gf.placeholder(gf.float32, [2], name="x")
    y = gf.add(x, [1.0, 2.0], name="y")
    assert y.op.inputs[0] is x and y.op.values() == (y,) and y.op.type in ("Add", "AddV2")
    assert x.consumers() == [y.op] and y.op.line[0].endswith("test_graph.py")
    assert y.op.get_attr("T") is gf.float32
    with pytest.raises(ValueError, match="no attr named 'nothing'"):
        y.op.get_attr("nothing")
    assert repr(y) == "<gf.Tensor 'y:0' shape=(2,) dtype=float32>"
    assert str(y) == 'Tensor("y:0", shape=(2,), dtype=float32)'


def test_a_tensor_is_no_python_value() -> None:
    x = gf.placeholder(gf.float32, [2])
    for use in (bool, len, list, float, lambda t: [1, 2][t], lambda t: __import__("numpy").asarray(t)):
        with pytest.raises(TypeError):
            use(x)
    assert (x == x) is True and x != gf.placeholder(gf.float32) and len({x, x}) == 1


def test_set_shape_adds_and_refuses() -> None:
    x = gf.placeholder(gf.float32, [None, 3])
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match="contradicts"):
        x.set_shape([5, 3])


def test_seeds() -> None:
    assert gf.get_seed(None) == (None, None)
    assert gf.get_seed(7) == (87654321, 7)
    gf.set_random_seed(3)
    gf.constant(1)
    assert gf.get_seed(None) == (3, 1) and gf.get_seed(7) == (3, 7)
    gf.set_random_seed(0)
    assert gf.get_seed(0) == (0, 2**31 - 1)


@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t.op, lambda t: gf.Variable(t), lambda t: gf.get_default_graph()]
)
def test_programs_may_put_attributes_of_their_own_on_what_they_build(
    make: Callable[[gf.Tensor], Any],
) -> None:
    """tensorpack puts the variables of a layer on its output."""
    thing = make(gf.zeros([2]))
    thing.variables_of_mine = [1]
    assert thing.variables_of_mine == [1]
    assert not hasattr(gf.ones([2]), "variables_of_mine")


def test_an_operation_says_whether_it_has_state() -> None:
    assert gf.FIFOQueue(1, gf.int32).dequeue().op.op_def.is_stateful
    assert not gf.ones([2]).op.op_def.is_stateful
