"""Puts the emulated driver in the place of NVIDIA's in this process.

Needs a C compiler (`cc`, or what CC names), and the packages that compile for GPUs: the extra ci-cuda.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import linecache
import os
import shlex
import subprocess
import tempfile
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from graphflow._core.codegen.cpu.cache import default_directory
from tests.emulated_gpu.translation import translated

_HERE: Final = Path(__file__).parent
_COUNTERS: Final = ("violations", "launches", "cost", "live", "graphs", "made")
_WARNINGS: Final = ("-Wall", "-Wextra")
# Each operation is rounded by itself, as PTX says. What a kernel never reads is no mistake in a translation.
_KERNEL_OPTIONS: Final = (
    "-O1",
    "-march=native",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-w",
)


@cache
def compiler() -> list[str]:
    """The command that compiles C."""
    return shlex.split(os.environ.get("CC", "cc"))


@cache
def folder() -> Path:
    """Where libraries are kept, and the assembly that they were made of: by Numba's cache, which names them."""
    made = default_directory() / "emulated_gpu"
    made.mkdir(parents=True, exist_ok=True)
    return made


def _put(path: Path, content: bytes) -> None:
    """Writes a file that others may read at the same time."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)


def _compiled(target: Path, command: list[str]) -> None:
    """Lets a command make a library, and puts it in its place when it is whole."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / "made.so"
        try:
            subprocess.run([*command, "-o", str(made)], check=True)
        except FileNotFoundError as error:
            raise RuntimeError(
                f"There is no C compiler {command[0]}: install gcc, or name one in CC."
            ) from error
        made.replace(target)


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]


def headers() -> Path | None:
    """Where cuda.h is, of the package nvidia-cuda-runtime; None where that is not installed."""
    spec = find_spec("nvidia")
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        for header in Path(place).glob("*/include/cuda.h"):
            return header.parent
    return None


def driver_library() -> Path:
    """The driver, compiled where it is not there yet."""
    include = headers()
    if include is None:
        raise ImportError("cuda.h was not found: pip install 'graphflow-engine[ci-cuda]'")
    sources = sorted((*_HERE.glob("driver/*.[ch]"), *_HERE.glob("machine/*.[ch]")))
    command = [*compiler(), "-shared", "-fPIC", "-O2", *_WARNINGS, "-fvisibility=hidden"]
    command += ["-Wl,-soname,libcuda.so.1", f"-I{_HERE / 'machine'}", f"-isystem{include}"]
    target = folder() / f"driver_{_hash(*command, *(p.read_text() for p in sources))}.so"
    if not target.exists():
        _compiled(target, [*command, *(str(p) for p in sources if p.suffix == ".c"), "-ldl", "-lpthread"])
    return target


def kernel_library(ptx: str, text: str = "", unlinked: bytes = b"") -> Path:
    """PTX as a library that the driver loads. text: the file that messages name.

    The PTX, under a line that names the text, the text, and what was linked to it are put beside the library.
    """
    command = [*compiler(), "-shared", "-fPIC", *_KERNEL_OPTIONS, f"-I{_HERE / 'machine'}"]
    name = f"{Path(text).stem or 'kernel'}_{_hash(*command, ptx, text, _translator())}"
    target = folder() / f"{name}.so"
    if not target.exists():
        source = target.with_suffix(".c")
        _put(source, translated(ptx, text).encode())
        _put(target.with_suffix(".ptx"), f"// {text}\n{ptx}".encode())
        _put(target.with_suffix(".ltoir"), unlinked)
        _put(target.with_suffix(".py"), "".join(linecache.getlines(text)).encode())
        _compiled(target, [*command, str(source), "-lm"])
    return target


@cache
def _translator() -> str:
    """The text of all that makes libraries of kernels, and says what lies beside them."""
    sources = (*sorted(_HERE.glob("translation/*.py")), _HERE / "machine/kernel.h", Path(__file__))
    return "".join(p.read_text() for p in sources)


@cache
def driver() -> Any:
    """The driver; once it is loaded it is what this process finds as libcuda.so.1, until the end."""
    return ctypes.CDLL(str(driver_library()), mode=ctypes.RTLD_GLOBAL)


def begin() -> None:
    """Loads the driver, and lets Numba make libraries of C in the place of code for a chip."""
    driver()
    library = import_module("numba.cuda.codegen").CUDACodeLibrary
    dispatcher = import_module("numba.cuda.dispatcher").CUDADispatcher
    object_code = import_module("cuda.core").ObjectCode
    compile_, texts = dispatcher.compile, [""]  # of the kernels that are being compiled, one within the other

    def compile_known(self: Any, signature: Any) -> Any:
        texts.append(self.py_func.__code__.co_filename)
        collects = gc.isenabled()
        gc.disable()  # What a compiler makes lives until its end; to look for garbage meanwhile took a third of it.
        try:
            return compile_(self, signature)
        finally:
            texts.pop()
            if collects:
                gc.enable()

    def get_cubin(self: Any, cc: Any = None) -> Any:
        """What the library is made of is what a chip's code is made of."""
        cc = self._ensure_cc(cc)
        if cc not in self._cubin_cache:
            path = kernel_library(self.get_lto_ptx(cc=cc), texts[-1], self.get_ltoir(cc=cc))
            self._cubin_cache[cc] = object_code.from_cubin(f"{path}\0".encode())
        return self._cubin_cache[cc]

    dispatcher.compile = compile_known  # under Numba's lock of the compiler
    library.get_cubin = get_cubin
    toolkit: Any = import_module("graphflow._core.codegen.gpu.toolkit")
    called = toolkit.called_text
    # What is kept on disk for chips, and what was for another translator, is not for this one.
    toolkit.called_text = lambda: called() + _translator().encode()


def counted() -> dict[str, int]:
    """What the driver has counted: violations of its rules, launches, the kernels' cost, live allocations, graphs."""
    values = (ctypes.c_uint64 * len(_COUNTERS)).in_dll(driver(), "emulated")
    return dict(zip(_COUNTERS, values, strict=True))


def refuse(first: int, count: int) -> None:
    """Lets `count` allocations, from the `first` from now on, find no memory."""
    driver().emulated_refuse(ctypes.c_uint64(first), ctypes.c_uint64(first + count))
