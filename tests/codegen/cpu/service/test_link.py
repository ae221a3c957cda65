"""Protects: a process that finds no server, a dead or a silent one, gets its kernels all the same, and soon."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphflow._core.codegen.cpu.cache import server_name
from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.service import link as link_module
from tests.codegen.cpu.service.servers import (
    ended,
    gated_kernel,
    kernel,
    output_of,
    pids_of,
    program,
    requests_of,
    server_of,
    until,
)

Make = Callable[[], Compiler]


def test_a_server_that_says_nothing_is_not_waited_for(shared: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    pid = server_of(compiler)
    monkeypatch.setattr(link_module, "COMPILE_SERVER_SILENT_SECONDS", 0.5)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert compiler.compile_async(kernel(2)).result(250)
        assert compiler.helper_pid is not None
    finally:
        os.kill(pid, signal.SIGCONT)


def test_who_looks_hears_of_what_was_asked_before_by_a_program_that_has_ended(
    folder: Path, shared: Make, tmp_path: Path
) -> None:
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    pid = server_of(compiler)
    for number in range(5):
        gate = tmp_path / f"gate_{number}"
        os.kill(pid, signal.SIGSTOP)  # As slow as a machine in use.
        try:
            source = gated_kernel(10 + number, gate)
            output_of(program(folder, f"compiler.compile_async({source!r})\ncompiler.close()"))
            found: list[object] = []
            looking = threading.Thread(
                target=lambda found=found: found.append(link_module.look(compiler.cache))
            )
            looking.start()
        finally:
            os.kill(pid, signal.SIGCONT)
        looking.join(200.0)
        assert found == [(pid, 1)]
        gate.touch()
        until(lambda: requests_of(compiler) == 0, "it is made")


def test_a_lock_that_nobody_serves_behind_is_not_waited_for(
    folder: Path, shared: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "COMPILE_SERVER_START_SECONDS", 0.5)
    with open(folder / f"{server_name()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        compiler = shared()
        assert compiler.compile_async(kernel(1)).result(250)
        assert compiler.helper_pid is not None and not pids_of(folder)


def test_who_asks_is_not_held_up_while_a_server_is_awaited(
    folder: Path, shared: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else this test would be for longer than it may last."""
    monkeypatch.setattr(link_module, "COMPILE_SERVER_START_SECONDS", 200.0)
    with open(folder / f"{server_name()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        compiler = shared()
        compiler.compile_async(kernel(1))
        handles = [compiler.compile_async(kernel(n)) for n in range(50)]
    assert all(handle.result(250) for handle in handles) and compiler.helper_pid is None


def test_a_socket_and_a_lock_that_a_killed_server_left_are_no_hindrance(folder: Path, shared: Make) -> None:
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    os.kill(server_of(compiler), signal.SIGKILL)
    ended(server_of(compiler))
    compiler.close()
    assert (folder / f"{server_name()}.socket").exists()
    other = shared()
    assert other.compile_async(kernel(2)).result(250) and other.helper_pid is None


def test_a_server_that_ends_at_once_again_and_again_gives_way_to_a_helper(
    shared: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module.isolated, "server_command", lambda given: ["/bin/false"])
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None


def test_without_unix_sockets_a_helper_compiles(shared: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> socket.socket:
        raise PermissionError("no Unix sockets here")

    # Of this module alone: servers of other tests may be accepting connections.
    without = SimpleNamespace(**{**vars(socket), "socket": refused})
    monkeypatch.setattr(link_module, "socket", without)
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None


def test_sockets_of_killed_servers_are_removed(folder: Path, shared: Make) -> None:
    old = time.time() - 3 * 86_400
    for name in ("compiler-dead", "compiler-alive", "compiler-young"):
        for ending in ("socket", "lock"):
            (folder / f"{name}.{ending}").touch()
            if name != "compiler-young":
                os.utime(folder / f"{name}.{ending}", (old, old))
    with open(folder / "compiler-alive.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert shared().compile_async(kernel(1)).result(250)
    left = {path.name for path in folder.glob("compiler-*") if not path.name.startswith(server_name())}
    assert left == {f"compiler-{name}.{end}" for name in ("alive", "young") for end in ("socket", "lock")}


def test_two_versions_have_servers_of_their_own(
    folder: Path, shared: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shared()
    assert one.compile_async(kernel(1)).result(250)
    monkeypatch.setattr(link_module, "server_name", lambda: "compiler-other")
    two = shared()
    assert two.compile_async(kernel(2)).result(250)
    assert server_of(one) != server_of(two) and len(pids_of(folder)) == 2


def test_a_server_whose_files_were_changed_makes_nothing(
    folder: Path, shared: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would make other kernels than those that its clients mean."""
    monkeypatch.setattr(link_module, "first_texts_name", lambda: "other texts")
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None


def test_threads_that_ask_at_once_are_all_answered(shared: Make) -> None:
    compiler, found = shared(), []

    def ask(first: int) -> None:
        handles = [compiler.compile_async(kernel(first + n)) for n in range(6)]
        found.extend(handle.result(250) for handle in handles)

    threads = [threading.Thread(target=ask, args=(10 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 24 and all(found)
