"""Records when each operation of a traced run ran."""

from __future__ import annotations

import threading
import time

from graphflow.config import DeviceStats, NodeStats, StepStats
from graphflow.plan.ir import Instruction


class Recorder:
    """Collects start and end of each instruction of one run. Thread-safe."""

    def __init__(self) -> None:
        self._origin = time.perf_counter_ns()
        self._records: list[tuple[Instruction, int, int, int]] = []

    def __call__(self, instruction: Instruction, started: int) -> None:
        """Notes that an instruction which started at a time of time.perf_counter_ns() has ended."""
        self._records.append((instruction, started, time.perf_counter_ns(), threading.get_ident()))

    def stats(self) -> StepStats:
        """What was recorded, by device."""
        devices: dict[str, list[NodeStats]] = {}
        for i, start, end, thread in sorted(self._records, key=lambda r: r[1]):
            times = (start - self._origin) / 1e3, (end - start) / 1e3
            devices.setdefault(i.device, []).append(NodeStats(i.name, i.type, i.device, *times, thread))
        return StepStats([DeviceStats(device, nodes) for device, nodes in devices.items()])
