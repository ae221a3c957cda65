"""The compiled tier of the CPU: generated kernels, and programs of them that run as one call without the GIL.

Every kernel is `void kernel(int64* args, int64 begin, int64 end)`: `args` holds addresses and sizes as words,
[begin, end) is a range in the kernel's own unit of work, and results do not depend on how that range is cut.
A generator returns source text; a helper process compiles it with Numba into the on-disk cache; this process
only loads object files. Until a handle is done(), and for whatever ScalarTextError or KernelCompileError says
cannot be compiled, the caller stays on NumPy.

    compiler = Compiler()                                     # one a process; default_directory() or a folder
    region = Region(
        rank=1,
        inputs=(RegionInput("v", "float32", (True,)),),
        statements=(Statement("y", "float32", "tanh(v * 2 + 1)"),),
        outputs=(RegionOutput("y", "float32"), RegionOutput("y", "float32", "sum", (0,))),
    )
    handle = compiler.compile_async(region_source(region))    # handle.done(), handle.result(timeout) -> address
    machine = Machine(compiler)                               # the sequencer, from the cache or compiled now
    sizes, scratch = (n,), np.empty(layout(region, (n,)).scratch + 1, np.uint8)
    steps = region_steps(region, handle.result(), sizes, [(v.ctypes.data, (1,))],
                         [(y.ctypes.data, None), (total.ctypes.data, None)], error.ctypes.data, scratch.ctypes.data)
    program = machine.program(steps, threads=2)               # steps of many kernels; arguments(k) can be patched
    status = program.run()                                    # non-zero: an error of a kernel (ERROR_...), or abort()

Other generators of sources and steps: `blas` (matrix products, run under blas.single_threaded()), `nnkernels`
(softmax and its losses, gather, scatter, transposition, argmax), `scalar_machine` (long scalar chains and
loops, nothing to compile). Copies, slices, concat, split, fill, range, one_hot and permutations are regions
with strides or with axis0, axis1 ...
"""

from graphflow._core.codegen.cpu.cache import KernelCache, default_directory
from graphflow._core.codegen.cpu.compiler import Compilation, Compiler, KernelCompileError
from graphflow._core.codegen.cpu.programs.machine import (
    MACHINE_SOURCES,
    PROGRAM_STATUS,
    Machine,
    Program,
    Step,
    ThreadPool,
)
from graphflow._core.codegen.cpu.regions.region import (
    Region,
    RegionInput,
    RegionOutput,
    Statement,
    broadcast_strides,
    collapse,
    contiguous_strides,
    layout,
)
from graphflow._core.codegen.cpu.regions.region_source import (
    ERROR_DIVISION_BY_ZERO,
    region_source,
    region_steps,
)
from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError

__all__ = [
    "ERROR_DIVISION_BY_ZERO",
    "MACHINE_SOURCES",
    "PROGRAM_STATUS",
    "Compilation",
    "Compiler",
    "KernelCache",
    "KernelCompileError",
    "Machine",
    "Program",
    "Region",
    "RegionInput",
    "RegionOutput",
    "ScalarTextError",
    "Statement",
    "Step",
    "ThreadPool",
    "broadcast_strides",
    "collapse",
    "contiguous_strides",
    "default_directory",
    "layout",
    "region_source",
    "region_steps",
]
