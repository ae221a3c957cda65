"""Assembles kernels for real GPUs on a machine without one, and prints the registers and spills of each.

usage: python -m tests.codegen.gpu.assemble_kernels LIBRARIES [GOOD.json]

LIBRARIES is what EMULATED_GPU_RECORD named: a line for each library of kernels that an emulated GPU of compute
capability 8.0 loaded. Beside each lies the assembly that it was made of, after link-time optimisation, which is
assembled here for each chip. Tiles of matrix products that no test runs are compiled as well. "by fours" are kernels
whose accesses must be of several elements, which is looked up in their assembly. Needs the extra ci-cuda, no driver.
The exit status is 1 where a kernel cannot be assembled, spills registers to memory, or has lost those accesses.

GOOD.json keeps what was found of good kernels, so that the next call assembles the others alone.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import re
import sys
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ARCHITECTURES = ((8, 0), (9, 0))


class Assembled(NamedTuple):
    """What became of a kernel on one architecture; `problem` is "" where it is good."""

    registers: int
    spilled: int
    shared: int
    problem: str


class Job(NamedTuple):
    """A kernel: its text, and its assembly and what was linked to it; or else the types of its arguments."""

    source: str
    ptx: str = ""
    unlinked: Path | None = None
    kinds: tuple[str, ...] = ()


# ---- one kernel -----------------------------------------------------------------------------------------------------


def argument_type(kind: str) -> Any:
    """Numba's type of an argument: "float32[]", "int"."""
    from numba import types

    return types.Array(getattr(types, kind[:-2]), 1, "C") if kind.endswith("[]") else types.int64


def compiled(source: str, kinds: tuple[str, ...]) -> bytes:
    """What the compiler makes of a text for some arguments where a GPU is there, before it is linked."""
    from numba import cuda, types

    from graphflow._core.codegen.gpu.toolkit import python_function

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (code, *_), _ = cuda.compile_all(
            python_function(source),
            types.void(*(argument_type(kind) for kind in kinds)),
            device=False,
            abi="numba",
            cc=ARCHITECTURES[0],
            output="ltoir",
        )
    found: bytes = code if isinstance(code, bytes) else getattr(code, "data", None) or code.code
    return found


def _linked(unlinked: bytes, capability: tuple[int, int], **options: Any) -> Any:
    """A linker of one kernel, which optimises it for a chip."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    arch = "sm_{}{}".format(*capability)
    return Linker(
        ObjectCode.from_ltoir(unlinked),
        options=LinkerOptions(arch=arch, link_time_optimization=True, **options),
    )


def check(job: Job) -> list[Assembled]:
    """What became of one kernel on each architecture."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    try:
        unlinked = job.unlinked.read_bytes() if job.unlinked else compiled(job.source, job.kinds)
        ptx = job.ptx or _linked(unlinked, ARCHITECTURES[0], ptx=True).link("ptx").code.decode()
        problem = _accesses(job.source, ptx)
        results = []
        for capability in ARCHITECTURES:
            options = LinkerOptions(arch="sm_{}{}".format(*capability), ptxas_options=["-v"])
            linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
            linker.link("cubin")
            found = _read(linker.get_info_log())
            if (
                found.spilled
            ):  # Functions that were linked before spill where they are called, and not otherwise.
                linker = _linked(unlinked, capability, ptxas_options=["-v"])
                linker.link("cubin")
                found = _read(linker.get_info_log())
            results.append(found._replace(problem=found.problem or problem))
        return results
    except Exception as error:  # whatever stops a compiler: it is told, and the check fails
        message = f"{type(error).__name__}: {str(error).strip()[:1500]}"
        return [Assembled(0, 0, 0, message)] * len(ARCHITECTURES)


def _read(log: str) -> Assembled:
    """What the assembler said, of the kernel and of the functions that it calls."""
    registers = max(map(int, re.findall(r"Used (\d+) registers", log)))
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", log)))
    shared = re.search(r"(\d+) bytes smem", log)
    problem = f"{spilled} bytes spilled" if spilled else ""
    return Assembled(registers, spilled, int(shared[1]) if shared else 0, problem)


def _accesses(source: str, assembly: str) -> str:
    """What is wrong with the accesses by fours of a kernel: "" where they became accesses of several elements."""
    missing = [
        kind
        for name, kind in (("load4(", "ld"), ("store4(", "st"))
        if name in source and not re.search(rf"\b{kind}\.global(\.\w+)*\.v[24]\.", assembly)
    ]
    return f"no {' and '.join(missing)} of several elements" if missing else ""


def name_of(source: str) -> str:
    """What a kernel is, in a word or two: a hash, and what its text shows of it."""
    labels = {
        **{"shared.array": "shared", "shfl_xor_sync": "shuffles", "atomic": "atomic", "uint64": "random"},
        **{"load4(": "by fours", "store4(": "by fours", "while i +": "unrolled", "cells": "reduction"},
        "tile_a": "product",
    }
    what = dict.fromkeys(label for mark, label in labels.items() if mark in source)
    label = " ".join(what) or "elementwise"
    return f"{hashlib.sha256(source.encode()).hexdigest()[:8]} {label}"


# ---- all kernels ----------------------------------------------------------------------------------------------------


def recorded(libraries: Path) -> list[Job]:
    """The kernels that were run: beside each library lie its text, its assembly and what was linked to it."""
    jobs: dict[str, Job] = {}
    for library in dict.fromkeys(libraries.read_text().splitlines()):
        _, _, ptx = Path(library).with_suffix(".ptx").read_text().partition("\n")
        unlinked = Path(library).with_suffix(".ltoir")
        source = Path(library).with_suffix(".py").read_text()
        jobs[f"{source}\0{ptx}"] = Job(source, ptx, unlinked)
    return list(jobs.values())


def tiles() -> list[Job]:
    """All tiles of matrix products, with the types of their arguments."""
    from graphflow._core.codegen.gpu import division
    from graphflow._core.codegen.gpu.kernels import matmul

    def names(source: str) -> list[str]:
        return source.partition("(")[2].partition(")")[0].split(", ")

    found = []
    for dtype, tile in (("float32", matmul.MEDIUM), ("float32", matmul.LARGE), ("float64", matmul.MEDIUM)):
        ways = [(a, b, False, False) for a in (True, False) for b in (True, False)]
        if dtype == "float32":  # Those of layers.
            ways += [(True, True, True, False), (True, True, False, True), (True, True, True, True)]
        for *by_rows, biased, relu in ways:
            for wide in (True, False):
                source = matmul.product_source(dtype, tile, tuple(by_rows), False, biased, relu, wide)
                source, _ = division.with_divisions(source, [1] * len(names(source)), 1)
                arrays = ("a", "b", "c", "bias")
                kinds = tuple(f"{dtype}[]" if name in arrays else "int" for name in names(source))
                found.append(Job(source, kinds=kinds))
    return found


def results_of(jobs: list[Job], good: Path | None) -> list[list[Assembled]]:
    """What became of each kernel, assembled or known already."""
    known = json.loads(good.read_text()) if good is not None and good.exists() else {}
    names = ("numba", "numba-cuda", "nvidia-nvvm", "nvidia-nvjitlink", "cuda-core")
    assembler = " ".join(metadata.version(name) for name in names) + Path(__file__).read_text()
    keys = [
        hashlib.sha256(json.dumps([job.source, job.ptx, job.kinds, assembler]).encode()).hexdigest()
        for job in jobs
    ]
    found = {key: [Assembled(*r) for r in known[key]] for key in keys if key in known}
    new = [(key, job) for key, job in zip(keys, jobs, strict=True) if key not in found]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        assembled_now = pool.map(check, [job for _, job in new], chunksize=4)
        found.update((key, results) for (key, _), results in zip(new, assembled_now, strict=True))
    if good is not None:
        good.write_text(json.dumps({k: r for k, r in found.items() if not any(one.problem for one in r)}))
    return [found[key] for key in keys]


def main(libraries: str, good: str | None = None) -> int:
    """Assembles everything and prints the table; the exit status."""
    jobs = recorded(Path(libraries))
    run = {job.source for job in jobs}
    jobs += [job for job in tiles() if job.source not in run]
    failed = 0
    print(f"{'kernel':<34} " + "  ".join("sm_{}{} regs spill smem".format(*c) for c in ARCHITECTURES))
    results = results_of(jobs, None if good is None else Path(good))
    rows = zip(jobs, results, strict=True)
    for job, found in sorted(rows, key=lambda row: -max(r.registers for r in row[1])):
        cells = "  ".join(f"{r.registers:>10} {r.spilled:>5} {r.shared:>4}" for r in found)
        print(f"{name_of(job.source):<34} {cells}")
        problems = {r.problem for r in found if r.problem}
        if problems:
            failed += 1
            print(f"\n{job.source}\n" + "\n".join(problems))
    print(f"{len(jobs)} kernels, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
