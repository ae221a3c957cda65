"""Device filters: which tasks of a cluster a session sees."""

from __future__ import annotations

from collections.abc import Sequence

from graphflow._core.graph.devices import DeviceSpec


def passes(task: str, filters: Sequence[str]) -> bool:
    """Whether a session with these device filters sees a task; without any it sees all."""
    spec = DeviceSpec.from_string(task)
    for text in filters:
        wanted = DeviceSpec.from_string(str(text))
        if wanted.job in (None, spec.job) and wanted.task in (None, spec.task):
            return True
    return not filters
