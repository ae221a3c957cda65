"""Protects where secrets and machine code lie: nobody else may put something on the way to them."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphflow._core.common.files import own_files
from graphflow._core.common.files.own_files import cache_folders, own_folder, own_secret, read_own

OTHER = 12345


@pytest.fixture
def opened_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def let_own(monkeypatch: pytest.MonkeyPatch, path: Path, owner: int) -> None:
    """Has one path seem to be another's, as only root could really make it."""
    real = os.lstat

    def seen(at: Any, **rest: Any) -> Any:
        status = real(at, **rest)
        if Path(at) != path:
            return status
        return os.stat_result((*status[:4], owner, *status[5:10]))

    monkeypatch.setattr("graphflow._core.common.files.own_files.os.lstat", seen)


def test_missing_folders_are_made_for_the_user_alone(tmp_path: Path, opened_umask: None) -> None:
    made = own_folder(tmp_path / "a" / "b" / "c")
    assert made == tmp_path / "a" / "b" / "c"
    for part in (made, made.parent, made.parent.parent):
        assert stat.S_IMODE(part.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o702, 0o720])
def test_a_folder_that_others_may_write_is_refused_at_the_end_and_on_the_way(
    tmp_path: Path, mode: int
) -> None:
    if os.geteuid() and mode & 0o020:
        pytest.skip("the group may be the user's own")
    between = tmp_path / "between"
    (between / "end").mkdir(parents=True)
    os.chown(between, -1, OTHER) if not os.geteuid() else None
    between.chmod(mode)
    with pytest.raises(PermissionError, match="between may be written by others"):
        own_folder(between)
    if mode & stat.S_ISVTX:  # nobody can move what is another's there
        assert own_folder(between / "end") == between / "end"
    else:
        with pytest.raises(PermissionError, match="between may be written by others"):
            own_folder(between / "end")


@pytest.mark.parametrize("part", ["a", "a/b", "a/b/c"])
def test_a_folder_of_another_user_is_refused_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    own_folder(tmp_path / "a/b/c")
    let_own(monkeypatch, tmp_path / part, OTHER)
    with pytest.raises(PermissionError, match=f"belongs to another user \\(owner {OTHER}\\)"):
        own_folder(tmp_path / "a/b/c")


def test_symbolic_links_are_followed_and_their_owners_and_targets_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    (target / "end").mkdir(parents=True)
    link.symlink_to("target/../target")
    assert own_folder(link / "end") == target / "end"
    target.chmod(0o777)
    with pytest.raises(PermissionError, match="target may be written"):
        own_folder(link / "end")
    target.chmod(0o700)
    with monkeypatch.context() as patch:
        let_own(patch, link, OTHER)
        with pytest.raises(PermissionError, match="link belongs to another user"):
            own_folder(link / "end")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(PermissionError, match="symbolic links"):
        own_folder(tmp_path / "round" / "end")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    assert own_folder(tmp_path / "dangling") == tmp_path / "nothing"


def test_relative_paths_and_files_are_no_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PermissionError, match="not an absolute path"):
        own_folder(Path("~/.cache"))
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        own_folder(tmp_path / "file" / "end")
    assert not (tmp_path / "~").exists()


def test_a_group_counts_as_nobody_else_where_it_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grp
    import pwd

    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o770)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name="anna", pw_dir="/home/anna"))
    for name, members, own in (
        ("anna", [], True), ("anna", ["anna"], True), ("anna", ["eve"], False), ("staff", [], False)
    ):  # fmt: skip
        entry = SimpleNamespace(gr_name=name, gr_mem=members)
        monkeypatch.setattr(grp, "getgrgid", lambda group, entry=entry: entry)
        if own:
            assert own_folder(folder) == folder
        else:
            with pytest.raises(PermissionError, match="written by others"):
                own_folder(folder)
    monkeypatch.setattr(grp, "getgrgid", lambda group: SimpleNamespace(gr_name="anna", gr_mem=[]))
    monkeypatch.setattr(os, "listxattr", lambda path: ["system.posix_acl_access"])
    with pytest.raises(PermissionError, match="written by others"):
        own_folder(folder)


def test_where_root_has_no_number_its_folders_are_taken_for_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    let_own(monkeypatch, tmp_path / "a", 65534)
    with pytest.raises(PermissionError, match="another user"):
        own_folder(tmp_path / "a")
    monkeypatch.setattr(own_files, "unmapped_root", lambda: 65534)
    assert own_folder(tmp_path / "a") == tmp_path / "a"


def test_a_secret_is_made_once_and_refused_where_others_could_read_it(
    tmp_path: Path, opened_umask: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "folder" / "secret"
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(own_secret, [path] * 16))
    assert len(found) == 1 and len(*found) == 64 and os.listdir(path.parent) == ["secret"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for mode in (0o640, 0o604, 0o620, 0o602):
        path.chmod(mode)
        with pytest.raises(PermissionError, match="not yours alone"):
            own_secret(path)
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(PermissionError, match="holds no secret"):
        own_secret(path)
    path.write_text("x" * 100_000)
    with pytest.raises(PermissionError, match="holds no secret"):
        own_secret(path)
    path.unlink()
    (tmp_path / "elsewhere").write_text("0" * 64)
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        own_secret(path)
    path.unlink()
    os.mkfifo(path, 0o600)  # opening it must not wait for a writer
    with pytest.raises(PermissionError, match="not a file"):
        own_secret(path)


def test_a_file_of_another_user_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    path.chmod(0o644)
    assert read_own(path, 100) == b"content"
    with pytest.raises(ValueError, match="more than 3"):
        read_own(path, 3)
    real = os.fstat
    monkeypatch.setattr(
        "graphflow._core.common.files.own_files.os.fstat",
        lambda at: os.stat_result((*real(at)[:4], OTHER, *real(at)[5:10])),
    )
    with pytest.raises(PermissionError, match=f"owner {OTHER}"):
        read_own(path, 100)


def test_caches_lie_at_absolute_paths_and_in_homes_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pwd

    kept, known = tmp_path / "kept", tmp_path / "known"
    kept.mkdir()
    known.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_dir=str(known)))
    monkeypatch.setenv("XDG_CACHE_HOME", "/named")
    monkeypatch.setenv("HOME", str(kept))
    assert cache_folders() == [Path("/named"), kept / ".cache", known / ".cache"]
    for wrong in ("relative", "~/.cache", "", ".", "kept"):
        monkeypatch.setenv("XDG_CACHE_HOME", wrong)
        monkeypatch.setenv("HOME", wrong)
        assert cache_folders() == [known / ".cache"]
    known.rmdir()  # as /nonexistent, which nobody is to make
    assert cache_folders() == []

    def unknown(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache_folders() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_what_another_user_prepared_in_the_shared_temporary_folder_is_refused() -> None:
    """With real users: one makes folders, links and secrets where the other will look."""
    shared = Path(tempfile.mkdtemp(dir="/tmp"))
    shared.chmod(0o1777)
    program = (
        "import os, sys; os.setgroups([]); os.setgid(23456); os.setuid(23456); os.chdir('/'); os.umask(0); "
        f"os.chdir({str(shared)!r}); os.mkdir('graphflow', 0o777); open('graphflow/token', 'w').write('0' * 64); "
        "os.mkdir('hidden', 0o777); os.symlink('hidden', 'link')"
    )
    try:
        subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)
        for name in ("graphflow", "hidden", "link"):
            with pytest.raises(PermissionError, match="belongs to another user"):
                own_secret(shared / name / "token")
        assert own_secret(shared / "mine" / "token")
    finally:
        shutil.rmtree(shared)
