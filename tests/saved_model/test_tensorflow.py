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


def test_the_command_shows_and_runs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["saved-model", "show", str(RECORDED)]) == 0
    shown = capsys.readouterr().out
    assert "written for TensorFlow 1.15.5" in shown and "variables: 4, 104 bytes" in shown
    assert main(["saved-model", "run", str(RECORDED), "--input-exprs", f"x={FED}"]) == 0
    assert "b'one two three'" in capsys.readouterr().out
