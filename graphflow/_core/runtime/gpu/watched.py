"""WatchedPlan: a plan on a GPU that runs launch by launch, and shows the values of each.

It has the same layout and the same launches as the plan itself, so that a fault of the plan comes here, too. After each
launch the host waits, and reads the launch's values before others overwrite them. Launches are not captured, and
NumPy's instructions in between run one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from graphflow._core.runtime.compiled.watching import Watch, left_by
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.gpu.cutting import Cutter
from graphflow._core.runtime.gpu.plan import DevicePlan
from graphflow._core.runtime.gpu.segments import DeviceSegment, HostSegment, Segment


class WatchedPlan(DevicePlan):
    """A plan that shows a watch what its launches make; else as DevicePlan, whose arguments follow."""

    def __init__(self, watch: Watch, *arguments: Any) -> None:
        self._watch = watch
        self._steps: dict[int, Sequence[int]] = {}
        """The numbers of a segment's groups, by its identity."""
        super().__init__(*arguments)
        side_by_side = [(name, value) for name, value in self._fetched.items() if value is not None]
        self._left = left_by(self.groups, self._stored, chain(self._lowering.values.items(), side_by_side))

    def _cut(self, cutter: Cutter) -> list[Segment]:
        """A segment for each launch, whose numbers of groups are kept."""
        segments = cutter.launch_by_launch()
        self._steps = {id(s): batch for s, batch in zip(segments, self._batches, strict=True)}
        return segments

    def _run_device(self, segment: DeviceSegment) -> None:
        super()._run_device(segment)
        self._show(segment, len(segment.works) == 1)

    def _run_host(self, segment: HostSegment, run: RunContext, objects: dict[str, Any]) -> None:
        super()._run_host(segment, run, objects)
        self._show(segment, False)

    def _show(self, segment: Segment, one_kernel: bool) -> None:
        """Shows what a segment has left; `one_kernel`: whether all of its groups ran as one launch."""
        numbers = self._steps[id(segment)]
        together = [i for number in numbers for i in self.groups[number].instructions] if one_kernel else []
        for number in numbers:
            kernel = [*self.groups[number].instructions, *together]
            for left in self._left[number]:
                self._watch(left.sight(kernel, self._copied, self._variable))

    def _variable(self, name: str) -> Any:
        return np.array(self._store.cell(self._lowering.variables[name]).value)
