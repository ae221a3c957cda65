"""Protects what a graph means on its way through a GraphDef: from TensorFlow, to itself, and into another graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

RECORDED = Path(__file__).parent / "recorded"


def read(name: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A recorded graph, what TensorFlow was fed, and what it gave."""
    arrays = np.load(RECORDED / f"{name}.npz")
    feeds = {k[5:]: arrays[k] for k in arrays.files if k.startswith("feed ")}
    results = {k[6:]: arrays[k] for k in arrays.files if k.startswith("fetch ")}
    path = RECORDED / f"{name}.pb"
    return gf.GraphDef.FromString(path.read_bytes()) if path.exists() else None, feeds, results


def assert_same(got: Any, recorded: Any, name: str) -> None:
    if recorded.dtype.kind == "U":  # Strings are recorded as hexadecimal digits.
        digits = [text.hex() for text in np.asarray(got, object).reshape(-1)]
        assert digits == recorded.reshape(-1).tolist(), name
        return
    assert np.asarray(got).dtype == recorded.dtype and np.shape(got) == recorded.shape, name
    np.testing.assert_allclose(got, recorded, 2e-6, 1e-6, err_msg=name)


# ---- TensorFlow's graphs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mlp", "cnn", "branches", "loops", "kinds", "pipeline"])
@pytest.mark.parametrize("again", [False, True])
def test_a_frozen_graph_of_tensorflow_gives_its_numbers(name: str, again: bool) -> None:
    graph_def, feeds, results = read(name)
    with gf.Graph().as_default() as graph:
        gf.import_graph_def(graph_def, name="")
        if again:  # What was read is written and read once more.
            graph_def = graph.as_graph_def()
    with gf.Graph().as_default(), gf.Session() as session:
        gf.import_graph_def(graph_def, name="copy" if again else "")
        prefix = "copy/" if again else ""
        got = session.run([prefix + f for f in results], {prefix + k: v for k, v in feeds.items()})
        for (fetch, expected), value in zip(results.items(), got, strict=True):
            assert_same(value, expected, fetch)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_an_imported_loop_runs_as_often_as_it_is_told(n: int) -> None:
    graph_def, feeds, _ = read("loops")
    x, v = feeds["x:0"].astype(np.float64), np.array([0.5, 0.25, 2.0])
    total = x
    for i in range(n):
        total = (np.sin(total * v) if i % 2 else total * x) + 0.1
    with gf.Graph().as_default(), gf.Session() as session:
        total_tensor, grown = gf.import_graph_def(graph_def, return_elements=["total:0", "grown:0"])
        got, rows = session.run([total_tensor, grown], {"import/n:0": n, "import/x:0": feeds["x:0"]})
    np.testing.assert_allclose(got, total, 1e-5)
    assert rows.shape == (3 + n,)


@pytest.mark.parametrize("value", [-1.5, 2.0, 7.0])
def test_an_imported_cond_takes_each_branch_and_has_gradients(value: float) -> None:
    graph_def, _, _ = read("branches")
    with gf.Graph().as_default(), gf.Session() as session:
        y, x, recorded = gf.import_graph_def(graph_def, return_elements=["y:0", "x:0", "dx:0"], name="")
        expected = np.sin(value) + 3.0 if value < 0 else 8.0 if value < 5 else value * 3.0 + 1.0
        slope = np.cos(value) if value < 0 else 0.0 if value < 5 else 3.0
        (own,) = gf.gradients(y, [x])
        got = session.run([y, recorded, own], {x: value})
    np.testing.assert_allclose(got, [expected, slope, slope], 1e-6, 1e-6)


@pytest.mark.parametrize("name", ["momentum", "resource"])
def test_a_training_program_of_tensorflow_goes_on_here(name: str) -> None:
    _, feeds, results = read(name)
    with gf.Graph().as_default(), gf.Session() as session:
        saver = gf.train.import_meta_graph(str(RECORDED / f"{name}.meta"))
        assert saver is not None and gf.trainable_variables()
        assert [t.name for t in gf.get_collection("results")] == ["loss:0"]
        session.run(gf.global_variables_initializer())
        rounds = []
        for _ in range(3):
            rounds.append(session.run(list(results), feeds))
            session.run("train", feeds)
    for position, (fetch, expected) in enumerate(results.items()):
        assert_same(np.stack([r[position] for r in rounds]), expected, fetch)


def test_stripped_and_older_nodes_have_tensorflows_meaning() -> None:
    text = """
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "k" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor {
        dtype: DT_FLOAT tensor_shape { dim { size: 1 } dim { size: 1 } dim { size: 2 } dim { size: 2 } }
        float_val: 0.5 } } } }
      node { name: "conv" op: "Conv2D" input: "x" input: "k" attr { key: "T" value { type: DT_FLOAT } }
        attr { key: "strides" value { list { i: 1 i: 1 i: 1 i: 1 } } } attr { key: "padding" value { s: "SAME" } } }
      node { name: "i" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
        dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
      node { name: "row" op: "Gather" input: "conv" input: "i" attr { key: "Tparams" value { type: DT_FLOAT } }
        attr { key: "Tindices" value { type: DT_INT32 } } }
      node { name: "inverse" op: "Inv" input: "row" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "both" op: "Concat" input: "i" input: "row" input: "inverse" attr { key: "N" value { i: 2 } }
        attr { key: "T" value { type: DT_FLOAT } } }
      versions { producer: 21 }
    """
    from google.protobuf import text_format

    graph_def = text_format.Parse(text, gf.GraphDef())
    with gf.Graph().as_default(), gf.Session() as session:
        x, both = gf.import_graph_def(graph_def, return_elements=["x:0", "both:0"])
        assert x.shape.ndims is None
        got = session.run(both, {x: np.full([1, 1, 1, 2], 2.0)})
    np.testing.assert_allclose(got, [[[2.0, 2.0]], [[0.5, 0.5]]])


# ---- there and back -------------------------------------------------------------------------------------------------


def there_and_back(build: Callable[[], list[Any]], *feeds: dict[str, Any]) -> tuple[Any, Any]:
    """Checks that a graph gives the same after a GraphDef; both graphs."""
    with gf.Graph().as_default() as graph:
        fetches = [t.name for t in build()]
        initial = [v.initializer.name for v in gf.global_variables()]
    with gf.Graph().as_default() as copy:
        gf.import_graph_def(graph.as_graph_def(), name="")
    for feed in feeds:
        results = []
        for each in (graph, copy):
            with gf.Session(graph=each) as session:
                session.run(initial)
                results.append([session.run(fetches, feed), session.run(fetches, feed)])
        for first, second in zip(*results, strict=True):
            for a, b in zip(first, second, strict=True):
                np.testing.assert_array_equal(a, b)
    return graph, copy


def test_effects_inside_branches_stay_inside() -> None:
    def build() -> list[Any]:
        p = gf.placeholder(gf.bool, [], name="p")
        v = gf.Variable(1.0, name="v")
        taken = gf.cond(p, lambda: v.assign_add(10.0), lambda: gf.constant(-1.0))
        with gf.control_dependencies([taken]):
            return [taken, gf.identity(v)]

    graph, copy = there_and_back(build, {"p:0": True}, {"p:0": False})
    contexts = [op.control_flow_context for op in copy.get_operations() if op.type == "AssignAdd"]
    assert contexts[0] is not None and graph.version == copy.version


def test_gradients_of_branches_and_loops_come_back() -> None:
    def build() -> list[Any]:
        x = gf.placeholder(gf.float32, [], name="x")
        n = gf.placeholder(gf.int32, [], name="n")
        w = gf.Variable(2.0, name="w")
        y = gf.cond(x > 0.0, lambda: gf.square(gf.sin(x * w)), lambda: gf.constant(7.0))
        z = gf.cond(x > 0.0, lambda: y * x, lambda: x * x)
        _, a = gf.while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, gf.cond(i > 1, lambda: gf.sin(a * w), lambda: a * x)),
            [0, z],
        )
        return [z, a, *gf.gradients(a, [x, w])]

    there_and_back(build, {"x:0": 0.5, "n:0": 4}, {"x:0": -1.5, "n:0": 2}, {"x:0": 0.1, "n:0": 0})


def test_ops_of_ones_own_are_written_as_tensorflows_and_come_back() -> None:
    def build() -> list[Any]:
        x = gf.placeholder(gf.float32, [None, None], name="x")
        table = gf.get_variable("table", initializer=gf.ones([4, 3]))
        bias = gf.get_variable("bias", initializer=gf.zeros([3]))
        p = gf.placeholder_with_default(True, [], name="p")
        inner = gf.cond(p, lambda: gf.reduce_max(x + bias, 1), lambda: gf.reduce_mean(x * bias, 1))
        loss = gf.reduce_mean(inner) + gf.reduce_sum(gf.square(bias))
        loss += gf.reduce_sum(gf.gather(table, [1, 1, 2]) * [1.0, 2.0, 3.0])
        step = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with gf.control_dependencies([step]):
            return [gf.identity(loss), gf.identity(table), gf.identity(bias)]

    graph, copy = there_and_back(build, {"x:0": np.eye(3)}, {"x:0": np.ones([2, 3]), "p:0": False})
    own = {"BroadcastLike", "BroadcastStatic", "SumToShape"}
    assert own <= {op.type for op in graph.get_operations()}
    kinds = [{(op.name, op.type) for op in each.get_operations()} for each in (graph, copy)]
    assert kinds[0] <= kinds[1]
    assert own.isdisjoint(node.op for node in graph.as_graph_def().node)


def test_loops_inside_branches_inside_loops() -> None:
    def build() -> list[Any]:
        n = gf.placeholder(gf.int32, [], name="n")
        result = gf.cond(
            n > 0,
            lambda: gf.while_loop(
                lambda i, a: i < n,
                lambda i, a: (i + 1, a + gf.while_loop(lambda j: j < i, lambda j: j + 2, [0])),
                [0, 0],
            )[1],
            lambda: gf.constant(3),
        )
        mapped = gf.map_fn(lambda row: gf.cumsum(row), gf.reshape(gf.range(6), [2, 3]))
        return [result, mapped]

    there_and_back(build, {"n:0": 5}, {"n:0": -5})


def test_shapes_that_grow_in_a_loop_are_unknown_again() -> None:
    with gf.Graph().as_default() as graph:
        gf.while_loop(
            lambda i, rows: i < 3,
            lambda i, rows: (i + 1, gf.concat([rows, rows], 0)),
            [0, gf.ones([1, 2])],
            shape_invariants=[gf.TensorShape([]), gf.TensorShape([None, 2])],
            name="grow",
        )
    with gf.Graph().as_default():
        (rows,) = gf.import_graph_def(graph.as_graph_def(), return_elements=["grow/Exit_1:0"])
        assert rows.shape.as_list() == [None, 2]


def test_datasets_bring_their_functions() -> None:
    with gf.Graph().as_default() as graph:
        offset = gf.placeholder_with_default(3, [], name="offset")
        dataset = gf.data.Dataset.range(6).map(lambda x: x * 2 + gf.cast(offset, gf.int64))
        dataset = dataset.flat_map(lambda n: gf.data.Dataset.range(n).map(lambda x: (x, n))).batch(4)
        iterator = dataset.make_initializable_iterator()
        fetches = [gf.identity(t).name for t in iterator.get_next()]
        start = iterator.initializer.name
    with gf.Graph().as_default() as copy:
        gf.import_graph_def(graph.as_graph_def(), name="")
    assert copy.as_graph_def() == graph.as_graph_def()
    seen = []
    for each in (graph, copy):
        with gf.Session(graph=each) as session:
            session.run(start, {"offset:0": 1})
            seen.append([np.stack(session.run(fetches)).tolist() for _ in range(5)])
    assert seen[0] == seen[1] and seen[0][0] == [[0, 0, 1, 2], [1, 3, 3, 3]]


def test_a_function_that_calls_itself_is_refused() -> None:
    with gf.Graph().as_default() as graph:
        gf.data.Dataset.range(6).flat_map(lambda n: gf.data.Dataset.range(n).map(lambda x: x))
        graph_def = graph.as_graph_def()
    outer = next(f for f in graph_def.library.function if "flat" in f.signature.name)
    node = next(n for n in outer.node_def if n.op == "MapDataset")
    node.attr["f"].func.name = outer.signature.name
    with gf.Graph().as_default(), pytest.raises(ValueError, match="calls itself"):
        gf.import_graph_def(graph_def)
    node.attr["f"].func.name = "nowhere"
    with gf.Graph().as_default(), pytest.raises(ValueError, match="'nowhere' is not in the library"):
        gf.import_graph_def(graph_def)


def test_python_functions_stay_behind() -> None:
    with gf.Graph().as_default() as graph:
        gf.py_func(lambda x: x + 1, [gf.constant(1.0)], gf.float32, name="outside")
    with gf.Graph().as_default(), gf.Session() as session:
        (result,) = gf.import_graph_def(graph.as_graph_def(), return_elements=["outside:0"])
        with pytest.raises(gf.errors.OpError, match=r"calls the Python function .* which is not in the file"):
            session.run(result)


# ---- into another graph ---------------------------------------------------------------------------------------------


@pytest.fixture
def small() -> Any:
    with gf.Graph().as_default() as graph, gf.device("/cpu:0"):
        x = gf.placeholder(gf.float32, [2], name="x")
        both = gf.split(x, 2, name="parts")
        with gf.control_dependencies([gf.no_op(name="first")]), gf.colocate_with(x.op):
            gf.add(both[0], both[1], name="sum")
        return graph.as_graph_def()


def test_prefixes(small: Any) -> None:
    with gf.Graph().as_default() as graph:
        assert gf.import_graph_def(small) is None
        gf.import_graph_def(small)
        gf.import_graph_def(small, name="a/b")
        with gf.name_scope("outer"):
            gf.import_graph_def(small, name="in")
        gf.import_graph_def(small, name="")
        names = {op.name for op in graph.get_operations()}
        assert {"import/sum", "import_1/sum", "a/b/sum", "outer/in/sum", "sum"} <= names
        assert gf.no_op(name="sum").name == "sum_1"
        op = graph.get_operation_by_name("a/b/sum")
        assert op.colocation_groups() == [b"loc:@a/b/x"] and op.device == "/device:CPU:0"
        assert [c.name for c in op.control_inputs] == ["a/b/first"]
        again = gf.import_graph_def(small, name="", return_elements=["x", "sum:0"])
        assert [element.name for element in again] == ["x_1", "sum_2:0"]
        assert again[1].op.colocation_groups() == [b"loc:@x_1"]


def test_input_map_and_return_elements(small: Any) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        gate = gf.Variable(0, name="gate")
        session.run(gate.initializer)
        opened = gate.assign_add(1).op
        one = gf.constant([100.0])
        result, op, mapped = gf.import_graph_def(
            small,
            {"x": gf.constant([1.0, 2.0]), "parts:1": one, "^first": opened},
            ["sum:0", "sum", b"parts:1"],
        )
        assert session.run(result).tolist() == [101.0]
        assert op is result.op and mapped is one and session.run(gate) == 1


def test_devices_around_complete_those_inside(small: Any) -> None:
    with gf.Graph().as_default() as graph, gf.device("/job:worker/task:1"):
        gf.import_graph_def(small, name="")
        device = graph.get_operation_by_name("x").device
        assert gf.DeviceSpec.from_string(device).task == 1 and "CPU:0" in device


def by_name(graph_def: Any, name: str) -> Any:
    return next(node for node in graph_def.node if node.name == name)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (({"y:0": 1.0},), ValueError, r"not found in graph_def: \[y:0\]"),
        (({"parts:5": 1.0},), ValueError, "not found"),
        (({"parts:0": "text"},), ValueError, "string"),
        ((["x:0"],), TypeError, "input_map must be a dictionary"),
        ((None, "x:0"), TypeError, "return_elements must be a list"),
        ((None, ["x:1"]), ValueError, "'x:1' not found"),
        ((None, ["other"]), ValueError, "'other' not found"),
    ],
)
def test_what_does_not_fit_is_named(small: Any, arguments: Any, error: type, says: str) -> None:
    with gf.Graph().as_default() as graph:
        before = graph.version
        with pytest.raises(error, match=says):
            gf.import_graph_def(small, *arguments)
        kept = [op.type for op in graph.get_operations()[before:]]
        assert kept in ([], ["Const"])  # A value given in input_map may have become a constant before.


def test_no_graph_def() -> None:
    with gf.Graph().as_default() as graph, pytest.raises(TypeError, match="must be a GraphDef"):
        gf.import_graph_def(graph)


def test_unknown_ops_are_listed_with_their_nodes(small: Any) -> None:
    for number in range(7):
        small.node.add(name=f"strange{number}", op="FancyOp")
    small.node.add(name="stranger", op="OtherOp")
    with gf.Graph().as_default() as graph:
        with pytest.raises(
            gf.errors.NotFoundError, match=r"2 op types.*\n.*FancyOp: 'strange0'.*\.\.\.\n.*'stranger'"
        ):
            gf.import_graph_def(small)
        assert graph.version == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda g: g.node[0].attr["dtype"].CopyFrom(g.node[0].attr["shape"]), "dtype is of type type"),
        (lambda g: setattr(g.node[1], "name", "x"), "twice"),
        (lambda g: setattr(g.node[0], "name", "a b"), "which is none"),
        (lambda g: g.node[-1].input.insert(0, "missing"), "'missing:0' is not in the GraphDef"),
        (lambda g: g.node[-1].input.append("^missing"), "control input 'missing'"),
        (lambda g: g.node[-1].input.insert(0, "x:7"), "does not exist"),
        (lambda g: g.node[-1].input.insert(0, "x"), "takes 2 inputs, not 3"),
        (lambda g: g.node[-1].attr["T"].__setattr__("type", 3), "attribute T is"),
        (lambda g: g.node[-1].attr["fancy"].__setattr__("i", 3), "fancy = 3 is not one of"),
        (lambda g: by_name(g, "parts").attr["num_split"].__setattr__("i", 2**40), "too large"),
        (lambda g: by_name(g, "parts").input.append("^sum"), "cycle that is no loop"),
        (lambda g: setattr(g.node[0], "device", "/job:a:b"), "device"),
    ],
)
def test_nodes_that_do_not_hold_together(small: Any, change: Callable[[Any], Any], says: str) -> None:
    change(small)
    with gf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match=says):
            gf.import_graph_def(small)
        assert graph.version == 0


def test_attributes_of_later_versions_that_say_nothing_are_ignored(small: Any) -> None:
    small.node[-1].attr["grad_x"].b = False
    small.node[-1].attr["_output_shapes"].list.shape.add()
    with gf.Graph().as_default():
        gf.import_graph_def(small)


def test_a_constant_cannot_ask_for_more_memory_than_it_has() -> None:
    graph_def = gf.GraphDef()
    node = graph_def.node.add(name="c", op="Const")
    node.attr["dtype"].type = 1
    tensor = node.attr["value"].tensor
    tensor.dtype = 1
    tensor.float_val.append(1.0)
    tensor.tensor_shape.dim.add(size=1000)
    with gf.Graph().as_default(), gf.Session() as session:
        (c,) = gf.import_graph_def(graph_def, return_elements=["c:0"])
        assert session.run(c).tolist() == [1.0] * 1000
    tensor.tensor_shape.dim.add(size=2**40)
    with gf.Graph().as_default(), pytest.raises(ValueError, match="more than reading a graph may allocate"):
        gf.import_graph_def(graph_def)


def test_long_chains_need_no_recursion() -> None:
    graph_def = gf.GraphDef()
    node = graph_def.node.add(name="n0", op="Placeholder")
    node.attr["dtype"].type = 1
    for number in range(1, 3000):
        node = graph_def.node.add(name=f"n{number}", op="Neg", input=[f"n{number - 1}"])
        node.attr["T"].type = 1
    with gf.Graph().as_default(), gf.Session() as session:
        (last,) = gf.import_graph_def(graph_def, return_elements=["n2999:0"], name="")
        assert session.run(last, {"n0:0": 2.0}) == -2.0
