"""Protects SavedModels of TensorFlow 1.15: one of its own loads here and gives the same numbers.

data/tensorflow was written by TensorFlow: record.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.interop.op_table import tensorflow_op
from graphflow.cli.main import main

sm = gf.saved_model
RECORDED = Path(__file__).parent / "data" / "tensorflow"
FED = [[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize("scope", [None, "inner"])
def test_a_model_of_tensorflow_answers_as_there(scope: str | None) -> None:
    with gf.Session() as session:
        model = sm.load(session, ["serve"], RECORDED, import_scope=scope)
        signature = model.signature_def["serving_default"]
        assert sm.is_valid_signature(signature)
        x, scores, answer = (
            sm.get_tensor_from_tensor_info(info, import_scope=scope)
            for info in (signature.inputs["x"], signature.outputs["scores"], signature.outputs["answer"])
        )
        found, text = session.run([scores, answer], {x: FED})
        np.testing.assert_array_equal(found, np.load(RECORDED / "scores.npy"))
        assert text == b"one two three"  # of the asset, which the main operation read
        names = sorted(v.op.name.removeprefix("inner/") for v in gf.global_variables())
        assert names == ["dense/bias", "dense/kernel", "global_step", "parts/part_0", "parts/part_1"]
        assert session.run(gf.train.get_global_step()) == 1234


def test_it_trains_on_and_is_saved_by_the_saver_that_tensorflow_built(tmp_path: Path) -> None:
    with gf.Session() as session:
        model = sm.load(session, ["serve"], RECORDED)
        saver = gf.train.Saver.from_proto(model.saver_def)
        step = gf.train.get_global_step()
        session.run(gf.assign_add(step, 1))
        prefix = saver.save(session, str(tmp_path / "model"), write_meta_graph=False)
        assert sorted(os.listdir(tmp_path)) == ["checkpoint", "model.safetensors"]
        assert gf.train.load_variable(prefix, "global_step") == 1235
        assert gf.train.load_variable(prefix, "parts").tolist() == [
            [0, 0.25],
            [0.5, 0.75],
            [1, 1.25],
            [1.5, 1.75],
        ]
        session.run(step.initializer)
        saver.restore(session, prefix)
        assert session.run(step) == 1235


def test_it_is_exported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(
        RECORDED / "assets"
    )  # the constant holds the path that it had when the model was written
    with gf.Session() as session:
        signature = sm.load(session, ["serve"], RECORDED).signature_def["serving_default"]
        builder = sm.Builder(tmp_path / "again")
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature},
            assets_collection=[session.graph.get_tensor_by_name("path:0")],
        )
        builder.save()
    monkeypatch.chdir(tmp_path)
    with gf.Graph().as_default(), gf.Session() as session:
        signature = sm.load(session, ["serve"], tmp_path / "again").signature_def["serving_default"]
        found = session.run(signature.outputs["scores"].name, {signature.inputs["x"].name: FED})
    np.testing.assert_array_equal(found, np.load(RECORDED / "scores.npy"))


def test_a_model_for_tensorflow_has_its_files(tmp_path: Path) -> None:
    """TensorFlow 1.15 and 2 load what this writes: tried by hand, since they are not among the tests' packages."""
    x = gf.placeholder(gf.float32, [None, 3], name="x")
    hidden = gf.layers.dense(x, 4, gf.nn.relu, name="hidden")
    parts = gf.get_variable("parts", [4, 200], partitioner=gf.fixed_size_partitioner(3, axis=1))
    words = gf.Variable([["a", ""], ["b" * 200, "\0"]], name="words")
    y = gf.matmul(hidden, gf.convert_to_tensor(parts), name="y")
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        sm.simple_save(
            session, tmp_path / "model", {"x": x}, {"y": y, "words": words + "!"}, for_tensorflow=True
        )
        expected = session.run([y, words], {x: FED})
    assert sorted(os.listdir(tmp_path / "model" / "variables")) == [
        "variables.data-00000-of-00001", "variables.index",
    ]  # fmt: skip
    with gf.Graph().as_default(), gf.Session() as session:
        outputs = sm.load(session, ["serve"], tmp_path / "model").signature_def["serving_default"].outputs
        found = session.run([outputs["y"].name, outputs["words"].name], {"x:0": FED})
    assert found[0].tobytes() == expected[0].tobytes()
    assert found[1].tolist() == [[word + b"!" for word in row] for row in expected[1].tolist()]


def trainable() -> tuple[Any, Any, Any, Any]:
    """x, the loss, the training step, and a saver of all state, which has operations that TensorFlow lacks."""
    x = gf.placeholder(gf.float32, [None], name="x")
    w = gf.get_variable("w", [3])
    loss = gf.reduce_mean(x * gf.reduce_sum(w))
    train = gf.train.AdamOptimizer(0.1).minimize(loss, gf.train.get_or_create_global_step())
    saver = gf.train.Saver()
    gf.add_to_collection(gf.GraphKeys.SAVERS, saver)
    gf.add_to_collection("saving", gf.get_default_graph().as_graph_element(saver.saver_def.save_tensor_name))
    return x, loss, train, saver


def test_what_tensorflow_lacks_stays_behind(tmp_path: Path) -> None:
    x, loss, train, _ = trainable()
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(train, {x: [1.0, 2.0]})
        expected = session.run(loss, {x: [3.0]})
        sm.simple_save(session, tmp_path / "model", {"x": x}, {"y": loss}, for_tensorflow=True)
    with gf.Graph().as_default() as graph, gf.Session() as session:
        model = sm.load(session, ["serve"], tmp_path / "model")
        assert (
            session.run(model.signature_def["serving_default"].outputs["y"].name, {"x:0": [3.0]}) == expected
        )
        assert all(tensorflow_op(node.op) is not None for node in model.graph_def.node)
        assert not graph.get_collection("saving") and not graph.get_collection(gf.GraphKeys.SAVERS)
        assert "w/Adam" in [v.op.name for v in gf.global_variables()]


def test_what_tensorflow_lacks_and_the_model_needs_is_listed(tmp_path: Path) -> None:
    saver = trainable()[-1]
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        builder = sm.Builder(tmp_path / "model", for_tensorflow=True)
        with pytest.raises(ValueError, match=r"ReadResourceState.*cannot be computed without them"):
            builder.add_meta_graph_and_variables(session, ["serve"], saver=saver)
        del builder
    assert os.listdir(tmp_path) == []


def test_the_command_shows_and_runs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["saved-model", "show", str(RECORDED)]) == 0
    shown = capsys.readouterr().out
    assert "written by TensorFlow 1.15.5" in shown and "variables: 4, 104 bytes" in shown
    assert main(["saved-model", "run", str(RECORDED), "--input-exprs", f"x={FED}"]) == 0
    assert "b'one two three'" in capsys.readouterr().out
