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

The names above are those of `compiler`, `regions` and `programs.machine`. This file imports none of them: its own
modules take each other from here, so that they would go in a circle, and the compiler process has only what it needs.
"""
