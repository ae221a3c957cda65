"""Running a graph on the CPU and on the GPU, and looking at what was laid out there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.codegen.gpu.discovery import found
from graphflow._core.session import executables

needs_two_gpus = pytest.mark.skipif(
    not found().simulated and len(found().gpus) < 2, reason="there are no two GPUs"
)


def session(**options: Any) -> gf.Session:
    return gf.Session(config=gf.ConfigProto(**options))


def plans(one: gf.Session) -> list[Any]:
    """What was laid out on the GPU, in the order of the runs."""
    return [plan for executable in executables(one) for plan in executable.compiled()]


def on_both(build: Callable[[], tuple[Any, dict[Any, Any]]], runs: int = 3) -> tuple[list[Any], list[Any]]:
    """What runs give on the CPU and on the GPU, each in a graph of its own."""
    results = []
    for device in ("/cpu:0", "/gpu:0"):
        with gf.Graph().as_default(), gf.device(device):
            gf.set_random_seed(3)
            fetches, feeds = build()
            with session(compiled="never") as one:
                one.run(gf.global_variables_initializer())
                results.append([one.run(fetches, feeds) for _ in range(runs)])
                if device == "/gpu:0":
                    assert plans(one)
                    assert not plans(one)[-1].on_host
    return results[0], results[1]
