"""Protects: compiling never blocks or breaks the program: helper death, bad sources, forks and exit are survived."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import graphflow
import graphflow as gf
from graphflow._core.codegen import shared
from graphflow._core.codegen.cpu import helper as helper_module
from graphflow._core.codegen.cpu.compiler import Compiler, KernelCompileError
from graphflow._core.runtime.compiled import combination

SOURCE = """
@kernel_function
def kernel(args, begin, end):
    args[0] = begin + {addend}
"""
ROOT = str(Path(graphflow.__file__).parents[1])


def wait_for_helper(compiler: Compiler) -> int:
    deadline = time.monotonic() + 100
    while compiler.helper_pid is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return compiler.helper_pid


def test_the_same_source_gives_the_same_handle(compiler: Compiler) -> None:
    one, two, other = compiler.compile_many(
        [SOURCE.format(addend=1), SOURCE.format(addend=1), SOURCE.format(addend=2)]
    )
    assert one is two and one is not other
    assert one.result(250) != other.result(250)
    assert one.done() and not one.failed()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def kernel(:", "SyntaxError"),
        ("@kernel_function\ndef kernel(args, begin, end):\n    args[0] = nowhere", "nowhere"),
        ("x = 1", "kernel"),
        ("raise SystemExit(3)", "SystemExit"),
        (
            "import numpy\n@kernel_function\ndef kernel(args, begin, end):\n    x = numpy.empty(end)\n"
            "    for i in range(end):\n        x[i] = args[i]\n    args[0] = int64(x[begin])",
            "must not use",
        ),
    ],
)
def test_a_bad_source_fails_alone_and_says_why(compiler: Compiler, source: str, message: str) -> None:
    handle = compiler.compile_async(source)
    with pytest.raises(KernelCompileError, match=message):
        handle.result(250)
    assert handle.done() and handle.failed()
    assert compiler.compile_async(SOURCE.format(addend=3)).result(250)


def test_waiting_can_time_out(tmp_path: Path) -> None:
    compiler = Compiler(tmp_path)
    handle = compiler.compile_async(SOURCE.format(addend=4))
    with pytest.raises(TimeoutError):
        handle.result(0.0)
    compiler.close()
    with pytest.raises(KernelCompileError):
        handle.result(250)


def test_a_helper_killed_in_the_middle_is_started_again(tmp_path: Path) -> None:
    compiler = Compiler(tmp_path)
    handle = compiler.compile_async(SOURCE.format(addend=5))
    os.kill(wait_for_helper(compiler), signal.SIGKILL)
    assert handle.result(250)
    compiler.close()


def test_a_source_that_kills_the_helper_fails_and_others_do_not(tmp_path: Path) -> None:
    compiler = Compiler(tmp_path)
    bad = compiler.compile_async("import os\nos._exit(7)")
    good = compiler.compile_async(SOURCE.format(addend=6))
    with pytest.raises(KernelCompileError, match="exit status 7"):
        bad.result(250)
    assert good.result(250)
    compiler.close()


def test_a_helper_that_cannot_live_leaves_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "python3").symlink_to("/bin/false")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    compiler = Compiler(tmp_path)
    with caplog.at_level(logging.WARNING, "graphflow"):
        for addend in range(7, 12):
            with pytest.raises(KernelCompileError):
                compiler.compile_async(SOURCE.format(addend=addend)).result(250)
    assert [record.message for record in caplog.records if "stays on NumPy" in record.message].__len__() == 1
    compiler.close()


def test_a_helper_that_can_live_again_is_started_again_however_often_it_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(helper_module, "COMPILER_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(helper_module, "LONGEST_COMPILER_PAUSE_SECONDS", 0.2)
    right = sys.executable
    (tmp_path / "python3").symlink_to("/bin/false")
    compiler = Compiler(tmp_path)
    source = SOURCE.format(addend=21)
    for _ in range(2):
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
        if compiler.helper_pid is not None:
            os.kill(compiler.helper_pid, signal.SIGKILL)
        limit = time.monotonic() + 100
        while compiler._restarts.deaths < 12:
            assert time.monotonic() < limit
            with pytest.raises(KernelCompileError) as failure:
                compiler.compile_async(source).result(250)
            assert failure.value.passing
            time.sleep(0.01)
        assert compiler._restarts.alone_until - time.monotonic() <= 0.2
        monkeypatch.setattr(sys, "executable", right)
        while True:
            assert time.monotonic() < limit
            try:
                assert compiler.compile_async(source).result(250)
                break
            except KernelCompileError:
                time.sleep(0.02)
        assert compiler._restarts.deaths == 0
        source = SOURCE.format(addend=22)
    assert any("then it tries again" in record.message for record in caplog.records)
    compiler.close()


@pytest.mark.faulty_compiler
def test_a_plan_whose_kernels_did_not_come_is_compiled_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combination, "COMPILE_AGAIN_SECONDS", 0.1)
    monkeypatch.setattr(combination, "LONGEST_COMPILE_AGAIN_SECONDS", 0.2)
    monkeypatch.setattr(helper_module, "COMPILER_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(helper_module, "LONGEST_COMPILER_PAUSE_SECONDS", 0.1)
    compiler = Compiler(tmp_path / "cache")
    monkeypatch.setattr(shared, "_made", {"compiler": compiler})
    right = sys.executable
    (tmp_path / "python3").symlink_to("/bin/false")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [64])
        y = gf.exp(x) * 3.25 + gf.sqrt(x + 1.5)
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            feed = {x: np.linspace(0.0, 1.0, 64, dtype=np.float32)}
            before = session.run(y, feed)
            limit = time.monotonic() + 100
            while compiler._restarts.deaths < 8:
                assert time.monotonic() < limit
                session.run(y, feed)
                time.sleep(0.02)
            assert "compiled for" not in session.explain(y, [x])
            monkeypatch.setattr(sys, "executable", right)
            while "compiled for" not in session.explain(y, [x]):
                assert time.monotonic() < limit
                session.run(y, feed)
                time.sleep(0.02)
            np.testing.assert_allclose(session.run(y, feed), before, rtol=1e-6)
    compiler.close()


def test_a_forked_child_compiles_with_a_helper_of_its_own(tmp_path: Path) -> None:
    program = f"""
import os, sys
from pathlib import Path
from graphflow._core.codegen.cpu.compiler import Compiler
source = {SOURCE!r}
compiler = Compiler(Path({str(tmp_path)!r}))
first = compiler.compile_async(source.format(addend=1))
first.result(250)
pending = compiler.compile_async(source.format(addend=2))
child = os.fork()
assert pending.result(250) and first.result(250) and compiler.compile_async(source.format(addend=3)).result(250)
if child == 0:
    compiler.close()
    os._exit(42)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
print(compiler.helper_pid)
"""
    environment = dict(os.environ, PYTHONPATH=ROOT)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert_gone(int(done.stdout))


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 100
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":  # ended; whoever adopted it has not looked yet
            return
        assert time.monotonic() < deadline, f"helper {pid} outlived its parent"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_the_helper_ends_with_its_parent_even_when_that_is_killed(tmp_path: Path) -> None:
    program = f"""
import os, signal
from pathlib import Path
from graphflow._core.codegen.cpu.compiler import Compiler
compiler = Compiler(Path({str(tmp_path)!r}))
compiler.compile_async({SOURCE.format(addend=1)!r}).result(250)
print(compiler.helper_pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = dict(os.environ, PYTHONPATH=ROOT)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True, timeout=100
    )
    assert_gone(int(done.stdout))


def test_the_program_never_imports_numba(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
import graphflow._core.codegen.cpu.compiler as native
assert "llvmlite" not in sys.modules
compiler = native.Compiler(Path({str(tmp_path)!r}))
compiler.compile_async({SOURCE.format(addend=1)!r}).result(250)
assert "numba" not in sys.modules
"""
    environment = dict(os.environ, PYTHONPATH=ROOT)
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=100)
