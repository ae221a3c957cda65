"""While kernels are compiled on few cores, products of the NumPy tier keep to one; users find BLAS as they left it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.cpu.blas import blas_threads
from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.runtime.compiled import cores
from graphflow._core.runtime.numpy_executable import NumpyExecutable

RUNS = 7


def counts(monkeypatch: pytest.MonkeyPatch, usable: int, build: Any) -> list[int]:
    """BLAS's threads in each of some runs of a plan whose kernels never come."""
    found: list[int] = []
    run = NumpyExecutable.run

    def watched(self: Any, *arguments: Any) -> Any:
        found.append(blas_threads())
        return run(self, *arguments)

    monkeypatch.setattr(cores, "usable_cores", lambda: usable)
    monkeypatch.setattr(CompileJob, "ready", lambda self: False)
    monkeypatch.setattr(NumpyExecutable, "run", watched)
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [8, 8])
        y = build(x)
        fed = np.arange(64, dtype=np.float32).reshape(8, 8)
        before = blas_threads()
        results = [session.run(y, {x: fed}) for _ in range(RUNS)]
        assert blas_threads() == before
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    return found


def test_products_keep_to_one_core_while_the_compiler_works(monkeypatch: pytest.MonkeyPatch) -> None:
    before = blas_threads()
    found = counts(monkeypatch, 2, lambda x: gf.matmul(x, x) + 1.0)
    assert found[0] == before  # Nothing is compiled yet.
    assert found[-2:] == [1, 1]


@pytest.mark.parametrize(
    ("usable", "build"),
    [
        (16, lambda x: gf.matmul(x, x) + 1.0),
        (2, lambda x: x * x + 1.0),
        (2, lambda x: gf.matmul(x, x) + gf.py_func(lambda v: v + 1, [x], gf.float32)),
    ],
    ids=["many cores", "no products", "code of a user"],
)
def test_others_have_all_cores(monkeypatch: pytest.MonkeyPatch, usable: int, build: Any) -> None:
    assert set(counts(monkeypatch, usable, build)) == {blas_threads()}


def test_an_error_gives_the_cores_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "usable_cores", lambda: 2)
    monkeypatch.setattr(CompileJob, "ready", lambda self: False)
    before = blas_threads()
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [4, 4])
        checked = gf.check_numerics(gf.matmul(x, x) * 2.0, "bad")
        for _ in range(6):
            session.run(checked, {x: np.eye(4)})
        with pytest.raises(gf.errors.InvalidArgumentError):
            session.run(checked, {x: np.full([4, 4], np.nan)})
        assert blas_threads() == before
