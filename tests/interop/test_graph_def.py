"""Protects the GraphDef that a graph becomes: TensorFlow's names and types of attributes, its edges, its limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import graphflow as gf
from graphflow._core.graph.attributes import tensor_from_proto, tensor_to_proto
from graphflow._core.graph.op_def import own_types
from graphflow._core.interop.op_table import tensorflow_op, tensorflow_ops
from graphflow.protos import graph_pb2, tensor_pb2

OWN = {
    "ApplyNesterovMomentum", "AssertBroadcastable", "BroadcastLike", "BroadcastStatic", "BytesInUse", "BytesLimit",
    "CollectiveAllToAll", "CollectiveBegin", "CollectiveEnd", "CollectiveGatherGrad", "Forest", "ForestProbabilities",
    "ForestSizes", "GatherTree", "GrowForest", "MaxBytesInUse", "ReadResourceState",
    "RestoreReducedAxes", "SparseApplyAdam", "SparseApplyGradientDescent", "SparseApplyNesterovMomentum",
    "StalenessAdmit", "StalenessBegin", "StalenessDone", "SumToShape",
    "SyncRoundAdvance", "SyncRoundArrive", "SyncRoundBegin", "SyncRoundClaim", "SyncRoundDone", "SyncRoundFree",
    "SyncRoundHold", "SyncRoundMean", "SyncRoundMeanSlices", "SyncRoundPush", "SyncRoundPushSlices",
    "WriteResourceState",
}  # fmt: skip
"""Op types that TensorFlow does not have, or not without the libraries of contrib."""


def node(name: str) -> Any:
    return gf.get_default_graph().get_operation_by_name(name).node_def


def test_messages_are_tensorflows() -> None:
    with gf.Graph().as_default() as graph:
        gf.constant(1.0, name="c")
        graph_def = graph.as_graph_def()
        assert isinstance(graph_def, graph_pb2.GraphDef) and gf.GraphDef is graph_pb2.GraphDef
        assert isinstance(graph_def.node[0], gf.NodeDef) and graph_def.versions.producer == 134
        with gf.Session() as session:
            assert session.graph_def == graph_def
        assert gf.GraphDef.FromString(graph_def.SerializeToString()) == graph_def
        assert text_format.Parse(text_format.MessageToString(graph_def), gf.GraphDef()) == graph_def


def test_a_graph_is_written_in_a_process_that_has_used_nothing_else() -> None:
    program = "import graphflow as gf\nop = gf.constant(1.0).op\n"
    for written in ("op.graph.as_graph_def().node[0]", "op.node_def"):
        check = f"{program}assert {written}.op == 'Const'"
        subprocess.run([sys.executable, "-c", check], check=True, timeout=60)


def test_every_op_type_has_tensorflows_declaration_or_is_known_to_be_ones_own() -> None:
    declared = set(tensorflow_ops())
    missing = {name for name in own_types() if name not in declared and name not in OWN}
    assert not missing, f"run tests/oracle/op_table.py for {sorted(missing)}, or add them to OWN"


def test_attributes_follow_from_inputs_and_outputs() -> None:
    with gf.Graph().as_default():
        gf.cast(gf.constant([1, 2]), gf.float64, name="cast")
        gf.concat([[1.0], [2.0], [3.0]], 0, name="concat")
        gf.Assert(True, ["text", 1.0], name="check")
        gf.nn.conv2d(gf.ones([1, 4, 4, 1]), gf.ones([2, 2, 1, 3]), [1, 1, 1, 1], "SAME", name="conv")
        gf.placeholder(gf.string, [None, 2], name="x")
        gf.placeholder(gf.string, name="any")
        cast, concat, check, conv = node("cast"), node("concat"), node("check/Assert"), node("conv")
        assert (cast.attr["SrcT"].type, cast.attr["DstT"].type, cast.attr["Truncate"].b) == (3, 2, False)
        assert (concat.attr["N"].i, concat.attr["T"].type, concat.attr["Tidx"].type) == (3, 1, 3)
        assert list(check.attr["T"].list.type) == [7, 1] and check.attr["summarize"].i == 3
        assert conv.attr["padding"].s == b"SAME" and list(conv.attr["strides"].list.i) == [1, 1, 1, 1]
        assert (
            conv.attr["explicit_paddings"].WhichOneof("value") == "list" and conv.attr["use_cudnn_on_gpu"].b
        )
        assert [d.size for d in node("x").attr["shape"].shape.dim] == [-1, 2]
        assert node("any").attr["shape"].shape.unknown_rank


def test_inputs_stand_in_tensorflows_order() -> None:
    with gf.Graph().as_default():
        v = gf.Variable([1.0], name="v")
        gf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(gf.reduce_sum(v * v), name="step")
        update = node("step/update_v/ApplyMomentum") if _has("step/update_v/ApplyMomentum") else None
        nodes = gf.get_default_graph().as_graph_def().node
        update = update or next(n for n in nodes if n.op == "ApplyMomentum")
    declared = tensorflow_op("ApplyMomentum")
    assert declared is not None and [a.name for a in declared.inputs] == [
        "var",
        "accum",
        "lr",
        "grad",
        "momentum",
    ]
    assert list(update.input)[:2] == ["v", "v/Momentum"] and "momentum" in update.input[4]
    assert update.attr["use_nesterov"].b


def _has(name: str) -> bool:
    return any(op.name == name for op in gf.get_default_graph().get_operations())


def test_what_a_branch_runs_waits_for_the_branch() -> None:
    with gf.Graph().as_default():
        p = gf.placeholder(gf.bool, [], name="p")
        v = gf.Variable(1.0, name="v")
        gf.cond(p, lambda: gf.assign(v, 2.0, name="set"), lambda: gf.constant(3.0, name="other"))
        assert list(node("cond/switch_t").input) == ["cond/Switch:1"]
        assert list(node("cond/set/value").input) == ["^cond/switch_t"]
        assert list(node("cond/other").input) == ["^cond/switch_f"]


def test_what_a_loop_takes_comes_through_an_enter() -> None:
    with gf.Graph().as_default() as graph:
        v = gf.Variable(1.0, name="v")
        gf.while_loop(lambda x: x < v + 10.0, lambda x: x + v + 1.0, [0.0])
        nodes = {n.name: n for n in graph.as_graph_def().node}
        enters = [n for n in nodes.values() if n.op == "RefEnter"]
        assert [list(n.input) for n in enters] == [["v"]] and enters[0].attr["is_constant"].b
        assert list(nodes["while/add_1/y"].input if "while/add_1/y" in nodes else ["^while/Identity"])
        users = [n.name for n in nodes.values() if enters[0].name in n.input]
        assert len(users) == 2 and all(name.startswith("while/") for name in users)


@pytest.mark.parametrize(
    "value",
    [
        np.float32([[1.5, -2.0]]), np.float16(0.1), np.zeros([0, 3], np.int64), np.array(True), np.int8([-1, 2]),
        np.complex64([1 + 2j, 3]), np.complex128(1j), np.uint64([2**63, 1]), np.uint32(7), np.array(b"bytes", object),
        np.array([[b"\xff", b""]], object),
    ],
    ids=str,
)  # fmt: skip
def test_tensors_come_back_bit_for_bit(value: Any) -> None:
    proto = tensor_pb2.TensorProto()
    tensor_to_proto(value, proto)
    back = tensor_from_proto(tensor_pb2.TensorProto.FromString(proto.SerializeToString()))
    assert back.dtype == value.dtype and back.shape == value.shape and back.tolist() == value.tolist()
    # TensorFlow lists complex numbers and strings one by one.
    assert bool(proto.tensor_content) == (value.size > 1 and value.dtype.kind not in "Oc")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "dtype: DT_FLOAT tensor_shape { dim { size: 3 } } tensor_content: '1234'",
            "takes 12 bytes, but has 4",
        ),
        ("dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: [1, 2]", "has 2 values"),
        ("dtype: DT_FLOAT tensor_shape { dim { size: -2 } }", "negative size"),
        ("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }", "unknown shape"),
        ("dtype: DT_UINT8 tensor_shape { dim { size: 1 } } int_val: 300", "cannot hold"),
        ("dtype: DT_RESOURCE tensor_shape { }", "cannot be read"),
        ("dtype: DT_QINT8 tensor_shape { }", "no dtype"),
        (
            "dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } dim { size: 4 } }",
            "may allocate",
        ),
    ],
)
def test_tensors_that_do_not_hold_together(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        tensor_from_proto(text_format.Parse(text, tensor_pb2.TensorProto()))


def test_a_graph_beyond_two_gigabytes_says_so_and_still_runs() -> None:
    """Promise 36: only writing such a graph has the limit of a protobuf message."""
    large = np.broadcast_to(np.zeros(1, np.uint8), [2**31])  # 2 GB that take no memory.
    with gf.Graph().as_default() as graph:
        c = gf.constant(np.zeros(4, np.uint8), name="c")
        c.op.attrs["value"] = large
        gf.constant(1.0, name="other")
        with pytest.raises(ValueError, match=r"Const 'c'.*do not fit into a protobuf message.*in variables"):
            graph.as_graph_def()


def test_a_graph_needs_no_protobuf_to_be_built_and_run() -> None:
    program = """
import sys
sys.modules["google.protobuf"] = sys.modules["tensorboard"] = None
import graphflow as gf
v = gf.Variable(1.0)
x = gf.placeholder(gf.float32, name="x")
y = gf.div_no_nan(1.0, x) + v
with gf.Session() as session:
    session.run(v.initializer)
    assert session.run(y, {x: 2.0}) == 1.5
    try:
        session.run(y)
    except gf.errors.InvalidArgumentError as error:
        assert error.op.name == "x" and str(error.op)
    else:
        raise AssertionError("x was not fed")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_write_graph(tmp_path: Path) -> None:
    with gf.Graph().as_default() as graph:
        gf.constant(1.0, name="c")
        text = gf.train.write_graph(graph, str(tmp_path / "new"), "graph.pbtxt")
        binary = gf.train.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pb", as_text=False)
    assert text == str(tmp_path / "new" / "graph.pbtxt")
    assert text_format.Parse(Path(text).read_text(), gf.GraphDef()) == graph.as_graph_def()
    assert gf.GraphDef.FromString(Path(binary).read_bytes()) == graph.as_graph_def()


def test_errors_name_the_node() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        bad = gf.floordiv(1, gf.placeholder(gf.int32, [], name="zero"), name="bad")
        with pytest.raises(gf.errors.InvalidArgumentError) as caught:
            session.run(bad, {"zero:0": 0})
        assert caught.value.node_def == bad.op.node_def and caught.value.node_def.op == "FloorDiv"
