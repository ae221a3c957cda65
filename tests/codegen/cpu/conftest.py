"""One compiler and one machine for the tests of the native layer; kernels go to a folder of the test run, all of whose
processes share it: they need the same blocks of the array machine, each of which is compiled once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.array_machine import array_code, array_steps
from graphflow._core.codegen.cpu.programs.machine import Machine
from graphflow._core.codegen.cpu.regions.region import Region, contiguous_strides, layout
from graphflow._core.codegen.cpu.regions.region_source import region_source, region_steps

Runner = Callable[..., list[np.ndarray]]


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiler]:
    folder = tmp_path_factory.getbasetemp()  # With pytest-xdist a process's own, within that of the run.
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    compiler = Compiler(folder / "native-kernels")
    yield compiler
    compiler.close()


@pytest.fixture(scope="session")
def machine(compiler: Compiler) -> Iterator[Machine]:
    machine = Machine(compiler, timeout=60)
    yield machine
    machine.stop()


def memory(region: Region, sizes: Sequence[int], inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Contiguous inputs, and outputs that are filled with something; in-place ones are the inputs they overwrite."""
    arrays = [
        np.array(value, dtype=operand.dtype) for value, operand in zip(inputs, region.inputs, strict=True)
    ]
    outputs = []
    for output in region.outputs:
        if output.in_place is not None:
            outputs.append(arrays[output.in_place])
            continue
        reduced = output.axes if output.reduction else ()
        shape = [size for axis, size in enumerate(sizes) if axis not in reduced]
        outputs.append(np.full(shape, 77, dtype=output.dtype))
    return arrays, outputs


@pytest.fixture(scope="session")
def run_region(compiler: Compiler, machine: Machine) -> Runner:
    """Runs a region on contiguous inputs, as its own kernel and on the array machine, which must agree to the bit;
    returns its outputs, in-place ones as copies of the overwritten inputs.
    """

    def run(
        region: Region, sizes: Sequence[int], inputs: Sequence[Any], threads: int = 1, expect_status: int = 0
    ) -> list[np.ndarray]:
        plan = layout(region, sizes)
        found = []
        code = array_code(region)
        for form in ("kernel", "machine") if 0 not in sizes else ("kernel",):
            arrays, outputs = memory(region, sizes, inputs)
            scratch, status = np.zeros(plan.scratch + 1, np.uint8), np.zeros(1, np.int64)
            operands: list[Any] = [
                [
                    (a.ctypes.data, contiguous_strides(sizes, i.varies))
                    for a, i in zip(arrays, region.inputs, strict=True)
                ],
                [(o.ctypes.data, None) for o in outputs],
                int(status.ctypes.data),
                int(scratch.ctypes.data),
            ]
            if form == "kernel":
                steps = region_steps(
                    region, compiler.compile_async(region_source(region)).result(250), sizes, *operands
                )
            else:
                kernels = [handle.result(250) for handle in compiler.compile_many(code.sources)]
                steps = array_steps(code, kernels, sizes, *operands)
            assert machine.program(steps, threads).run() == 0
            assert status[0] == expect_status, form
            found.append(outputs)
        for output, *others in zip(*found, strict=True):
            for other in others:
                np.testing.assert_array_equal(other, output, strict=True)
                assert other[other == other].tobytes() == output[output == output].tobytes()
        return found[0]

    return run
