"""Which GPUs there are, asked of the driver itself: numba.cuda takes half a second to import, for mostly nothing.

NUMBA_ENABLE_CUDASIM=1 puts Numba's simulator in the place of the driver. It is read here, once, and nowhere else.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from graphflow._core.common.distribution import DISTRIBUTION, to_install
from graphflow._core.common.records import dataclass

_DRIVER: Final = "libcuda.so.1"
_MAJOR, _MINOR = 75, 76
"""The driver's numbers for the two parts of a compute capability."""
_OLDEST: Final = (7, 0)
_COMPILER: Final = ("nvrtc", "nvvm", "nvJitLink")
_INSTALL: Final = f"{to_install('cuda')} (CUDA 13) or '{DISTRIBUTION}[cuda12]'"


@dataclass(frozen=True)
class Gpu:
    """A GPU: its number, its name, its memory in bytes, its compute capability."""

    index: int
    name: str
    memory: int
    capability: tuple[int, int]


@dataclass(frozen=True)
class Found:
    """The GPUs that can be used; if there is none, `problem` says why in a sentence. `simulated`: by Numba."""

    gpus: tuple[Gpu, ...] = ()
    problem: str = ""
    simulated: bool = False


class DriverError(Exception):
    """The CUDA driver does not work; the text says why."""


def simulated() -> bool:
    """Whether Numba's simulator stands in for the GPUs; asks no driver."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


@cache
def found() -> Found:
    """The GPUs of this machine, asked for once in a process. Never raises."""
    if simulated():
        return Found((Gpu(0, "Numba's CUDA simulator", 0, (0, 0)),), simulated=True)
    try:
        gpus = gpus_of(lambda: ctypes.CDLL(_DRIVER))
    except DriverError as error:
        return Found(problem=str(error))
    if importlib.util.find_spec("numba_cuda") is None:
        return Found(problem=f"the package numba-cuda is missing: {_INSTALL}.")
    usable = tuple(gpu for gpu in gpus if gpu.capability >= _OLDEST)
    if not usable:
        names = ", ".join(f"{g.name} ({g.capability[0]}.{g.capability[1]})" for g in gpus)
        needed = f"needs compute capability {_OLDEST[0]}.{_OLDEST[1]}"
        return Found(problem=f"graphflow {needed}, and there is {names or 'no GPU'}.")
    problem = compiler_problem(ctypes.CDLL(_DRIVER), _part_of_the_compiler)
    return Found(() if problem else usable, problem)


def _part_of_the_compiler(name: str) -> Any:
    found = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib(name)
    return ctypes.CDLL(found.abs_path)


def compiler_problem(driver: Any, load: Callable[[str], Any]) -> str:
    """Why nothing can be compiled for a driver, in a sentence; "" if it can.

    load: gives a library of the compiler; ImportError or RuntimeError if it is not there.
    """
    try:
        parts = [load(name) for name in _COMPILER]
    except (ImportError, RuntimeError):  # pathfinder is not there, or finds nothing
        return f"NVIDIA's compiler, which comes with the package, is missing: {_INSTALL}."
    version, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    parts[0].nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if version.value // 1000 < major.value:
        return (
            f"the driver is for CUDA {version.value // 1000}, and the compiler is of CUDA {major.value}: install the "
            f"other with {_INSTALL}, or a newer driver."
        )
    return ""


def gpus_of(load: Callable[[], Any]) -> tuple[Gpu, ...]:
    """The GPUs that a driver library shows; DriverError if there is no driver, or it does not start."""
    try:
        driver = load()
    except OSError:
        raise DriverError(f"there is no NVIDIA driver ({_DRIVER} was not found).") from None

    def call(name: str, *arguments: Any) -> None:
        code = getattr(driver, name)(*arguments)
        if code:
            raise DriverError(f"the NVIDIA driver does not work ({name} returned {code}; see nvidia-smi).")

    call("cuInit", 0)
    count = ctypes.c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    gpus = []
    for index in range(count.value):
        device, memory, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(128)
        call("cuDeviceGet", ctypes.byref(device), index)
        call("cuDeviceGetName", name, len(name), device)
        call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        capability = []
        for attribute in (_MAJOR, _MINOR):
            number = ctypes.c_int()
            call("cuDeviceGetAttribute", ctypes.byref(number), attribute, device)
            capability.append(number.value)
        gpus.append(Gpu(index, name.value.decode(), memory.value, (capability[0], capability[1])))
    return tuple(gpus)
