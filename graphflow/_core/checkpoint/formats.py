"""Writing a checkpoint in either of the two formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.checkpoint.bundle_writer import write_tensors
from graphflow._core.checkpoint.default_format import SAFETENSORS, TENSORFLOW, default_format
from graphflow._core.checkpoint.writer import Entry, write_checkpoint

_WRITERS: Final = {SAFETENSORS: write_checkpoint, TENSORFLOW: write_tensors}


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
