"""Protects: machine code is loaded only where this user's programs made it, and from the bytes that were looked at."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphflow._core.codegen.cpu.cache import CompiledObject, KernelCache
from graphflow._core.common.files import signed_files
from graphflow._core.common.files.own_files import own_folder, read_own
from graphflow._core.common.files.signed_files import SignedFolder, cache_home

NAME, OTHER_NAME = "ab" * 32, "ab" + "cd" * 31
CONTENT = bytes(range(256)) * 5


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The user's cache folder is one of this test, and no other program knows its secret."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    signed_files.cache_home_in.cache_clear()
    yield
    signed_files.cache_home_in.cache_clear()


def test_what_was_stored_is_loaded_again_by_another_process(tmp_path: Path) -> None:
    files = SignedFolder(tmp_path / "kernels")
    assert files.store(NAME, CONTENT) and files.load(NAME) == CONTENT and files.load(OTHER_NAME) is None
    program = (
        "import sys; from pathlib import Path; from graphflow._core.common.files.signed_files import SignedFolder; "
        f"sys.stdout.buffer.write(SignedFolder(Path({str(tmp_path / 'kernels')!r})).load({NAME!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=100)
    assert done.stdout == CONTENT


def test_every_changed_byte_counts_as_missing(tmp_path: Path) -> None:
    files = SignedFolder(tmp_path)
    files.store(NAME, CONTENT)
    path = files.path(NAME)
    whole = path.read_bytes()
    for damaged in [
        *(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(0, len(whole), 7)),
        *(whole[:size] for size in (0, 5, 19, 40, 51, len(whole) - 1)),
        whole + b"\0",
        whole[:51],
        CONTENT,
    ]:
        path.write_bytes(damaged)
        assert files.load(NAME) is None
    path.write_bytes(whole)
    assert files.load(NAME) == CONTENT


def test_an_entry_under_the_name_of_another_is_not_loaded(tmp_path: Path) -> None:
    """Both are the user's own, and other code than what was asked for."""
    files = SignedFolder(tmp_path)
    files.store(NAME, CONTENT)
    shutil.copy(files.path(NAME), files.path(OTHER_NAME))
    assert files.load(OTHER_NAME) is None and files.load(NAME) == CONTENT


def test_an_entry_that_was_signed_with_another_secret_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SignedFolder(tmp_path / "kernels")
    files.store(NAME, CONTENT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of another user"))
    assert SignedFolder(tmp_path / "kernels").load(NAME) is None


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
@pytest.mark.parametrize("part", ["cache", "cache/graphflow", "cache/graphflow/ab"])
def test_nothing_is_loaded_or_kept_where_others_may_write(
    tmp_path: Path, part: str, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    files = KernelCache()
    assert files.store(NAME, CompiledObject("kernel", CONTENT))
    (tmp_path / part).chmod(mode)
    signed_files.cache_home_in.cache_clear()
    with caplog.at_level(logging.WARNING, "graphflow"):
        again = KernelCache()
    sticky = bool(mode & stat.S_ISVTX)  # on the way nobody can move what is another's there
    kept = sticky and part != "cache/graphflow/ab"
    assert (files.load(NAME) is not None) == kept
    if part == "cache/graphflow/ab" or (sticky and part == "cache"):
        assert again.directory == files.directory and not caplog.records
        assert again.store(NAME, CompiledObject("kernel", CONTENT)) == kept
    else:  # the next place is taken, and it is said
        assert again.directory != files.directory
        (record,) = caplog.records
        assert f"{tmp_path / part} may be written by others (mode {mode:o})" in record.getMessage()


def test_a_file_that_others_may_write_or_that_is_a_link_is_not_loaded(tmp_path: Path) -> None:
    files = SignedFolder(tmp_path)
    files.store(NAME, CONTENT)
    path = files.path(NAME)
    path.chmod(0o622)
    assert files.load(NAME) is None
    path.chmod(0o600)
    assert files.load(NAME) == CONTENT
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert files.load(NAME) is None
    path.unlink()
    os.mkfifo(path)
    assert files.load(NAME) is None


def test_without_a_home_nothing_is_written_to_the_working_directory_and_it_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import pwd

    def unknown(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with caplog.at_level(logging.WARNING, "graphflow"):
        for _ in range(3):
            files = SignedFolder()
    (record,) = caplog.records
    assert "for this process alone" in record.getMessage() and "no home" in record.getMessage()
    assert files.store(NAME, CONTENT) and files.load(NAME) == CONTENT
    assert stat.S_IMODE(files.directory.stat().st_mode) == 0o700
    assert not list(tmp_path.glob("*"))
    shutil.rmtree(files.directory)


def test_a_folder_of_one_process_is_removed_with_it_and_not_by_a_forked_child(tmp_path: Path) -> None:
    program = (
        "import os; from graphflow._core.common.files.signed_files import cache_home\n"
        "found = cache_home().folder; pid = os.fork()\n"
        "if not pid: raise SystemExit(0)\n"
        "os.waitpid(pid, 0); assert found.exists() and not cache_home().lasting; print(found)"
    )
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    wrong.chmod(0o777)
    environment = {**os.environ, "XDG_CACHE_HOME": str(wrong), "HOME": str(wrong), "TMPDIR": str(tmp_path)}
    program = "import pwd\ndef unknown(uid): raise KeyError\npwd.getpwuid = unknown\n" + program
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path)) and not Path(done.stdout.strip()).exists()
    assert done.stderr.count("for this process alone") == 1


def test_no_umask_opens_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        SignedFolder().store(NAME, CONTENT)
    finally:
        os.umask(before)
    for path in (tmp_path / "cache").rglob("*"):
        assert not path.stat().st_mode & 0o077, path
    assert own_folder(tmp_path / "cache")


def test_a_full_disk_and_a_folder_that_cannot_be_written_keep_nothing_and_break_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SignedFolder(tmp_path / "kernels")
    files.store(NAME, CONTENT)

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("graphflow._core.common.files.signed_files.os.replace", full)
        assert not files.store(OTHER_NAME, CONTENT)
    assert files.load(NAME) == CONTENT and files.load(OTHER_NAME) is None
    assert not list(tmp_path.rglob("*.tmp"))
    assert not SignedFolder(Path("/proc/nothing")).store(NAME, CONTENT)
    with monkeypatch.context() as patch:  # no room for the secret: this process has one of its own
        patch.setattr(signed_files, "cache_folders", lambda: [tmp_path / "full"])
        patch.setattr("graphflow._core.common.files.own_files._make_secret", full)
        own = cache_home()
        assert not own.lasting and SignedFolder().store(NAME, CONTENT)
        shutil.rmtree(own.folder)


def test_what_a_crash_has_left_is_removed_later(tmp_path: Path) -> None:
    files = SignedFolder(tmp_path)
    files.store(NAME, CONTENT)
    old, new = files.path(NAME).with_name("old.tmp"), files.path(NAME).with_name("new.tmp")
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (1_600_000_000,) * 2)
    files.store(NAME, CONTENT)
    assert not old.exists() and new.exists()


def test_what_is_loaded_is_what_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who changes the file right after it was read changes nothing."""
    files = SignedFolder(tmp_path)
    files.store(NAME, CONTENT)
    path = files.path(NAME)
    reads = []

    def read_and_replace(*arguments: Any) -> bytes:
        content = read_own(*arguments)
        reads.append(path)
        path.write_bytes(pickle.dumps("evil"))
        return content

    monkeypatch.setattr("graphflow._core.common.files.signed_files.read_own", read_and_replace)
    assert files.load(NAME) == CONTENT and len(reads) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_root_in_another_users_home_keeps_its_kernels_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `sudo` with a kept HOME: whoever owns the home could put another file in place."""
    home = tmp_path / "home"
    (home / ".cache").mkdir(parents=True)
    os.chown(home, 23456, 23456)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(signed_files, "cache_folders", lambda: [home / ".cache", tmp_path / "root"])
    assert cache_home().folder == tmp_path / "root" / "graphflow"
    assert not list((home / ".cache").iterdir())
