"""Protects Session: what may be fetched, what is refused and how, and what sessions share (nothing)."""

from __future__ import annotations

import collections
import json
import threading
from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


Pair = collections.namedtuple("Pair", ["left", "right"])


# ---- fetches ------------------------------------------------------------------------------------------------------


def test_fetched_structures_keep_their_form() -> None:
    a, b = gf.constant(1.0, name="a"), gf.constant([2, 3], name="b")
    order = collections.OrderedDict([("z", a), ("y", [b])])
    with gf.Session() as session:
        got = session.run([a, (b,), Pair(a, b), {"k": a, "op": b.op}, [], order, "a:0", "b"])
    assert got[0] == 1.0 and type(got[1]) is tuple and isinstance(got[2], Pair)
    assert got[3] == {"k": 1.0, "op": None} and got[4] == []
    assert type(got[5]) is collections.OrderedDict and list(got[5]) == ["z", "y"]
    assert got[6] == 1.0 and got[7] is None


def test_a_scalar_is_a_numpy_scalar_and_the_rest_are_arrays() -> None:
    with gf.Session() as session:
        scalar, vector, text = session.run([gf.constant(2.5), gf.constant([1]), gf.constant("t")])
    assert type(scalar) is np.float32 and type(vector) is np.ndarray and text == b"t"


def test_sparse_values_are_fetched_and_fed() -> None:
    sparse = gf.sparse_placeholder(gf.float32)
    slices = gf.IndexedSlices(gf.constant([[1.0]]), gf.constant([2]))
    value = gf.SparseTensorValue([[0, 1]], np.array([3.0], np.float32), [2, 2])
    with gf.Session() as session:
        for _ in range(2):  # the second time from the kept plan
            got = session.run(sparse, {sparse: value})
        rows = session.run(slices)
    assert isinstance(got, gf.SparseTensorValue) and got.values.tolist() == [3.0]
    assert (
        isinstance(rows, gf.IndexedSlicesValue) and rows.indices.tolist() == [2] and rows.dense_shape is None
    )


def test_what_is_fetched_belongs_to_the_caller() -> None:
    v = gf.Variable([1.0, 2.0])
    x = gf.placeholder(gf.float32, [2])
    c = gf.constant([5.0, 6.0])
    taken = gf.cond(gf.constant(True), lambda: gf.identity(x), lambda: gf.identity(x))
    checked = gf.check_numerics(v, "bad")
    fetches = [v, v.value(), gf.identity(v), c, gf.identity(c), x, gf.identity(x), taken, checked, c, v]
    fed = np.array([7.0, 8.0], np.float32)
    with gf.Session() as session:
        session.run(v.initializer)
        first = session.run(fetches, {x: fed})
        for array in first:
            array[:] = -1.0
        again = session.run(fetches, {x: fed})
    assert [a.tolist() for a in again] == [
        [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [5.0, 6.0], [5.0, 6.0], [7.0, 8.0], [7.0, 8.0], [7.0, 8.0], [1.0, 2.0],
        [5.0, 6.0], [1.0, 2.0],
    ]  # fmt: skip


def test_an_earlier_result_does_not_change_when_the_variable_does() -> None:
    v = gf.Variable([1.0, 2.0])
    reads = [v, v.value(), gf.check_numerics(v, "m"), gf.reshape(v, [2, 1])]
    step = v.assign_add([10.0, 10.0])
    with gf.Session() as session:
        session.run(v.initializer)
        before = session.run(reads)
        session.run(step.op)
        assert [b.reshape(-1).tolist() for b in before] == [[1.0, 2.0]] * 4


@pytest.mark.parametrize("fetch", [None, 3, 1.5, object(), [None], {"a": 3}])
def test_what_is_no_fetch_is_a_type_error(fetch: Any) -> None:
    with gf.Session() as session, pytest.raises(TypeError, match="Fetch argument"):
        session.run(fetch)


def test_unknown_names_and_foreign_elements_are_value_errors() -> None:
    here = gf.constant(1)
    with gf.Graph().as_default():
        foreign = gf.constant(1)
    with gf.Session(graph=here.graph) as session:
        for fetch in ("nothing:0", "nothing", foreign, foreign.op, [here, foreign]):
            with pytest.raises(ValueError, match="Fetch argument"):
                session.run(fetch)
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            session.run(here, {foreign: 1})
        with pytest.raises(ValueError, match="different from the session's graph"):
            foreign.eval(session=session)


def test_what_is_inside_a_branch_is_not_fetched() -> None:
    inside = []

    def branch() -> Any:
        inside.append(gf.constant(1.0) * 2.0)
        return inside[0]

    gf.cond(gf.placeholder(gf.bool, []), branch, lambda: gf.constant(0.0))
    with gf.Session() as session, pytest.raises(ValueError, match="not fetchable"):
        session.run(inside[0])


# ---- sessions and graphs ------------------------------------------------------------------------------------------


def test_a_closed_session_refuses_everything() -> None:
    x = gf.constant(1.0)
    session = gf.Session()
    call = session.make_callable(x)
    session.close()
    session.close()
    for use in (lambda: session.run(x), call, lambda: x.eval(session=session), x.op.run):
        with pytest.raises((RuntimeError, ValueError), match=r"closed Session|no default session"):
            use()


def test_default_sessions_nest() -> None:
    x = gf.placeholder_with_default(1.0, [])
    outer, inner = gf.Session(), gf.Session()
    assert gf.get_default_session() is None
    with outer.as_default():
        with inner.as_default():
            with outer.as_default():
                assert gf.get_default_session() is outer
            assert gf.get_default_session() is inner
            assert x.eval() == 1.0
        assert gf.get_default_session() is outer
    assert gf.get_default_session() is None
    with pytest.raises(ValueError, match="no default session"):
        x.eval()
    assert outer.run(x) == 1.0  # as_default() closes nothing


def test_default_graphs_nest() -> None:
    first, second = gf.Graph(), gf.Graph()
    with first.as_default():
        with second.as_default():
            with first.as_default():
                assert gf.get_default_graph() is first
            assert gf.get_default_graph() is second
        assert gf.get_default_graph() is first


def test_an_interactive_session_is_the_default_until_it_is_closed() -> None:
    session = gf.InteractiveSession()
    assert gf.get_default_session() is session and gf.constant(3).eval() == 3
    session.close()
    assert gf.get_default_session() is None


def test_an_interactive_session_beside_an_open_one_is_warned_of() -> None:
    gf.InteractiveSession().close()
    session = gf.InteractiveSession()
    with pytest.warns(UserWarning, match="An interactive session is already active"):
        other = gf.InteractiveSession()
    other.close()
    session.close()
    gf.InteractiveSession().close()


@pytest.mark.parametrize("target", ["nonsense", "localhost:2222", "http://host:1"])
def test_a_target_of_another_kind_is_not_found(target: str) -> None:
    with pytest.raises(gf.errors.NotFoundError, match=r"No session factory.*a target is zmq://host:port"):
        gf.Session(target)
    with pytest.raises(gf.errors.NotFoundError, match=r"No session factory.*a target is zmq://host:port"):
        gf.Session.reset(target)


def test_devices_have_an_incarnation() -> None:
    with gf.Session() as session:
        numbers = {device.incarnation for device in session.list_devices()}
    assert len(numbers) == 1 and 0 not in numbers


def test_variables_belong_to_their_session() -> None:
    v = gf.Variable(1.0)
    with gf.Session() as one, gf.Session() as two:
        one.run(v.initializer)
        two.run(v.initializer)
        one.run(v.assign(5.0))
        assert one.run(v) == 5.0 and two.run(v) == 1.0


def test_operations_added_between_runs_are_run() -> None:
    x = gf.constant(2.0)
    with gf.Session() as session:
        assert session.run(x) == 2.0
        assert session.run(x * 3.0) == 6.0
        gf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])  # changes operations that it built before
        assert session.run(x) == 2.0


def test_a_target_is_refused_and_a_wrong_config() -> None:
    with pytest.raises(gf.errors.NotFoundError, match="zmq://host:port"):
        gf.Session("localhost:2222")
    with pytest.raises(TypeError, match="ConfigProto"):
        gf.Session(config={"device_count": 1})  # type: ignore[arg-type]


# ---- make_callable ------------------------------------------------------------------------------------------------


def test_make_callable() -> None:
    x, y = gf.placeholder(gf.float32, []), gf.placeholder(gf.float32, [])
    v = gf.Variable(1.0)
    with gf.Session() as session:
        session.run(v.initializer)
        call = session.make_callable({"sum": x + y + v, "x": x}, [x, y])
        assert call(1.0, 2.0) == {"sum": 4.0, "x": 1.0}
        session.run(v.assign(10.0))
        assert call(1.0, 2.0)["sum"] == 13.0
        with pytest.raises(TypeError, match="takes 2 values"):
            call(1.0)
        with pytest.raises(ValueError, match="Cannot feed"):
            call([1.0], 2.0)
        metadata = gf.RunMetadata()
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        traced = session.make_callable(x + y, [x, y], accept_options=True)
        assert traced(1.0, 2.0, options=options, run_metadata=metadata) == 3.0
        assert metadata.step_stats.nodes()
        assert session.make_callable(v.assign_add(1.0).op)() is None
        with pytest.raises(TypeError):
            session.make_callable(x, [3])


# ---- threads ------------------------------------------------------------------------------------------------------


def test_threads_each_have_their_own_defaults() -> None:
    seen: list[Any] = []

    def look() -> None:
        seen.append(gf.get_default_session())
        with gf.Graph().as_default() as mine:
            gf.constant(1)
            seen.append(len(mine.get_operations()))

    with gf.Session() as session:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert gf.get_default_session() is session
    assert seen == [None, 1]


def test_updates_from_many_threads_are_all_counted() -> None:
    v = gf.Variable(gf.zeros([100]))
    step = v.assign_add(gf.ones([100])).op
    torn: list[Any] = []
    with gf.Session() as session:
        session.run(v.initializer)

        def train() -> None:
            for _ in range(50):
                session.run(step)
                got = session.run(v)
                if got.min() != got.max():
                    torn.append(got)

        threads = [threading.Thread(target=train) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.run(v).tolist() == [400.0] * 100
    assert not torn


# ---- what a run tells ---------------------------------------------------------------------------------------------


def test_a_trace_has_every_operation_with_its_device() -> None:
    x = gf.placeholder(gf.float32, [2])
    with gf.device("/cpu:1"):
        y = gf.multiply(x, 2.0, name="there")
    z = gf.add(y, 1.0, name="here")
    metadata = gf.RunMetadata()
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        session.run(z, {x: [1.0, 2.0]}, options=options, run_metadata=metadata)
    devices = {n.node_name: n.device.rpartition(":")[2] for n in metadata.step_stats.nodes()}
    assert devices["there"] == "1" and devices["here"] == "0"
    assert {"Send", "Recv"} <= {n.op for n in metadata.step_stats.nodes()}
    assert [d.device[-5:] for d in metadata.step_stats.dev_stats]
    events = json.loads(metadata.chrome_trace())["traceEvents"]
    named = {e["args"]["name"] for e in events if e["ph"] == "X"}
    assert {"there", "here"} <= named
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in events if e["ph"] == "X")
    named = {e["args"]["name"][-5:] for e in events if e["name"] == "process_name"}
    assert named == {"CPU:0", "CPU:1"}


def test_placements_are_logged_once(capfd: Any) -> None:
    with gf.device("/cpu:1"):
        y = gf.multiply(gf.placeholder(gf.float32, name="x"), 2.0, name="y")
    config = gf.ConfigProto(device_count={"CPU": 2}, log_device_placement=True)
    with gf.Session(config=config) as session:
        for _ in range(2):
            session.run(y, {"x:0": 1.0})
        session.run(y + 1.0, {"x:0": 1.0})
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("y: (Mul):")]
    assert len(lines) == 1 and lines[0].endswith("/job:localhost/replica:0/task:0/device:CPU:1")


def test_explain_prints_the_plan_without_running() -> None:
    x = gf.placeholder(gf.float32, [None, 2], name="x")
    v = gf.Variable(1.0, name="v")
    y = gf.reduce_sum(x * v, name="total")
    with gf.Session() as session:
        text = session.explain(y, [x])
    assert "feed x:0" in text and "total = Sum(" in text and "float32" in text and "CPU:0" in text
    assert text.endswith("return total:0")


def test_devices_are_listed() -> None:
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        names = [d.name for d in session.list_devices()]
    assert names == [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in (0, 1)]


def test_objects_of_attrs_classes_are_fetched() -> None:
    attr = pytest.importorskip("attr")
    kind = attr.make_class("Both", ["first", "second"])
    with gf.Graph().as_default(), gf.Session() as session:
        one = gf.constant(1.0)
        found = session.run(kind(one, {"twice": kind(one * 2.0, [one])}))
        assert isinstance(found, kind) and found.first == 1.0
        assert found.second["twice"].first == 2.0 and found.second["twice"].second == [1.0]
