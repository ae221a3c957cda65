"""A pytest plugin, `-p tests.emulated_gpu.plugin`: tests of GPUs run on emulated ones and keep their rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.emulated_gpu import emulation

emulation.begin()


@pytest.fixture(autouse=True)
def rules_are_kept() -> Iterator[None]:
    """Fails a test in which a GPU was used as it must not be; standard error says how."""
    before = emulation.counted()["violations"]
    yield
    assert emulation.counted()["violations"] == before, (
        "the GPU was used as it must not be: see standard error"
    )
