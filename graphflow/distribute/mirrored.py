"""Synchronous training on the devices of one machine, with a copy of each variable on every device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphflow._core.graph.devices import canonical
from graphflow.distribute.reducers.base import Reducer
from graphflow.distribute.strategy import DistributionStrategy


class MirroredStrategy(DistributionStrategy):
    """A tower and a copy of each variable on every device (tf.contrib.distribute.MirroredStrategy).

    A step's gradients are reduced, and every copy is changed by the same update.

    A session has several CPU devices with gf.ConfigProto(device_count={"CPU": 2}).

    Args:
        devices: Names, such as ["/cpu:0", "/cpu:1"]; or num_devices (or num_gpus): as many CPU (or GPU)
            devices.
        num_devices: How many; by default all GPUs, or CPU devices.
        num_gpus: How many GPUs; with 0 the one CPU device.
        reducer: How values are reduced, by default on one device.
        num_gpus_per_worker: As num_gpus, by its name in later versions.
        auto_shard_dataset: Has no effect: it is a program's own dataset that its towers share.
    """

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        num_devices: int | None = None,
        num_gpus: int | None = None,
        reducer: Reducer | None = None,
        num_gpus_per_worker: int | None = None,
        auto_shard_dataset: bool = False,
    ) -> None:
        super().__init__()
        if num_gpus is None:
            num_gpus = num_gpus_per_worker
        given = [argument for argument in (devices, num_devices, num_gpus) if argument is not None]
        if len(given) > 1:
            raise ValueError("MirroredStrategy takes one of devices, num_devices and num_gpus.")
        if devices is None:
            count = next((n for n in (num_devices, num_gpus) if n is not None), 1)
            if num_gpus == 0:
                num_gpus, count = None, 1
            devices = [f"/device:{'CPU' if num_gpus is None else 'GPU'}:{index}" for index in range(count)]
        elif isinstance(devices, str):
            raise TypeError(
                f"MirroredStrategy: devices is a list of names, such as [{devices!r}], got {devices!r}."
            )
        self._devices = [canonical(device) for device in devices]
        if not self._devices or len(set(self._devices)) != len(self._devices):
            raise ValueError(
                f"MirroredStrategy needs at least one device, and no two the same, got {list(devices)}."
            )
        if reducer is not None:
            self.reducer = reducer

    def tower_devices(self) -> Sequence[str]:
        """The devices."""
        return self._devices

    def variable_devices(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """The devices: every one has a copy.

        Args:
            arguments: Of gf.get_variable.
        """
        return self._devices
