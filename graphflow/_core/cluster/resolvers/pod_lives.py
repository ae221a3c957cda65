"""The number of a task's life on an engine that does not count them, such as Kubernetes: a folder of the pod counts.

The folder is made with the pod, is kept when a container of the pod is begun anew, and goes with the pod. So what
begins later in a pod has a higher number, and a pod that was made later has higher numbers than the one whose name it
has taken: its folder was first used later, by the clocks of the two nodes. These have to agree better than for as long
as the first of the two pods has lived.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Final

LIVES_VARIABLE: Final = "GRAPHFLOW_LIVES"
"""A folder that is empty when a pod is made, and goes with it: it counts the lives of the pod's task."""
_MOST_LIVES: Final = 1 << 20
"""More than one pod has."""


def next_life(variables: Mapping[str, str]) -> int:
    """The number of the life that begins now, higher than those of earlier ones; 0 if no folder counts them.

    Raises:
        OSError: If the folder that the variable names cannot be written.
    """
    named = variables.get(LIVES_VARIABLE)
    if not named:
        return 0
    folder = Path(named)
    begun = _begun(folder)
    for number in count():
        try:
            (folder / f"life-{number}").touch(0o644, exist_ok=False)
        except FileExistsError:
            continue
        return begun * _MOST_LIVES + min(number, _MOST_LIVES - 1)
    raise AssertionError


def _begun(folder: Path) -> int:
    """When the folder was first used, in milliseconds: the name of a file there says so."""
    while True:
        found = [
            int(name[6:]) for name in os.listdir(folder) if name[:6] == "begun-" and name[6:].isdecimal()
        ]
        if found:
            return min(found)
        (folder / f"begun-{time.time_ns() // 1_000_000}").touch()
