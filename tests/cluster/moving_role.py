"""A process of test_moving_tasks.py: a task that listens at a free port, and says in a folder where that is."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import graphflow as gf
from tests.cluster import once_role
from tests.cluster.folder_resolver import FolderClusterResolver

JOBS = {"ps": 2, "worker": 2}


def run(folder: str, name: str, role: str, spec: Any, index: int, life: int, save_steps: int = 0) -> None:
    """One process."""
    logging.basicConfig(level=logging.INFO)
    places = Path(folder) / "places"
    places.mkdir(exist_ok=True)
    job = "ps" if role == "ps" else "worker"
    server = gf.train.Server(FolderClusterResolver(places, JOBS, job, index).begin())
    if role == "ps":
        server.join()
    else:
        once_role.train(Path(folder), name, server, index, save_steps)
        os._exit(0)
