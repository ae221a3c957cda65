"""Records when each operation of a traced run ran, and its results."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from graphflow._core.compiler.cpu.without_native import no_native_form
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.plan.ir import Instruction
from graphflow.config import DeviceStats, NodeStats, OutputStats, StepStats

RECEIVES: Final = 0
"""The "thread" of the waits for values from other devices."""
SENDS: Final = 1
"""The "thread" of what goes to other devices."""


class Record(NamedTuple):
    """When an instruction, or a piece of compiled code that begins with it, ran; nanoseconds of perf_counter_ns().

    more: what NodeStats says of it beside these, from `kind` on.
    """

    instruction: Instruction
    started: int
    ended: int
    thread: int
    outputs: tuple[OutputStats, ...]
    more: tuple[Any, ...]


class Recorder:
    """Collects start and end of each instruction of one run. Thread-safe."""

    def __init__(self) -> None:
        self.origin = time.perf_counter_ns()
        """The time that counts as 0 in the result."""
        self.elsewhere = StepStats()
        """What other processes have recorded of the run, with the same origin."""
        self.records: list[Record] = []

    def __call__(self, instruction: Instruction, started: int, *outputs: Any) -> None:
        """Notes that an instruction which started at a time of time.perf_counter_ns() has ended, with these results."""
        ended = time.perf_counter_ns()
        described = tuple(map(_describe, instruction.dtypes, outputs))
        size, reason = sum(out.bytes for out in described), no_native_form(instruction.type)
        self.piece(instruction, started, ended, described, "numpy", (), 0, size, reason)

    def piece(
        self,
        instruction: Instruction,
        started: int,
        ended: int,
        outputs: Sequence[OutputStats],
        *more: Any,
    ) -> None:
        """Notes when a piece of compiled code that begins with an instruction ran; `more` as in Record."""
        thread = threading.get_ident()
        self.records.append(Record(instruction, started, ended, thread, tuple(outputs), more))

    def stats(self) -> StepStats:
        """What was recorded, by device."""
        devices: dict[str, list[NodeStats]] = {}
        for r in sorted(self.records, key=lambda r: r.started):
            i, times = r.instruction, ((r.started - self.origin) / 1e3, (r.ended - r.started) / 1e3)
            stats = NodeStats(i.name, i.type, i.device, *times, r.thread, r.outputs, *r.more)
            devices.setdefault(i.device, []).append(stats)
        own = [DeviceStats(device, nodes) for device, nodes in devices.items()]
        return StepStats(own + self.elsewhere.dev_stats, self.elsewhere.clock_errors_us)


def _describe(dtype: DType, value: Any) -> OutputStats:
    array = np.asarray(value)
    size = sum(map(len, array.reshape(-1))) if dtype is dtypes.string else array.nbytes
    return OutputStats(dtype.name, array.shape, size)
