"""Protects that tasks which share the cores of a machine do not have products wait for threads that get no core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.server import service
from graphflow._core.cluster.server.computing import tasks_beside
from graphflow._core.codegen.cpu.blas import blas_threads
from tests.cluster.serving import serve_all, spec_of


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def test_tasks_beside_are_those_at_the_same_host() -> None:
    addresses = {"a": "here:1", "b": "there:2", "c": "here:3", "d": "[::1]:4", "e": "[::1]:5", "f": "[::2]:5"}
    assert [tasks_beside(addresses, task) for task in "abcdef"] == [2, 1, 2, 2, 2, 1]


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_blas_has_one_thread_in_a_step_if_the_tasks_leave_no_core_over(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    if blas_threads() == 1:
        pytest.skip("BLAS has one thread here anyway")
    monkeypatch.setattr(service, "usable_cores", lambda: cores)
    before = blas_threads()
    _, worker = serve_all(stack, spec_of(stack, ps=1, worker=1))
    with gf.Graph().as_default():
        with gf.device("/job:ps/task:0"):
            v = gf.Variable(1.0)
        with gf.device("/job:worker/task:0"):
            threads = gf.py_func(lambda given: np.int64(blas_threads()), [v], gf.int64)
        with gf.Session(worker.target) as session:
            session.run(v.initializer)
            assert session.run(threads) == (1 if cores <= 2 else before)
    assert blas_threads() == before
