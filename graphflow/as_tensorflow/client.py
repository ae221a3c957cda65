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

_visible: dict[str, list[PhysicalDevice]] = {}
_said: dict[str, object] = {}
"""What programs set for eager execution; sessions have a ConfigProto, and take nothing from it, as in TensorFlow."""


def set_visible_devices(
    devices: PhysicalDevice | list[PhysicalDevice], device_type: str | None = None
) -> None:
    """Nothing more than get_visible_devices tells: sessions have a ConfigProto's visible_device_list.

    Args:
        devices: Devices of list_physical_devices, or one.
        device_type: Their type; None for all types.

    Raises:
        ValueError: For a device that is not there, or of another type.
    """
    wanted = [devices] if isinstance(devices, PhysicalDevice) else list(devices or [])
    for one in wanted:
        if one not in list_physical_devices(device_type):
            raise ValueError(
                f"Unrecognized device: {one!r}. This machine has {list_physical_devices(device_type)}."
            )
    for kind in ("CPU", "GPU") if device_type is None else (device_type,):
        _visible[kind] = [one for one in wanted if one.device_type == kind]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """What set_visible_devices said, by default all devices.

    Args:
        device_type: "CPU" or "GPU"; None for all.
    """
    kinds = ("CPU", "GPU") if device_type is None else (device_type,)
    return [one for kind in kinds for one in _visible.get(kind, list_physical_devices(kind))]


def set_soft_device_placement(enabled: bool) -> None:
    """Nothing more than get_soft_device_placement tells: sessions have a ConfigProto's allow_soft_placement.

    Args:
        enabled: What is told.
    """
    _said["soft_placement"] = enabled


def get_soft_device_placement() -> bool:
    """What set_soft_device_placement said."""
    return bool(_said.get("soft_placement", False))


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Nothing more than the getter tells: sessions have a ConfigProto's intra_op_parallelism_threads.

    Args:
        num_threads: What is told.
    """
    _said["intra"] = num_threads


def get_intra_op_parallelism_threads() -> int:
    """What the setter said, 0 by default."""
    return int(str(_said.get("intra", 0)))


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Nothing more than the getter tells: sessions have a ConfigProto's inter_op_parallelism_threads.

    Args:
        num_threads: What is told.
    """
    _said["inter"] = num_threads


def get_inter_op_parallelism_threads() -> int:
    """What the setter said, 0 by default."""
    return int(str(_said.get("inter", 0)))


def set_jit(enabled: bool) -> None:
    """Nothing more than get_jit tells: sessions compile what they run often by themselves.

    Args:
        enabled: What is told.
    """
    _said["jit"] = enabled


def get_jit() -> bool:
    """What set_jit said."""
    return bool(_said.get("jit", False))


def set_experimental_options(options: dict[str, object]) -> None:
    """Nothing more than get_experimental_options tells: what graphs are made into is not chosen so.

    Args:
        options: What is told.
    """
    _said["options"] = dict(options)


def get_experimental_options() -> dict[str, object]:
    """What set_experimental_options said."""
    found = _said.get("options", {})
    return dict(found) if isinstance(found, dict) else {}


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
