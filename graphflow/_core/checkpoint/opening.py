"""A checkpoint by its prefix, whichever of the two formats it has: opening it, and removing its files."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import suppress

from graphflow._core.checkpoint.atomic import freed_later
from graphflow._core.checkpoint.bundle import BundleFile
from graphflow._core.checkpoint.bundle_names import INDEX, former_paths
from graphflow._core.checkpoint.reader import CheckpointFile, checkpoint_path, existing_path
from graphflow._core.common.files import storage


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


def files_of(prefix: str) -> Iterator[str]:
    """The files of a checkpoint that are there, in either format: first what makes them one."""
    yield from filter(storage.exists, (checkpoint_path(prefix), prefix + INDEX))
    yield from storage.matching(f"{_escaped(prefix)}.data-?????-of-?????")
    if not storage.is_remote(prefix):
        with suppress(OSError):
            yield from former_paths(prefix)


def _escaped(prefix: str) -> str:
    """A path as a pattern that it alone matches."""
    scheme, mark, path = prefix.partition("://") if storage.is_remote(prefix) else ("", "", prefix)
    return scheme + mark + glob.escape(path)


def remove_files(prefix: str) -> None:
    """Removes the files of a checkpoint; what is not there is no error.

    Args:
        prefix: What the names of its files begin with.

    Raises:
        OSError: One of them cannot be removed.
    """
    for path in files_of(prefix):
        with suppress(FileNotFoundError), freed_later(path):
            storage.remove(path)
