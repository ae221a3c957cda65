"""This machine's devices, and timelines of runs (python.client.device_lib and timeline, config.experimental)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from graphflow._core.codegen.gpu.discovery import found
from graphflow.config import RunMetadata, StepStats


@dataclass(frozen=True)
class DeviceAttributes:
    """A device: its name such as "/device:CPU:0", its type, the bytes of its memory (0 if not known), what it is."""

    name: str
    device_type: str
    memory_limit: int = 0
    physical_device_desc: str = ""
    incarnation: int = 0


def list_local_devices(session_config: object = None) -> list[DeviceAttributes]:
    """The devices of this machine, the CPU first (tensorflow.python.client.device_lib.list_local_devices)."""
    gpus = [
        DeviceAttributes(
            f"/device:GPU:{gpu.index}", "GPU", gpu.memory or 0, f"device: {gpu.index}, name: {gpu.name}"
        )
        for gpu in found().gpus
    ]
    return [DeviceAttributes("/device:CPU:0", "CPU"), *gpus]


class PhysicalDevice(NamedTuple):
    """A device: its name, such as "/physical_device:CPU:0", and its type."""

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine, of one type or all (tf.config.experimental.list_physical_devices).

    Args:
        device_type: "CPU" or "GPU"; None for all.
    """
    names = [(one.name.removeprefix("/device:"), one.device_type) for one in list_local_devices()]
    return [
        PhysicalDevice(f"/physical_device:{name}", kind)
        for name, kind in names
        if device_type in (None, kind)
    ]


def list_logical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that operations may be placed on (tf.config.experimental.list_logical_devices).

    Args:
        device_type: "CPU" or "GPU"; None for all.
    """
    return [
        PhysicalDevice(one.name, one.device_type)
        for one in list_local_devices()
        if device_type in (None, one.device_type)
    ]


_growing: dict[str, bool] = {}


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Nothing more than get_memory_growth tells: memory of a GPU is taken as it is needed.

    Args:
        device: One of list_physical_devices.
        enable: What get_memory_growth says from then on.

    Raises:
        ValueError: For what is no GPU.
    """
    if device.device_type != "GPU" or device not in list_physical_devices():
        raise ValueError(f"Cannot set memory growth on {device!r}: it is no GPU of this machine.")
    _growing[device.name] = bool(enable)


def get_memory_growth(device: PhysicalDevice) -> bool:
    """What set_memory_growth said.

    Args:
        device: One of list_physical_devices.
    """
    return _growing.get(device.name, False)


LogicalDevice = PhysicalDevice


def num_gpus() -> int:
    """How many GPUs operations may be placed on (tensorflow.python.eager.context.num_gpus)."""
    return len(found().gpus)


class Timeline:
    """What a traced run did and when (tensorflow.python.client.timeline.Timeline).

    step_stats: that of the RunMetadata that the run has filled.
    """

    def __init__(self, step_stats: StepStats, graph: object = None) -> None:
        self._metadata = RunMetadata(step_stats=step_stats)

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The text of a file for chrome://tracing or Perfetto; flows and memory are not told."""
        return self._metadata.chrome_trace()
