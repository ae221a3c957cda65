"""The devices of this machine, and timelines of runs (tensorflow.python.client.device_lib and timeline)."""

from __future__ import annotations

from dataclasses import dataclass

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
