"""Protects programs whose paths are of an object store: no function takes "s3://bucket" for a folder named "s3:".

A checkpoint that lies in such a folder is lost with the machine, and the program that restarts elsewhere begins anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import graphflow as gf
from graphflow._core.common.files import paths

FOLDER = "s3://bucket/models"
Call = Callable[[str], Any]


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    with gf.Graph().as_default():
        yield
    gf.summary.FileWriterCache.clear()


def _run(build: Call) -> Call:
    def call(path: str) -> Any:
        fetches = build(path)
        with gf.Session() as session:
            return session.run(fetches)

    return call


def _elements(build: Call) -> Call:
    return _run(lambda path: build(path).make_one_shot_iterator().get_next())


def _with_variable(use: Callable[[gf.Session, Any, str], Any]) -> Call:
    def call(path: str) -> Any:
        v = gf.get_variable("v", initializer=3.0)
        gf.train.get_or_create_global_step()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            return use(session, v, path)

    return call


def _monitored(**options: Any) -> Call:
    def call(path: str) -> None:
        step = gf.train.get_or_create_global_step().assign_add(1)
        named = {name: path if value is FOLDER else value for name, value in options.items()}
        with gf.train.MonitoredTrainingSession(**named) as session:
            session.run(step)

    return call


def _hooked(hook: Call) -> Call:
    return lambda path: _monitored(hooks=[hook(path)])(path)


def _queue(reader: Any) -> Call:
    def call(path: str) -> None:
        names = gf.train.string_input_producer([path], num_epochs=1)
        read = reader.read(names)
        with gf.train.MonitoredSession() as session:
            session.run(read)

    return call


def _supervised(path: str) -> None:
    """Ends its threads as well: one that saves later would do so beside the next test."""
    with gf.train.Supervisor(logdir=path).managed_session(""):
        pass


WRITES: dict[str, Call] = {
    "Saver.save": _with_variable(lambda s, v, path: gf.train.Saver().save(s, f"{path}/model")),
    "Saver.save without a state": _with_variable(
        lambda s, v, path: gf.train.Saver().save(
            s, f"{path}/model", write_state=False, write_meta_graph=False
        )
    ),
    "export_meta_graph": _with_variable(lambda s, v, path: gf.train.export_meta_graph(f"{path}/model.meta")),
    "Saver.export_meta_graph": _with_variable(
        lambda s, v, path: gf.train.Saver().export_meta_graph(f"{path}/model.meta")
    ),
    "write_graph": lambda path: gf.train.write_graph(gf.get_default_graph(), path, "graph.pbtxt"),
    "update_checkpoint_state": lambda path: gf.train.update_checkpoint_state(path, f"{path}/model"),
    "simple_save": _with_variable(lambda s, v, path: gf.saved_model.simple_save(s, path, {"v": v}, {"v": v})),
    "SavedModelBuilder": lambda path: gf.saved_model.builder.SavedModelBuilder(path),
    "FileWriter": lambda path: gf.summary.FileWriter(path),
    "FileWriterCache": lambda path: gf.summary.FileWriterCache.get(path),
    "TFRecordWriter": lambda path: gf.python_io.TFRecordWriter(f"{path}/a.tfrecord").close(),
    "write_file": _run(lambda path: gf.write_file(f"{path}/a", "text")),
    "cache": _elements(lambda path: gf.data.Dataset.range(3).cache(f"{path}/kept")),
    "GFile": lambda path: gf.gfile.GFile(f"{path}/a", "w").write("text"),
    "MakeDirs": lambda path: gf.gfile.MakeDirs(path),
    "checkpoint_dir": _monitored(checkpoint_dir=FOLDER),
    "summary_dir": _monitored(summary_dir=FOLDER, log_step_count_steps=1),
    "CheckpointSaverHook": _hooked(lambda path: gf.train.CheckpointSaverHook(path, save_steps=1)),
    "StepCounterHook": _hooked(lambda path: gf.train.StepCounterHook(1, output_dir=path)),
    "ProfilerHook": _hooked(lambda path: gf.train.ProfilerHook(save_steps=1, output_dir=path)),
    "Supervisor": _supervised,
    "slim": lambda path: gf.contrib.slim.learning.train(
        gf.contrib.slim.learning.create_train_op(
            gf.square(gf.get_variable("w", initializer=3.0)), gf.train.GradientDescentOptimizer(0.1)
        ),
        path,
        number_of_steps=1,
    ),
}
READS: dict[str, Call] = {
    "Saver.restore": _with_variable(lambda s, v, path: gf.train.Saver().restore(s, f"{path}/model")),
    "latest_checkpoint": lambda path: gf.train.latest_checkpoint(path),
    "get_checkpoint_state": lambda path: gf.train.get_checkpoint_state(path),
    "checkpoint_exists": lambda path: gf.train.checkpoint_exists(f"{path}/model"),
    "get_checkpoint_mtimes": lambda path: gf.train.get_checkpoint_mtimes([f"{path}/model"]),
    "remove_checkpoint": lambda path: gf.train.remove_checkpoint(f"{path}/model"),
    "NewCheckpointReader": lambda path: gf.train.NewCheckpointReader(f"{path}/model"),
    "list_variables": lambda path: gf.train.list_variables(path),
    "init_from_checkpoint": _with_variable(
        lambda s, v, path: gf.train.init_from_checkpoint(path, {"/": "/"})
    ),
    "import_meta_graph": lambda path: gf.train.import_meta_graph(f"{path}/model.meta"),
    "loader.load": _with_variable(lambda s, v, path: gf.saved_model.loader.load(s, ["serve"], path)),
    "maybe_saved_model_directory": lambda path: gf.saved_model.loader.maybe_saved_model_directory(path),
    "tf_record_iterator": lambda path: next(gf.python_io.tf_record_iterator(f"{path}/a")),
    "summary_iterator": lambda path: next(iter(gf.train.summary_iterator(f"{path}/a"))),
    "read_file": _run(lambda path: gf.read_file(f"{path}/a")),
    "matching_files": _run(lambda path: gf.matching_files(f"{path}/*")),
    "match_filenames_once": _run(lambda path: gf.train.match_filenames_once(f"{path}/*").initializer),
    "list_files": _elements(lambda path: gf.data.Dataset.list_files(f"{path}/*")),
    "TFRecordDataset": _elements(lambda path: gf.data.TFRecordDataset([f"{path}/a"])),
    "TFRecordDataset of GZIP": _elements(lambda path: gf.data.TFRecordDataset([f"{path}/a"], "GZIP")),
    "TextLineDataset": _elements(lambda path: gf.data.TextLineDataset([f"{path}/a"])),
    "TFRecordReader": lambda path: _queue(gf.TFRecordReader())(path),
    "TextLineReader": lambda path: _queue(gf.TextLineReader())(path),
    "WholeFileReader": lambda path: _queue(gf.WholeFileReader())(path),
    "Exists": lambda path: gf.gfile.Exists(path),
    "ListDirectory": lambda path: gf.gfile.ListDirectory(path),
    "Glob": lambda path: gf.gfile.Glob(f"{path}/*"),
    "Copy": lambda path: gf.gfile.Copy(f"{path}/a", "b"),
    "checkpoints_iterator": lambda path: next(
        iter(gf.contrib.training.checkpoints_iterator(path, timeout=0, min_interval_secs=0))
    ),
}


@pytest.mark.parametrize("name", [*WRITES, *READS])
@pytest.mark.parametrize("scheme", ["s3", "hdfs"])
def test_without_fsspec_a_scheme_is_refused(
    name: str, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "find_spec", lambda name: None)
    with pytest.raises(
        gf.errors.UnimplementedError,
        match=rf"scheme '{scheme}'.*only local files.*graphflow-engine\[remote\]",
    ):
        {**WRITES, **READS}[name](FOLDER.replace("s3", scheme))
    gf.summary.FileWriterCache.clear()
    assert os.listdir(tmp_path) == []


class Lacking(fsspec.AbstractFileSystem):
    """A file system whose package is asked for when it is opened, as that of hdfs."""

    def __init__(self, **options: Any) -> None:
        raise ModuleNotFoundError("No module named 'arrows'")


@pytest.mark.parametrize("name", [*WRITES, *READS])
def test_a_package_that_is_missing_is_named(name: str, tmp_path: Path) -> None:
    fsspec.register_implementation("lacking", Lacking, clobber=True)
    with pytest.raises(gf.errors.UnimplementedError, match=r"scheme 'lacking' not implemented.*'arrows'"):
        {**WRITES, **READS}[name](FOLDER.replace("s3", "lacking"))
    gf.summary.FileWriterCache.clear()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", WRITES)
def test_a_file_scheme_is_the_path_itself(name: str, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    if "aved" in name or name == "simple_save":
        (tmp_path / "models").rmdir()
    if name == "Supervisor" or name == "slim":
        gf.get_variable("other", initializer=1.0)
    WRITES[name](f"file://{tmp_path}/models")
    gf.summary.FileWriterCache.clear()
    assert not (tmp_path / "file:").exists()
    if (
        name != "SavedModelBuilder" and name != "cache"
    ):  # Nothing is there before it is saved, and read to its end.
        assert any((tmp_path / "models").iterdir()) or name == "MakeDirs"


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    folder = f"file://{tmp_path}/models"
    v = gf.get_variable("v", initializer=3.0)
    with gf.Session() as session:
        session.run(v.initializer)
        written = gf.train.Saver().save(session, f"{folder}/model", global_step=7)
        session.run(v.assign(0.0))
        assert gf.train.latest_checkpoint(folder) == written == f"{tmp_path}/models/model-7"
        gf.train.Saver().restore(session, f"{folder}/model-7")
        assert session.run(v) == 3.0
    assert gf.train.load_variable(folder, "v") == np.float32(3.0)


def test_a_name_with_a_colon_is_a_name(tmp_path: Path) -> None:
    with gf.gfile.GFile("12:30", "w") as file:
        file.write("noon")
    assert os.listdir(tmp_path) == ["12:30"]


@pytest.fixture
def memory() -> Any:
    """A file system in memory, empty."""
    import fsspec

    system = fsspec.filesystem("memory")
    system.rm("/", recursive=True) if system.ls("/") else None
    yield system
    gf.summary.FileWriterCache.clear()
    system.rm("/", recursive=True) if system.ls("/") else None


@pytest.mark.parametrize("name", WRITES)
def test_with_fsspec_what_is_written_is_there_and_nothing_here(
    name: str, tmp_path: Path, memory: Any
) -> None:
    if name == "Supervisor" or name == "slim":
        gf.get_variable("other", initializer=1.0)
    WRITES[name]("memory://bucket/models")
    gf.summary.FileWriterCache.clear()
    assert os.listdir(tmp_path) == []
    if name != "SavedModelBuilder" and name != "cache":
        assert memory.find("/bucket/models") or name == "MakeDirs"


@pytest.mark.parametrize("name", READS)
def test_with_fsspec_what_is_not_there_is_not_found(name: str, tmp_path: Path, memory: Any) -> None:
    try:
        found = READS[name]("memory://bucket/models")
    except (gf.errors.NotFoundError, gf.errors.OutOfRangeError, OSError, StopIteration, ValueError) as error:
        assert not isinstance(error, ValueError) or "bucket/models" in str(error)
    else:
        assert found is None or found is False or np.size(found) == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_with_fsspec_files_come_back(compression: str, memory: Any) -> None:
    options = gf.python_io.TFRecordOptions(compression)
    for name in "ab":
        with gf.python_io.TFRecordWriter(f"memory://bucket/{name}.tfrecord", options) as writer:
            writer.write(f"record {name}".encode())
    files = gf.data.Dataset.list_files("memory://bucket/*.tfrecord", shuffle=False)
    records = files.flat_map(lambda path: gf.data.TFRecordDataset(path, compression))
    both = records.batch(2).make_one_shot_iterator().get_next()
    with gf.Session() as session:
        assert session.run(both).tolist() == [b"record a", b"record b"]
    assert list(gf.python_io.tf_record_iterator("memory://bucket/a.tfrecord", options)) == [b"record a"]


def test_with_fsspec_gfile_does_what_it_does_here(tmp_path: Path, memory: Any) -> None:
    folder = "memory://bucket/models"
    gf.gfile.MakeDirs(folder)
    with gf.gfile.GFile(f"{folder}/a.txt", "w") as file:
        file.write("für\n")
        assert file.size() == 5
    with gf.gfile.GFile(f"{folder}/a.txt", "a") as file:
        file.write("more")
    assert gf.gfile.GFile(f"{folder}/a.txt").readlines() == ["für\n", "more"]
    assert gf.gfile.Stat(f"{folder}/a.txt")[::2] == (9, False)
    assert gf.gfile.Stat(f"{folder}/a.txt").mtime_nsec > 0
    gf.gfile.Copy(f"{folder}/a.txt", str(tmp_path / "here"))
    gf.gfile.Copy(str(tmp_path / "here"), f"{folder}/sub/b.txt")
    with pytest.raises(gf.errors.AlreadyExistsError):
        gf.gfile.Copy(str(tmp_path / "here"), f"{folder}/sub/b.txt")
    gf.gfile.Rename(f"{folder}/a.txt", f"{folder}/c.txt")
    assert gf.gfile.ListDirectory(folder) == ["c.txt", "sub"]
    assert gf.gfile.Glob(f"{folder}/*.txt") == [f"{folder}/c.txt"]
    assert list(gf.gfile.Walk(folder)) == [(folder, ["sub"], ["c.txt"]), (f"{folder}/sub", [], ["b.txt"])]
    assert gf.gfile.IsDirectory(folder) and not gf.gfile.IsDirectory(f"{folder}/c.txt")
    with pytest.raises(gf.errors.UnimplementedError, match="opened to 'r', 'w' or 'a', not 'r\\+'"):
        gf.gfile.GFile(f"{folder}/c.txt", "r+").read()
    with pytest.raises(gf.errors.NotFoundError):
        gf.gfile.Remove(f"{folder}/a.txt")
    with pytest.raises(gf.errors.NotFoundError):
        gf.gfile.GFile(f"{folder}/a.txt").read()
    gf.gfile.DeleteRecursively(folder)
    assert not gf.gfile.Exists(folder)


def test_a_scheme_that_fsspec_does_not_know_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(gf.errors.UnimplementedError, match="Protocol not known: nosuch"):
        gf.gfile.Exists("nosuch://bucket/a")


@pytest.mark.parametrize("for_tensorflow", [False, True])
def test_with_fsspec_a_model_comes_back(for_tensorflow: bool, memory: Any, tmp_path: Path) -> None:
    v = gf.get_variable("v", initializer=3.0)
    with gf.Session() as session:
        session.run(v.initializer)
        gf.saved_model.simple_save(
            session, "memory://models/1", {"v": v}, {"v": v}, for_tensorflow=for_tensorflow
        )
    with gf.Graph().as_default(), gf.Session() as session:
        gf.saved_model.loader.load(session, ["serve"], "memory://models/1")
        assert session.run("v:0") == 3.0
    assert os.listdir(tmp_path) == []


def test_with_fsspec_training_goes_on_where_it_was(memory: Any, tmp_path: Path) -> None:
    for last in (3, 5):
        with gf.Graph().as_default():
            step = gf.train.get_or_create_global_step()
            gf.summary.scalar("step", step)
            train = step.assign_add(1)
            hooks = [gf.train.StopAtStepHook(last_step=last)]
            begun = []
            with gf.train.MonitoredTrainingSession(
                checkpoint_dir="memory://runs/1", hooks=hooks, save_checkpoint_steps=1, save_summaries_steps=1
            ) as session:
                while not session.should_stop():
                    begun.append(session.run(train))
            assert begun == ([1, 2, 3] if last == 3 else [4, 5])
    assert gf.train.latest_checkpoint("memory://runs/1") == "memory://runs/1/model.ckpt-5"
    assert len(gf.train.get_checkpoint_state("memory://runs/1").all_model_checkpoint_paths) == 5
    events = [
        value.simple_value
        for path in gf.gfile.Glob("memory://runs/1/events*")
        for event in gf.train.summary_iterator(path)
        for value in event.summary.value
        if value.tag == "step"
    ]
    assert events
    assert os.listdir(tmp_path) == []
