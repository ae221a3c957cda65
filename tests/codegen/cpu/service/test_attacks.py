"""Protects the compile server and its clients from what lies in the way of its socket, and what comes through it."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphflow._core.codegen.cpu.cache import KernelCache, environment_name, key_in, server_name
from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.service import link as link_module
from graphflow._core.codegen.cpu.service import messages
from tests.codegen.cpu.service.servers import gated_kernel, kernel, pids_of, requests_of, server_of, until

Make = Callable[[], Compiler]
OTHER_USER = 65_534


@pytest.fixture
def served(folder: Path, shared: Make) -> Iterator[tuple[Compiler, Path]]:
    """A compiler with a server that runs, and the server's socket."""
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    yield compiler, folder / f"{server_name()}.socket"


def connect(path: Path) -> socket.socket:
    end = socket.socket(socket.AF_UNIX)
    end.settimeout(100)
    try:
        with open_folder(path) as short:
            end.connect(f"{short}/{path.name}")
    except OSError:
        end.close()
        raise
    return end


@contextmanager
def open_folder(path: Path) -> Iterator[str]:
    """The folder of a file, by a name that is short enough for a socket."""
    opened = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{opened}"
    finally:
        os.close(opened)


def was_closed(end: socket.socket) -> bool:
    """Whether the server ends a connection; what it says before that is of no interest."""
    try:
        while end.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


def planted(folder: Path) -> tuple[socket.socket, Path]:
    """A socket under the server's name at which this test listens."""
    path = folder / f"{server_name()}.socket"
    door = socket.socket(socket.AF_UNIX)
    with open_folder(path) as short:
        door.bind(f"{short}/{path.name}")
    door.listen(8)
    return door, path


def test_only_the_user_may_connect_and_nobody_else_sees_the_files(served: tuple[Compiler, Path]) -> None:
    _, path = served
    for file in (path, path.with_suffix(".lock")):
        assert file.lstat().st_mode & 0o077 == 0 and file.lstat().st_uid == os.geteuid()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_user_who_connects_is_closed(folder: Path, shared: Make) -> None:
    """Even where the rights of the folder and the socket would let him."""
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    socket_path = folder / f"{server_name()}.socket"
    socket_path.chmod(0o666)
    moved = Path("/tmp") / f"graphflow-test-{os.getpid()}"
    os.link(socket_path, moved)
    try:
        request = b"".join(messages.pack_sources(environment_name(), [kernel(77)]))
        program = (
            "import os, socket, sys\n"
            f"os.setgid({OTHER_USER}); os.setuid({OTHER_USER})\n"
            f"end = socket.socket(socket.AF_UNIX); end.settimeout(100); end.connect({str(moved)!r})\n"
            "try:\n"
            f"    end.sendall({request!r})\n"
            "    print(end.recv(100))\n"
            "except ConnectionError: print(b'')\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
        assert done.stdout == "b''\n", done.stderr
    finally:
        moved.unlink()
    assert compiler.compile_async(kernel(2)).result(250)
    assert KernelCache(folder).load(key_in(bytes.fromhex(environment_name()), kernel(77))) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_socket_of_another_user_is_not_asked(folder: Path, shared: Make) -> None:
    door, path = planted(folder)
    os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None
    door.settimeout(0.0)
    with pytest.raises(BlockingIOError):
        door.accept()
    door.close()


def test_a_process_of_another_user_behind_the_socket_is_not_asked(
    folder: Path,
    shared: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door, _ = planted(folder)
    monkeypatch.setattr(link_module, "is_of_this_user", lambda end: False)
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None
    end, _ = door.accept()
    end.settimeout(10)
    assert end.recv(1) == b""  # Nothing was said to it.
    end.close()
    door.close()


@pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling", "pipe"])
def test_what_is_no_socket_is_not_followed(folder: Path, shared: Make, kind: str, tmp_path: Path) -> None:
    path, target = folder / f"{server_name()}.socket", tmp_path / "target"
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        if kind == "link":
            target.write_text("mine")
        path.symlink_to(target)
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None and not pids_of(folder)
    assert path.is_symlink() == (kind in ("link", "dangling"))
    assert kind != "link" or target.read_text() == "mine"
    assert kind != "dangling" or not target.exists()


def test_a_link_in_place_of_the_lock_is_not_followed(folder: Path, shared: Make, tmp_path: Path) -> None:
    (folder / f"{server_name()}.lock").symlink_to(tmp_path / "target")
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None and not (tmp_path / "target").exists()


def test_a_folder_that_others_may_write_has_no_server(folder: Path, shared: Make) -> None:
    folder.chmod(0o777)
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None and not pids_of(folder)


def test_a_false_server_cannot_give_code(folder: Path, shared: Make) -> None:
    """It says that a kernel is there which was not signed, or that never was; or says garbage."""
    door, path = planted(folder)
    compiler = shared()
    handle = compiler.compile_async(kernel(1))
    end, _ = door.accept()
    key = handle.key
    (folder / key[:2]).mkdir(0o700, exist_ok=True)
    (folder / key[:2] / f"{key}.o").write_bytes(
        b"graphflow-signed-1\n" + bytes(32) + b"kernel\0" + b"\x7fELF"
    )
    end.sendall(
        messages.pack({"key": "unknown", "stored": True}) + messages.pack({"key": key, "stored": True})
    )
    assert handle.result(250) and compiler.helper_pid is not None
    other = compiler.compile_async(kernel(2))
    end.sendall(struct.pack("!I", 1 << 31))
    end.close()
    door.close()
    path.unlink()
    assert other.result(250)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!I", 0xFFFFFFFF),
        struct.pack("!I", 7) + b"garbage",
        messages.pack({}),
        messages.pack({"environment": environment_name()}),
        messages.pack({"environment": environment_name(), "sources": "x"}),
        messages.pack({"environment": environment_name(), "sources": [1]}),
        messages.pack({"environment": environment_name(), "sources": [None, [kernel(9)]]}),
        messages.pack({"environment": "00", "sources": [kernel(9)]}),
        messages.pack({"environment": ["x"], "sources": [kernel(9)]}),
        messages.pack({"environment": environment_name(), "sources": ["\ud800"]}),
        struct.pack("!I", 40_000) + zlib.compress(bytes(20 << 20))[:40_000],
    ],
    ids=range(12),
)
def test_garbage_is_closed_and_harms_nobody(served: tuple[Compiler, Path], data: bytes) -> None:
    compiler, path = served
    pid = server_of(compiler)
    end = connect(path)
    end.sendall(data)
    if data.startswith(struct.pack("!I", 40_000)):
        end.shutdown(socket.SHUT_WR)
    assert was_closed(end)
    end.close()
    assert compiler.compile_async(kernel(2)).result(250) and server_of(compiler) == pid


def test_who_says_nothing_is_closed(served: tuple[Compiler, Path], tmp_path: Path) -> None:
    compiler, path = served
    gate = tmp_path / "gate"
    compiler.compile_async(gated_kernel(2, gate))  # So that it does not end for want of work.
    until(lambda: requests_of(compiler), "the server has to make it")
    began, end = time.monotonic(), connect(path)
    assert was_closed(end) and time.monotonic() - began > 3
    assert requests_of(compiler)
    end.close()
    gate.touch()


def test_who_reads_nothing_does_not_fill_the_memory(served: tuple[Compiler, Path]) -> None:
    compiler, path = served
    pid, end = server_of(compiler), connect(path)
    end.setblocking(False)
    request = b"".join(messages.pack_sources(environment_name(), [kernel(1)])) * 100
    limit = time.monotonic() + 15
    sent = 0
    try:
        while time.monotonic() < limit and sent < 1 << 21:
            try:
                sent += end.send(request)
            except BlockingIOError:
                time.sleep(0.01)
    except ConnectionError:  # It was closed.
        pass
    status = Path(f"/proc/{pid}/status").read_text()
    used = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    assert used < 120_000  # kB
    end.close()
    assert compiler.compile_async(kernel(2)).result(250) and server_of(compiler) == pid


def test_a_crowd_that_only_connects_keeps_nobody_out_for_long(
    served: tuple[Compiler, Path], folder: Path
) -> None:
    compiler, path = served
    pid = server_of(compiler)
    crowd = []
    while len(crowd) < 300:
        try:
            crowd.append(connect(path))
        except BlockingIOError:  # So many wait to be accepted.
            time.sleep(0.01)
    other = Compiler(folder, shared=True)
    assert other.compile_async(kernel(2)).result(250) and other.helper_pid is None
    other.close()
    assert compiler.compile_async(kernel(3)).result(250) and server_of(compiler) == pid
    for end in crowd:
        end.close()


def test_its_environment_and_arguments_hold_nothing_of_the_programs(
    folder: Path,
    shared: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PASSWORD", "sesame")
    monkeypatch.setenv("TMPDIR", "/somewhere")
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    pid = server_of(compiler)
    secret = (compiler.cache.home.folder / "signing-key").read_bytes().strip()
    for file in ("environ", "cmdline"):
        words = Path(f"/proc/{pid}/{file}").read_bytes()
        assert b"sesame" not in words and b"/somewhere" not in words and secret not in words
    until(lambda: pids_of(folder) == [pid], "one server")
