"""Protects TensorFlow's tools that programs import, freeze_graph and inspect_checkpoint: 1.15 gives the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.as_tensorflow.tools.freeze_graph import freeze_graph
from graphflow.as_tensorflow.tools.inspect_checkpoint import print_tensors_in_checkpoint_file


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The prefix of a checkpoint beside graph.pbtxt and a meta graph; as a program of TensorFlow's leaves them."""
    monkeypatch.setenv("GRAPHFLOW_CHECKPOINTS", "tensorflow")
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, 2], name="x")
        w = gf.get_variable("w", initializer=[[1.0], [2.0]])
        b = gf.get_variable("b", initializer=[0.5])
        y = gf.add(gf.matmul(x, w), b, name="y")
        loss = gf.reduce_mean(y)
        train = gf.train.AdamOptimizer(0.1).minimize(loss, gf.train.get_or_create_global_step())
        with gf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path / "run")) as session:
            session.run(train, {x: [[1.0, 1.0]]})
    return gf.train.latest_checkpoint(str(tmp_path / "run"))


def result(graph_def: Any) -> list[float]:
    with gf.Graph().as_default(), gf.Session() as session:
        gf.import_graph_def(graph_def, name="")
        return session.run("y:0", {"x:0": [[1.0, 1.0], [0.0, 1.0]]})[:, 0].tolist()


def test_a_graph_is_frozen_from_the_files_of_a_training(trained: str, tmp_path: Path) -> None:
    files = (
        str(Path(trained).parent / "graph.pbtxt"),
        "",
        False,
        trained,
        "y",
        "save/restore_all",
        "save/Const:0",
    )
    frozen = freeze_graph(*files, str(tmp_path / "frozen.pb"), True, "")
    assert [node.name for node in frozen.node if node.op == "Const"] == ["w", "b"]
    assert gf.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes()) == frozen
    np.testing.assert_allclose(result(frozen), [3.2, 2.3], rtol=1e-5)
    again = freeze_graph("", "", True, trained, "y", "", "", "", True, "", input_meta_graph=trained + ".meta")
    assert result(again) == result(frozen)
    kept = freeze_graph(*files, "", True, "", variable_names_blacklist="b")
    assert [node.op for node in kept.node if node.name == "b"] == ["VariableV2"]


def test_a_saved_model_is_frozen(tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [None, 1], name="x")
        v = gf.get_variable("v", initializer=2.0)
        y = gf.multiply(x, v, name="y")
        session.run(v.initializer)
        gf.saved_model.simple_save(session, tmp_path / "model", {"x": x}, {"y": y})
    frozen = freeze_graph(
        None,
        None,
        False,
        None,
        "y",
        None,
        None,
        None,
        True,
        None,
        input_saved_model_dir=str(tmp_path / "model"),
    )
    with gf.Graph().as_default(), gf.Session() as session:
        gf.import_graph_def(frozen, name="")
        assert session.run("y:0", {"x:0": [[3.0]]}).tolist() == [[6.0]]


def test_what_cannot_be_frozen_is_said(trained: str, tmp_path: Path) -> None:
    graph = str(Path(trained).parent / "graph.pbtxt")
    for arguments, error, text in (
        ((None, "", False, trained, "y"), ValueError, "No variables to save"),
        ((graph, "", False, "none", "y"), ValueError, "Input checkpoint 'none' doesn't exist!"),
        ((graph, "", False, trained, ""), ValueError, "You need to supply the name of a node"),
        (("none", "", False, trained, "y"), OSError, "Input graph file 'none' does not exist!"),
    ):
        with pytest.raises(error, match=text):
            freeze_graph(*arguments, "", "", "", True, "")
    freeze_graph(graph, "", False, trained, "y", "", "", str(tmp_path / "frozen.pb"), True, "")
    with pytest.raises(ValueError, match="You cannot freeze a graph twice"):
        freeze_graph(str(tmp_path / "frozen.pb"), "", True, trained, "y", "", "", "", True, "")


def test_a_checkpoint_is_printed(trained: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_tensors_in_checkpoint_file(trained, tensor_name="global_step", all_tensors=False)
    assert capsys.readouterr().out == "tensor_name:  global_step\n1\n# Total number of params: 12\n"
    print_tensors_in_checkpoint_file(trained, "no", False)
    assert "Key no not found in checkpoint" in capsys.readouterr().out
    print_tensors_in_checkpoint_file("no", "no", False)
    assert (
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for no"
        in capsys.readouterr().out
    )
    print_tensors_in_checkpoint_file(trained, "", False, True, "Adam")
    names = [
        "b",
        "b/Adam",
        "b/Adam_1",
        "beta1_power",
        "beta2_power",
        "global_step",
        "w",
        "w/Adam",
        "w/Adam_1",
    ]
    assert capsys.readouterr().out.splitlines() == [
        *(f"tensor_name:  {name}" for name in names),
        "# Excluding 4 tensors (6 params) that match Adam when counting.",
        "# Total number of params: 6",
    ]
    print_tensors_in_checkpoint_file(trained, "", False)
    assert capsys.readouterr().out.startswith("b (DT_FLOAT) [1]\nb/Adam (DT_FLOAT) [1]\n")


def test_programs_import_them(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = (
        "from graphflow import as_tensorflow; as_tensorflow.install()\n"
        "from tensorflow.python.tools import freeze_graph, inspect_checkpoint\n"
        "from tensorflow.python.tools.inspect_checkpoint import print_tensors_in_checkpoint_file\n"
        "print(freeze_graph.freeze_graph_with_def_protos.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(gf.__file__).parents[1]
    )
    assert done.stdout == "freeze_graph_with_def_protos\n", done.stderr
