"""Protects SavedModels: what is saved is loaded again, whole or not at all, and what cannot be says why."""

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

sm = gf.saved_model


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def save_line(folder: Path, slope: float = 2.0, **arguments: Any) -> None:
    """Saves y = slope x + 1."""
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [None], name="x")
        w = gf.get_variable("w", initializer=slope)
        y = gf.add(x * w, 1.0, name="y")
        session.run(gf.global_variables_initializer())
        sm.simple_save(session, folder, {"x": x}, {"y": y}, **arguments)


def answer(folder: Path, tags: Any = ("serve",), scope: str | None = None) -> Any:
    with gf.Graph().as_default(), gf.Session() as session:
        signature = sm.load(session, list(tags), folder, import_scope=scope).signature_def["serving_default"]
        x, y = (
            sm.get_tensor_from_tensor_info(info, import_scope=scope)
            for info in (signature.inputs["x"], signature.outputs["y"])
        )
        return session.run(y, {x: [1.0, 2.0]}).tolist()


def test_a_model_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    save_line(tmp_path / "model")
    assert answer(tmp_path / "model") == [3.0, 5.0]
    assert answer(str(tmp_path / "model").encode()) == [3.0, 5.0]  # type: ignore[arg-type]
    assert answer(tmp_path / "model", scope="inner") == [3.0, 5.0]
    assert sorted(os.listdir(tmp_path / "model")) == ["saved_model.pb", "variables"]
    assert os.listdir(tmp_path) == ["model"]


def test_two_models_share_a_graph_under_scopes(tmp_path: Path) -> None:
    save_line(tmp_path / "two", 2.0)
    save_line(tmp_path / "three", 3.0)
    with gf.Session() as session:
        for scope in ("two", "three"):
            sm.load(session, ["serve"], tmp_path / scope, import_scope=scope)
        feeds = {"two/x:0": [1.0], "three/x:0": [1.0]}
        assert [r.tolist() for r in session.run(["two/y:0", "three/y:0"], feeds)] == [[3.0], [4.0]]
        assert sorted(v.name for v in gf.global_variables()) == ["three/w:0", "two/w:0"]


def test_as_text(tmp_path: Path, graph: gf.Graph) -> None:
    x = gf.placeholder(gf.float32, [2], name="x")
    y = gf.multiply(x, gf.Variable([3.0, 4.0]), name="y")
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        builder = sm.Builder(tmp_path / "model")
        signature = sm.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        assert builder.save(as_text=True) == str(tmp_path / "model" / "saved_model.pbtxt")
        assert 'tags: "serve"' in (tmp_path / "model" / "saved_model.pbtxt").read_text()
        assert answer(tmp_path / "model") == [3.0, 8.0]
        builder.save()  # the other form beside it
    assert sorted(os.listdir(tmp_path / "model")) == ["saved_model.pb", "saved_model.pbtxt", "variables"]
    (tmp_path / "model" / "saved_model.pbtxt").write_text("meta_graphs: 1")
    assert answer(tmp_path / "model") == [3.0, 8.0]
    (tmp_path / "model" / "saved_model.pb").unlink()
    with pytest.raises(OSError, match="Cannot parse file"):
        answer(tmp_path / "model")


def test_several_meta_graphs_share_the_variables(tmp_path: Path) -> None:
    builder = sm.builder.SavedModelBuilder(str(tmp_path / "model"))
    for tags in (["train"], ["serve", "gpu"]):
        with gf.Graph().as_default(), gf.Session() as session:
            x = gf.placeholder(gf.float32, [None], name="x")
            y = gf.multiply(x, gf.get_variable("w", initializer=2.0), name="y")
            y = gf.add(y, float(len(tags)))
            signatures = {"serving_default": sm.predict_signature_def({"x": x}, {"y": y})}
            if tags == ["train"]:
                with pytest.raises(AssertionError, match="has not been saved yet"):
                    builder.add_meta_graph(tags, signatures)
                session.run(gf.global_variables_initializer())
                builder.add_meta_graph_and_variables(session, tags, signatures)
                with pytest.raises(AssertionError, match="already been saved"):
                    builder.add_meta_graph_and_variables(session, tags, signatures)
            else:
                builder.add_meta_graph(tags, signatures, clear_devices=True, strip_default_attrs=True)
    builder.save()
    assert answer(tmp_path / "model", {"train"}) == [3.0, 5.0]
    assert answer(tmp_path / "model", ["gpu", "serve"]) == [4.0, 6.0]
    with pytest.raises(
        RuntimeError, match=r"\['serve'\] could not be found.*\n.*\['train'\], \['gpu', 'serve'\]"
    ):
        answer(tmp_path / "model")
    with pytest.raises(TypeError, match=r"write \['train'\]"):
        sm.load(gf.Session(), "train", tmp_path / "model")


def test_nothing_stands_there_before_save_and_nothing_is_left_beside(tmp_path: Path) -> None:
    gf.get_variable("w", initializer=2.0)
    with gf.Session() as session:
        builder = sm.Builder(tmp_path / "deep" / "model")
        with pytest.raises(gf.errors.FailedPreconditionError):
            builder.add_meta_graph_and_variables(session, ["serve"])
        session.run(gf.global_variables_initializer())
        builder.add_meta_graph_and_variables(session, ["serve"])
        assert not (tmp_path / "deep" / "model").exists()
        del builder
    assert os.listdir(tmp_path / "deep") == []


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    save_line(tmp_path / "model")
    with pytest.raises(AssertionError, match="isn't empty"):
        save_line(tmp_path / "model", 7.0)
    assert answer(tmp_path / "model") == [3.0, 5.0]
    (tmp_path / "file").write_text("")
    with pytest.raises(AssertionError, match="already exists"):
        sm.Builder(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    save_line(tmp_path / "empty", 4.0)
    assert answer(tmp_path / "empty") == [5.0, 9.0]
    with gf.Session() as session:  # two at once: the second finds the first one's
        builder = sm.Builder(tmp_path / "late")
        builder.add_meta_graph_and_variables(session, ["serve"])
        save_line(tmp_path / "late", 2.0)
        with pytest.raises(AssertionError, match="isn't empty"):
            builder.save()
    assert answer(tmp_path / "late") == [3.0, 5.0]


def test_a_mount_point_is_filled_and_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    inode = mounted.stat().st_ino
    monkeypatch.setattr(os.path, "ismount", lambda path: path == str(mounted))
    save_line(mounted)
    assert answer(mounted) == [3.0, 5.0]
    assert os.listdir(tmp_path) == ["mounted"] and mounted.stat().st_ino == inode
    assert sorted(os.listdir(mounted)) == ["saved_model.pb", "variables"]


KILLED = """
import os, sys
import graphflow as gf
from graphflow.saved_model import builder
x = gf.placeholder(gf.float32, [None], name="x")
y = gf.multiply(x, gf.get_variable("w", initializer=2.0), name="y")
steps = iter(range(int(sys.argv[2]), -1, -1))
for name in ("write_atomically", "sync_folder"):
    def dying(*arguments, original=getattr(builder, name)):
        if next(steps) == 0:
            os._exit(9)
        original(*arguments)
    setattr(builder, name, dying)
with gf.Session() as session:
    session.run(gf.global_variables_initializer())
    gf.saved_model.simple_save(session, sys.argv[1], {"x": x}, {"y": y})
"""


def test_a_killed_export_leaves_nothing_or_all_of_it(tmp_path: Path) -> None:
    for moment in (0, 1):
        folder = tmp_path / str(moment) / "model"
        process = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), str(moment)],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}, timeout=60,
        )  # fmt: skip
        assert process.returncode == 9
        if folder.exists():
            assert moment == 1 and answer(folder) == [2.0, 4.0]
        else:
            save_line(folder)
            assert answer(folder) == [3.0, 5.0]


def test_a_model_without_variables(tmp_path: Path) -> None:
    x = gf.placeholder(gf.float32, [None])
    with gf.Session() as session:
        sm.simple_save(session, tmp_path / "model", {"x": x}, {"y": x * 2.0})
    assert answer(tmp_path / "model") == [2.0, 4.0]


def test_a_saver_of_ones_own_chooses_the_variables(tmp_path: Path) -> None:
    kept = gf.get_variable("kept", initializer=2.0)
    gf.get_variable("scratch", initializer=3.0)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        builder = sm.Builder(tmp_path / "model")
        builder.add_meta_graph_and_variables(session, ["serve"], saver=gf.train.Saver([kept]))
        builder.save()
    names = [name for name, _ in gf.train.list_variables(str(tmp_path / "model" / "variables" / "variables"))]
    assert names == ["kept"]


def test_reserved_and_incomplete_signatures_are_refused(tmp_path: Path) -> None:
    x = gf.placeholder(gf.float32, [None])
    signature = sm.predict_signature_def({"x": x}, {"y": x})
    incomplete = sm.predict_signature_def({"x": x}, {"y": x})
    incomplete.inputs["x"].dtype = 0
    unnamed = sm.predict_signature_def({"x": x}, {"y": x})
    unnamed.outputs["y"].ClearField("name")
    with gf.Session() as session:
        builder = sm.Builder(tmp_path / "model")
        for bad in (incomplete, unnamed):
            with pytest.raises(AssertionError, match="name and dtype"):
                builder.add_meta_graph_and_variables(session, ["serve"], {"bad": bad})
        with pytest.raises(KeyError, match="reserved"):
            builder.add_meta_graph_and_variables(session, ["serve"], {"__saved_model_init_op": signature})


# ---- assets and what runs at load ---------------------------------------------------------------------------------


def save_with_assets(folder: Path, *paths: Path) -> None:
    """Saves a model that reads its assets into a local variable when it is loaded."""
    with gf.Graph().as_default(), gf.Session() as session:
        tensors = [gf.constant(str(path), name=f"path_{i}") for i, path in enumerate(paths)]
        for tensor in tensors:
            gf.add_to_collection(gf.GraphKeys.ASSET_FILEPATHS, tensor)
        found = gf.Variable([b""] * len(paths), collections=[gf.GraphKeys.LOCAL_VARIABLES], name="found")
        init = gf.group(found.assign(gf.stack(tensors)), name="init_assets")
        sm.simple_save(session, folder, {"nothing": gf.constant(0)}, {"found": found + ""}, init)


def test_assets_are_copied_and_fed_when_the_model_is_loaded(tmp_path: Path) -> None:
    paths = [tmp_path / "one" / "words.txt", tmp_path / "two" / "words.txt", tmp_path / "three" / "words.txt"]
    for path, text in zip(paths, ("one", "two", "two"), strict=True):
        path.parent.mkdir()
        path.write_text(text)
    save_with_assets(tmp_path / "model", paths[0], paths[0], paths[1], paths[2])
    moved = (tmp_path / "model").rename(tmp_path / "moved")
    assert sorted(os.listdir(moved / "assets")) == ["words.txt", "words.txt_1"]
    for path in paths:
        path.unlink()
    with gf.Session() as session:
        loaded = sm.load(session, ["serve"], moved, import_scope="again")
        name = loaded.signature_def["serving_default"].outputs["found"].name
        found = session.run(f"again/{name}")
        assert [Path(path.decode()).name for path in found] == [
            "words.txt",
            "words.txt",
            "words.txt_1",
            "words.txt_1",
        ]
        assert [Path(path.decode()).read_text() for path in found] == ["one", "one", "two", "two"]


def test_what_is_no_asset_is_refused(tmp_path: Path) -> None:
    with gf.Session() as session:
        builder = sm.Builder(tmp_path / "model")
        for bad, error in (
            ("words.txt", TypeError),
            (gf.placeholder(gf.string, []), TypeError),
            (gf.constant(1), TypeError),
            (gf.constant(["a", "b"]), TypeError),
            (gf.constant(str(tmp_path / "nowhere")), ValueError),
        ):
            with pytest.raises(error, match="asset"):
                builder.add_meta_graph_and_variables(session, ["serve"], assets_collection=[bad])


def change(folder: Path, function: Any) -> None:
    """Changes the message of a SavedModel as another program would."""
    path = folder / "saved_model.pb"
    model = protos.saved_model_pb2.SavedModel.FromString(path.read_bytes())
    model.DiscardUnknownFields()
    function(model.meta_graphs[0])
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    "name", ["../../secret", "/etc/passwd", "a/../../b", "", "a//b", "..", "..\\up", "nul\0"]
)
def test_an_asset_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    words = tmp_path / "words.txt"
    words.write_text("")
    save_with_assets(tmp_path / "model", words)

    def redirect(meta_graph: Any) -> None:
        packed = meta_graph.collection_def["saved_model_assets"].any_list.value[0]
        assert packed.type_url == "type.googleapis.com/tensorflow.AssetFileDef"
        asset = protos.meta_graph_pb2.AssetFileDef.FromString(packed.value)
        assert asset.filename == "words.txt"
        asset.filename = name
        packed.value = asset.SerializeToString()

    change(tmp_path / "model", redirect)
    with gf.Session() as session, pytest.raises(ValueError, match="does not lie in its folder"):
        sm.load(session, ["serve"], tmp_path / "model")


def test_a_main_op_runs_last(tmp_path: Path) -> None:
    w = gf.get_variable("w", initializer=2.0)
    gf.get_variable("fresh", initializer=5.0, collections=[gf.GraphKeys.LOCAL_VARIABLES])
    with gf.Session() as session:
        session.run(w.initializer)
        session.run(w.assign(3.0))
        builder = sm.Builder(tmp_path / "model")
        with pytest.raises(TypeError, match=r"needs to be an Operation.*gf\.group"):
            builder.add_meta_graph_and_variables(session, ["serve"], main_op=w)
        main = gf.group(gf.local_variables_initializer(), w.assign_add(0.5), name="main")
        builder.add_meta_graph_and_variables(session, ["serve"], main_op=main)
        builder.save()
    with gf.Graph().as_default(), gf.Session() as session:
        meta_graph = sm.load(session, ["serve"], tmp_path / "model")
        assert list(meta_graph.collection_def["saved_model_main_op"].node_list.value) == ["main"]
        assert session.run(["w:0", "fresh:0"]) == [3.5, 5.0]
        with pytest.raises(ValueError, match="already contains a main op, 'main'"):
            builder = sm.Builder(tmp_path / "again")
            builder.add_meta_graph_and_variables(session, ["serve"], main_op=gf.no_op())


def test_a_main_op_that_a_model_lacks_is_told(tmp_path: Path) -> None:
    save_line(tmp_path / "model")
    change(
        tmp_path / "model",
        lambda m: m.collection_def["saved_model_main_op"].node_list.value.append("nowhere"),
    )
    with pytest.raises(ValueError, match=r"saved_model_main_op.*'nowhere'"):
        answer(tmp_path / "model")
    change(
        tmp_path / "model",
        lambda m: m.collection_def["saved_model_main_op"].node_list.value.append("again"),
    )
    with pytest.raises(RuntimeError, match="exactly one"):
        answer(tmp_path / "model")


def test_main_op_initialises_everything() -> None:
    w = gf.get_variable("w", initializer=2.0)
    with gf.Session() as session:
        session.run(sm.main_op.main_op())
        assert session.run(w) == 2.0
        session.run(sm.main_op_with_restore(w.assign(9.0)))
        assert session.run(w) == 9.0


# ---- files that are not there, or damaged -------------------------------------------------------------------------


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert not sm.contains_saved_model(folder) and not sm.maybe_saved_model_directory(str(folder))
        with gf.Session() as session, pytest.raises(OSError, match="does not exist at"):
            sm.load(session, ["serve"], folder)
    save_line(tmp_path / "model")
    assert sm.contains_saved_model(tmp_path / "model")


def test_every_flipped_bit_and_lost_byte_is_found(tmp_path: Path) -> None:
    save_line(tmp_path / "model")
    path = tmp_path / "model" / "saved_model.pb"
    whole = path.read_bytes()
    generator = np.random.default_rng(5)
    for place in generator.choice(len(whole), 60, replace=False):
        for damaged in (
            whole[:place] + bytes([whole[place] ^ 1 << int(place) % 8]) + whole[place + 1 :],
            whole[:place],
            whole[:place] + whole[place + 1 :],
            whole + whole[place:],
        ):
            path.write_bytes(damaged)
            if damaged == b"":
                continue
            with pytest.raises(OSError, match="damaged"):
                answer(tmp_path / "model")
    path.write_bytes(b"")
    with pytest.raises(RuntimeError, match="available_tags: none"):
        answer(tmp_path / "model")
    change_nothing = protos.saved_model_pb2.SavedModel.FromString(whole)
    change_nothing.meta_graphs[0].meta_info_def.tags[0] = "other"
    path.write_bytes(change_nothing.SerializeToString())
    with pytest.raises(OSError, match=r"DiscardUnknownFields\(\)"):
        answer(tmp_path / "model")
