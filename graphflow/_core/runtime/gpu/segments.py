"""The segments of a plan on a GPU, which run one after the other: launches, and what NumPy computes between them.

A fetched value may be computed long before the last launch, as a loss is before the gradients. Then the launches are
cut behind it. The value is copied to the host, and the host goes on to the next run, while the GPU is still at work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Final

from graphflow._core.codegen.gpu.status import may_report
from graphflow._core.codegen.gpu.toolkit import Device, Launch, Work
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.fuse import Group
from graphflow._core.runtime.gpu.cells import DeviceCell

_CAPTURED_AFTER: Final = 2
"""Runs without capture before the launches are captured: the first compiles and loads the kernels."""
_WORTH_A_CUT: Final = 4
"""If so many launches follow the last fetched value, a run ends before the GPU has done them."""


@dataclass
class DeviceSegment:
    """Launches without the host in between.

    groups: the groups that are launched, with their numbers. written: the variables that they write. captures: whether
    to start all launches at once, as a CUDA graph, since many runs follow.
    """

    groups: list[tuple[int, Group]]
    works: list[Work] = field(default_factory=list)
    written: list[DeviceCell] = field(default_factory=list)
    fallible: bool = False
    """Whether a kernel may leave a status; computed once, since every run asks."""
    captures: bool = True
    _replay: Callable[[], None] | None = None
    """Starts all of `works` at once."""
    _runs: int = 0

    def bind(self, works: list[Work]) -> None:
        """Sets the launches, which are to be captured anew."""
        self.works, self._replay, self._runs = works, None, 0
        self.fallible = any(isinstance(work, Launch) and may_report(work.source) for work in works)

    def run(self, device: Device) -> None:
        """Starts the launches; the device's lock is held."""
        if self._replay is not None:
            self._replay()
        else:
            for work in self.works:
                device.launch(work)
            self._runs += 1
            if self._runs == _CAPTURED_AFTER and self.captures:
                self._replay = device.captured(self.works)
        for cell in self.written:
            cell.changed_on_device()


@dataclass
class HostSegment:
    """Instructions that NumPy computes, as a function of values from the device."""

    part: Any
    inputs: list[str]
    outputs: list[str]
    instructions: list[str]


Segment = DeviceSegment | HostSegment


def cut_after(
    segments: Sequence[Segment],
    batches: Sequence[Sequence[int]],
    last: int,
    cells: Callable[[Group], Sequence[DeviceCell]],
) -> list[Segment]:
    """The segments, the last one cut after the launch of a group, if enough launches follow it.

    batches: the numbers of the groups by launch. cells: the variables that a group writes.
    """
    if not segments or not isinstance(segments[-1], DeviceSegment):
        return list(segments)
    groups = segments[-1].groups
    early = {number for batch in batches if batch[0] <= last for number in batch}
    before = [pair for pair in groups if pair[0] in early]
    after = [pair for pair in groups if pair[0] not in early]
    if not before or len(after) < _WORTH_A_CUT:
        return list(segments)
    made = [
        DeviceSegment(part, written=list(dict.fromkeys(cell for _, group in part for cell in cells(group))))
        for part in (before, after)
    ]
    return [*segments[:-1], *made]
