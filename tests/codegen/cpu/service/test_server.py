"""Protects the compile server: one for all, each kernel made once, nothing lost if its askers end or it does."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphflow._core.codegen.cpu.cache import KernelCache, server_name, source_key
from graphflow._core.codegen.cpu.compiler import Compiler, KernelCompileError
from graphflow._core.common.compile_timeouts import COMPILE_SERVER_START_SECONDS, LAST_REQUESTS_SECONDS
from tests.codegen.cpu.service.servers import (
    ended,
    gated_kernel,
    helpers_of,
    is_running,
    kernel,
    kernels_in,
    output_of,
    pids_of,
    program,
    requests_of,
    server_of,
    slow_kernel,
    until,
)

Make = Callable[[], Compiler]


def test_many_processes_that_begin_at_once_have_one_server_which_makes_each_kernel_once(folder: Path) -> None:
    """Each kernel notes in a file that it is compiled."""
    marks = folder.parent / "marks"
    text = f"""
mark = "open({str(marks)!r}, 'a').write('x')"
handles = [compiler.compile_async(mark + kernel(addend=n)) for n in range(5)]
assert all(handle.result(250) for handle in handles) and compiler.helper_pid is None
print(compiler.server_pid)
"""
    programs = [program(folder, text) for _ in range(6)]
    told = {output_of(process) for process in programs} - {"None"}
    assert len(told) == 1 and [str(pid) for pid in pids_of(folder)] == list(told)
    assert kernels_in(folder) == 5 and marks.read_text() == "xxxxx"


def test_what_a_program_asked_for_as_it_ended_is_there_for_the_next(folder: Path, shared: Make) -> None:
    """The machine may be busy: the program takes the time to send that it needs, as others mostly do."""
    text = """
from graphflow._core.codegen.cpu import compiler as module
module.LAST_REQUESTS_SECONDS = 60.0
for n in range(20): compiler.compile_async(kernel(addend=n))
"""
    output_of(program(folder, text))
    until(lambda: kernels_in(folder) == 20, "all kernels are made")
    assert shared().load(kernel(19))


def test_what_a_program_asks_for_is_sent_before_the_server_runs(folder: Path) -> None:
    """A program that ends at once loses nothing on a machine that is slow to start another."""
    gate = folder.parent / "gate"
    text = f"""
from graphflow._core.codegen.cpu.service import link
command, ask = link.isolated.server_command, link.Link.ask
def slow(given):
    return ["/bin/sh", "-c", 'until [ -e {gate} ]; do sleep 0.05; done; exec "$0" "$@"', *command(given)]
def asked(self, sources):
    ask(self, sources)
    if len(self.asked) == 3:
        open({str(gate)!r}, "w").close()
        os._exit(0)
link.isolated.server_command, link.Link.ask = slow, asked
for n in range(3): compiler.compile_async(kernel(addend=n))
time.sleep(60)
sys.exit(1)
"""
    output_of(program(folder, text))
    until(lambda: kernels_in(folder) == 3, "all kernels are made")


def test_a_program_that_ends_does_not_wait_long_for_a_server(folder: Path) -> None:
    """Another process has the lock and serves nobody, as one that was stopped while it started a server."""
    text = """
compiler.compile_async(kernel(addend=1))
began = time.monotonic()
compiler.close()
print(time.monotonic() - began)
"""
    with open(folder / f"{server_name()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waited = float(output_of(program(folder, text)))
    assert LAST_REQUESTS_SECONDS - 0.1 < waited < COMPILE_SERVER_START_SECONDS


def test_what_a_killed_program_had_asked_for_is_made(folder: Path) -> None:
    text = """
for n in range(10): compiler.compile_async(kernel(addend=n))
while compiler.server_pid is None: time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
    process = program(folder, text)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    until(lambda: kernels_in(folder) == 10, "all kernels are made")


def test_who_waits_comes_before_what_an_ended_program_had_asked_for(folder: Path, shared: Make) -> None:
    gate = folder.parent / "gate"
    first = Compiler(folder, shared=True)
    for number in range(20):
        first.compile_async(gated_kernel(number, gate, f"{number} "))
    until(lambda: requests_of(first) == 20, "the server has all")
    first.close()
    second = shared()
    handle = second.compile_async(gated_kernel(99, gate, "99 "))
    until(lambda: requests_of(second) == 21, "the server has this one")
    gate.touch()
    assert handle.result(250)
    until(lambda: kernels_in(folder) == 21, "the others are made, too")
    begun = Path(f"{gate}.begun").read_text().split()
    assert begun.index("99") <= 4, "before all but what the compiler processes had, at most four"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core for one compiler process")
def test_a_program_that_stands_still_has_the_other_cores_compile_too(
    folder: Path, shared: Make, tmp_path: Path
) -> None:
    """While it does not, half of the cores are left to it."""
    compiler, gate = shared(), tmp_path / "gate"
    handles = compiler.compile_many([gated_kernel(n, gate) for n in range(24)])
    server = server_of(compiler)
    cores = len(os.sched_getaffinity(0))
    until(lambda: len(helpers_of(server)) == max(1, min(4, cores // 2)) or cores > 3, "the first compilers")
    before = len(helpers_of(server))
    with compiler.awaited():
        until(lambda: len(helpers_of(server)) > before or before == 4, "another compiler")
        gate.touch()
        assert all(handle.result(250) for handle in handles)


def test_a_bad_source_fails_for_all_who_asked_and_says_why(shared: Make) -> None:
    one, two = shared(), shared()
    handles = [compiler.compile_async("def kernel(:") for compiler in (one, two)]
    for handle in handles:
        with pytest.raises(KernelCompileError, match="SyntaxError") as failure:
            handle.result(250)
        assert not failure.value.passing
    assert one.compile_async(kernel(3)).result(250)


def test_a_source_that_kills_the_compiler_fails_and_others_do_not(shared: Make) -> None:
    compiler = shared()
    bad = compiler.compile_async("import os\nos._exit(7)")
    good = compiler.compile_async(kernel(6))
    with pytest.raises(KernelCompileError, match="exit status 7") as failure:
        bad.result(250)
    assert failure.value.passing and good.result(250)
    assert compiler.helper_pid is None


def test_a_server_that_is_killed_is_started_again(folder: Path, shared: Make) -> None:
    compiler = shared()
    handles = [compiler.compile_async(slow_kernel(number, 0.3)) for number in range(5)]
    first = server_of(compiler)
    os.kill(first, signal.SIGKILL)
    ended(first)
    assert all(handle.result(250) for handle in handles)
    assert compiler.helper_pid is None and pids_of(folder) == [server_of(compiler)] != [first]


def test_its_compiler_process_ends_with_a_killed_server(shared: Make) -> None:
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    pid = server_of(compiler)
    helpers = helpers_of(pid)
    os.kill(pid, signal.SIGKILL)
    assert helpers
    for helper in helpers:
        ended(helper)


def test_a_server_that_is_asked_to_end_does_and_leaves_nothing(folder: Path, shared: Make) -> None:
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    pid = server_of(compiler)
    helpers = helpers_of(pid)
    os.kill(pid, signal.SIGTERM)
    for process in (pid, *helpers):
        ended(process)
    assert not list(folder.glob("compiler-*"))
    assert compiler.compile_async(kernel(2)).result(250) and server_of(compiler) != pid


def test_an_idle_server_ends_and_leaves_nothing(folder: Path, shared: Make) -> None:
    """With a client that is still there, which does not wait for anything."""
    compiler = shared()
    began = time.monotonic()
    assert compiler.compile_async(kernel(1)).result(250)
    pid = server_of(compiler)
    helpers = helpers_of(pid)
    ended(pid)
    assert time.monotonic() - began > 10
    assert not [helper for helper in helpers if is_running(helper)]
    assert not list(folder.glob("compiler-*"))
    assert compiler.compile_async(kernel(2)).result(250) and compiler.helper_pid is None


def test_a_server_whose_folder_was_removed_ends(folder: Path, shared: Make) -> None:
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    pid = server_of(compiler)
    gate = folder.parent / "gate"
    waits = compiler.compile_async(gated_kernel(2, gate))
    until(lambda: requests_of(compiler), "the server has to make it")
    shutil.rmtree(folder)
    gate.touch()
    assert waits.result(250)
    ended(pid)
    assert not list(folder.glob("compiler-*"))


def test_a_terminal_that_interrupts_a_program_does_not_end_the_server(folder: Path, shared: Make) -> None:
    """A server is in no group of a program's, and hears neither interrupts nor that the terminal is gone."""
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    pid = server_of(compiler)
    assert os.getsid(pid) != os.getsid(0) and os.getpgid(pid) != os.getpgid(0)
    for number in (signal.SIGINT, signal.SIGHUP):
        os.kill(pid, number)
    assert compiler.compile_async(kernel(2)).result(250)
    assert pids_of(folder) == [pid]


def test_a_program_whose_output_is_read_to_its_end_is_not_waited_for_longer(folder: Path) -> None:
    """The server holds nothing of who started it: neither its output, nor any other file."""
    gate = folder.parent / "gate"
    begun = f"while not os.path.exists({str(gate) + '.begun'!r}): time.sleep(0.01)"
    output_of(program(folder, f"compiler.compile_async({gated_kernel(1, gate)!r})\n{begun}"))
    (pid,) = pids_of(folder)
    held = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    assert {name.partition(":")[0] for name in held if not name.startswith(str(folder))} <= {
        "/dev/null",
        "socket",
        "pipe",
        "anon_inode",
        *(name for name in held if name.endswith("(deleted)")),
    }
    gate.touch()


def test_a_forked_child_asks_for_itself(folder: Path) -> None:
    text = """
first = compiler.compile_async(kernel(addend=1))
assert first.result(250)
pending = compiler.compile_async(kernel(addend=2))
child = os.fork()
assert pending.result(250) and first.result(250) and compiler.compile_async(kernel(addend=3)).result(250)
assert compiler.compile_async(kernel(addend=os.getpid())).result(250) and compiler.helper_pid is None
if child == 0:
    compiler.close()
    os._exit(42)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
"""
    output_of(program(folder, text))
    assert kernels_in(folder) == 5 and len(pids_of(folder)) == 1


def test_programs_that_fork_as_they_start_a_server_do_not_keep_it_from_being_found_dead(folder: Path) -> None:
    """No child inherits the lock or the socket: else nobody could start a server once that one has ended."""
    text = """
import threading
from graphflow._core.codegen.cpu.service.link import Link
sent, ask = threading.Event(), Link.ask
def asked(self, sources):
    ask(self, sources)
    sent.set()
Link.ask = asked
compiler.compile_async(kernel(addend=1))
children = []
while len(children) < 20 or not sent.is_set() and len(children) < 500:
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    children.append(child)
    time.sleep(0.002 if len(children) < 20 else 0.1)
print(*children, flush=True)
os._exit(0)
"""
    children = [int(word) for word in output_of(_without_pipes(program, folder, text)).split()]
    try:
        until(lambda: kernels_in(folder) == 1, "the kernel is made")
        for pid in pids_of(folder):
            os.kill(pid, signal.SIGKILL)
            ended(pid)
        other = Compiler(folder, shared=True)
        assert other.compile_async(kernel(2)).result(250) and other.helper_pid is None
        other.close()
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)


def _without_pipes(
    start: Callable[[Path, str], subprocess.Popen[str]], folder: Path, text: str
) -> subprocess.Popen[str]:
    """A program whose children hold nothing that its reader waits for the end of."""
    return start(folder, text.replace("time.sleep(60)", "[os.close(n) for n in (1, 2)]; time.sleep(60)"))


def test_a_folder_that_cannot_be_written_gives_kernels_by_a_helper_of_its_own(folder: Path) -> None:
    blocked = folder / "file"
    blocked.write_text("not a folder")
    compiler = Compiler(blocked, shared=True)
    assert compiler.compile_async(kernel(1)).result(250)
    assert compiler.helper_pid is not None and compiler.server_pid is None
    compiler.close()


def test_a_kernel_that_is_removed_from_the_cache_at_once_comes_all_the_same(
    folder: Path, shared: Make
) -> None:
    """As where another program clears the cache, or the disk is full."""
    compiler = shared()
    assert compiler.compile_async(kernel(1)).result(250)
    key = source_key(kernel(2))
    (folder / key[:2]).rmdir() if (folder / key[:2]).is_dir() else None
    (folder / key[:2]).write_text("no folder")
    assert compiler.compile_async(kernel(2)).result(250)
    assert KernelCache(folder).load(key) is None
    assert compiler.compile_async(kernel(3)).result(250)


def test_kernels_that_are_too_large_for_the_server_come_from_a_helper(shared: Make) -> None:
    compiler = shared()
    assert compiler.compile_async(kernel(1) + "# long\n" * 100_000).result(250)
    assert compiler.helper_pid is not None
    assert compiler.compile_async(kernel(2)).result(250)


def test_the_compiler_of_a_process_asks_the_server_of_the_users_folder() -> None:
    assert Compiler()._is_shared and not Compiler(Path("/nowhere"))._is_shared
