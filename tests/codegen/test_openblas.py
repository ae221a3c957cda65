"""Protects which kernels OpenBLAS multiplies with: no change where that is not safe, or where a program has chosen."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphflow._core.codegen import openblas

ROOT = str(Path(__file__).resolve().parents[2])
PROGRAM = """
import sys
import threading
import numpy as np
import graphflow as gf
from graphflow._core.codegen.openblas import choose_kernels, core_name, numpy_libraries
library = next((found for found in numpy_libraries() if core_name(found)), None)
before = "" if library is None else core_name(library)
waiting = threading.Event()
threading.Thread(target=waiting.wait, daemon=True).start()
x = np.random.RandomState(1).rand(300, 200).astype(np.float32)
with gf.Session() as session:
    product = session.run(gf.matmul(x, x, transpose_b=True))
assert np.allclose(product, x.astype(np.float64) @ x.T.astype(np.float64), rtol=1e-4)
square = product[:50, :50] + np.eye(50)
assert np.allclose(np.linalg.inv(square) @ square, np.eye(50), atol=1e-2)
print(choose_kernels())
after = "" if library is None else core_name(library)
changed = f"{after} instead of {before}"
sys.exit(choose_kernels() != changed if before != after else "instead" in choose_kernels())
"""


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    openblas.choose_kernels.cache_clear()
    yield
    openblas.choose_kernels.cache_clear()


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What an OpenBLAS that does not know its processor, which has wide vectors, is asked for."""
    found: list[str] = []

    def choose(library: Any, name: str) -> None:
        found.append(name)

    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setattr(openblas, "_processor_flags", lambda: openblas._NEEDED)
    monkeypatch.setattr(openblas, "numpy_libraries", lambda: [object()])
    monkeypatch.setattr(openblas, "core_name", lambda library: found[-1] if found else "Haswell")
    monkeypatch.setattr(openblas, "address", lambda library, name: 1)
    monkeypatch.setattr(openblas, "_choose", choose)
    monkeypatch.setattr(openblas, "_others_wait", lambda: True)
    return found


def test_the_wide_kernels_are_taken_once(chosen: list[str]) -> None:
    assert openblas.choose_kernels() == openblas.choose_kernels() == "SkylakeX instead of Haswell"
    assert chosen == ["SkylakeX"]


def test_threads_that_wait_a_moment_later_change_nothing(
    chosen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([False] * 20 + [True])
    monkeypatch.setattr(openblas, "_others_wait", lambda: next(looks))
    interval = sys.getswitchinterval()
    assert openblas.choose_kernels() == "SkylakeX instead of Haswell"
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_beside_threads_that_are_at_work_all_the_time_nothing_changes(
    chosen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openblas, "_others_wait", lambda: False)
    monkeypatch.setattr(openblas, "OTHERS_WAIT_SECONDS", 0.05)
    assert openblas.choose_kernels() == "other threads are at work"
    assert not chosen


def test_what_a_program_has_chosen_stays(chosen: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "OPENBLAS_CORETYPE is set" in openblas.choose_kernels()
    assert not chosen


@pytest.mark.parametrize("missing", sorted(openblas._NEEDED))
def test_a_processor_without_the_instructions_keeps_its_kernels(
    missing: str, chosen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openblas, "_processor_flags", lambda: openblas._NEEDED - {missing})
    assert "vectors" in openblas.choose_kernels()
    assert not chosen


@pytest.mark.parametrize("known", ["SkylakeX", "Cooperlake", "Sapphirerapids", "Nehalem", "NEOVERSEN1"])
def test_a_processor_that_openblas_knows_keeps_its_kernels(
    known: str, chosen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openblas, "core_name", lambda library: known)
    assert known in openblas.choose_kernels()
    assert not chosen


def test_another_library_is_left_alone(chosen: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openblas, "address", lambda library, name: 0)
    assert "no OpenBLAS that can choose" in openblas.choose_kernels()
    assert not chosen


@pytest.mark.parametrize("waits", [False, True])
def test_a_thread_at_work_is_told_from_one_that_waits(waits: bool) -> None:
    ends = threading.Event()

    def work() -> None:
        while not ends.is_set():
            sum(range(1000))

    thread = threading.Thread(target=ends.wait if waits else work)
    thread.start()
    try:
        while openblas.waits(sys._current_frames()[thread.ident or 0]) is not waits:
            pass  # It is on its way there.
    finally:
        ends.set()
        thread.join()


@pytest.mark.parametrize("core", ["", "Haswell"])
def test_what_is_multiplied_is_right_whatever_was_chosen(core: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    environment |= {"PYTHONPATH": ROOT, **({"OPENBLAS_CORETYPE": core} if core else {})}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
