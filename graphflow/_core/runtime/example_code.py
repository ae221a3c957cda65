"""NativeExamples: the compiled code that reads Example messages, asked for when a program has read some.

It reads what the library of protocol buffers reads and the same, so it does not matter when it comes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graphflow._core.codegen.shared import compiler
from graphflow._core.kernels.io.example_columns import ExampleCode, use_code

if TYPE_CHECKING:
    from graphflow._core.codegen.cpu.compiler import Compilation

_FIRST_CALLS: Final = 8
"""A program that reads a few batches waits for no compiler, and starts none."""


class NativeExamples:
    """The two kernels of codegen/cpu/sources/examples.py, by their addresses. Thread-safe; without Python's lock."""

    def __init__(self, scan: int, numbers: int) -> None:
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self._scan = prototype(scan)
        self._numbers = prototype(numbers)

    def scan(self, data: bytes, offsets: Any, keys: Sequence[bytes]) -> Any:
        """An int64 table [examples, keys, 4] of kind, begin, end and number; None if a message is not plain."""
        rows = len(offsets) - 1
        table = np.empty((rows, len(keys), 4), np.int64)
        marks = np.empty(rows, np.int64)
        names = np.frombuffer(b"".join(keys) + b"\0", np.uint8)
        places = np.zeros(len(keys) + 1, np.int64)
        np.cumsum([len(key) for key in keys], out=places[1:])
        held = [np.frombuffer(data, np.uint8), offsets, names, places]
        addresses = [array.ctypes.data for array in held]
        words = np.array([*addresses, len(keys), table.ctypes.data, marks.ctypes.data], np.int64)
        self._scan(words.ctypes.data, 0, rows)
        return None if marks.any() else table

    def numbers(self, data: bytes, table: Any, which: int, starts: Any, target: Any) -> None:
        """Copies the numbers of a feature, those of each example from their start in a flat target on."""
        held = np.frombuffer(data, np.uint8)
        words = np.array(
            [
                held.ctypes.data,
                table.ctypes.data,
                table.shape[1],
                which,
                target.dtype == np.float32,
                starts.ctypes.data,
                target.ctypes.data,
            ],
            np.int64,
        )
        self._numbers(words.ctypes.data, 0, len(table))


class _Asked:
    """Asks for the code once, and knows whether it has come. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._handles: list[Compilation] | None = None
        self._code: ExampleCode | None = None
        self._failed = False

    def find(self) -> ExampleCode | None:
        """The code, None while it is not there."""
        if self._code is not None or self._failed:
            return self._code
        with self._lock:
            self._calls += 1
            if self._calls > _FIRST_CALLS and self._code is None and not self._failed:
                self._look()
            return self._code

    def _look(self) -> None:
        if self._handles is None:
            sources = import_module("graphflow._core.codegen.cpu.sources.examples")
            self._handles = compiler().compile_many([sources.scan_source(), sources.numbers_source()])
        if any(handle.failed() for handle in self._handles):
            self._failed = True
        elif all(handle.done() for handle in self._handles):
            scan, numbers = (handle.result(0) for handle in self._handles)
            self._code = NativeExamples(scan, numbers)


def ask_when_needed() -> None:
    """Has kernels that read many messages ask for the code."""
    use_code(_Asked().find)
