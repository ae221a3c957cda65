"""What other work leaves of a processor's caches: a stage finds less of its data there than one that runs alone.

Run again and again by itself, a stage has all that it reads in the caches, and a short one takes half the time that it
takes in a cluster. There messages are handled between two stages, on the same core: they take the core's own cache. And
where tasks outnumber the cores of their host they take turns, so each finds its part of the cache that cores share
used by others too. Before a stage is measured other memory is read, therefore: twice as much as a core's own cache has,
or half of the shared one. With caches left alone what was said of clusters of 2 to 6 tasks on two cores was up to half
too little, with all of the shared one swept up to twice too much.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

_FOLDER: Final = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS: Final = {"K": 1 << 10, "M": 1 << 20}
_USUAL: Final = (1 << 20, 32 << 20)
"""Bytes of a core's own cache, and of the shared one, where the system does not say them."""
_MOST: Final = 32 << 20
"""Bytes that are read at most, which takes some milliseconds."""


def cache_sizes(folder: Path = _FOLDER) -> tuple[int, int]:
    """The bytes of the largest cache that a core has for itself, and of the one that cores share.

    Args:
        folder: Where Linux says it.

    Returns:
        Both sizes, or usual ones if the system does not say them.
    """
    found = sorted(_bytes(path.read_text().strip()) for path in folder.glob("index*/size"))
    return (found[-2], found[-1]) if len(found) > 1 and found[-2] else _USUAL


def _bytes(text: str) -> int:
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "")
    return int(number) * _UNITS.get(unit, 1) if number.isdigit() else 0


class OtherWork:
    """Takes from the caches what other work would."""

    def __init__(self) -> None:
        own, shared = cache_sizes()
        self._messages = np.ones(min(2 * own, shared // 2, _MOST) // 8)
        self._tasks = np.ones(min(shared // 2, _MOST) // 8)

    def passes(self, crowded: bool) -> None:
        """Another thread of this core has had its turn, or, on a crowded host, other tasks."""
        (self._tasks if crowded else self._messages).sum()
