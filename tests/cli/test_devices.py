"""Protects `graphflow devices` and what it stands on: the driver is asked for its GPUs, and any trouble is one line."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.codegen.gpu import discovery
from graphflow._core.codegen.gpu.discovery import DriverError, Found, Gpu, compiler_problem, gpus_of
from graphflow.cli.devices import show
from graphflow.cli.main import main


class Driver:
    """A CUDA driver with GPUs of (name, memory, capability)."""

    def __init__(self, *gpus: tuple[str, int, tuple[int, int]], fails: str = "") -> None:
        self._gpus = gpus
        self._fails = fails

    def __getattr__(self, name: str) -> Any:
        if name == self._fails:
            return lambda *arguments: 100
        return {
            "cuInit": lambda flags: 0,
            "cuDeviceGetCount": lambda count: self._set(count, len(self._gpus)),
            "cuDeviceGet": lambda device, index: self._set(device, index),
            "cuDeviceGetName": self._name,
            "cuDeviceTotalMem_v2": lambda memory, device: self._set(memory, self._gpus[device.value][1]),
            "cuDeviceGetAttribute": self._attribute,
        }[name]

    @staticmethod
    def _set(reference: Any, value: int) -> int:
        reference._obj.value = value
        return 0

    def _name(self, buffer: Any, length: int, device: Any) -> int:
        buffer.value = self._gpus[device.value][0].encode()[: length - 1]
        return 0

    def _attribute(self, number: Any, attribute: int, device: Any) -> int:
        return self._set(number, self._gpus[device.value][2][attribute - 75])


def test_the_driver_tells_its_gpus() -> None:
    found = gpus_of(lambda: Driver(("Good GPU", 80 << 30, (9, 0)), ("Other", 16 << 30, (8, 6))))
    assert found == (Gpu(0, "Good GPU", 80 << 30, (9, 0)), Gpu(1, "Other", 16 << 30, (8, 6)))


class Versions:
    """A driver for a CUDA version, and a compiler of one."""

    def __init__(self, driver: int, compiler: int) -> None:
        self._driver, self._compiler = driver, compiler

    def cuDriverGetVersion(self, version: Any) -> None:
        version._obj.value = self._driver

    def nvrtcVersion(self, major: Any, minor: Any) -> None:
        major._obj.value = self._compiler


@pytest.mark.parametrize(("driver", "compiler"), [(13000, 13), (13020, 12), (12080, 12)])
def test_a_compiler_that_is_not_newer_than_the_driver_will_do(driver: int, compiler: int) -> None:
    versions = Versions(driver, compiler)
    assert compiler_problem(versions, lambda name: versions) == ""


def test_a_compiler_that_is_missing_or_too_new_is_one_line() -> None:
    def none(name: str) -> Any:
        raise RuntimeError(f"{name} was not found")

    versions = Versions(12080, 13)
    assert "compiler" in compiler_problem(versions, none)
    assert "graphflow-engine[cuda]" in compiler_problem(versions, none)
    found = compiler_problem(versions, lambda name: versions)
    assert found.startswith("the driver is for CUDA 12, and the compiler is of CUDA 13")
    assert "graphflow-engine[cuda12]" in found


def test_what_is_missing_is_one_line() -> None:
    with pytest.raises(DriverError, match=r"no NVIDIA driver \(libcuda.so.1 was not found\)"):
        gpus_of(lambda: ctypes.CDLL("no-such-library.so"))
    with pytest.raises(DriverError, match="cuInit returned 100; see nvidia-smi"):
        gpus_of(lambda: Driver(fails="cuInit"))


@pytest.mark.parametrize(
    "gpus, package, message",
    [
        ((Gpu(0, "Good GPU", 1, (9, 0)),), None, "the package numba-cuda is missing: pip install 'graphflow"),
        (
            (Gpu(0, "Old GPU", 1, (5, 2)),),
            object(),
            r"needs compute capability 7.0, and there is Old GPU \(5.2\)",
        ),
        ((), object(), "there is no GPU"),
    ],
)
def test_gpus_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, gpus: Any, package: Any, message: str
) -> None:
    import re

    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr(discovery, "gpus_of", lambda load: gpus)
    monkeypatch.setattr(discovery.importlib.util, "find_spec", lambda name: package)
    here = discovery.found.__wrapped__()
    assert not here.gpus
    assert re.search(message, here.problem)
    assert here.problem.count("\n") == 0


def test_the_command_lists_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert show(Found((Gpu(0, "Good GPU", 80 * 10**9, (9, 0)),))) == 0
    assert capsys.readouterr().out.splitlines() == [
        "DEVICE         NAME      MEMORY  COMPUTE CAPABILITY",
        "/device:CPU:0  CPU",
        "/device:GPU:0  Good GPU  80 GB   9.0",
    ]
    show(Found(problem="there is no NVIDIA driver."))
    assert capsys.readouterr().out.splitlines()[-1] == (
        "No GPU is used: there is no NVIDIA driver. What asks for one runs on the CPU under allow_soft_placement."
    )
    assert main(["devices"]) == 0


def test_what_gf_test_says_agrees_with_the_devices() -> None:
    with gf.Session() as session:
        names = [d.name for d in session.list_devices() if d.device_type == "GPU"]
    assert gf.test.is_gpu_available() == bool(names)
    assert bool(gf.test.gpu_device_name()) == bool(names)
    assert not gf.test.is_gpu_available(min_cuda_compute_capability=(99, 0))
