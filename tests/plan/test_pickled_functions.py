"""Protects functions that travel: what fails in one names the user's file and line in another process."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from graphflow._core.plan.encode import pickled


def _failing() -> Any:
    def inner(values: list[int]) -> list[int]:
        return [10 // value for value in values]

    class Within:
        def method(self) -> Any:
            return inner([1, 0])

    return lambda: Within().method()


def test_a_traceback_elsewhere_names_files_and_lines_of_all_functions() -> None:
    program = "import cloudpickle, sys; cloudpickle.loads(sys.stdin.buffer.read())()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=_by_value(_failing()),
        capture_output=True,
        timeout=60,
        check=False,
    )
    try:
        _failing()()
    except ZeroDivisionError as error:
        here = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)[1:]]
    told = done.stderr.decode()
    assert len(here) >= 3 and all(f'File "{name}", line {line}' in told for name, line in here)
    assert told.rstrip().endswith("ZeroDivisionError: integer division or modulo by zero")


def _by_value(function: Any) -> bytes:
    """As a program's own functions are pickled, which no other process can import."""
    import cloudpickle

    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        return pickled(function)
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def test_the_name_of_a_file_is_kept_as_it_is() -> None:
    assert str(Path(__file__).name).encode() in _by_value(_failing())
