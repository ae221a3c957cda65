"""Puts the emulated driver in the place of NVIDIA's in this process.

Needs a C compiler (`cc`, or what CC names), and the packages that compile for GPUs: the extra ci-cuda.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import subprocess
import tempfile
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tests.emulated_gpu.ptx import translated

_HERE: Final = Path(__file__).parent
_COUNTERS: Final = ("violations", "launches", "cost", "live", "graphs", "made")


@cache
def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def _folder() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "graphflow-emulated-gpu"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _built(name: str, sources: list[Path], text: str, options: list[str]) -> Path:
    """The library of C sources, compiled where it is not there yet. text: what it depends on beside them."""
    command = [*_compiler(), "-shared", "-fPIC", "-w", *options]
    known = "".join([text, *command, *(p.read_text() for p in [*sources, *_HERE.glob("*.h")])])
    target = _folder() / f"{name}_{hashlib.sha256(known.encode()).hexdigest()[:24]}.so"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=_folder()) as scratch:
            made = Path(scratch) / "made.so"
            files = [str(s) for s in sources]
            if not files:
                files = [str(Path(scratch) / "kernel.c")]
                Path(files[0]).write_text(text)
            subprocess.run(
                [*command, f"-I{_HERE}", *files, "-o", str(made), "-lm", "-ldl", "-lpthread"], check=True
            )
            made.replace(target)
    return target


def _headers() -> Path:
    """Where cuda.h is, of the package nvidia-cuda-runtime."""
    spec = find_spec("nvidia")
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        for header in Path(place).glob("*/include/cuda.h"):
            return header.parent
    raise ImportError("cuda.h was not found: pip install 'graphflow[ci-cuda]'")


_library: Any = None


def begin() -> None:
    """Loads the driver; from then on, until the process ends, it is what is found as libcuda.so.1."""
    global _library
    options = ["-O2", "-fvisibility=hidden", "-Wl,-soname,libcuda.so.1", f"-I{_headers()}"]
    path = _built("driver", [_HERE / name for name in ("driver.c", "machine.c", "profile.c")], "", options)
    _library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    code_library = import_module("numba.cuda.codegen").CUDACodeLibrary
    object_code = import_module("cuda.core").ObjectCode

    def get_cubin(self: Any, cc: Any = None) -> Any:
        """A library of C in the place of code for a chip; what it was made of is what a chip's is made of."""
        cc = self._ensure_cc(cc)
        if cc not in self._cubin_cache:
            ptx = self.get_lto_ptx(cc=cc) if self._lto else self.get_asm_str(cc=cc)
            # Each operation is rounded by itself, as PTX says.
            options = ["-O1", "-march=native", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv"]
            path = _built("kernel", [], translated(ptx).text, options)
            self._cubin_cache[cc] = object_code.from_cubin(str(path).encode() + b"\0")
        return self._cubin_cache[cc]

    code_library.get_cubin = get_cubin
    toolkit: Any = import_module("graphflow.kernels.cuda.toolkit")
    called = toolkit._called
    translator = b"".join(p.read_bytes() for p in (_HERE / "ptx.py", _HERE / "machine.h"))
    # What is kept on disk for chips, and what was for another translator, is not for this one.
    toolkit._called = lambda: called() + translator


def counted() -> dict[str, int]:
    """What the driver has counted: violations of its rules, launches, the kernels' cost, live allocations, graphs."""
    values = (ctypes.c_uint64 * len(_COUNTERS)).in_dll(_library, "emulated")
    return dict(zip(_COUNTERS, values, strict=True))


def refuse(first: int, count: int) -> None:
    """Lets `count` allocations, from the `first` from now on, find no memory."""
    _library.emulated_refuse(ctypes.c_uint64(first), ctypes.c_uint64(first + count))
