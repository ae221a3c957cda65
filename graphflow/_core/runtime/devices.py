"""Which devices a session or a server has: CPUs as the configuration counts them, then the GPUs of the machine."""

from __future__ import annotations

import os
from typing import Final

from graphflow._core.codegen.gpu.discovery import found
from graphflow._core.common.records import dataclass
from graphflow._core.graph.devices import DeviceSpec
from graphflow.config import ConfigProto

_INCARNATION: Final = 1 + int.from_bytes(os.urandom(7))


@dataclass(frozen=True)
class DeviceAttributes:
    """One device of a session: its full `name`, its `device_type`, its memory in bytes (0 if unlimited).

    incarnation: a number other than 0 that each process draws for the devices of its sessions.
    """

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int = _INCARNATION


def device_names(task: str, config: ConfigProto) -> list[str]:
    """The full names of a task's devices, the default one first.

    Of GPUs there are as many as the machine has and device_count allows; the simulator has as many as are asked for.
    """
    here = found()
    gpus = config.device_count.get("GPU", len(here.gpus))
    gpus = gpus if here.simulated else min(gpus, len(here.gpus))
    return [
        *(f"{task}/device:CPU:{i}" for i in range(max(1, config.device_count.get("CPU", 1)))),
        *(f"{task}/device:GPU:{i}" for i in range(gpus)),
    ]


def device_attributes(name: str) -> DeviceAttributes:
    """What is known of a device by its full name."""
    spec = DeviceSpec.from_string(name)
    memory = {gpu.index: gpu.memory for gpu in found().gpus} if spec.device_type == "GPU" else {}
    return DeviceAttributes(name, spec.device_type or "CPU", memory.get(spec.device_index or 0, 0))
