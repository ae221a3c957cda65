"""Protects files and folders: contents in every mode, TensorFlow's errors, both sets of names."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

import graphflow as gf


def test_text_and_bytes_come_back(tmp_path: Path) -> None:
    path = str(tmp_path / "a.txt")
    with gf.gfile.GFile(path, "w") as file:
        file.write("für\n")
        file.write(b"two\n")
        assert file.size() == 9
        assert file.name == path
    with gf.gfile.Open(path) as file:
        assert file.read() == "für\ntwo\n"
    with gf.gfile.FastGFile(path, "rb") as file:
        assert file.read(4) == "für".encode()
        assert file.tell() == 4
        file.seek(-4, 2)
        assert file.readline() == b"two\n"
        assert file.readline() == b""
        file.seek(position=0)
        assert list(file) == ["für\n".encode(), b"two\n"]
    with gf.gfile.GFile(path, "a") as file:
        file.write("three")
    assert gf.gfile.GFile(path).readlines() == ["für\n", "two\n", "three"]
    with gf.gfile.GFile(path, "r+") as file:
        file.write("FÜ")
        file.flush()
        file.seek(0)
        assert file.readline() == "FÜr\n"
    with gf.gfile.GFile(path, "w+") as file:
        file.write("new")
        file.seek(0)
        assert file.read() == "new"
    assert gf.gfile.GFile(path).size() == 3


def test_a_file_that_was_opened_to_be_written_is_there(tmp_path: Path) -> None:
    with gf.gfile.GFile(tmp_path / "empty", "w"):
        pass
    assert (tmp_path / "empty").read_bytes() == b""


def test_files_that_are_opened_wrongly(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    errors = gf.errors
    with pytest.raises(errors.NotFoundError):
        gf.gfile.GFile(tmp_path / "missing").read()
    with pytest.raises(errors.NotFoundError):
        gf.gfile.GFile(tmp_path / "missing" / "b", "w").write("x")
    with pytest.raises(errors.PermissionDeniedError, match="isn't open for writing"):
        gf.gfile.GFile(path).write("x")
    with pytest.raises(errors.PermissionDeniedError, match="isn't open for reading"):
        gf.gfile.GFile(path, "w").read()
    with pytest.raises(errors.FailedPreconditionError):
        gf.gfile.GFile(tmp_path).read()
    with pytest.raises(errors.InvalidArgumentError):
        gf.gfile.GFile(path, "x")
    with pytest.raises(errors.InvalidArgumentError):
        gf.gfile.GFile(path).seek(0, 3)
    with pytest.raises(TypeError):
        gf.gfile.GFile(path).seek()
    with pytest.raises(errors.UnimplementedError, match="gs"):
        gf.gfile.GFile("gs://bucket/a").read()


@pytest.mark.parametrize("snake", [False, True])
def test_folders(tmp_path: Path, snake: bool) -> None:
    f = gf.io.gfile if snake else gf.gfile
    names = (
        "exists isdir listdir mkdir makedirs remove rmtree copy rename glob stat walk"
        if snake
        else "Exists IsDirectory ListDirectory MkDir MakeDirs Remove DeleteRecursively Copy Rename Glob Stat Walk"
    ).split()
    exists, isdir, listdir, mkdir, makedirs, remove, rmtree, copy, rename, glob, stat, walk = (
        getattr(f, name) for name in names
    )
    errors, top = gf.errors, str(tmp_path / "top")
    makedirs(os.path.join(top, "a", "b"))
    makedirs(os.path.join(top, "a", "b"))
    one, two = os.path.join(top, "one.txt"), os.path.join(top, "a", "two.txt")
    with f.GFile(one, "w") as file:
        file.write("1")
    copy(one, two)
    assert (exists(two), exists(top), exists(one + "x"), isdir(top), isdir(one)) == (
        True,
        True,
        False,
        True,
        False,
    )
    assert listdir(top) == ["a", "one.txt"]
    assert glob(os.path.join(top, "*")) == [os.path.join(top, "a"), one]
    assert glob([one, os.path.join(top, "*", "t?o*")]) == [two, one]
    assert (stat(one).length, stat(top).is_directory) == (1, True)
    assert stat(one).mtime_nsec == os.stat(one).st_mtime_ns
    below = os.path.join(top, "a")
    expected = [(top, ["a"], ["one.txt"]), (below, ["b"], ["two.txt"]), (os.path.join(below, "b"), [], [])]
    assert list(walk(top)) == expected
    assert list(walk(top, False)) == expected[::-1]
    assert list(walk(top + "x")) == []
    with pytest.raises(errors.AlreadyExistsError):
        copy(one, two)
    with pytest.raises(errors.AlreadyExistsError):
        rename(one, two)
    copy(one, two, overwrite=True)
    rename(one, two, overwrite=True)
    assert not exists(one)
    mkdir(top)
    with pytest.raises(errors.AlreadyExistsError):
        makedirs(two)
    for missing in (remove, rmtree, listdir, stat):
        with pytest.raises(errors.NotFoundError):
            missing(one)
    with pytest.raises(errors.NotFoundError):
        mkdir(os.path.join(top, "x", "y"))
    with pytest.raises(errors.FailedPreconditionError):
        remove(top)
    remove(two)
    rmtree(top)
    assert not exists(top)


def test_walk_tells_of_a_missing_folder(tmp_path: Path) -> None:
    told: list[Exception] = []
    assert list(gf.io.gfile.walk(tmp_path / "x", onerror=told.append)) == []
    assert isinstance(told[0], gf.errors.NotFoundError)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_is_told_of_with_the_file_even_if_nobody_closes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        pytest.raises(gf.errors.ResourceExhaustedError, match="/dev/full; No space left"),
        gf.gfile.GFile("/dev/full", "w") as file,
    ):
        file.write("x")
    told: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda found: told.append(str(found.exc_value)))
    gf.gfile.GFile("/dev/full", "w").write("x")
    gc.collect()
    assert told == ["/dev/full; No space left on device"]
