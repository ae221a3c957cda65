"""A checkpoint by its prefix, whichever format it has: opening it, writing it, and removing its files."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from graphflow._core.checkpoint.atomic import freed_later
from graphflow._core.checkpoint.bundle import BundleFile
from graphflow._core.checkpoint.bundle_names import INDEX, former_paths
from graphflow._core.checkpoint.bundle_writer import write_tensors
from graphflow._core.checkpoint.default_format import SAFETENSORS, TENSORFLOW, default_format
from graphflow._core.checkpoint.first_version import FirstVersionFile
from graphflow._core.checkpoint.reader import CheckpointFile, checkpoint_path, existing_path
from graphflow._core.checkpoint.writer import Entry, write_checkpoint
from graphflow._core.common.files import storage

_WRITERS: Final = {SAFETENSORS: write_checkpoint, TENSORFLOW: write_tensors}


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
    return CheckpointFile(path) if path == checkpoint_path(prefix) else FirstVersionFile(path)


def write(prefix: str, entries: Sequence[Entry], name: str = "") -> None:
    """Writes a checkpoint, whole or not at all.

    Args:
        prefix: What the names of its files begin with.
        entries: The tensors.
        name: The format; "" for the default, as is one that there is not, of a graph from elsewhere.

    Raises:
        OpError: As of write_checkpoint and write_tensors.
        ValueError: As of default_format.
    """
    is_known = isinstance(name, str) and name in _WRITERS
    _WRITERS[name if is_known else default_format()](prefix, entries)


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
