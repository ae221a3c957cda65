"""Opening a checkpoint by its prefix, whichever of the two formats it has."""

from __future__ import annotations

from graphflow._core.checkpoint.bundle import BundleFile
from graphflow._core.checkpoint.reader import INDEX, CheckpointFile, existing_path


def open_checkpoint(prefix: str) -> CheckpointFile:
    """The checkpoint of a prefix, graphflow's or TensorFlow's.

    Args:
        prefix: What the names of its files begin with.

    Returns:
        The checkpoint, opened.

    Raises:
        OpError: As of CheckpointFile.
    """
    path = existing_path(prefix)
    if path.endswith(INDEX):
        return BundleFile(prefix)
    return CheckpointFile(path)
