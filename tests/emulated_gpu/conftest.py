"""Gives tests of the emulated GPU a driver of their own; they break its rules, which those that run on it must not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.emulated_gpu import calls, emulation


@pytest.fixture
def driver(request: pytest.FixtureRequest) -> Iterator[Callable[..., calls.Driver]]:
    """Makes a driver with the given number of devices and settings."""
    if request.config.pluginmanager.has_plugin("tests.emulated_gpu.plugin"):
        pytest.skip("other tests of this run use the driver")
    if shutil.which(emulation.compiler()[0]) is None:
        pytest.skip("there is no C compiler")
    if emulation.headers() is None:
        pytest.skip("there is no cuda.h: pip install 'graphflow-engine[ci-cuda]'")
    yield calls.Driver
