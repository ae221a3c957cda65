"""A ps of test_fencing.py: it serves under a lease of some seconds, until another life of it has its place."""

from __future__ import annotations

import sys
from pathlib import Path

import graphflow as gf
from tests.cluster.folder_resolver import FolderClusterResolver


def main() -> None:
    """Begins the next life of the task, says so, and says how it ended."""
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
    resolver = FolderClusterResolver(folder, {"ps": 1, "worker": 1}, "ps", 0, lease_seconds=seconds).begin()
    server = gf.train.Server(resolver)
    print(f"life {resolver.life}", flush=True)
    try:
        server.join()
    except gf.errors.AbortedError as error:
        print(f"ended: {error.message}", flush=True)


if __name__ == "__main__":
    main()
