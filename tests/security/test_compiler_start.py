"""Protects: the compiler process imports nothing from a working directory, a program's folder or the environment, and
finds what it needs however this Python was started.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipapp
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import llvmlite
import numpy as np
import pytest

import graphflow
from graphflow._core.codegen.cpu import isolated

ROOT = Path(graphflow.__file__).parents[1]
FOLDERS = list(dict.fromkeys(str(Path(m.__file__ or "").parents[1]) for m in (np, llvmlite)))
PROGRAM = """
import sys
import tempfile
from pathlib import Path
from graphflow._core.codegen.cpu.compiler import Compiler
compiler = Compiler(Path(sys.argv[1]))
compiler.compile_async('''
@kernel_function
def kernel(args, begin, end):
    args[0] = begin
''').result(90)
print("compiled by", compiler.helper_pid is not None)
compiler.close()
"""
BAITS = (
    *("numba", "llvmlite", "numpy", "cffi", "yaml", "graphflow", "sitecustomize", "usercustomize"),
    *("base64", "math", "json", "types", "ctypes", "signal", "traceback", "encodings", "site", "codecs"),
    *("threading", "_struct", "zlib"),
)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "mark"


def bait(folder: Path, mark: Path, names: Sequence[str]) -> Path:
    """A folder with modules that say that they were run, and are not what they are named after."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.py").write_text(
            f"with open({str(mark)!r}, 'a') as file: print({name!r}, file=file)\n"
        )
    (folder / ".numba_config.yaml").write_text("disable_jit: 1\n")
    return folder


def compiles(
    tmp_path: Path, *command: str, where: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *command, tempfile.mkdtemp(dir=tmp_path)],
        cwd=where or tmp_path,
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "compiled by True\n"
    return done


def program(folder: Path, text: str = PROGRAM) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / "program.py"
    path.write_text(text)
    return str(path)


def test_nothing_of_the_working_directory_is_run(tmp_path: Path, mark: Path) -> None:
    hostile = bait(tmp_path / "hostile", mark, BAITS)
    compiles(tmp_path, program(tmp_path / "elsewhere"), where=hostile, NUMBA_DISABLE_JIT="1", NUMBA_OPT="0")
    assert not mark.exists(), mark.read_text()


def test_nothing_of_the_programs_folder_is_run_beside_what_the_program_itself_imports(
    tmp_path: Path, mark: Path
) -> None:
    """The program imports neither Numba nor what that imports; NumPy and Python's own modules it does."""
    folder = bait(tmp_path / "folder", mark, ["numba", "cffi", "yaml", "sitecustomize", "usercustomize"])
    compiles(tmp_path, program(folder), where=folder)
    compiles(tmp_path, "-c", PROGRAM, where=folder)
    assert not mark.exists(), mark.read_text()


def test_nothing_that_the_environment_names_is_run(tmp_path: Path, mark: Path) -> None:
    """Beside what Python itself runs of it when the program starts: here site is told not to."""
    hostile = bait(tmp_path / "hostile", mark, ["numba", "cffi", "yaml", "startup"])
    open_to_all = bait(tmp_path / "open", mark, ["numba", "llvmlite_extra"])
    (open_to_all / "numba").mkdir()
    shutil.copy(open_to_all / "numba.py", open_to_all / "numba" / "__init__.py")
    open_to_all.chmod(0o777)
    compiles(
        tmp_path,
        program(tmp_path / "elsewhere"),
        PYTHONPATH=os.pathsep.join([str(hostile), str(open_to_all), "."]),
        PYTHONSTARTUP=str(hostile / "startup.py"),
        PYTHONWARNINGS="error",
        PYTHONINSPECT="",
    )
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize(
    "options", [["-P"], ["-E"], ["-s"], ["-I"], ["-O"], ["-B"], ["-X", "utf8"]], ids=lambda o: "".join(o)
)
def test_it_is_found_however_python_was_started(tmp_path: Path, options: list[str]) -> None:
    compiles(tmp_path, *options, program(tmp_path / "elsewhere"))


def test_it_is_found_without_site_and_by_pythonpath(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT), *FOLDERS])
    compiles(tmp_path, "-S", program(tmp_path / "elsewhere"), PYTHONPATH=path)
    inserted = f"import sys; sys.path[:0] = {path.split(os.pathsep)!r}\n" + PROGRAM
    compiles(tmp_path, "-I", "-S", "-c", inserted)


def test_it_is_found_in_an_archive(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "graphflow", source / "graphflow", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "__main__.py").write_text(PROGRAM)
    zipapp.create_archive(source, tmp_path / "program.pyz")
    compiles(tmp_path, "-S", str(tmp_path / "program.pyz"), PYTHONPATH=os.pathsep.join(FOLDERS))


def test_it_is_found_where_the_packages_lie_in_the_working_directory(tmp_path: Path) -> None:
    """As `pip install --target .` has it: this process has NumPy from there already."""
    for package in ("numpy", "numpy.libs", "llvmlite", "numba"):
        for folder in map(Path, FOLDERS):
            if (folder / package).exists() and not (tmp_path / package).exists():
                (tmp_path / package).symlink_to(folder / package)
    for info in (i for f in FOLDERS for i in Path(f).glob("*.dist-info")):
        if info.name.split("-")[0] in ("numpy", "numba", "llvmlite"):
            (tmp_path / info.name).symlink_to(info)
    (tmp_path / "graphflow").symlink_to(ROOT / "graphflow")
    compiles(tmp_path, "-S", "-c", PROGRAM)


def test_it_starts_where_the_working_directory_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    text = f"import os; os.rmdir({str(gone)!r})\n" + PROGRAM
    compiles(tmp_path, program(tmp_path / "elsewhere", text), where=gone)


def test_the_interpreter_is_a_python_and_never_a_program_that_has_one_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isolated.interpreter() == sys.executable
    beside = tmp_path / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    beside.parent.mkdir()
    beside.write_text("")
    beside.chmod(0o700)
    for executable in ("/usr/bin/server", "", None):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", executable)
            patch.setattr(sys, "exec_prefix", str(tmp_path))
            assert isolated.interpreter() == str(beside)
            patch.setattr(sys, "exec_prefix", str(tmp_path / "nothing"))
            patch.setattr(sys, "base_exec_prefix", str(tmp_path / "nothing"))
            with pytest.raises(FileNotFoundError, match="no Python"):
                isolated.interpreter()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(FileNotFoundError, match="no Python"):
        isolated.interpreter()


def test_folders_that_others_may_write_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    safe, open_to_all, script = (tmp_path / name for name in ("safe", "open", "script"))
    for folder in (safe, open_to_all, script):
        folder.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__=str(script / "program.py")))  # type: ignore[misc]
    monkeypatch.chdir(tmp_path)
    entries = ["", ".", "relative", str(tmp_path), str(script), str(open_to_all), str(safe), "/nothing/there"]
    monkeypatch.setattr(sys, "path", entries)
    assert list(isolated.safe_entries(frozenset())) == [str(safe)]


def test_what_steers_python_and_numba_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHASHSEED", "NUMBA_CACHE_DIR", "NUMBA_CUDA_DRIVER"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("PYTHONHOME", "relative")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/lib")
    found = isolated.environment()
    assert not [name for name in found if name.startswith(("PYTHON", "NUMBA"))]
    assert found["LD_LIBRARY_PATH"] == "/lib"
