"""With whom a task shares memory: other tasks and clients of the same user on the same machine."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from graphflow._core.common.timeouts import SHARED_TRIM_SECONDS
from graphflow._core.transport.frames.tensors import Share
from graphflow._core.transport.shared import PartnerMemory, SharedMemory, SharedMemoryError


class Sharing:
    """The memory that a process shares, and its partners by some name of them. For one thread.

    wanted: whether it shares any.
    """

    def __init__(self, wanted: bool = True) -> None:
        self.memory = SharedMemory(wanted)
        self.partners: dict[Hashable, PartnerMemory] = {}
        """The memory of each partner."""
        self._addresses: dict[Hashable, Mapping[str, Any]] = {}
        """Where the memory of each partner is."""
        self.shares: dict[Hashable, Share] = {}
        """What puts tensors where each partner reads them."""
        self._trimmed = 0.0

    def met(self, name: Hashable, details: Mapping[str, Any]) -> None:
        """Somebody said hello: if each can open the other's memory, they are partners from now on.

        Who says hello once more is the same partner still, and reads what is on its way to it.
        """
        address = details.get("memory")
        if name in self.partners and address == self._addresses[name]:
            return
        self.gone(name)
        if not (self.memory.usable and self.memory.wanted) or not isinstance(address, Mapping):
            return
        try:
            self.partners[name] = PartnerMemory(address)
        except SharedMemoryError:
            return  # On another machine, or another user's.
        self._addresses[name] = address
        self.shares[name] = partial(self.memory.pin, holder=name)
        self.memory.has_partners = True

    def gone(self, name: Hashable) -> None:
        """Somebody is gone, or out of reach."""
        partner = self.partners.pop(name, None)
        if partner is not None:
            partner.close()
            del self.shares[name], self._addresses[name]
            self.memory.abandon(name)

    def close(self) -> None:
        """Ends sharing."""
        for name in list(self.partners):
            self.gone(name)
        self.memory.close()

    def trim(self) -> None:
        """Frees, every now and then, what has not been used for a while."""
        if time.monotonic() - self._trimmed > SHARED_TRIM_SECONDS:
            self._trimmed = time.monotonic()
            self.memory.trim()
            for partner in self.partners.values():
                partner.trim()
