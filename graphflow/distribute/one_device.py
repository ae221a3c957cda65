"""Everything on one device: the program is that of a strategy, the graph is the plain one."""

from __future__ import annotations

from collections.abc import Sequence

from graphflow.distribute.strategy import DistributionStrategy


class OneDeviceStrategy(DistributionStrategy):
    """One tower, with its variables, on one device (tf.contrib.distribute.OneDeviceStrategy).

    Args:
        device: The name of a device.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def tower_devices(self) -> Sequence[str]:
        """The device."""
        return [self._device]
