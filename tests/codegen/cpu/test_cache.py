"""Protects promise 34: the cache is keyed by content, safe between processes and forks, deletable any time."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphflow
from graphflow._core.codegen.cpu.cache import CompiledObject, KernelCache, default_directory, source_key
from graphflow._core.codegen.cpu.compiler import Compiler

SOURCE = """
@kernel_function
def kernel(args, begin, end):
    x = pointer_float32(args[0])
    for i in range(begin, end):
        store(x, i, load(x, i, 1) + float32({addend}), 1)
"""
CALL = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
ROOT = str(Path(graphflow.__file__).parents[1])
# the program that every one of several cold processes runs
RACER = f"""
import sys, ctypes, numpy as np
from pathlib import Path
from graphflow._core.codegen.cpu.compiler import Compiler
compiler = Compiler(Path(sys.argv[1]))
address = compiler.compile_async({SOURCE.format(addend=5)!r}).result(250)
x = np.zeros(33, np.float32)
args = np.array([x.ctypes.data])
ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)(args.ctypes.data, 0, 33)
assert (x == 5).all()
print("right")
"""


def add_with(address: int) -> float:
    x = np.zeros(3, np.float32)
    args = np.array([x.ctypes.data])
    CALL(address)(args.ctypes.data, 0, 3)
    return float(x[2])


def test_34_several_cold_processes_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    environment = dict(os.environ, PYTHONPATH=ROOT)
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(6)
    ]
    assert [process.communicate(timeout=100)[0].strip() for process in processes] == ["right"] * 6
    assert len(list(tmp_path.glob("*/*.o"))) == 1
    assert not list(tmp_path.glob("*/*.tmp"))


def test_34_a_damaged_entry_is_compiled_again(tmp_path: Path) -> None:
    source = SOURCE.format(addend=2)
    first = Compiler(tmp_path)
    assert add_with(first.compile_async(source).result(250)) == 2
    first.close()
    path = first.cache.path(source_key(source))
    whole = path.read_bytes()
    for damaged in (
        b"",
        whole[:40],
        whole[: len(whole) // 2],
        whole[:-1] + bytes([whole[-1] ^ 1]),
        b"x" + whole[1:],
    ):
        path.write_bytes(damaged)
        assert KernelCache(tmp_path).load(source_key(source)) is None
    second = Compiler(tmp_path)
    assert add_with(second.compile_async(source).result(250)) == 2
    second.close()
    assert path.read_bytes()[:19] == whole[:19] and KernelCache(tmp_path).load(source_key(source)) is not None


def test_34_deleting_the_folder_while_in_use(tmp_path: Path) -> None:
    compiler = Compiler(tmp_path / "kernels")
    address = compiler.compile_async(SOURCE.format(addend=3)).result(250)
    shutil.rmtree(tmp_path / "kernels")
    assert add_with(address) == 3
    assert add_with(compiler.compile_async(SOURCE.format(addend=4)).result(250)) == 4
    compiler.close()


def test_34_a_folder_that_cannot_be_written_still_gives_kernels(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    compiler = Compiler(blocked)
    assert add_with(compiler.compile_async(SOURCE.format(addend=6)).result(250)) == 6
    compiler.close()
    assert KernelCache(blocked).store("ab" * 32, CompiledObject("symbol", b"data")) is False


def test_a_cached_kernel_needs_no_helper(tmp_path: Path) -> None:
    source = SOURCE.format(addend=7)
    first = Compiler(tmp_path)
    assert first.load(source) is None
    first.compile_async(source).result(250)
    first.close()
    second = Compiler(tmp_path)
    loaded = second.load(source)
    assert loaded is not None and add_with(loaded) == 7
    assert add_with(second.compile_async(source).result(250)) == 7
    assert second.helper_pid is None


def test_keys_differ_with_the_source_and_entries_survive_a_round_trip(tmp_path: Path) -> None:
    assert source_key("a") != source_key("b") and source_key("a") == source_key("a")
    cache, entry = KernelCache(tmp_path), CompiledObject("name", bytes(range(256)))
    assert cache.store(source_key("a"), entry) and cache.load(source_key("a")) == entry
    assert cache.load(source_key("b")) is None


def test_the_default_folder_follows_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "named"))
    assert default_directory() == tmp_path / "named" / "graphflow"
    monkeypatch.delenv("XDG_CACHE_HOME")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_directory() == tmp_path / "home" / ".cache" / "graphflow"
