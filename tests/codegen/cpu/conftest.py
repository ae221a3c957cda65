"""One compiler and one machine for the tests of the native layer; kernels go to a folder of the test run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.cpu import (
    Compiler,
    Machine,
    Region,
    contiguous_strides,
    layout,
    region_source,
    region_steps,
)

Runner = Callable[..., list[np.ndarray]]


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiler]:
    compiler = Compiler(tmp_path_factory.mktemp("kernels"))
    yield compiler
    compiler.close()


@pytest.fixture(scope="session")
def machine(compiler: Compiler) -> Iterator[Machine]:
    machine = Machine(compiler, timeout=60)
    yield machine
    machine.stop()


@pytest.fixture(scope="session")
def run_region(compiler: Compiler, machine: Machine) -> Runner:
    """Runs a region on contiguous inputs; returns its outputs, in-place ones as copies of the overwritten inputs."""

    def run(
        region: Region, sizes: Sequence[int], inputs: Sequence[Any], threads: int = 1, expect_status: int = 0
    ) -> list[np.ndarray]:
        kernel = compiler.compile_async(region_source(region)).result(60)
        arrays = [np.array(value, dtype=operand.dtype) for value, operand in zip(inputs, region.inputs)]
        outputs = []
        for output in region.outputs:
            if output.in_place is not None:
                outputs.append(arrays[output.in_place])
                continue
            reduced = output.axes if output.reduction else ()
            shape = [size for axis, size in enumerate(sizes) if axis not in reduced]
            outputs.append(np.full(shape, 77, dtype=output.dtype))
        plan = layout(region, sizes)
        scratch, status = np.zeros(plan.scratch + 1, np.uint8), np.zeros(1, np.int64)
        steps = region_steps(
            region,
            kernel,
            sizes,
            [(a.ctypes.data, contiguous_strides(sizes, i.varies)) for a, i in zip(arrays, region.inputs)],
            [(o.ctypes.data, None) for o in outputs],
            int(status.ctypes.data),
            int(scratch.ctypes.data),
        )
        assert machine.program(steps, threads).run() == 0
        assert status[0] == expect_status
        return outputs

    return run
