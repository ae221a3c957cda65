"""The memory that a task's collectives share with those of the other tasks on its machine."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from graphflow._core.transport.frames.collective_frames import Frame, Where
from graphflow._core.transport.frames.tensors import BadMessage
from graphflow._core.transport.shared import PartnerMemory, SharedMemory, SharedMemoryError


class Partners:
    """The tasks whose memory this one has opened. The lock of the collectives is held.

    memory: this task's own, in which they read.
    """

    def __init__(self, memory: SharedMemory) -> None:
        self.memory = memory
        self.open: dict[str, PartnerMemory] = {}

    def details(self) -> dict[str, Any]:
        """What another task has to know to read in this one's memory."""
        return {"memory": dict(self.memory.address)}

    def meet(self, task: str, details: Mapping[str, Any]) -> None:
        """Opens a task's memory, if that is on this machine and not open yet."""
        if task not in self.open and self.memory.usable:
            with suppress(SharedMemoryError):
                self.open[task] = PartnerMemory(details.get("memory") or {})
                self.memory.has_partners = True

    def value(self, task: str, frame: Frame, values: Sequence[Any]) -> tuple[Any, Mapping[int, Any] | None]:
        """The value that a frame of a task tells of, flat, or the shares of it by rank. values: those beside it.

        Raises BadMessage or SharedMemoryError if it is not there.
        """
        if frame.where is Where.HERE:
            return frame.value(), None
        dtype = frame.dtype
        if frame.where is Where.SHARED:
            if frame.length != frame.bytes:
                raise BadMessage("The value of a collective has another length than its shape says.")
            if task not in self.open:
                raise SharedMemoryError("its memory cannot be opened")
            return self.open[task].read(bytes(frame.payload), frame.length).view(dtype), None
        ranks = struct.unpack(f"<{len(frame.payload) // 2}H", frame.payload)
        if any(v.dtype != dtype or v.ndim != 1 for v in values) or len(values) != max(1, len(ranks)):
            raise BadMessage("The values of a collective are not what their frame says.")
        if ranks:
            return None, dict(zip(ranks, values, strict=True))
        if len(values[0]) != math.prod(frame.shape):
            raise BadMessage("The value of a collective has another length than its shape says.")
        return values[0], None

    def close(self, task: str) -> None:
        """Closes the memory of a task that is gone."""
        partner = self.open.pop(task, None)
        if partner is not None:
            partner.close()

    def trim(self) -> None:
        """Gives back what has not been read for a while."""
        for partner in self.open.values():
            partner.trim()
