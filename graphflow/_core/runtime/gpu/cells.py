"""DeviceCell: holds a variable whose newest value may be on a GPU.

The value is copied only when the other side asks for it. So a training loop leaves variables on the device, and a
checkpoint or a kernel of the CPU still finds them by their names.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphflow._core.codegen.gpu.toolkit import Device
from graphflow._core.resources.variables import VariableCell


class DeviceCell(VariableCell):
    """Holds a variable on the host and on at most one GPU. Thread-safe.

    At any time the newest value is on the host (`_host`), in device memory (`_block`), or on both.
    """

    __slots__ = ("_block", "_device", "_host", "_on_device", "_shape")

    _host: Any
    _block: Any
    _device: Device | None
    _shape: tuple[int, ...]
    _on_device: bool
    """Whether `_block` holds the newest value."""

    @property
    def value(self) -> Any:
        """The value as a NumPy array, None before it is initialised; fetched from the device if need be."""
        host = getattr(self, "_host", None)
        if host is None and getattr(self, "_on_device", False):
            assert self._device is not None
            with self._device.current():
                if self._on_device and self._host is None:
                    host = np.empty(self._shape, self.dtype.as_numpy_dtype)
                    flat = host.reshape(-1).view(np.uint8 if host.dtype == bool else host.dtype)
                    self._device.download(self._block, flat)
                    self._device.wait()
                    self._host = host
                host = self._host
        return host

    @value.setter
    def value(self, value: Any) -> None:
        self._host = value
        self._on_device = False
        if value is None:
            self._block = self._device = None

    def changes_in_place(self) -> None:
        """Called before the host's array is changed: the copy on the device is then out of date."""
        self._on_device = False

    def _is_borrowed(self) -> bool:
        host = getattr(self, "_host", None)
        return host is not None and self.borrows.any(host, self.store.memory)

    def shape(self) -> tuple[int, ...] | None:
        """The value's shape, without fetching it; None before it is initialised."""
        if getattr(self, "_on_device", False):
            return self._shape
        value = self.value
        return None if value is None else tuple(value.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the value, without fetching it; 0 before it is initialised."""
        shape = self.shape()
        return 0 if shape is None else math.prod(shape) * np.dtype(self.dtype.as_numpy_dtype).itemsize

    def block(self, device: Device) -> Any:
        """The value in memory of a device, whose lock is held. The memory stays the same while the shape does."""
        if getattr(self, "_on_device", False) and self._device is device:
            return self._block
        host = self.value
        count = math.prod(host.shape)
        if getattr(self, "_block", None) is None or self._device is not device or self._shape != host.shape:
            self._block = device.allocate(count, host.dtype.name)
            self._device, self._shape = device, tuple(host.shape)
        flat = np.ascontiguousarray(host).reshape(-1)
        device.upload(self._block, flat.view(np.uint8) if flat.dtype == bool else flat)
        self._on_device = True
        return self._block

    def changed_on_device(self) -> None:
        """Called after the value on the device was changed, with the device's lock held."""
        self._host = None
