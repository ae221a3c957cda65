"""Protects TensorFlow's inner writer and loader of SavedModels, and its meta graphs of scopes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow.as_tensorflow.finder import member
from graphflow.as_tensorflow.inside import estimators, meta_graphs, saved_models, slots


def write(folder: Path, **arguments: Any) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        gf.Variable(5, name="x")
        y = gf.Variable(11, name="y")
        session.run(gf.global_variables_initializer())
        made = {"init_op": y.assign(7).op, "train_op": y.assign_add(1)}
        builder = saved_models.InnerSavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(session, ["serve"], **made, **arguments)
        builder.add_meta_graph(["bare"])
        assert builder.save() == str(folder / "saved_model.pb").encode()


def test_operations_are_named_by_signatures(tmp_path: Path) -> None:
    write(tmp_path / "model")
    message = saved_models.parse_saved_model(tmp_path / "model")
    first, second = message.meta_graphs
    assert set(first.signature_def) == {"__saved_model_init_op", "__saved_model_train_op"}
    assert "saved_model_main_op" not in first.collection_def and not second.signature_def
    with gf.Graph().as_default(), gf.Session() as session:
        meta_graph = gf.saved_model.load(session, ["serve"], tmp_path / "model")
        assert session.run(["x:0", "y:0"]) == [5, 7]
        train_op = saved_models.get_train_op(meta_graph)
        assert session.run(train_op) == 8 and saved_models.get_train_op(second) is None


def test_assets_are_named_beside_collections(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("one")
    with gf.Graph().as_default(), gf.Session() as session:
        asset = gf.constant(str(tmp_path / "words"))
        builder = saved_models.InnerSavedModelBuilder(tmp_path / "model")
        builder.add_meta_graph_and_variables(session, ["serve"], assets_list=[asset])
        builder.save()
    (meta_graph,) = saved_models.parse_saved_model(tmp_path / "model").meta_graphs
    assert [one.filename for one in meta_graph.asset_file_def] == ["words"] and not meta_graph.collection_def


def test_a_model_is_loaded_in_steps(tmp_path: Path) -> None:
    write(tmp_path / "model")
    loader = saved_models.SavedModelLoader(tmp_path / "model")
    assert loader.export_dir == str(tmp_path / "model")
    with gf.Graph().as_default() as graph, gf.Session() as session:
        saver, elements = loader.load_graph(graph, ["serve"], "scope", return_elements=["y:0"])
        assert elements == [graph.get_tensor_by_name("scope/y:0")]
        with pytest.raises(ValueError, match="the graph has variables"):
            loader.restore_variables(session, None)
        loader.restore_variables(session, saver)
        assert session.run("scope/y:0") == 11
        loader.run_init_ops(session, ["serve"], "scope")
        assert session.run("scope/y:0") == 7
    with pytest.raises(RuntimeError, match="could not be found"):
        loader.get_meta_graph_def_from_tags(["other"])


def test_a_signature_may_name_an_operation() -> None:
    with gf.Graph().as_default():
        signature = saved_models.op_signature_def(gf.no_op("nothing"), "key")
        assert saved_models.load_op_from_signature_def(signature, "key").name == "nothing"
    with gf.Graph().as_default(), pytest.raises(gf.errors.NotFoundError, match="The key could not be found"):
        saved_models.load_op_from_signature_def(signature, "key")


def test_signatures_of_training_and_evaluation() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None], "x")
        train = saved_models.supervised_train_signature_def({"x": x}, {"loss": gf.reduce_sum(x)})
        assert train.method_name == "tensorflow/supervised/training" and set(train.outputs) == {"loss"}
        found = saved_models.supervised_eval_signature_def({"x": x}, None, None, {"sum": gf.reduce_sum(x)})
        assert found.method_name == "tensorflow/supervised/eval" and set(found.outputs) == {"sum"}
        with pytest.raises(ValueError, match="inputs cannot be None or empty"):
            saved_models.supervised_eval_signature_def({}, {"loss": x})


def test_a_collection_of_ones_own_holds_variables_by_name() -> None:
    with gf.Graph().as_default():
        gf.add_to_collection("mine", gf.Variable(3, name="v"))
        meta_graph = gf.train.export_meta_graph()
    assert list(meta_graph.collection_def["mine"].node_list.value) == ["v:0"]
    with gf.Graph().as_default() as graph:
        gf.train.import_meta_graph(meta_graph)
        assert graph.get_collection("mine")[0].name == "v:0"


def test_scopes_are_copied() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        with gf.variable_scope("one"):
            gf.Variable(3, name="v")
        made = meta_graphs.copy_scoped_meta_graph("one", "two")
        assert [v.name for v in made.values()] == ["two/v:0"] and list(made) == ["v:0"]
        session.run(gf.global_variables_initializer())
        assert session.run("two/v:0") == 3
        with pytest.raises(ValueError, match="need to be different"):
            meta_graphs.copy_scoped_meta_graph("one", "one")
        assert meta_graphs.create_meta_graph_def(export_scope="one").graph_def.node
        with pytest.raises(NotImplementedError, match="exclude_nodes"):
            meta_graphs.create_meta_graph_def(exclude_nodes=["v"])
    other = gf.Graph()
    with gf.Graph().as_default():
        gf.Variable(3, name="v")
        gf.train.import_meta_graph(gf.train.export_meta_graph(), graph=other)
    assert [v.name for v in other.get_collection("variables")] == ["v:0"]


def test_slots_of_tensors_and_of_other_dtypes() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        c = gf.constant([1.0, 2.5], name="c")
        slot = slots.create_slot(c, c * 2, "twice")
        zeros = slots.create_zeros_slot(gf.Variable([1.0, 2.5], name="v"), "zeros", gf.float64)
        size = gf.placeholder_with_default([2], [None])
        free = gf.get_variable("free", initializer=gf.fill(size, 3.0), validate_shape=False)
        dynamic = slots.create_zeros_slot(free, "slot")
        session.run(gf.global_variables_initializer())
        assert [slot.op.name, zeros.op.name, dynamic.op.name] == ["c/twice", "v/zeros", "free/slot"]
        assert session.run(slot).tolist() == [2, 5] and zeros.dtype == gf.float64
        assert session.run(dynamic).tolist() == [0, 0]


def test_modules_serve_them() -> None:
    where = "tensorflow.python.saved_model"
    assert member(f"{where}.builder", "_SavedModelBuilder") is saved_models.InnerSavedModelBuilder
    assert member(f"{where}.loader_impl", "SavedModelLoader") is saved_models.SavedModelLoader
    assert member(where, "simple_save").simple_save is gf.saved_model.simple_save
    assert member(f"{where}.main_op", "main_op") is gf.saved_model.main_op.main_op
    assert member("tensorflow.python.training.slot_creator", "create_slot") is slots.create_slot
    assert (
        member("tensorflow.python.training.checkpoint_utils", "checkpoints_iterator")
        is gf.contrib.training.checkpoints_iterator
    )


def test_what_an_input_function_returned_is_taken_apart() -> None:
    with gf.Graph().as_default():
        c = gf.constant(1)
        assert estimators.parse_input_fn_result(c) == (c, None, [])
        features, labels, hooks = estimators.parse_input_fn_result(gf.data.Dataset.from_tensors((3, 4)))
        with gf.train.MonitoredSession(hooks=hooks) as session:
            assert session.run([features, labels]) == [3, 4]
        with pytest.raises(ValueError, match=r"input_fn should return \(features, labels\)"):
            estimators.parse_input_fn_result((c, c, c))


def test_numbers_are_written_as_summaries(tmp_path: Path) -> None:
    with gf.Graph().as_default():
        gf.Variable(1, name="v")
        assert [v.name for v in estimators.all_saveable_objects()] == ["v:0"]
        estimators.write_dict_to_summary(str(tmp_path), {"loss": 2.0, "none": None}, 7)
    gf.summary.FileWriterCache.clear()
    (event,) = gf.contrib.testing.latest_summaries(str(tmp_path))
    assert event.step == 7 and [value.tag for value in event.summary.value] == ["loss"]
