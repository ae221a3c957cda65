"""Protects: a module of kernels whose import was ended, as Ctrl-C ends it, may be imported again, whichever it is."""

from __future__ import annotations

import subprocess
import sys

AGAIN = """
import importlib, sys
from graphflow._core.kernels import registry
owners = {registry.defined_in(op_type) for op_type in registry.op_types()}
assert len(owners) > 30, owners
for name in sorted(owners):
    del sys.modules[name]
    importlib.import_module(name)
    assert name in {registry.defined_in(op_type) for op_type in registry.op_types()}
"""


def test_every_module_of_kernels_is_imported_anew() -> None:
    done = subprocess.run([sys.executable, "-c", AGAIN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
