"""Protects which checkpoints a Saver keeps, where they are looked for, and that each is of one moment."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def test_max_to_keep_and_names(tmp_path: Path) -> None:
    step = gf.train.get_or_create_global_step()
    saver = gf.train.Saver(max_to_keep=2, pad_step_number=True)
    with gf.Session() as session:
        session.run(step.initializer)
        paths = []
        for _ in range(4):
            session.run(step.assign_add(1))
            paths.append(saver.save(session, str(tmp_path / "m"), global_step=step, write_meta_graph=False))
    assert [os.path.basename(path) for path in paths] == [f"m-0000000{i}" for i in (1, 2, 3, 4)]
    assert saver.last_checkpoints == paths[2:]
    assert [gf.train.checkpoint_exists(path) for path in paths] == [False, False, True, True]
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "m-00000003.safetensors", "m-00000004.safetensors"]
    state = gf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == paths[3] and state.all_model_checkpoint_paths == paths[2:]
    assert len(gf.train.get_checkpoint_mtimes(paths)) == 2


def test_nothing_is_removed_with_max_to_keep_none(tmp_path: Path) -> None:
    gf.get_variable("w", initializer=1.0)
    saver = gf.train.Saver(max_to_keep=None)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        paths = [saver.save(session, str(tmp_path / "m"), i, write_meta_graph=False) for i in range(7)]
    assert all(map(gf.train.checkpoint_exists, paths)) and saver.last_checkpoints == []
    assert gf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths == [paths[-1]]


def test_one_an_hour_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("graphflow.train.saving.saver.time.time", lambda: now[0])
    gf.get_variable("w", initializer=1.0)
    saver = gf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1.0)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for i in range(8):
            now[0] += 1500
            saver.save(session, str(tmp_path / "m"), i, write_meta_graph=False)
    kept = [i for i in range(8) if gf.train.checkpoint_exists(str(tmp_path / f"m-{i}"))]
    assert kept == [2, 4, 7]


def test_an_earlier_process_is_taken_over(tmp_path: Path) -> None:
    gf.get_variable("w", initializer=1.0)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        first = gf.train.Saver(max_to_keep=3)
        paths = [first.save(session, str(tmp_path / "m"), i, write_meta_graph=False) for i in range(3)]
        second = gf.train.Saver(max_to_keep=3)
        second.recover_last_checkpoints([*paths, str(tmp_path / "gone")])
        second.save(session, str(tmp_path / "m"), 9, write_meta_graph=False)
        assert [os.path.basename(p) for p in second.last_checkpoints] == ["m-1", "m-2", "m-9"]
        assert not gf.train.checkpoint_exists(paths[0])


def test_relative_paths_move_with_their_folder(tmp_path: Path) -> None:
    gf.get_variable("w", initializer=1.0)
    folder = tmp_path / "here"
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        saver = gf.train.Saver(save_relative_paths=True)
        saver.save(session, str(folder / "m"), 1, write_meta_graph=False)
    assert 'model_checkpoint_path: "m-1"' in (folder / "checkpoint").read_text()
    os.rename(folder, tmp_path / "there")
    assert gf.train.latest_checkpoint(str(tmp_path / "there")) == str(tmp_path / "there" / "m-1")


def test_a_save_while_others_train_is_of_one_moment(tmp_path: Path) -> None:
    """A run that changes variables meanwhile changes other memory than the one that is written."""
    size = 1 << 18
    vectors = [gf.Variable(gf.zeros([size]), name=f"v{i}") for i in range(4)]
    step = gf.group(*[v.assign_add(gf.ones([size])) for v in vectors])
    saver = gf.train.Saver()
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        stop = threading.Event()

        def train() -> None:
            while not stop.is_set():
                session.run(step)

        thread = threading.Thread(target=train)
        thread.start()
        try:
            prefixes = [saver.save(session, str(tmp_path / "m"), i, write_meta_graph=False) for i in range(5)]
        finally:
            stop.set()
            thread.join()
    for prefix in prefixes:
        for name, _ in gf.train.list_variables(prefix):
            value = gf.train.load_variable(prefix, name)
            assert (value == value[0]).all()
