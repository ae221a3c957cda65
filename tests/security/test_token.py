"""Protects the user's token: every process of the user finds the same one, and who has another is told which."""

from __future__ import annotations

import errno
import os
import pwd
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.transport import token

_PROJECT = Path(__file__).parents[2]


def _home(monkeypatch: pytest.MonkeyPatch, home: Path | str | None) -> None:
    """Has the system know this home of the user's, or no user."""

    def known(number: int) -> Any:
        if home is None:
            raise KeyError(number)
        return SimpleNamespace(pw_dir=str(home), pw_name="somebody")

    monkeypatch.setattr(pwd, "getpwuid", known)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"HOME": "/nonexistent"},
        {"XDG_RUNTIME_DIR": "/tmp", "HOME": "/tmp"},
        {"XDG_CACHE_HOME": "/var/tmp", "XDG_RUNTIME_DIR": "/run"},
        {"HOME": "", "TMPDIR": "/var/tmp", "USER": "other", "LOGNAME": "other"},
    ],
    ids=["cron", "unit", "login", "desktop", "container"],
)
def test_every_process_of_the_user_finds_the_same_token(environment: dict[str, str]) -> None:
    script = "from graphflow._core.transport import token; print(token.path(), token.user_token())"
    found = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(_PROJECT), **environment}, cwd="/", check=True,
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert found.stdout.split() == [str(token.path()), token.user_token()]


@pytest.mark.parametrize("home", [None, "/dev/null/home", "relative", "writable"])
def test_without_a_home_of_its_own_the_token_is_in_a_folder_of_the_temporary_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str | None
) -> None:
    if home == "writable":
        (tmp_path / home).mkdir()
        (tmp_path / home).chmod(0o777)
        home = str(tmp_path / home)
    _home(monkeypatch, home)
    sticky = tmp_path / "tmp"
    sticky.mkdir()
    sticky.chmod(0o1777)
    monkeypatch.setattr(token, "TEMPORARY", sticky)
    assert token.path() == sticky / f"graphflow-{os.geteuid()}" / "token"
    assert token.user_token() == token.user_token()
    assert token.path().parent.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_somebody_elses_is_not_used_and_both_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _home(monkeypatch, "/dev/null/home")
    sticky = tmp_path / "tmp"
    (sticky / f"graphflow-{os.geteuid()}").mkdir(parents=True)
    (sticky / f"graphflow-{os.geteuid()}").chmod(0o777)
    monkeypatch.setattr(token, "TEMPORARY", sticky)
    with pytest.raises(PermissionError, match=r"/dev/null/home.*graphflow-\d+ may be written by others"):
        gf.train.Server.create_local_server()


def test_what_will_pass_does_not_make_another_token(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(token, "own_folder", full)
    with pytest.raises(OSError, match="No space left"):
        token.path()


def test_who_has_another_token_is_told_where_it_is_and_the_task_where_its_own_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        ports = stack.enter_context(ReservedPorts(2)).ports
        spec = {"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{ports[1]}"]}
        folders = {name: tmp_path / name for name in ("first", "second")}
        monkeypatch.setattr(token, "folders", lambda: [folders["first"]])
        ps = gf.train.Server(spec, "ps", 0)
        stack.callback(ps.stop)
        monkeypatch.setattr(token, "folders", lambda: [folders["second"]])
        worker = gf.train.Server(spec, "worker", 0)
        stack.callback(worker.stop)
        config = gf.ConfigProto(connect_timeout_in_ms=10_000)
        mine = r"refuses the token: its own is not the one in .*second/token"
        with pytest.raises(gf.errors.UnauthenticatedError, match=mine):
            gf.Session(ps.target, gf.Graph(), config=config)
        with pytest.raises(gf.errors.UnauthenticatedError, match=mine):
            gf.train.cluster_status(ps.target, 10.0)
        with pytest.raises(
            gf.errors.UnavailableError, match=r"/job:ps/replica:0/task:0 at .*refuses the token.*second/token"
        ):
            gf.Session(worker.target, gf.Graph(), config=config)
        monkeypatch.setattr(token, "folders", lambda: [folders["first"]])
        strangers = gf.train.cluster_status(ps.target, 10.0)[0]["strangers"]
        assert strangers["refused"] >= 3 and strangers["why"].endswith("first/token.")
