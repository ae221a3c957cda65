"""Protects the cost of `import graphflow`: what is slow to import is imported when it is first needed."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ["numba", "llvmlite", "zmq", "cloudpickle", "multiprocessing", "matplotlib", "asyncio", "scipy"]


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules that a fresh interpreter has after `import graphflow`."""
    code = "import sys, graphflow; print(*sys.modules)"
    project = Path(__file__).resolve().parent.parent
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=project
    )
    return set(process.stdout.split())


@pytest.mark.parametrize("module", HEAVY)
def test_heavy_module_is_not_imported(module: str, imported: set[str]) -> None:
    assert "graphflow" in imported
    assert module not in imported
