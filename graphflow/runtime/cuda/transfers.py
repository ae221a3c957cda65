"""What goes into a plan on a GPU and what comes out of it: one copy for all that the host gives, one buffer for what
it takes.

Of the pinned buffer that is sent there are two, so that the next run may fill one while the other is on its way.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graphflow.runtime.compiled.values import Value
from graphflow.runtime.context import RunContext
from graphflow.runtime.cuda.arrays import DeviceArray
from graphflow.runtime.cuda.nodes import DeviceNode

if TYPE_CHECKING:
    from graphflow.kernels.cuda.toolkit import Device

_ALIGNMENT: Final = 256


def bytes_of(value: Value) -> int:
    """The size of a value that lies side by side."""
    return value.size * np.dtype(value.dtype).itemsize


class Layout:
    """Places of blocks that follow each other, each aligned."""

    def __init__(self) -> None:
        self.starts: dict[str, int] = {}
        self.total = 0

    def add(self, name: str, size: int) -> None:
        """Puts a block after the others."""
        self.starts[name] = self.total
        self.total += -(-max(1, size) // _ALIGNMENT) * _ALIGNMENT


class Inbox:
    """The memory of a plan for what it is given: by the host in one block, by other parts in another.

    values: where each feed lies. handed: the feeds that come as DeviceArrays. asked: the nodes that ask the host for
    words, by number.
    """

    def __init__(
        self,
        device: Device,
        values: Mapping[str, Value],
        feeds: Sequence[str],
        handed: frozenset[str],
        asked: Mapping[int, DeviceNode],
    ) -> None:
        self._device = device
        self._values = values
        self._asked = asked
        self._fed = [n for n in feeds if n in values and n not in handed]
        self._handed = [n for n in feeds if n in values and n in handed]
        self._sent, self._kept = Layout(), Layout()
        self._sent.add("status", 8)
        for name in self._fed:
            self._sent.add(name, bytes_of(values[name]))
        for number, node in asked.items():
            self._sent.add(f"words {number}", 8 * node.words)
        for name in self._handed:
            self._kept.add(name, bytes_of(values[name]))
        self._last: dict[str, weakref.ref[DeviceArray]] = {}
        self._turn = 0

    @property
    def total(self) -> int:
        """The bytes of device memory that it takes."""
        return self._sent.total + self._kept.total

    def allocate(self) -> None:
        """Takes the memory; OutOfDeviceMemory where there is not so much. The device's lock is held."""
        device = self._device
        self._received = device.allocate(self._sent.total, "uint8")
        self._copied = device.allocate(self._kept.total, "uint8")

    def prepare(self, fallible: bool) -> None:
        """Readies the buffers of the host. fallible: whether a run may leave a status, so that the next clears it."""
        device = self._device
        self._always = fallible or bool(self._fed) or bool(self._asked)
        self._buffers = [(device.pinned(self._sent.total), device.event()) for _ in range(2)]
        for buffer, _ in self._buffers:
            buffer[:] = 0
        device.upload(self._received, self._buffers[0][0])
        device.wait()

    @property
    def status(self) -> Any:
        """Where kernels say what went wrong."""
        from graphflow.kernels.cuda.toolkit import part

        return part(self._received, 0, 2, "int32")

    def words(self, number: int, count: int) -> Any:
        """Where the words that a node asked for lie."""
        from graphflow.kernels.cuda.toolkit import part

        return part(self._received, self._sent.starts[f"words {number}"], count, "int64")

    def find(self, root: str, dtype: str) -> Any:
        """The memory of a feed; None for anything else."""
        from graphflow.kernels.cuda.toolkit import part

        if root in self._sent.starts:
            return part(self._received, self._sent.starts[root], self._values[root].size, dtype)
        if root in self._kept.starts:
            return part(self._copied, self._kept.starts[root], self._values[root].size, dtype)
        return None

    def send(self, run: RunContext, given: Mapping[str, Any]) -> None:
        """Brings what a run is given to the device, in the order of its stream."""
        device = self._device
        if self._always:
            self._turn = 1 - self._turn
            buffer, event = self._buffers[self._turn]
            event.synchronize()
            self._gather(buffer, run, given)
        with device.current():
            if self._always:
                device.upload(self._received, buffer)
                event.record(device.stream)
            for name in self._handed:
                self._take(name, given[name])

    def _gather(self, buffer: Any, run: RunContext, given: Mapping[str, Any]) -> None:
        from graphflow.kernels.cuda.toolkit import part

        for name in self._fed:
            value = self._values[name]
            target = part(buffer, self._sent.starts[name], value.size, value.dtype)
            target[:] = np.asarray(given[name]).reshape(-1)
        for number, node in self._asked.items():
            assert node.before is not None
            start = self._sent.starts[f"words {number}"]
            part(buffer, start, node.words, "int64")[:] = node.before(run)

    def _take(self, name: str, array: DeviceArray) -> None:
        """Copies what another part made, unless it is what was copied last: it does not change."""
        last = self._last.get(name)
        if last is None or last() is not array:
            self._device.copy(self.find(name, self._values[name].dtype), array.block)
            self._last[name] = weakref.ref(array)


class Outbox:
    """The host's memory for what a plan gives back. places: where each value lies on the device."""

    def __init__(self, values: Mapping[str, Value | None]) -> None:
        self._layout = Layout()
        self._layout.add("status", 8)
        self._values = {name: value for name, value in values.items() if value is not None}
        for name, value in self._values.items():
            self._layout.add(name, bytes_of(value))

    def prepare(self, device: Device) -> None:
        """Takes the memory."""
        self._returned = device.pinned(self._layout.total)

    @property
    def status(self) -> Any:
        """Where the status comes to lie."""
        from graphflow.kernels.cuda.toolkit import part

        return part(self._returned, 0, 2, "int32")

    def place(self, name: str) -> Any:
        """Where a value comes to lie."""
        from graphflow.kernels.cuda.toolkit import part

        value = self._values[name]
        return part(self._returned, self._layout.starts[name], value.size, value.dtype)
