"""The cores of this machine, and who of those that compute at the same time has to be content with fewer."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Final

from graphflow._core.plan.ir import Plan, walk

_FEW_CORES: Final = 2
PRODUCTS: Final = frozenset(
    {
        "BatchMatMul",
        "BatchMatMulV2",
        "Conv2D",
        "Conv2DBackpropFilter",
        "Conv2DBackpropInput",
        "Conv3D",
        "Einsum",
        "MatMul",
    }
)
"""Operations whose NumPy kernels call BLAS."""
_USERS_CODE: Final = frozenset({"PyFunc", "PyFuncStateless"})


def usable_cores() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def calls_blas(plan: Plan) -> bool:
    """Whether operations of a plan call BLAS on NumPy, and none calls a user's function, which finds it as it was."""
    types = {i.type for i in walk(plan)}
    return bool(types & PRODUCTS) and not types & _USERS_CODE


def wants_one_core(plan: Plan) -> bool:
    """Whether BLAS has to keep to one core when the plan runs on NumPy while its kernels are compiled.

    Threads of BLAS wait for one another by turning round, at full priority. On two cores nothing is left then for the
    compiler, and beside another program they wait for whole time slices (measured, a step of a network of three layers
    beside a test suite: 48 ms and not 210). What users call from the graph finds BLAS as they left it.
    """
    return usable_cores() <= _FEW_CORES and calls_blas(plan)


def one_core() -> AbstractContextManager[None]:
    """BLAS keeps to one core inside; loads a part of the compiler when it is first called."""
    held: AbstractContextManager[None] = import_module("graphflow._core.codegen.cpu.blas").single_threaded()
    return held
