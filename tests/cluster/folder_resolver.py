"""A resolver for tests, whose engine is a folder: each task writes its place into a file, and others read it there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphflow._core.cluster.resolvers.moving import MovingClusterResolver, Place


class FolderClusterResolver(MovingClusterResolver):
    """The places of tasks in the files of a folder."""

    def __init__(
        self,
        folder: Path,
        jobs: Mapping[str, int],
        task_type: str | None = None,
        task_id: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(folder.name, jobs, task_type, task_id, **options)
        self._folder = folder
        self.asked = 0
        """How often somebody has asked where a task is."""

    def _file(self, job: str, index: int) -> Path:
        return self._folder / f"{job}-{index}"

    def place(self, task_type: str, task_id: int) -> Place | None:
        self.asked += 1
        path = self._file(task_type, task_id)
        return Place(**json.loads(path.read_text())) if path.exists() else None

    def publish(self, place: Place) -> None:
        job, index = self.task_type, self.task_id
        assert job is not None and index is not None
        path = self._file(job, index)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(asdict(place)))
        part.rename(path)
