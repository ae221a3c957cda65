"""The kernels that are made for no plan, the most wanted first: with them a new program has little to wait for.

They take sizes as arguments: the machines, products, softmax and its losses, rows by index, draws, and the array
machine's block operations, which stand in for the kernels of fused regions; convolutions and pools, which stand in for
those made for a shape. `graphflow cache warm` makes all of them. A process that had to have something compiled asks for
the first of them when it ends, so that the next program finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from graphflow._core.codegen.cpu.blas import find_blas, gemm_source
from graphflow._core.codegen.cpu.kernels import nnkernels, philox, rows
from graphflow._core.codegen.cpu.programs import array_machine_source, scalar_machine_source
from graphflow._core.codegen.cpu.programs.array_blocks import all_keys, block
from graphflow._core.codegen.cpu.programs.machine import MACHINE_SOURCES
from graphflow._core.codegen.cpu.sources import examples, random, windows

MOST_WANTED: Final = 58
"""The kernels from the first on that hardly a training does without: some 35 seconds of one core, once a machine."""
_WANTED_DTYPES = ("float32", "int64", "int32", "bool", "float64")
_WANTED_OPERATIONS = ("add", "copy", "sum along", "sqrt", "exp", "lt", "splat", "and", "cast", "floordiv")
"""One of each family, in the order in which trainings need these."""


def generic_sources(most: int | None = None) -> list[str]:
    """The sources of all generic kernels, or of the `most` most wanted."""
    sources = dict.fromkeys(chain(_machines(), _common(), _blocks(), _further()))
    return list(islice(sources, most))


def _machines() -> Iterator[str]:
    yield from MACHINE_SOURCES
    yield scalar_machine_source.interpreter_source(common=True)
    yield from _products("float32")
    yield array_machine_source.interpreter_source()


def _products(dtype: str) -> Iterator[str]:
    library = find_blas()
    if library is not None:
        yield gemm_source(dtype, library.integer_bits)


def _common() -> Iterator[str]:
    """What is dear without a kernel of its own, in float32."""
    for key in (("add", "float32"), ("copy", "32"), ("sum along", "float32"), ("sqrt", "float32")):
        yield block(*key).source
    yield block("cast", "bool", "float32").source
    yield nnkernels.cross_entropy_source("float32")
    yield from (nnkernels.sparse_cross_entropy_source("float32", kind) for kind in ("int32", "int64"))
    yield from (nnkernels.softmax_source("float32", logarithm) for logarithm in (False, True))
    yield from (nnkernels.softmax_gradient_source("float32", logarithm) for logarithm in (False, True))
    yield from (nnkernels.gather_source(kind) for kind in ("int32", "int64"))
    yield philox.uniform_source("float32")
    yield random.normal_source()
    for change, leaving in (("add", ""), ("sub", ""), ("add", "negative")):
        yield from (rows.change_source("float32", kind, change, leaving) for kind in ("int32", "int64"))
    yield from windows.window_sources("float32")
    yield nnkernels.transpose_source(4)
    yield from (nnkernels.argument_source("float32", kind, True) for kind in ("int64", "int32"))
    yield from (examples.scan_source(), examples.numbers_source())


def _blocks() -> Iterator[str]:
    """The families of the array machine, by dtype and by how often programs take them."""
    keys = all_keys()
    widths = ("32", "8", "64", "16")
    for dtype in _WANTED_DTYPES:
        for operation in _WANTED_OPERATIONS:
            yield from (block(*key).source for key in keys if key[:2] == (operation, dtype))
        if dtype == "float32":
            yield from (block("copy", width).source for width in widths)
    yield from (block(*key).source for key in keys)


def _further() -> Iterator[str]:
    yield scalar_machine_source.interpreter_source()
    yield random.truncated_normal_source()
    yield from (rows.first_of_equal_source(kind, kind) for kind in ("int32", "int64"))
    yield from _products("float64")
    for logarithm in (False, True):
        yield nnkernels.softmax_source("float64", logarithm)
        yield nnkernels.softmax_gradient_source("float64", logarithm)
    yield nnkernels.transpose_source(8)
    yield from windows.window_sources("float64")
