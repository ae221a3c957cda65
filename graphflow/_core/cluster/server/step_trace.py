"""When the operations of a step ran, on all of its tasks, put on the one clock of the client.

Each task notes times of its own clock. On one machine that is the same clock for all processes. Between machines the
difference is estimated for each traced step from the times at which its messages were sent and came: the master asks
(sends the step) and the task answers (sends the trace), and so do client and master. Half of what the way there and
back took is the most that the estimate can be off, as in NTP (Mills, RFC 5905), and it is reported.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import zip_longest
from typing import Any, Final

from graphflow._core.plan.ir import Instruction as Operation
from graphflow._core.plan.segments import Key
from graphflow._core.runtime.progress import RunStage, SendTensors
from graphflow._core.runtime.trace import RECEIVES, SENDS, Recorder
from graphflow.config import DeviceStats, NodeStats, OutputStats, StepStats

MOST_RECORDS: Final = 100_000
"""Operations of one step on one task that are recorded; those after them are counted."""
_BOOT: Final = "/proc/sys/kernel/random/boot_id"


@cache
def clock() -> str:
    """A name of this machine's clock since it was started, the same for its processes; "" if there is none."""
    with suppress(OSError), open(_BOOT, encoding="ascii") as file:
        return file.read().strip()
    return ""


class StepTrace(Recorder):
    """What one traced step does on one task. Operations are noted in any thread, all else in that of the sockets."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = time.perf_counter_ns()
        self._free: dict[str, int] = {}
        """Since when each device has had nothing to do."""
        self._arrived: dict[int, int] = {}
        self._waits: list[tuple[int, int, int]] = []
        self._sends: list[tuple[int, int, int]] = []
        self._dropped = 0

    def piece(self, instruction: Operation, *times_and_results: Any) -> None:
        """See Recorder; no more than MOST_RECORDS are kept."""
        self._free[instruction.device] = time.perf_counter_ns()
        if len(self.records) < MOST_RECORDS:
            super().piece(instruction, *times_and_results)
        else:
            self._dropped += 1

    def arrived(self, edges: Sequence[int]) -> None:
        """Values came along edges."""
        self._arrived.update(dict.fromkeys(edges, time.perf_counter_ns()))

    def note(self, i: Any) -> None:
        """Notes how long a stage that begins has waited for what it receives, and what is sent."""
        now = time.perf_counter_ns()
        if isinstance(i, RunStage):
            free = self._free.get(i.device, self.begun)
            for edge in i.stage.receives:
                arrived = self._arrived.get(edge, now)
                self._waits.append((edge, min(free, arrived), max(0, arrived - free)))
            self._free[i.device] = now
        elif isinstance(i, SendTensors):
            sizes = [int(getattr(value, "nbytes", 0)) for value in i.values]
            self._sends += [(e, now, s) for e, s in zip_longest(i.to.edges.tolist(), sizes, fillvalue=0)]

    def details(self) -> dict[str, Any]:
        """All of it, as the details of a message."""
        nodes = [
            [
                r.instruction.name,
                r.instruction.type,
                r.instruction.device,
                r.started,
                r.ended - r.started,
                r.thread,
                [[o.dtype, o.shape, o.bytes] for o in r.outputs],
                *r.more,
            ]
            for r in self.records
        ]
        return {"clock": clock(), "begun": self.begun, "ended": time.perf_counter_ns(), "nodes": nodes,
                "waits": self._waits, "sends": self._sends, "dropped": self._dropped}  # fmt: skip


def offset(sent: int, begun: int, ended: int, received: int, same: bool) -> tuple[int, int]:
    """What to add to another's times to have one's own, and how far that may be off, in nanoseconds.

    sent, received: when one asked and had the answer; begun, ended: when the other had the question and answered, by
    its own clock. same: whether the two clocks are said to be one, which is believed if it can be.
    """
    middle = (sent - begun + received - ended) // 2
    error = max(0, (received - sent) - (ended - begun) + 1) // 2 + 1
    return (0, 0) if same and abs(middle) <= error else (middle, error)


def merged(
    traces: Sequence[Mapping[str, Any]], edges: Mapping[int, Key], sent: int, received: int, origin: int
) -> StepStats:
    """One timeline of what the tasks have told.

    edges: what the numbers of the edges mean. sent, received: when the run was sent and its last trace came, and
    origin: what is 0, all by the client's time.perf_counter_ns().
    """
    devices: dict[str, list[NodeStats]] = {}
    errors: dict[str, float] = {}
    for trace in traces:
        master = trace["master_clock"]
        own, error = offset(
            trace["sent"], trace["begun"], trace["ended"], trace["received"],
            master != "" and master == trace["clock"],
        )  # fmt: skip
        there = offset(
            sent, trace["master_begun"], max(t["received"] for t in traces), received,
            master != "" and master == clock(),
        )  # fmt: skip
        move, error = own + there[0] - origin, error + there[1]
        errors[str(trace["task"])] = error / 1e3

        def add(
            name: str, op: str, device: str, start: int, duration: int, thread: int, move: int = move,
            outputs: tuple[OutputStats, ...] = (), more: Sequence[Any] = (),
        ) -> None:  # fmt: skip
            times = (start + move) / 1e3, duration / 1e3
            stats = NodeStats(name, op, device, *times, thread, outputs, *more)
            devices.setdefault(device, []).append(stats)

        for name, op, device, start, duration, thread, outputs, kind, operations, *more in trace["nodes"]:
            described = tuple(OutputStats(dtype, tuple(shape), size) for dtype, shape, size in outputs)
            more = kind, tuple(operations), *more
            add(name, op, device, start, duration, thread, outputs=described, more=more)
        for edge, start, duration in trace["waits"]:
            label, _, device = edges[edge]
            add(f"{label}->{device}/recv", "Recv", device, start, duration, RECEIVES)
        for edge, start, size in trace["sends"]:
            label, device, to = edges[edge]
            add(
                f"{label}->{to}/send",
                "Send",
                device,
                start,
                0,
                SENDS,
                outputs=(OutputStats("uint8", (size,), size),),
            )
    found = [
        DeviceStats(device, sorted(nodes, key=lambda n: n.start_us))
        for device, nodes in sorted(devices.items())
    ]
    return StepStats(found, errors)
