"""Denormal floats count as zero while a plan computes, as in TensorFlow's threads.

A float32 below 1.2e-38 (a float64 below 2.2e-308) has no leading one, and the processor takes a hundred times as long
with it: a step whose weights or moments decay to nothing would become twenty times slower. So the thread that runs a
plan flushes them, inputs and results alike (MXCSR's bits DAZ and FTZ), and has its mode back afterwards, also after an
error; Python functions in the graph run in Python's mode. Both tiers do this, so both give the same numbers.

The two instructions that Python has no name for are a few bytes of machine code, on x86-64. On other processors, and
if a system forbids memory that is executed, nothing is flushed.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

Given = ParamSpec("Given")
Result = TypeVar("Result")
FLUSHING: Final = 0x8040
"""MXCSR's bits: denormal results are zero, and denormal inputs."""
_SWITCH: Final = bytes.fromhex(
    "0FAE5C24FC"  # stmxcsr [rsp-4]
    "8B4424FC"  # mov eax, [rsp-4]
    "89C1"  # mov ecx, eax
    "81C940800000"  # or ecx, 0x8040
    "894C24F8"  # mov [rsp-8], ecx
    "0FAE5424F8"  # ldmxcsr [rsp-8]
    "C3"  # ret
)
_LOAD: Final = bytes.fromhex("897C24FC0FAE5424FCC3")  # mov [rsp-4], edi; ldmxcsr [rsp-4]; ret
_LOAD_AT: Final = 64


def _functions() -> tuple[Callable[[], int], Callable[[int], None]]:
    if platform.machine() not in ("x86_64", "AMD64") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return (lambda: 0), (lambda mode: None)
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except (OSError, ValueError):
        return (lambda: 0), (lambda mode: None)
    code.write(_SWITCH)
    code.seek(_LOAD_AT)
    code.write(_LOAD)
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))  # The functions live as long as the process.
    _KEPT.append(code)
    switch = ctypes.PYFUNCTYPE(ctypes.c_uint32)(address)
    return switch, ctypes.PYFUNCTYPE(None, ctypes.c_uint32)(address + _LOAD_AT)


_KEPT: Final[list[Any]] = []
for _dtype in (np.float16, np.float32, np.float64):
    np.finfo(_dtype)  # Looked at while flushing, NumPy would warn that the smallest number is zero.

flush, restore = _functions()
"""flush() makes this thread flush denormals and returns its mode; restore(mode) gives it that mode back."""
_mode = flush()
restore(_mode)
SUPPORTED: Final = _mode != 0
"""Whether denormals are flushed on this machine."""


@contextmanager
def kept() -> Iterator[None]:
    """Denormals are kept inside, as they are in Python: for functions of the user's."""
    mode = flush()
    restore(mode & ~FLUSHING)
    try:
        yield
    finally:
        restore(mode)


@contextmanager
def computing() -> Iterator[None]:
    """How kernels compute inside: denormals are flushed, and NumPy says nothing of infinities and NaN."""
    with np.errstate(all="ignore"):
        mode = flush()
        try:
            yield
        finally:
            restore(mode)


def flushing(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, flushing denormals while it runs."""

    def run(*arguments: Given.args, **more: Given.kwargs) -> Result:
        mode = flush()
        try:
            return function(*arguments, **more)
        finally:
            restore(mode)

    return run
