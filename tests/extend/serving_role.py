"""A process of test_clusters.py: a task whose program imports the extension."""

from __future__ import annotations

from typing import Any

import graphflow as gf
from tests.extend import acme


def run(folder: str, name: str, role: str, index: int, life: int, spec: Any) -> None:
    """Serves until it is killed."""
    assert acme.quick_gelu
    gf.train.Server(spec, role, index).join()
