"""What is common to kernels whose vector instructions are written by this library: their source, their processor.

Text is made without Numba; LLVM is asked about the processor when that is first wanted.
"""

from __future__ import annotations

import platform
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from graphflow._core.common.records import dataclass


class Kernel(NamedTuple):
    """The source of a kernel and its units of work: those of one image if `per_image` is said, else all.

    `source` defines `kernel`, called with a list of int64 words (addresses, then sizes) and a range of units. Units may
    be shared out in any way: the bits are the same. `grain` units are enough work for one piece.
    """

    source: str
    units: int
    per_image: bool
    grain: int


@dataclass(frozen=True)
class VectorUnit:
    """The vector registers of a processor: bytes in each, how many, and whether it has fused multiply-add."""

    bytes: int
    registers: int
    fused: bool = True

    def lanes(self, element: str) -> int:
        """How many elements a register holds."""
        return self.bytes // (4 if element == "float32" else 8)


def vector_unit(machine: str, features: frozenset[str]) -> VectorUnit:
    """The vector unit of a processor with LLVM's features, `machine` as platform.machine() names it."""
    if machine in ("aarch64", "arm64"):
        return VectorUnit(16, 32)
    if {"avx512f", "avx512vl"} <= features:
        return VectorUnit(64, 32)
    if "avx2" in features:
        return VectorUnit(32, 16, "fma" in features)
    return VectorUnit(16, 16, "fma" in features)


@cache
def host_vector_unit() -> VectorUnit:
    """The vector unit of this machine's processor."""
    found = import_module("llvmlite.binding").get_host_cpu_features()
    return vector_unit(platform.machine(), frozenset(name for name, present in found.items() if present))


def kernel_source(family: str, body: str, parameters: dict[str, Any]) -> str:
    """A source that stands alone: the emitters' text and the call that makes `kernel` with one of their functions."""
    names = "emitter.py", f"{family}_emitter.py"
    texts = [Path(__file__).with_name(name).read_text("utf-8") for name in names]
    own = "\n".join(
        line for text in texts for line in text.splitlines() if not line.startswith("from graphflow")
    )
    return f"{own}\n\nkernel = define_kernel({body}, {parameters!r})\n"


def grain(work: int, enough: int) -> int:
    """How many units of some work make a piece that has enough."""
    return max(-(-enough // max(work, 1)), 1)


def plain(value: Any) -> Any:
    """Named tuples as plain ones, which read back from their text."""
    return tuple(plain(item) for item in value) if isinstance(value, tuple) else value
