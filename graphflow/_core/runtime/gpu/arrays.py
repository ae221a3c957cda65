"""DeviceArray: a value on a GPU that goes from one launched part of a plan to another without coming to the host.

It behaves like a NumPy array as far as the lists of TensorArrays and the stacks of loops need that: it has rows, two
are added on the device, and NumPy's stack and concatenate join several there. All other functions of NumPy work on a
copy on the host.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.gpu.toolkit import Device, elementwise_launch, part
from graphflow._core.runtime.gpu.held import HeldValue, host

_GRAIN: Final = 512
"""Blocks of the pool have sizes that are multiples of so many bytes."""


class _BlockOwner:
    """A block of a device's pool, given back when the last array on it is gone. Made with the device's lock held."""

    __slots__ = ("_device", "block")

    def __init__(self, device: Device, size: int) -> None:
        self._device = device
        rounded = -(-max(1, size) // _GRAIN) * _GRAIN
        found = device.pool.take(rounded)
        if found is None:
            found = device.pool.add(rounded, device.allocate(rounded, "uint8"))
        self.block = found
        for event in found.events:
            event.wait(device.stream)
        found.events = ()

    def __del__(self) -> None:
        if hasattr(self, "block"):
            self._device.pool.give(self.block)


class DeviceArray(HeldValue):
    """A contiguous value of a shape and a NumPy dtype in memory of a device. Nobody changes it. Thread-safe."""

    __slots__ = ("__weakref__", "_host", "_owner", "_start", "block", "device", "dtype", "shape")
    __array_ufunc__ = None
    """NumPy's operators leave it to this class."""

    def __init__(
        self,
        device: Device,
        shape: tuple[int, ...],
        dtype: str,
        owner: _BlockOwner | None = None,
        start: int = 0,
    ) -> None:
        self.device = device
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._host: Any = None
        self._start = start
        count = math.prod(shape)
        with device.current():
            self._owner = _BlockOwner(device, count * self.dtype.itemsize) if owner is None else owner
            self.block = part(self._owner.block.memory, start, count, dtype)
        """Its elements, as an array in device memory."""

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def numpy(self) -> Any:
        """The value as a read-only array of NumPy's, a scalar as np.generic. Waits for the device."""
        if self._host is None:
            host = np.empty(self.shape, self.dtype)
            with self.device.current():
                self.device.download(self.block, _bytes_of(host))
                self.device.wait()
            host.flags.writeable = False
            self._host = host if self.shape else host[()]
        return self._host

    def copied_to(self, device: Device) -> DeviceArray:
        """The value in memory of another device. The copy is made in the order of both devices' work."""
        found = DeviceArray(device, self.shape, self.dtype.name)
        if self.size:
            self._owner.block.events += (device.receive(found.block, self.block, self.device),)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The value as an array of NumPy's."""
        found = np.asarray(self.numpy())
        return found.astype(dtype) if dtype is not None and dtype != found.dtype else found

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __index__(self) -> int:
        return int(self.numpy().__index__())

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """One row or some neighbouring rows, in the same memory; other elements from a copy on the host."""
        if key is Ellipsis:
            return self
        found = self.rows(key if isinstance(key, tuple) else (key,))
        return self.numpy()[key] if found is None else found

    def rows(self, index: tuple[Any, ...]) -> DeviceArray | None:
        """The rows that an index of NumPy's names, in the same memory; None if it names anything else."""
        if (
            not index
            or not self.shape
            or any(p is not Ellipsis and p != slice(None, None, 1) for p in index[1:])
        ):
            return None
        if index[1:].count(Ellipsis) > 1 or len([p for p in index if p is not Ellipsis]) > self.ndim:
            return None
        count = len(self)
        if isinstance(index[0], slice):
            first, last, step = index[0].indices(count)
            return self._rows(first, (last - first, *self.shape[1:])) if step == 1 and first < last else None
        if not isinstance(index[0], int) or not -count <= index[0] < count:
            return None
        return self._rows(index[0] % count, self.shape[1:])

    def _rows(self, first: int, shape: tuple[int, ...]) -> DeviceArray:
        start = self._start + first * math.prod(self.shape[1:]) * self.dtype.itemsize
        return DeviceArray(self.device, shape, self.dtype.name, self._owner, start)

    def __add__(self, other: Any) -> Any:
        """The sum with an array of the same shape and dtype, on the device."""
        return _sum(self, other)

    def __radd__(self, other: Any) -> Any:
        return _sum(self, other)

    def __array_function__(self, function: Any, types: Any, arguments: Any, named: Any) -> Any:
        """NumPy's stack and concatenate along the first axis, on the device; anything else on the host."""
        if function in (np.stack, np.concatenate) and len(arguments) == 1 and not named:
            return _joined(arguments[0], self.device, function is np.stack)
        return function(*_on_host(arguments), **named)


def fits_device(array: Any) -> bool:
    """Whether a GPU holds such elements, and there are any."""
    return array.dtype.kind in "biuf" and bool(array.size)


def on_device(value: Any, device: Device) -> DeviceArray:
    """The value on a device: the same array if it is there, else a copy; one from another GPU bypasses the host."""
    if isinstance(value, DeviceArray):
        return value if value.device is device else value.copied_to(device)
    array = np.asarray(value)
    found = DeviceArray(device, array.shape, array.dtype.name)
    if array.size:
        with device.current():
            device.upload(found.block, _bytes_of(array))  # Has been read: it is not pinned.
    return found


def _bytes_of(array: Any) -> Any:
    """A host array as it goes to and from device memory."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8) if flat.dtype == bool else flat


def _on_host(values: Any) -> Any:
    """Arguments of a function of NumPy's."""
    if isinstance(values, tuple | list):
        return type(values)([_on_host(v) for v in values])
    return host(values)


_FILL: Final = """
def kernel(count, x):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < count:
        x[i] = 0
        i += step
"""


def filled_rows(shape: tuple[int, ...], index: tuple[Any, ...], value: DeviceArray) -> DeviceArray | None:
    """Zeros with a value in the rows that an index of NumPy's names; None if it names anything else."""
    device = value.device
    with device.current():
        found = DeviceArray(device, shape, value.dtype.name)
        target = found.rows(index)
        if target is None or target.shape != value.shape:
            return None
        device.launch(elementwise_launch(_FILL, found.size, [found.size, found.block]))
        device.copy(target.block, value.block)
    return found


_SUM: Final = """
def kernel(count, x, y, z):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < count:
        z[i] = {dtype}(x[i] + y[i])
        i += step
"""


def _sum(one: DeviceArray, other: Any) -> Any:
    device = one.device
    second = on_device(other, device)
    if second.shape != one.shape or second.dtype != one.dtype or one.dtype == bool:
        return host(one) + host(other)
    with device.current():
        found = DeviceArray(device, one.shape, one.dtype.name)
        arguments = [one.size, one.block, second.block, found.block]
        device.launch(elementwise_launch(_SUM.format(dtype=one.dtype.name), one.size, arguments))
    return found


def _joined(values: Sequence[Any], device: Device, stacked: bool) -> DeviceArray:
    """Arrays of one dtype along a new first axis, or along the first one that they have."""
    parts = [on_device(v, device) for v in values]
    rows = len(parts) if stacked else sum(len(p) for p in parts)
    inner = parts[0].shape if stacked else parts[0].shape[1:]
    with device.current():
        found = DeviceArray(device, (rows, *inner), parts[0].dtype.name)
        start = 0
        for each in parts:
            if each.size:
                device.copy(found.block[start : start + each.size], each.block)
            start += each.size
    return found
