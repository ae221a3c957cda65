"""Compiles kernels for real GPUs on a machine without one, and prints the registers and spills of each.

usage: python tests/kernels/cuda/compile_kernels.py KERNELS.json [GOOD.json]

KERNELS.json is what `pytest --record-kernels` wrote in the simulator. Those whose text depends on the simulator
(tiles of matrix products) are added here as they are on a GPU. What the simulator lacks is named: "shuffles", those of
warps, which it runs as exchanges through shared memory; tests marked `gpu` run them. "by fours" are kernels whose
accesses must be of several elements, which is looked up in their assembly. Needs the extra ci-cuda, no driver. The exit
status is 1 where a kernel does not compile, spills registers to memory, or has lost those accesses.

GOOD.json keeps what was found of good kernels, so that the next call compiles the others alone. It holds for the same
compiler, and the same text of what compiles.
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


class Compiled(NamedTuple):
    """What became of a kernel on one architecture; `problem` is "" where it is good."""

    registers: int
    spilled: int
    shared: int
    problem: str


def argument_type(kind: str) -> Any:
    """Numba's type of an argument: "float32[]", "int", "float"."""
    from numba import types

    if kind.endswith("[]"):
        return types.Array(getattr(types, kind[:-2]), 1, "C")
    return {"int": types.int64, "float": types.float64, "int32": types.int32, "int64": types.int64}[kind]


def compiled(source: str, kinds: list[str]) -> list[Compiled]:
    """Compiles a kernel's text, and links it for each architecture."""
    from cuda.core import Linker, LinkerOptions, ObjectCode
    from numba import cuda, types

    from graphflow.kernels.cuda.toolkit import python_function

    signature = types.void(*(argument_type(kind) for kind in kinds))
    results: list[Compiled] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            codes, _ = cuda.compile_all(
                python_function(source),
                signature,
                device=False,
                abi="numba",
                cc=ARCHITECTURES[0],
                output="ltoir",
            )
            objects = [
                c
                if isinstance(c, ObjectCode)
                else ObjectCode.from_ltoir(c if isinstance(c, bytes) else c.data)
                for c in codes
            ]
            for capability in ARCHITECTURES:
                options = LinkerOptions(
                    arch="sm_{}{}".format(*capability), link_time_optimization=True, ptxas_options=["-v"]
                )
                linker = Linker(*objects, options=options)
                linker.link("cubin")
                results.append(_read(linker.get_info_log()))
            if "load4(" in source or "store4(" in source:
                options = LinkerOptions(arch="sm_90", link_time_optimization=True, ptx=True)
                assembly = Linker(*objects, options=options).link("ptx").code.decode()
                problem = _accesses(source, assembly)
                results = [r._replace(problem=r.problem or problem) for r in results]
    except Exception as error:  # whatever stops a compiler: it is told, and the check fails
        return [Compiled(0, 0, 0, f"{type(error).__name__}: {str(error).strip()[:1500]}")] * len(
            ARCHITECTURES
        )
    return results


def _read(log: str) -> Compiled:
    """What the assembler said."""
    registers = int(re.search(r"Used (\d+) registers", log)[1])  # type: ignore[index]
    spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
    shared = re.search(r"(\d+) bytes smem", log)
    spilled = sum(map(int, spills.groups())) if spills else 0
    return Compiled(
        registers, spilled, int(shared[1]) if shared else 0, f"{spilled} bytes spilled" if spilled else ""
    )


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


def on_gpu_only() -> list[tuple[str, list[str]]]:
    """The kernels that the simulator does not run, with their arguments."""
    from graphflow.kernels.cuda import matmul

    found = []
    for dtype, tiles in (("float32", (matmul.MEDIUM, matmul.LARGE)), ("float64", (matmul.MEDIUM,))):
        kinds = ["int"] * 3 + ([f"{dtype}[]"] + ["int"] * 3) * 2 + [f"{dtype}[]"]
        found += [
            (matmul.product_source(dtype, tile, (a, b)), kinds)
            for tile in tiles
            for a in (True, False)
            for b in (True, False)
        ]
        if dtype == "float32":  # Those of layers.
            found += [
                (
                    matmul.product_source(dtype, tile, biased=biased, relu=relu),
                    [*kinds, *[f"{dtype}[]"] * biased],
                )
                for tile in tiles
                for biased, relu in ((True, False), (False, True), (True, True))
            ]
    return found


def check(job: tuple[str, list[str]]) -> list[Compiled]:
    """What became of one kernel on each architecture."""
    return compiled(*job)


def key_of(job: tuple[str, list[str]], compiler: str) -> str:
    """What the result of compiling a kernel hangs on, as a hash."""
    return hashlib.sha256(json.dumps([*job, compiler]).encode()).hexdigest()


def compiler_used() -> str:
    """The versions of all packages that compile, and the texts of this file and of the functions that kernels call."""
    from graphflow.kernels.cuda import toolkit, vectors

    names = ("numba", "numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "cuda-core")
    versions = [f"{name} {metadata.version(name)}" for name in names]
    texts = [Path(file).read_text() for file in (__file__, toolkit.__file__, vectors.__file__)]
    return "\n".join([*versions, *texts])


def results_of(jobs: list[tuple[str, list[str]]], good: Path | None) -> list[list[Compiled]]:
    """What became of each kernel, compiled or known already."""
    known = json.loads(good.read_text()) if good is not None and good.exists() else {}
    compiler = compiler_used()
    keys = [key_of(job, compiler) for job in jobs]
    found = {key: [Compiled(*r) for r in known[key]] for key in keys if key in known}
    new = [(key, job) for key, job in zip(keys, jobs, strict=True) if key not in found]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        compiled_now = pool.map(check, [job for _, job in new], chunksize=4)
        found.update((key, results) for (key, _), results in zip(new, compiled_now, strict=True))
    if good is not None:
        good.write_text(json.dumps({k: r for k, r in found.items() if not any(one.problem for one in r)}))
    return [found[key] for key in keys]


def main(path: str, good: str | None = None) -> int:
    """Compiles everything and prints the table; the exit status."""
    recorded = [(source, kinds) for source, kinds in json.loads(Path(path).read_text())]
    jobs = [*on_gpu_only(), *recorded]
    failed = 0
    print(f"{'kernel':<34} " + "  ".join("sm_{}{} regs spill smem".format(*c) for c in ARCHITECTURES))
    rows = []
    for (source, kinds), results in zip(
        jobs, results_of(jobs, None if good is None else Path(good)), strict=True
    ):
        rows.append((max(r.registers for r in results), source, kinds, results))
    for _, source, kinds, results in sorted(rows, key=lambda row: -row[0]):
        cells = "  ".join(f"{r.registers:>10} {r.spilled:>5} {r.shared:>4}" for r in results)
        print(f"{name_of(source):<34} {cells}")
        problems = {r.problem for r in results if r.problem}
        if problems:
            failed += 1
            print(f"\n{source}\n({', '.join(kinds)})\n" + "\n".join(problems))
    print(f"{len(jobs)} kernels, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
