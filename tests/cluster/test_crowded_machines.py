"""Protects that tasks which share the cores of a machine do not have products wait for threads that get no core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

import graphflow as gf
from graphflow._core.cluster.server import computing, service
from graphflow._core.cluster.server.computing import tasks_beside
from graphflow._core.codegen.cpu.blas import blas_threads
from graphflow._core.runtime.compiled.cores import one_core
from tests.cluster.serving import serve_all, spec_of


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def test_tasks_beside_are_those_at_the_same_host() -> None:
    addresses = {"a": "here:1", "b": "there:2", "c": "here:3", "d": "[::1]:4", "e": "[::1]:5", "f": "[::2]:5"}
    assert [tasks_beside(addresses, task) for task in "abcdef"] == [2, 1, 2, 2, 2, 1]


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_products_of_a_step_keep_to_one_core_if_the_tasks_leave_none_over(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    """Sums do not, since they have nothing of BLAS; a user's function does not, since it finds BLAS as it was."""
    held: list[int] = []

    @contextmanager
    def noted() -> Iterator[None]:
        with one_core():
            held.append(blas_threads())
            yield

    monkeypatch.setattr(computing, "one_core", noted)
    monkeypatch.setattr(service, "usable_cores", lambda: cores)
    before = blas_threads()
    _, worker = serve_all(stack, spec_of(stack, ps=1, worker=1))
    with gf.Graph().as_default():
        with gf.device("/job:ps/task:0"):
            v = gf.Variable(gf.ones([2, 2]))
        with gf.device("/job:worker/task:0"):
            others = gf.reduce_sum(v + v), gf.py_func(lambda given: given @ given, [v], gf.float32)
            product = gf.matmul(v, v)
        with gf.Session(worker.target) as session:
            session.run(v.initializer)
            for other in others:
                session.run(other)
            assert not held
            assert session.run(product).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert held == ([1] if cores <= 2 else []) and blas_threads() == before
