"""What tests of the emulated GPU ask it for: the functions of the driver through ctypes, and kernels written as PTX."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tests.emulated_gpu import emulation

_VERSIONED: Final = ("cuMemAlloc", "cuMemFree", "cuStreamDestroy", "cuEventDestroy", "cuCtxPushCurrent")
_REGISTERS: Final = " ".join(
    f".reg .{kind} %{letter}<16>;"
    for kind, letter in {"pred": "p", "b16": "h", "b32": "r", "b64": "d", "f32": "f", "f64": "g"}.items()
)


def entry(name: str, body: str, arguments: int = 1) -> str:
    """A kernel in PTX. %d10, %d11, ... are its arguments of 64 bits; %r10 is the thread, and %r11 the block."""
    parameters = ", ".join(f".param .u64 {name}_{n}" for n in range(arguments))
    loads = " ".join(f"ld.param.u64 %d{10 + n}, [{name}_{n}];" for n in range(arguments))
    return (
        f".visible .entry {name}({parameters}) {{ {_REGISTERS} {loads} "
        f"mov.u32 %r10, %tid.x; mov.u32 %r11, %ctaid.x; {body} ret; }}"
    )


class Refused(Exception):
    """The name of the error that the driver returned."""


class Driver:
    """One thread's view of the driver, with the contexts of all devices; that of device 0 is current."""

    def __init__(self, devices: int = 1, **settings: str) -> None:
        names = ("EMULATED_GPU", "EMULATED_GPUS", "EMULATED_GPU_MEMORY", "EMULATED_GPU_NO_PEERS")
        before = {name: os.environ.pop(name, None) for name in names}
        os.environ.update(settings, EMULATED_GPUS=str(devices))
        self._library = emulation.driver()
        self._library.emulated_begin()
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        self._before = emulation.counted()["violations"]
        self.call("cuInit", 0)
        self.contexts = [self.made("cuDevicePrimaryCtxRetain", device) for device in range(devices)]
        self.use(0)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function; Refused where it returns an error."""
        function = getattr(self._library, f"{name}_v2" if name in _VERSIONED else name)
        error = function(*(self._argument(a) for a in arguments))
        if error:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(error, ctypes.byref(text))
            raise Refused((text.value or b"").decode().removeprefix("CUDA_ERROR_"))

    @staticmethod
    def _argument(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return ctypes.c_void_p(value.ctypes.data)
        return ctypes.c_uint64(value) if isinstance(value, int) and value > 2**31 else value

    def made(self, name: str, *arguments: Any) -> Any:
        """What a function puts where its first argument points."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def made_last(self, name: str, *arguments: Any) -> Any:
        """What a function puts where its last argument points."""
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    @property
    def violations(self) -> int:
        """How often a rule was broken."""
        return emulation.counted()["violations"] - self._before

    def use(self, device: int) -> None:
        """Makes a device's context the current one."""
        self.call("cuCtxSetCurrent", self.contexts[device])

    def stream(self) -> Any:
        return self.made("cuStreamCreate", 1)

    def event(self) -> Any:
        return self.made("cuEventCreate", 0)

    def memory(self, values: Any) -> int:
        """Memory of the current device that holds the values."""
        values = np.ascontiguousarray(values)
        address = int(self.made("cuMemAlloc", values.nbytes).value)
        self.call("cuMemcpyHtoD_v2", address, values, values.nbytes)
        return address

    def pinned(self, values: Any) -> np.ndarray:
        """Memory of the host, which copies do not wait for, that holds the values."""
        values = np.asarray(values)
        address = self.made("cuMemHostAlloc", values.nbytes, 0).value
        found = np.ctypeslib.as_array((ctypes.c_uint8 * values.nbytes).from_address(address)).view(
            values.dtype
        )
        found[:] = values
        return found

    def values(self, address: int, dtype: str, count: int) -> np.ndarray:
        """What memory of a device holds, when everything asked for is done."""
        found = np.empty(count, dtype)
        self.call("cuMemcpyDtoH_v2", found, address, found.nbytes)
        return found

    def kernels(self, *entries: str) -> Any:
        """A module of PTX, loaded."""
        return self.made("cuModuleLoadData", os.fsencode(emulation.kernel_library("\n".join(entries))))

    def launch(
        self, module: Any, name: str, arguments: Sequence[int], stream: Any, blocks: int = 1, threads: int = 1
    ) -> None:
        """Starts a kernel of a module."""
        values = [ctypes.c_uint64(a) for a in arguments]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        function = self.made("cuModuleGetFunction", module, name.encode())
        self.call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, None)

    def run(self, body: str, arguments: Sequence[int], blocks: int = 1, threads: int = 1) -> None:
        """Runs a kernel to its end."""
        stream = self.stream()
        self.launch(
            self.kernels(entry("kernel", body, len(arguments))), "kernel", arguments, stream, blocks, threads
        )
        self.call("cuStreamSynchronize", stream)
