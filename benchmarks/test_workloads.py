"""The workloads under pytest-benchmark, for comparing graphflow with itself from one commit to the next.

`pytest benchmarks --benchmark-autosave` keeps a run and `pytest benchmarks --benchmark-compare` compares
with the last one kept. `compare.py` beside this file compares with other libraries.
"""

import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from workloads import BUILDERS

import graphflow as gf

WARM_SECONDS = 3.0


@pytest.mark.parametrize("name", BUILDERS)
def test_workload(name: str, benchmark: BenchmarkFixture) -> None:
    with gf.Graph().as_default():
        work = BUILDERS[name](gf)
        end = time.perf_counter() + WARM_SECONDS
        while time.perf_counter() < end:
            work.step()
        benchmark.pedantic(work.step, rounds=7, iterations=work.calls)
