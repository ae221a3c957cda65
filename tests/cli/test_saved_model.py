"""Protects graphflow saved-model: it shows and runs a model from the shell, and what cannot be is one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import protos
from graphflow.cli.main import main

sm = gf.saved_model
PROJECT = Path(__file__).resolve().parents[2]

SHOWN = """\
SavedModel model: 2 meta graphs, schema version 1

tags: serve ({serve} operations{version})
  signature serving_default, method tensorflow/serving/predict
    input   n      int32    []      n:0
    input   x      float32  [?, 3]  x:0
    output  score  float32  [?, 1]  score:0
  signature text, method (none)
    input   word     string  [...]  word:0
    output  doubled  string  [...]  doubled:0
  main operation: main
  assets:
    words.txt  5 bytes  for path:0

tags: train ({train} operations{version})
  main operation: none
  assets: none

variables: 2, 16 bytes
  b  float32  []      4 bytes
  w  float32  [3, 1]  12 bytes
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model in it, called model."""
    top = tmp_path_factory.mktemp("cli")
    (top / "words.txt").write_text("words")
    builder = sm.Builder(top / "model")
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [None, 3], name="x")
        n = gf.placeholder(gf.int32, [], name="n")
        w = gf.get_variable("w", initializer=np.array([[1.0], [2.0], [3.0]], np.float32))
        score = gf.add(gf.matmul(x, w) * gf.to_float(n), gf.get_variable("b", initializer=0.5), name="score")
        word = gf.placeholder(gf.string, name="word")
        doubled = gf.string_join([word, word], name="doubled")
        session.run(gf.global_variables_initializer())
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {
                "serving_default": sm.predict_signature_def({"x": x, "n": n}, {"score": score}),
                "text": sm.build_signature_def(
                    {"word": sm.build_tensor_info(word)}, {"doubled": sm.build_tensor_info(doubled)}
                ),
            },
            assets_collection=[gf.constant(str(top / "words.txt"), name="path")],
            main_op=gf.no_op(name="main"),
        )
    with gf.Graph().as_default():
        gf.get_variable("b", initializer=0.5)
        builder.add_meta_graph(["train"])
    builder.save()
    return top


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["saved-model", *arguments]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    return found.out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that says what was wrong."""
    assert main(["saved-model", *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == "" and found.err.count("\n") == 1 and found.err.startswith("graphflow: ")
    return found.err


# ---- show -------------------------------------------------------------------------------------------------------


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    model = protos.saved_model_pb2.SavedModel.FromString(Path("model/saved_model.pb").read_bytes())
    serve, train = (len(meta_graph.graph_def.node) for meta_graph in model.meta_graphs)
    written = f", written by graphflow {gf.__version__}"
    assert shown(capsys, "show", "model") == SHOWN.format(serve=serve, train=train, version=written)


def test_show_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    train = shown(capsys, "show", "model", "--tag-set", "train")
    assert "tags: train" in train and "serve" not in train
    text = shown(capsys, "show", "model", "--signature", "text")
    assert "doubled:0" in text and "score" not in text and "variables" not in text and "train" not in text
    everything = shown(capsys, "show", "model", "--all")
    assert "VariableV2" in everything and "saved_model_assets" in everything


def test_show_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "does not exist at" in refusal(capsys, "show", "nowhere")
    assert "available_tags: ['serve'], ['train']" in refusal(
        capsys, "show", "model", "--tag-set", "serve,gpu"
    )
    assert "There is: serving_default, text." in refusal(capsys, "show", "model", "--signature", "nope")
    (tmp_path / "saved_model.pb").write_bytes(b"nonsense")
    assert "damaged" in refusal(capsys, "show", str(tmp_path))


def test_what_a_hostile_model_names_does_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = protos.saved_model_pb2.SavedModel()
    meta_graph = model.meta_graphs.add()
    meta_graph.meta_info_def.tags.append("\x1b]0;owned\x07")
    meta_graph.signature_def["\x1b[2J"].inputs["\x9b1m\n"].name = "\r"
    meta_graph.graph_def.node.add(op="\x1b[31m")
    (tmp_path / "saved_model.pb").write_bytes(model.SerializeToString())
    text = shown(capsys, "show", str(tmp_path), "--all")
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\x1b[2J" in text and "\\x9b1m\\n" in text


# ---- run --------------------------------------------------------------------------------------------------------


def test_run_with_literals(capsys: pytest.CaptureFixture[str]) -> None:
    expected = "score:\n[[14.5]\n [ 2.5]]\n"
    literals = ["--input-exprs", "x=[[1.0, 2, 3], [0, 1, 0]]", "--input-exprs", "n=1"]
    assert shown(capsys, "run", "model", *literals) == expected
    text = shown(capsys, "run", "model", "--signature", "text", "--input-exprs", "word='a;b=c'")
    assert text == "doubled:\nb'a;b=ca;b=c'\n"


def test_run_with_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((1, 3)))
    np.savez(tmp_path / "data.npz", first=np.eye(3, dtype=np.float32), n=np.int32(2))
    files = ["--inputs", f"x={tmp_path}/data.npz[first]", "--inputs", f"n={tmp_path}/data.npz[n]"]
    assert shown(capsys, "run", "model", *files) == "score:\n[[2.5]\n [4.5]\n [6.5]]\n"
    mixed = ["--inputs", f"x={tmp_path}/x.npy", "--input-exprs", "n=3"]
    assert shown(capsys, "run", "model", *mixed) == "score:\n[[18.5]]\n"


def test_run_writes_what_it_prints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = ["run", "model", "--outdir", str(tmp_path / "out")]
    numbers = ["--input-exprs", "x=[[1, 1, 1]]", "--input-exprs", "n=1"]
    shown(capsys, *run, *numbers)
    assert np.load(tmp_path / "out" / "score.npy").tolist() == [[6.5]]
    assert "--overwrite" in refusal(capsys, *run, *numbers)
    shown(capsys, *run, *numbers[:3], "n=2", "--overwrite")
    assert np.load(tmp_path / "out" / "score.npy").tolist() == [[12.5]]
    shown(capsys, *run, "--signature", "text", "--input-exprs", "word=['ä', 'b']")
    written = np.load(tmp_path / "out" / "doubled.npy", allow_pickle=False)
    assert [text.decode() for text in written.tolist()] == ["ää", "bb"]
    again = shown(
        capsys, "run", "model", "--signature", "text", "--inputs", f"word={tmp_path}/out/doubled.npy"
    )
    assert "b'bbbb'" in again


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--input-exprs", "n=1"], "Give a value for x"),
        (["--input-exprs", "z=1"], "no input z. Its inputs: n, x."),
        (["--input-exprs", "x"], "NAME=VALUE"),
        (["--input-exprs", "n=1", "--input-exprs", "n=2"], "'n' is given twice"),
        (["--input-exprs", "n=__import__('os').system('touch owned')"], "must be a Python literal"),
        (["--input-exprs", "n=" + "(" * 500], "must be a Python literal"),
        (["--input-exprs", "n=1;x=[[1, 1, 1]]"], "must be a Python literal"),
        (["--input-exprs", "n={1: 2}"], "a number, a string or a list"),
        (["--input-exprs", "x=[[1, 2]]", "--input-exprs", "n=1"], "x:0"),
        (["--input-exprs", "x=[[1, 2], [1]]", "--input-exprs", "n=1"], "x:0"),
        (["--input-exprs", "x='text'", "--input-exprs", "n=1"], "x:0"),
        (["--inputs", "x=nowhere.npy"], "cannot be read from nowhere.npy"),
        (["--inputs", "x=pickled.npy"], "cannot be read from pickled.npy"),
        (["--inputs", "x=words.txt"], "cannot be read from words.txt"),
        (["--inputs", "x=plain.npy[a]"], "holds one array"),
        (["--inputs", "x=two.npz"], "holds the arrays a, b"),
        (["--inputs", "x=two.npz[c]"], "holds the arrays a, b"),
        (["--tag-set", "eval"], "available_tags"),
        (["--tag-set", "train"], "no signature 'serving_default'. There is: none."),
        (
            ["--outdir", "words.txt", "--input-exprs", "n=1", "--input-exprs", "x=[[1,1,1]]"],
            "--outdir words.txt cannot be made",
        ),
    ],
)
def test_run_refuses(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    class Owned:
        def __reduce__(self) -> Any:
            return os.system, ("touch owned",)

    np.save("pickled.npy", np.array([Owned()], dtype=object), allow_pickle=True)
    np.save("plain.npy", np.ones(3))
    np.savez("two.npz", a=1, b=2)
    assert words in refusal(capsys, "run", "model", *arguments)
    assert not (folder / "owned").exists()


def test_an_output_stays_in_its_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [])
        sparse = gf.SparseTensor([[0, 1]], [3.0], [2, 2])
        sm.simple_save(session, tmp_path / "odd", {"x": x}, {"../up": x + 1.0, "sparse": sparse})
    shown(capsys, "run", str(tmp_path / "odd"), "--input-exprs", "x=1", "--outdir", str(tmp_path / "out"))
    assert sorted(os.listdir(tmp_path / "out")) == [
        "..%2Fup.npy", "sparse.dense_shape.npy", "sparse.indices.npy", "sparse.values.npy",
    ]  # fmt: skip
    assert np.load(tmp_path / "out" / "sparse.values.npy").tolist() == [3.0]


def test_as_a_process(folder: Path) -> None:
    def graphflow(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "graphflow.cli", *arguments],
            capture_output=True, text=True, cwd=folder, timeout=60,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
        )  # fmt: skip

    ran = graphflow("saved-model", "run", "model", "--input-exprs", "n=1", "--input-exprs", "x=[[1,1,1]]")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "score:\n[[6.5]]\n", "")
    help_text = graphflow("saved-model", "run", "--help").stdout
    assert "--input-exprs NAME=LITERAL" in help_text and "examples:" in help_text
