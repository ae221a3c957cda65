"""Texts that combine what the threads of a block found: by shuffles inside a warp, by shared memory between warps.

Each thread combines its value with that of the thread whose number differs in one bit, from the highest bit down. The
order is fixed by the number of threads alone, so that the bits are the same every time, and every thread of a group
ends with the result. Numba's simulator has no shuffles: there `exchanged` takes their place, with warps of two threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.common.records import dataclass

SHUFFLE: Final = "cuda.shfl_xor_sync"
"""What a text with shuffles contains."""
_MOST_WARPS: Final = 32
_CARRIED: Final = {
    **dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32"),
    **{name: name for name in ("int32", "int64", "float32", "float64")},
}
"""The dtype that a shuffle moves values of a dtype in."""

SIMULATED_SHUFFLE: Final = f"""

def exchanged(mask, value, distance):
    values = cuda.shared.array({_MOST_WARPS * 32}, object)
    values[cuda.threadIdx.x] = value
    cuda.syncthreads()
    other = values[cuda.threadIdx.x ^ distance]
    cuda.syncthreads()
    return other
"""
"""The text of the shuffle for the simulator; all threads of the block must come to it."""


@dataclass(frozen=True)
class Found:
    """A local variable of every thread: `mine`, of a dtype; `other` is to name the other thread's."""

    mine: str
    other: str
    dtype: str

    @property
    def shared(self) -> str:
        """The line that declares the array between warps."""
        return f"warps_{self.mine} = cuda.shared.array({_MOST_WARPS}, {self.dtype})"

    @property
    def exchange(self) -> str:
        """The line that fetches the other thread's."""
        carried = _CARRIED[self.dtype]
        if carried == self.dtype:
            return f"{self.other} = {SHUFFLE}(-1, {self.mine}, distance)"
        return f"{self.other} = {self.dtype}({SHUFFLE}(-1, {carried}({self.mine}), distance))"


def combined(found: Sequence[Found], combination: Sequence[str], group: str) -> list[str]:
    """Lines that leave in each `mine` the combination of those of `group` neighbouring threads, a power of two.

    combination: lines that make of each `mine` and `other` a new `mine`, the same whichever of the two is which. Every
    thread of the block must come to these lines, whose own number is `thread`.
    """
    step = [
        "while distance > 0:",
        *(f"    {f.exchange}" for f in found),
        *(f"    {line}" for line in combination),
        "    distance = distance // 2",
    ]
    return [
        f"distance = min({group}, warp) // 2",
        *step,
        f"if {group} > warp:",
        "    if thread % warp == 0:",
        *(f"        warps_{f.mine}[thread // warp] = {f.mine}" for f in found),
        "    cuda.syncthreads()",
        f"    distance = {group} // warp",
        f"    place = thread // {group} * distance + thread % distance",
        *(f"    {f.mine} = warps_{f.mine}[place]" for f in found),
        "    distance = distance // 2",
        *(f"    {line}" for line in step),
        "    cuda.syncthreads()",
    ]
