"""The transfers of a plan on a GPU: one copy for all that the host gives, one buffer for all that it takes.

Copies go on while the GPU computes. There are two buffers for sending, so that the next run may fill one while the
other is sent. Large inputs go in a stream of their own to memory that kernels do not read: the bytes cross the bus
while the run before computes, and are then copied on the device, which takes a hundredth of the time. Fetched values
leave in a third stream, as soon as they are computed.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.gpu.status import BYTES, WORDS
from graphflow._core.codegen.gpu.toolkit import Device, part
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.gpu.nodes import DeviceNode
from graphflow._core.compiler.values import Value
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.gpu.arrays import DeviceArray

_ALIGNMENT: Final = 256
_MUCH: Final = 256 << 10
"""From so many bytes on, sending in a stream of its own is worth the copy on the device."""


def bytes_of(value: Value) -> int:
    """The bytes of a contiguous value."""
    return value.size * np.dtype(value.dtype).itemsize


class Layout:
    """The offsets of blocks that follow each other, each aligned."""

    def __init__(self) -> None:
        self.starts: dict[str, int] = {}
        self.total = 0

    def add(self, name: str, size: int) -> None:
        """Puts a block after the others."""
        self.starts[name] = self.total
        self.total += -(-max(1, size) // _ALIGNMENT) * _ALIGNMENT


@dataclass(frozen=True)
class _Buffer:
    """Memory of the host that is sent, with the events after sending it and after the device has copied it on."""

    memory: Any
    sent: Any
    taken: Any


class Inbox:
    """The memory of a plan for its inputs: those from the host in one block, those from other parts in another.

    values: the layout of each feed. handed: the feeds that come as DeviceArrays. asked: the nodes that ask the host for
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
        self._sent.add("status", BYTES)
        for name in self._fed:
            self._sent.add(name, bytes_of(values[name]))
        for number, node in asked.items():
            self._sent.add(f"words {number}", 8 * node.words)
        for name in self._handed:
            self._kept.add(name, bytes_of(values[name]))
        self._last: dict[str, weakref.ref[DeviceArray]] = {}
        self._targets: dict[str, Any] = {}
        self._turn = 0

    @property
    def total(self) -> int:
        """The bytes of device memory that it takes."""
        return self._sent.total * (3 if self._is_much else 1) + self._kept.total

    @property
    def _is_much(self) -> bool:
        return self._sent.total >= _MUCH

    def allocate(self) -> None:
        """Allocates the memory; ResourceExhaustedError if there is not so much. The device's lock is held."""
        device = self._device
        self._received = device.allocate(self._sent.total, "uint8")
        self._copied = device.allocate(self._kept.total, "uint8")
        copies = 2 if self._is_much else 0
        self._beside = [device.allocate(self._sent.total, "uint8") for _ in range(copies)]

    def prepare(self, fallible: bool) -> None:
        """Makes the buffers of the host. fallible: whether a run may leave a status, which the next run clears."""
        device = self._device
        self._always = fallible or bool(self._fed) or bool(self._asked)
        self._buffers = [
            _Buffer(device.pinned(self._sent.total), device.event(), device.event()) for _ in range(2)
        ]
        for buffer in self._buffers:
            buffer.memory[:] = 0
        device.upload(self._received, self._buffers[0].memory)
        device.wait()

    @property
    def status(self) -> Any:
        """The memory in which kernels say what went wrong."""
        return part(self._received, 0, WORDS, "int64")

    def words(self, number: int, count: int) -> Any:
        """The memory of the words that a node asked for."""
        return part(self._received, self._sent.starts[f"words {number}"], count, "int64")

    def find(self, root: str, dtype: str) -> Any:
        """The memory of a feed; None for anything else."""
        if root in self._sent.starts:
            return part(self._received, self._sent.starts[root], self._values[root].size, dtype)
        if root in self._kept.starts:
            return part(self._copied, self._kept.starts[root], self._values[root].size, dtype)
        return None

    def send(self, run: RunContext, given: Mapping[str, Any]) -> None:
        """Copies the inputs of a run to the device, in the order of its stream."""
        device = self._device
        if self._always:
            self._turn = 1 - self._turn
            buffer = self._buffers[self._turn]
            self._device.wait_for(buffer.sent)
            self._gather(buffer.memory, run, given)
        with device.current():
            if self._always:
                self._bring(buffer)
            for name in self._handed:
                self._take(name, given[name])

    def _bring(self, buffer: _Buffer) -> None:
        device = self._device
        if not self._beside:
            device.upload(self._received, buffer.memory)
            buffer.sent.record(device.stream)
            return
        beside = self._beside[self._turn]
        buffer.taken.wait(device.arrivals)
        device.upload(beside, buffer.memory, device.arrivals)
        buffer.sent.record(device.arrivals)
        buffer.sent.wait(device.stream)
        device.copy(self._received, beside)
        buffer.taken.record(device.stream)

    def _gather(self, buffer: Any, run: RunContext, given: Mapping[str, Any]) -> None:
        for name in self._fed:
            value = self._values[name]
            target = part(buffer, self._sent.starts[name], value.size, value.dtype)
            target[:] = np.asarray(given[name]).reshape(-1)
        for number, node in self._asked.items():
            assert node.before is not None
            start = self._sent.starts[f"words {number}"]
            part(buffer, start, node.words, "int64")[:] = node.before(run)

    def _take(self, name: str, array: DeviceArray) -> None:
        """Copies a value of another part, unless it is the array that was copied last: arrays do not change."""
        last = self._last.get(name)
        if last is None or last() is not array:
            if name not in self._targets:
                self._targets[name] = self.find(name, self._values[name].dtype)
            self._device.copy(self._targets[name], array.block)
            self._last[name] = weakref.ref(array)


class Outbox:
    """The host's memory for the results of a plan."""

    def __init__(self, values: Mapping[str, Value | None]) -> None:
        self._layout = Layout()
        self._layout.add("status", BYTES)
        self._values = {name: value for name, value in values.items() if value is not None}
        for name, value in self._values.items():
            self._layout.add(name, bytes_of(value))

    def prepare(self, device: Device) -> None:
        """Takes the memory."""
        self._device = device
        self._returned = device.pinned(self._layout.total)
        self._made, self._there = device.event(), device.event()

    def fetch(self, status: Any, arrays: Mapping[str, Any]) -> None:
        """Starts the copies of the status and of some values, after the work that was started before.

        The device's lock is held.
        """
        device = self._device
        self._made.record(device.stream)
        self._made.wait(device.departures)
        device.download(status, self.status, device.departures)
        for name, array in arrays.items():
            device.download(array, self.slot(name), device.departures)
        self._there.record(device.departures)

    def wait(self) -> None:
        """Returns when the copies are done."""
        self._device.wait_for(self._there)

    @property
    def status(self) -> Any:
        """The memory of the host into which the status is copied."""
        return part(self._returned, 0, WORDS, "int64")

    def slot(self, name: str) -> Any:
        """The memory of the host into which a value is copied."""
        value = self._values[name]
        return part(self._returned, self._layout.starts[name], value.size, value.dtype)
