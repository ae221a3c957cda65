"""Protects the graphs beside checkpoints: the same one lies on the disk once, and what makes it large is told."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

HELD = np.random.default_rng(0).random((20_000, 4), np.float32)
"""What a program holds: 320,000 bytes."""
MUCH = np.concatenate([HELD] * 15)
"""4,800,000 bytes."""


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def _saved(folder: Path, steps: int, between: Any = None, held: Any = HELD) -> list[Path]:
    """The graphs beside the checkpoints of a training, oldest first."""
    rows = gf.constant(held, name="held")
    v = gf.get_variable("v", [4])
    gf.reduce_sum(rows * v, name="total")
    saver = gf.train.Saver()
    with gf.Session() as session:
        session.run(v.initializer)
        for step in range(steps):
            saver.save(session, str(folder / "model"), global_step=step)
            if between is not None:
                between(step)
    return [Path(f"{path}.meta") for path in saver.last_checkpoints]


def test_the_same_graph_lies_on_the_disk_once(tmp_path: Path) -> None:
    files = _saved(tmp_path, 7)
    assert [f.name for f in files] == [f"model-{step}.meta" for step in range(2, 7)]
    assert len({f.stat().st_ino for f in files}) == 1 and files[0].stat().st_nlink == 5
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["checkpoint", *(f.name for f in files), *(f"{f.stem}.safetensors" for f in files)]
    )
    for path in files:
        with gf.Graph().as_default(), gf.Session() as session:
            saver = gf.train.import_meta_graph(str(path))
            saver.restore(session, str(path)[: -len(".meta")])
            assert np.isfinite(session.run("total:0"))
        path.unlink()


def test_a_graph_that_has_grown_is_a_file_of_its_own(tmp_path: Path) -> None:
    files = _saved(tmp_path, 4, lambda step: gf.constant(1.0, name="more") if step == 1 else None)
    numbers = [f.stat().st_ino for f in files]
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3]


def test_what_somebody_has_changed_is_not_taken(tmp_path: Path) -> None:
    def changes(step: int) -> None:
        path = tmp_path / f"model-{step}.meta"
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    files = _saved(tmp_path, 2, changes)
    assert len({f.stat().st_ino for f in files}) == 2


def test_nothing_is_taken_by_a_link_that_somebody_made(tmp_path: Path) -> None:
    def moves(step: int) -> None:
        path = tmp_path / f"model-{step}.meta"
        path.rename(tmp_path / f"moved-{step}")
        path.symlink_to(tmp_path / f"moved-{step}")

    _saved(tmp_path, 2, moves)
    assert (tmp_path / "moved-1").stat().st_nlink == 1 and not (tmp_path / "moved-1").is_symlink()


@pytest.mark.parametrize("function", ["link", "rename"])
def test_without_links_there_are_files(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(os, function)

    def refuses(one: Any, other: Any, **options: Any) -> None:
        if function == "link" or os.stat(one).st_nlink > 1:
            raise OSError("Operation not supported")
        real(one, other, **options)

    monkeypatch.setattr(os, function, refuses)
    files = _saved(tmp_path, 3)
    assert len({f.stat().st_ino for f in files}) == 3 and len({f.read_bytes() for f in files}) == 1
    assert len(os.listdir(tmp_path)) == 7


def test_what_a_killed_writer_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def dies(one: Any, other: Any) -> None:
        if os.stat(one).st_nlink > 1:
            raise Killed
        real(one, other)

    real, unlink = os.rename, os.unlink
    monkeypatch.setattr(os, "rename", dies)
    monkeypatch.setattr(os, "unlink", lambda path: None if "~" in str(path) else unlink(path))
    with pytest.raises(Killed):
        _saved(tmp_path, 2)
    monkeypatch.undo()
    assert [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
    with gf.Graph().as_default():
        _saved(tmp_path, 1)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_a_small_graph_is_a_file_of_its_own(tmp_path: Path) -> None:
    files = _saved(tmp_path, 3, held=HELD[:10])
    assert len({f.stat().st_ino for f in files}) == 3


def test_large_constants_are_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "graphflow"):
        _saved(tmp_path, 3, held=MUCH)
    (line,) = [r.getMessage() for r in caplog.records if "in constants" in r.getMessage()]
    assert "'held' with 4800" in line and "model-0.meta" in line and "write_meta_graph=False" in line


def test_the_arrays_of_a_one_shot_iterator_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = gf.data.make_one_shot_iterator(gf.data.Dataset.from_tensor_slices(MUCH)).get_next()
    v = gf.get_variable("v", [4])
    gf.reduce_sum(rows * v)
    with caplog.at_level(logging.INFO, "graphflow"), gf.Session() as session:
        session.run(v.initializer)
        gf.train.Saver().save(session, str(tmp_path / "model"))
    assert [r for r in caplog.records if "in constants" in r.getMessage()]


def test_nothing_is_said_of_a_small_data_set(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "graphflow"):
        _saved(tmp_path, 3)
    assert not [r for r in caplog.records if "in constants" in r.getMessage()]


def test_nothing_is_said_of_what_is_less_than_the_checkpoint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gf.constant(MUCH)
    v = gf.get_variable("v", [2_000_000])
    with caplog.at_level(logging.INFO, "graphflow"), gf.Session() as session:
        session.run(v.initializer)
        gf.train.Saver().save(session, str(tmp_path / "model"))
    assert not [r for r in caplog.records if "in constants" in r.getMessage()]
