"""Protects meta graphs: what a program leaves of itself on disk, and goes on from without its code."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.protos import meta_graph_pb2, variable_pb2


def build() -> Any:
    x = gf.placeholder(gf.float32, [None, 2], name="x")
    with gf.device("/cpu:0"):
        w = gf.get_variable("w", initializer=[[1.0], [2.0]])
    offset = gf.Variable(0.5, trainable=False, name="offset", collections=[gf.GraphKeys.LOCAL_VARIABLES])
    loss = gf.reduce_sum(gf.square(gf.matmul(x, w) + offset), name="loss")
    step = gf.train.get_or_create_global_step()
    gf.train.AdamOptimizer(0.1).minimize(loss, global_step=step, name="train")
    for value in (loss, loss.op):
        gf.add_to_collection("results", value)
    gf.add_to_collection("count", 3)
    gf.add_to_collection("rate", 0.5)
    gf.add_to_collection("words", "text")
    gf.add_to_collection("words", b"bytes")
    return loss


FEED = {"x:0": np.float32([[1.0, -1.0], [0.5, 2.0]])}


def run(prefix: str = "") -> list[Any]:
    feed = {prefix + key: value for key, value in FEED.items()}
    with gf.Session() as session:
        session.run([gf.global_variables_initializer(), gf.local_variables_initializer()])
        losses = []
        for _ in range(3):
            losses.append(session.run(prefix + "loss:0", feed))
            session.run(prefix + "train", feed)
        return losses


@pytest.fixture
def expected() -> list[Any]:
    with gf.Graph().as_default():
        build()
        return run()


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("scope", [None, "a/b"])
def test_a_program_goes_on_without_its_code(
    tmp_path: Path, expected: list[Any], as_text: bool, scope: str | None
) -> None:
    path = str(tmp_path / "new" / "model.meta")
    with gf.Graph().as_default():
        build()
        written = gf.train.export_meta_graph(path, as_text=as_text)
        assert isinstance(written, gf.MetaGraphDef)
    prefix = f"{scope}/" if scope else ""
    with gf.Graph().as_default() as graph:
        assert gf.train.import_meta_graph(path, import_scope=scope) is not None
        assert [v.name for v in gf.trainable_variables()] == [prefix + "w:0"]
        assert gf.trainable_variables()[0] is gf.global_variables()[0]  # One object in both collections.
        assert [v.name for v in gf.local_variables()] == [prefix + "offset:0"]
        assert not gf.local_variables()[0].trainable
        assert gf.train.get_global_step(graph).name == prefix + "global_step:0"
        tensor, op = gf.get_collection("results")
        assert (tensor.name, op.name) == (prefix + "loss:0", prefix + "loss")
        assert gf.get_collection("count") == [3] and gf.get_collection("rate") == [0.5]
        assert gf.get_collection("words") == [b"text", b"bytes"]
        assert run(prefix) == expected


def test_what_stands_in_it() -> None:
    with gf.Graph().as_default():
        build()
        saver = gf.train.Saver()
        info = meta_graph_pb2.MetaGraphDef.MetaInfoDef(tags=["serve"])
        written = saver.export_meta_graph()
        mine = gf.train.export_meta_graph(meta_info_def=info, collection_list=["rate"], clear_devices=True)
    assert written.meta_info_def.tensorflow_version == "1.15.5"
    assert gf.__version__ in written.meta_info_def.tensorflow_git_version
    listed = {op.name: op for op in written.meta_info_def.stripped_op_list.op}
    assert {"MatMul", "VariableV2", "ApplyAdam"} <= set(listed) and "Conv2D" not in listed
    assert [(a.name, a.type) for a in listed["MatMul"].attr] == [
        ("transpose_a", "bool"), ("transpose_b", "bool"), ("T", "type"),
    ]  # fmt: skip
    assert listed["VariableV2"].is_stateful and listed["ApplyAdam"].input_arg[0].is_ref
    assert written.saver_def == saver.to_proto() and written.saver_def.restore_op_name == "save/restore_all"
    parts = [node for node in written.graph_def.node if "_output_shapes" not in node.attr]
    assert all("_graphflow_part" in node.attr for node in parts)
    assert list(mine.meta_info_def.tags) == ["serve"] and list(mine.collection_def) == ["rate"]
    assert not any(node.device for node in mine.graph_def.node)
    assert any(node.device for node in written.graph_def.node)
    first = variable_pb2.VariableDef.FromString(written.collection_def["variables"].bytes_list.value[0])
    assert (first.variable_name, first.initializer_name, first.snapshot_name) == (
        "w:0",
        "w/Assign",
        "w/read:0",
    )
    assert first.initial_value_name == "w/initial_value:0" and first.trainable and not first.is_resource


def test_defaults_can_be_left_out(expected: list[Any]) -> None:
    with gf.Graph().as_default():
        build()
        whole = gf.train.export_meta_graph()
        stripped = gf.train.export_meta_graph(strip_default_attrs=True)
    assert stripped.meta_info_def.stripped_default_attrs
    matmul = next(node for node in stripped.graph_def.node if node.op == "MatMul")
    assert "transpose_a" not in matmul.attr and matmul.attr["T"].type == 1
    assert stripped.ByteSize() < whole.ByteSize()
    with gf.Graph().as_default():
        gf.train.import_meta_graph(stripped)
        assert run() == expected


def test_partitioned_variables_keep_their_places() -> None:
    with gf.Graph().as_default():
        gf.get_variable("w", initializer=gf.ones([6, 2]), partitioner=gf.fixed_size_partitioner(3))
        written = gf.train.export_meta_graph()
    with gf.Graph().as_default():
        gf.train.import_meta_graph(written)
        parts = gf.global_variables()
        infos = [part.get_save_slice_info() for part in parts]
        assert [(i.full_name, i.spec) for i in infos] == [("w", f"6 2 {2 * n},2:0,2") for n in range(3)]


def test_a_variable_that_came_back_can_be_loaded() -> None:
    message = gf.Variable([1.0, 2.0], name="v").to_proto()
    variable = gf.Variable.from_proto(message)
    begins_otherwise = gf.Variable.from_proto(message)
    begins_otherwise.set_initializer(variable.initial_value, gf.no_op())
    other = gf.Variable.from_proto(begins_otherwise.to_proto())
    with gf.Session() as session:
        for number, loaded in enumerate((variable, begins_otherwise, other)):
            loaded.load([number, 5.0])
            assert session.run(variable).tolist() == [number, 5.0]


def test_a_scope_alone() -> None:
    with gf.Graph().as_default():
        outside = gf.constant(1.0, name="outside")
        with gf.variable_scope("inside"):
            v = gf.get_variable("v", initializer=2.0)
            gf.square(v, name="result")
        written = gf.train.export_meta_graph(export_scope="inside")
        assert {node.name for node in written.graph_def.node} >= {"v", "v/Assign", "result"}
        with gf.name_scope("inside/"):
            gf.add(v, outside, name="reaches_out")
        with pytest.raises(ValueError, match=r"unbound inputs: 'inside/reaches_out' takes 'outside'"):
            gf.train.export_meta_graph(export_scope="inside")
    with gf.Graph().as_default(), gf.Session() as session:
        gf.train.import_meta_graph(written)
        session.run(gf.global_variables_initializer())
        assert session.run("result:0") == 4.0


def test_other_savers_can_be_left_out() -> None:
    with gf.Graph().as_default():
        gf.get_variable("v", initializer=2.0)
        gf.add_to_collection(gf.GraphKeys.SAVERS, gf.train.Saver(name="other"))
        saver = gf.train.Saver(name="mine")
        gf.add_to_collection(gf.GraphKeys.SAVERS, saver)
        both = saver.export_meta_graph()
        alone = saver.export_meta_graph(clear_extraneous_savers=True)
    scopes = [{node.name.split("/")[0] for node in m.graph_def.node} for m in (both, alone)]
    assert {"mine", "other"} <= scopes[0] and "mine" in scopes[1] and "other" not in scopes[1]
    assert [len(m.collection_def["savers"].bytes_list.value) for m in (both, alone)] == [2, 1]
    with gf.Graph().as_default():
        gf.train.import_meta_graph(both)
        assert len(gf.get_collection(gf.GraphKeys.SAVERS)) == 2


def test_queue_runners_come_back() -> None:
    with gf.Graph().as_default():
        queue = gf.FIFOQueue(3, [gf.int32], [[]], name="queue")
        gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue([7])]))
        gf.identity(queue.dequeue(), name="next")
        written = gf.train.export_meta_graph()
    with gf.Graph().as_default(), gf.Session() as session:
        gf.train.import_meta_graph(written)
        coordinator = gf.train.Coordinator()
        threads = gf.train.start_queue_runners(session, coordinator)
        assert [session.run("next:0") for _ in range(5)] == [7] * 5
        coordinator.request_stop()
        coordinator.join(threads)


def test_what_has_no_message_is_left_out_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with gf.Graph().as_default(), caplog.at_level(logging.WARNING):
        gf.add_to_collection("objects", object())
        gf.add_to_collection("objects", object())
        gf.add_to_collection("mixed", 1)
        gf.add_to_collection("mixed", "text")
        gf.add_to_collection("kept", 1)
        assert list(gf.train.export_meta_graph().collection_def) == ["kept"]
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2 and "'objects'" in lines[0] and "'mixed'" in lines[1]


def test_no_saver_and_no_variables_is_no_saver() -> None:
    with gf.Graph().as_default():
        gf.constant(1.0, name="c")
        written = gf.train.export_meta_graph()
    with gf.Graph().as_default():
        assert gf.train.import_meta_graph(written) is None


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="does not exist"):
        gf.train.import_meta_graph(str(tmp_path / "missing.meta"))
    bad = tmp_path / "bad.meta"
    bad.write_bytes(b"\xff\xfe not a meta graph")
    with pytest.raises(gf.errors.DataLossError, match=r"Cannot parse file .*bad\.meta"):
        gf.train.import_meta_graph(str(bad))


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("variables", b"\xff\xff", "cannot be read"),
        (
            "variables",
            variable_pb2.VariableDef(variable_name="nothing:0").SerializeToString(),
            "needs 'nothing:0'",
        ),
        ("variables", variable_pb2.VariableDef(variable_name="x:0").SerializeToString(), "no variable"),
    ],
)
def test_collections_that_do_not_hold_together(key: str, value: bytes, says: str) -> None:
    with gf.Graph().as_default():
        build()
        written = gf.train.export_meta_graph()
    written.collection_def[key].bytes_list.value.append(value)
    with gf.Graph().as_default(), pytest.raises((ValueError, gf.errors.OpError), match=says):
        gf.train.import_meta_graph(written)


def test_damaged_meta_graphs_are_refused_or_read(tmp_path: Path) -> None:
    with gf.Graph().as_default():
        build()
        data = gf.train.Saver().export_meta_graph().SerializeToString(deterministic=True)
    random = np.random.default_rng(0)
    path = tmp_path / "damaged.meta"
    outcomes = []
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(int(random.integers(1, 4))):
            changed[int(random.integers(len(changed)))] ^= 1 << int(random.integers(8))
        path.write_bytes(
            bytes(changed[: int(random.integers(len(changed)))] if random.random() < 0.2 else changed)
        )
        with gf.Graph().as_default():
            try:
                gf.train.import_meta_graph(str(path))
                outcomes.append(True)
            except (ValueError, TypeError, gf.errors.OpError) as error:
                assert str(error)
                outcomes.append(False)
    assert 3 < sum(outcomes) < 57


def test_a_meta_graph_is_imported_into_the_scope_that_is_open(tmp_path: Path, expected: list[Any]) -> None:
    path = str(tmp_path / "model.meta")
    with gf.Graph().as_default():
        build()
        gf.train.export_meta_graph(path)
    with gf.Graph().as_default() as graph:
        with gf.name_scope("new"):
            gf.train.import_meta_graph(path)
        assert all(op.name.startswith("new/") for op in graph.get_operations())
        assert [v.name for v in gf.trainable_variables()] == ["new/w:0"]
        np.testing.assert_allclose(run("new/"), expected)
