"""The OpenBLAS inside NumPy, and which of its kernels it multiplies with.

OpenBLAS has kernels for several kinds of processors and chooses when it is loaded, by a list of the processors that
there were when it was written. On one that is younger it falls back to kernels of 2013, with vectors of half the width
(measured on an AMD of family 26 with NumPy 2.4: 1024 x 1024 by 1024 x 1024 in 9.7 ms, and in 5.2 ms with those for
vectors of 512 bits). Where the processor says that it has such vectors, OpenBLAS is asked to choose once more, as it
does for who sets OPENBLAS_CORETYPE; a program that sets that variable has its own choice.

Other threads must not multiply meanwhile. So nothing changes unless each of them is seen to wait, and none gets the
interpreter until it is done. Threads that are about to wait, as those that have just begun, are given time for it: a
program must not multiply with other kernels, and so with other bits, since one of its threads was a moment late.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import queue
import selectors
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Final

from graphflow._core.common.compile_timeouts import OTHERS_LOOK_SECONDS, OTHERS_WAIT_SECONDS

_LOG: Final = logging.getLogger("graphflow.compiler")
_VARIABLE: Final = "OPENBLAS_CORETYPE"
_WIDE: Final = "SkylakeX"
_NARROW: Final = ("Haswell", "Zen")
_NEEDED: Final = frozenset({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "fma", "avx2"})
_CORE_NAMES: Final = (
    "scipy_openblas_get_corename64_",
    "scipy_openblas_get_corename",
    "openblas_get_corename64_",
    "openblas_get_corename",
)
_CHOICE: Final = ("gotoblas_dynamic_quit", "gotoblas_dynamic_init")
"""What OpenBLAS itself calls to forget its choice, and to choose."""
_WHERE_THREADS_WAIT: Final = frozenset(str(module.__file__) for module in (threading, selectors, queue))


def numpy_libraries() -> Iterator[ctypes.CDLL]:
    """The libraries that may have NumPy's BLAS, the most likely first."""
    module = import_module("numpy._core._multiarray_umath")
    for path in (module.__file__, None):
        with contextlib.suppress(OSError):
            yield ctypes.CDLL(path)


def address(library: ctypes.CDLL, name: str) -> int:
    """The address of a function; 0 if the library has none of that name."""
    try:
        function = getattr(library, name)
    except AttributeError:
        return 0
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def core_name(library: ctypes.CDLL) -> str:
    """The kind of processor whose kernels OpenBLAS multiplies with; "" if it does not say."""
    for name in _CORE_NAMES:
        if address(library, name):
            function = getattr(library, name)
            function.restype = ctypes.c_char_p
            return bytes(function()).decode(errors="replace")
    return ""


@cache
def choose_kernels() -> str:
    """Has OpenBLAS take kernels for vectors of 512 bits if the processor has these and OpenBLAS does not know it.

    Returns:
        What was done, or why nothing was. Thread-safe, and asked once in a process.
    """
    if _VARIABLE in os.environ:
        return f"{_VARIABLE} is set"
    if not _processor_flags() >= _NEEDED:
        return "the processor has no vectors of 512 bits, or does not say so"
    library = next((found for found in numpy_libraries() if core_name(found)), None)
    if library is None or not all(address(library, name) for name in _CHOICE):
        return "NumPy's BLAS is no OpenBLAS that can choose"
    before = core_name(library)
    if before not in _NARROW:
        return f"OpenBLAS knows the processor: {before}"
    if not _choose_while_others_wait(library):
        _LOG.info("OpenBLAS does not know this processor, and keeps its kernels: other threads are at work.")
        return "other threads are at work"
    after = core_name(library)
    _LOG.info("OpenBLAS does not know this processor: its kernels for %s take over from %s.", after, before)
    return f"{after} instead of {before}"


def _choose_while_others_wait(library: ctypes.CDLL) -> bool:
    """Whether all others were seen to wait, and the choice was made."""
    limit = time.monotonic() + OTHERS_WAIT_SECONDS
    while True:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(OTHERS_WAIT_SECONDS)
        try:
            if _others_wait():
                _choose(library, _WIDE)
                return True
        finally:
            sys.setswitchinterval(interval)
        if time.monotonic() > limit:
            return False
        time.sleep(OTHERS_LOOK_SECONDS)


def _choose(library: ctypes.CDLL, name: str) -> None:
    holding = ctypes.PyDLL(
        library._name, handle=library._handle
    )  # Does not give the interpreter to others meanwhile.
    forget, choose = (getattr(holding, function) for function in _CHOICE)
    os.environ[_VARIABLE] = name
    try:
        forget()
        choose()
    finally:
        del os.environ[_VARIABLE]


def _processor_flags() -> frozenset[str]:
    """What the system says that every processor can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    found = [frozenset(line.split(":", 1)[1].split()) for line in lines if line.startswith("flags")]
    return frozenset.intersection(*found) if found else frozenset()


def _others_wait() -> bool:
    """Whether all other threads of Python are seen to wait, so that none of them multiplies."""
    own = threading.get_ident()
    return all(waits(frame) for thread, frame in sys._current_frames().items() if thread != own)


def waits(frame: FrameType) -> bool:
    """Whether a thread whose innermost frame this is waits for a lock or a file."""
    return frame.f_code.co_filename in _WHERE_THREADS_WAIT
